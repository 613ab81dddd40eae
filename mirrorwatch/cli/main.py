"""The command line.

Exit status: 0 OK, 1 a finding, 2 bad configuration or usage, 3 incomplete, 4 unavailable, 130 interrupted, 70
a bug of Mirrorwatch, 141 the reader of its output closed the pipe. Commands import what they need when they
run, so that help and Ctrl-C are fast.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from mirrorwatch.cli.annotate import annotate
from mirrorwatch.cli.checksum import checksum
from mirrorwatch.cli.commands import ExplainingCommand, NearestGroup, conclude_refusals_with, configure_logs
from mirrorwatch.cli.drift import drift
from mirrorwatch.cli.drill import drill
from mirrorwatch.cli.exclude import exclude
from mirrorwatch.cli.failover import failover
from mirrorwatch.cli.migrate import migrate
from mirrorwatch.cli.objectives import objectives
from mirrorwatch.cli.offsets import offsets
from mirrorwatch.cli.options import CLUSTER_FILE, PRINCIPAL, refuse_without
from mirrorwatch.cli.render import render
from mirrorwatch.cli.report import report
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, make_console, read_config
from mirrorwatch.cli.trace import trace

if TYPE_CHECKING:
    from types import FrameType


INTERRUPTED = 130
READER_GONE = 141
DEFAULT_URL = "http://127.0.0.1:9699"
_LEAST_INTERVAL_S, _MOST_INTERVAL_S = 0.5, 3600.0

_CONFIG = click.argument("config", type=click.Path(path_type=Path))


@click.group(
    cls=NearestGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 OK; 1 a finding; 2 bad configuration or usage; 3 incomplete; 4 unavailable, try"
    " again; 130 interrupted; 70 a bug of mirrorwatch.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, asked: _show_version_and_end(context, asked=asked),
    help="Show the version and exit.",
)
def cli() -> None:
    """Watch mirrored Kafka clusters: lost, late and altered records.

    CONFIG is a YAML file, or the configuration of MirrorMaker itself, such as mm2.properties.
    """


def _version() -> str:
    from runtime.build import python_version, revision, version  # noqa: PLC0415 - see the module's docstring

    return f"mirrorwatch {version()} (revision {revision()}, Python {python_version()})"


def _show_version_and_end(context: click.Context, *, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        click.echo(_version())
        context.exit()


@cli.command(
    cls=ExplainingCommand,
    short_help="Check a configuration, and connect to its clusters.",
)
@_CONFIG
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option(
    "--strict", is_flag=True, help="Exit with status 1 if a flow has no canary, unless canary.mode is off."
)
@click.option("--no-connect", is_flag=True, help="Do not connect to the clusters.")
@click.option(
    "--acls", is_flag=True, help="Print only the kafka-acls commands that grant the permissions, for a shell."
)
@click.option(
    "--for",
    "part",
    type=click.Choice(["all", "service", "checksum", "failover", "drift", "trace", "migrate"]),
    default="all",
    show_default=True,
    help="With --acls: the part of Mirrorwatch that gets the permissions; all is service and checksum.",
)
@click.option(
    "--principal",
    type=PRINCIPAL,
    metavar="PRINCIPAL",
    default="User:mirrorwatch",
    show_default=True,
    help="With --acls or --json: the principal that gets the permissions.",
)
@click.option(
    "--command-config",
    type=CLUSTER_FILE,
    metavar="FILE",
    default="admin.properties",
    show_default=True,
    help="With --acls: client properties of an administrator; {cluster} means the cluster's alias.",
)
@logging_options(QUIET)
@click.pass_context
def check(
    context: click.Context,
    /,
    config: Path,
    *,
    as_json: bool,
    strict: bool,
    no_connect: bool,
    acls: bool,
    part: str,
    principal: str,
    command_config: str,
    **_log: str,
) -> int:
    """Check a configuration and explain it.

    Prints clusters, flows, topics that are mirrored or not and why, the cost of the canary, and required
    permissions. Connects to each cluster and reports every problem at once. --acls does not connect.

    Exit status: 0 OK; 1 a topic setting breaks the canary, or with --strict a flow has no canary; 2 bad
    configuration; 3 not everything could be checked; 4 a cluster is unavailable or refused a request.
    """
    if acls and as_json:
        raise click.UsageError("--acls and --json exclude each other: the JSON holds the commands too.")
    if not acls:
        refuse_without(context, "--acls", "part", "command_config")
    if not acls and not as_json:
        refuse_without(context, "--acls or --json", "principal")
    from fleet.errors import ConfigurationError  # noqa: PLC0415 - see the module's docstring

    try:
        found = read_config(context, config, serving=True)
    except ConfigurationError as error:
        if not as_json:
            raise
        from mirrorwatch.check.check import print_refusal  # noqa: PLC0415 - see the module's docstring

        return print_refusal(make_console(), error.problems, path=str(config))
    import asyncio  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.check import check as checking  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    if acls:
        return checking.print_commands(
            found,
            console=make_console(),
            errors=make_console(stderr=True),
            principal=principal,
            command_config=command_config,
            parts=("service", "checksum") if part == "all" else (part,),
            strict=strict,
        )
    work = checking.check(
        found,
        console=make_console(),
        connect=not no_connect,
        strict=strict,
        as_json=as_json,
        principal=principal,
    )
    return asyncio.run(work)


@cli.command(cls=ExplainingCommand, short_help="Run the service until SIGTERM or Ctrl-C.")
@_CONFIG
@logging_options("info")
@click.pass_context
def run(context: click.Context, /, config: Path, **_log: str) -> int:
    """Run the service until SIGTERM or Ctrl-C.

    A second signal ends it at once. SIGHUP reloads CONFIG, completely or not at all.

    Exit status: 0 after one signal; 130 after two; 2 bad configuration; 4 the port or the store is
    unavailable.
    """
    # Before the service handles signals itself there is nothing to shut down.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    early: list[int] = []  # a reload requested meanwhile runs as soon as possible
    signal.signal(signal.SIGHUP, lambda number, _frame: early.append(number))
    found = read_config(context, config, serving=True)
    conclude_refusals_with(context, "The service did not start")
    import asyncio  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.service.service import Service  # noqa: PLC0415 - see the module's docstring
    from runtime.process.shutdown import Shutdown  # noqa: PLC0415 - see the module's docstring

    redactor = configure_logs(context)

    async def serve() -> int:
        async with Shutdown() as shutdown:
            if early:
                shutdown.reload.set()
            watched = replace(found, warnings=found.worth_reading)
            logged = (context.params["log_format"], context.params["log_level"])
            await Service(watched, learn=redactor.add, logged=logged).run(shutdown)
        return 0

    return asyncio.run(serve())


class _Interval(click.ParamType[float]):
    """A duration such as 2s, or a number of seconds as for `watch -n`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        from fleet.quantity import duration_s  # noqa: PLC0415 - see the module's docstring

        try:
            seconds = duration_s(str(value) + ("s" if str(value).replace(".", "", 1).isdecimal() else ""))
        except ValueError:
            self.fail(f"invalid duration '{value}'; write for example 2s or 1m", param, ctx)
        if not _LEAST_INTERVAL_S <= seconds <= _MOST_INTERVAL_S:
            self.fail(f"'{value}' is out of range; write a duration from 500ms to 1h", param, ctx)
        return seconds


@cli.command(cls=ExplainingCommand, short_help="Show the verdicts of a running service.")
@click.argument("url", metavar="[HOST[:PORT] | URL]", default=DEFAULT_URL)
@click.option("--json", "as_json", is_flag=True, help="Print the document of flows instead of a table.")
@click.option("--watch", "watching", is_flag=True, help="Show the table again and again, until Ctrl-C.")
@click.option(
    "--interval",
    "interval_s",
    type=_Interval(),
    default="2s",
    show_default=True,
    help="With --watch: how often.",
)
@click.option("--search", metavar="TEXT", default="", help="Show only groups whose names contain TEXT.")
@click.option("--cluster", "kafka_cluster", metavar="ALIAS", default="", help="Show only groups of ALIAS.")
@logging_options(QUIET)
@click.pass_context
def status(
    context: click.Context,
    /,
    url: str,
    *,
    as_json: bool,
    watching: bool,
    interval_s: float,
    search: str,
    kafka_cluster: str,
    **_log: str,
) -> int:
    """Show the verdicts of a running service, by default on this machine.

    The default port is 9699. If the service requires a user, set MIRRORWATCH_USER and MIRRORWATCH_PASSWORD.
    An address such as https://user:password@host works too, but other users of the machine may see it.

    --watch tries again if the service does not answer. Ctrl-C ends it with status 130.

    Exit status: 0 every flow is healthy; 1 a flow is not; 2 invalid address or cluster; 3 the worst verdict
    is unknown; 4 no answer.
    """
    import asyncio  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.cli.status import Question  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.cli.status import status as show  # noqa: PLC0415 - see the module's docstring

    if not watching:
        refuse_without(context, "--watch", "interval_s")
    if as_json and (search or kafka_cluster):
        raise click.UsageError("--json prints flows, but --search and --cluster select groups.")
    log_if_asked(context)
    question = Question(url, as_json, search, kafka_cluster, os.environ)
    console, errors = make_console(), make_console(stderr=True)
    if not watching:
        return asyncio.run(show(question, console=console, errors=errors))

    async def watch() -> int:
        from mirrorwatch.cli.status_watch import watch as show_again  # noqa: PLC0415 - see the module's docstring
        from runtime.process.clock import SystemClock  # noqa: PLC0415 - see the module's docstring

        return await show_again(
            question,
            console=console,
            errors=errors,
            interval_s=interval_s,
            clock=SystemClock(),
            end=asyncio.Event(),
        )

    return asyncio.run(watch())


@cli.command(name="help", short_help="Show the help of a command.")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def show_help(context: click.Context, /, words: tuple[str, ...]) -> None:
    """Show the help of a command, as COMMAND --help does, or of mirrorwatch."""
    assert context.parent is not None
    inner, command = context.parent, cast("click.Command", cli)
    for word in words:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"'{command.name}' has no command '{word[:60]}'.", ctx=inner)
        name, found, _ = command.resolve_command(inner, [word])
        assert found is not None
        command, inner = found, click.Context(found, info_name=name, parent=inner)
    click.echo(command.get_help(inner))


@cli.command(name="version", short_help="Show the version.")
def show_version() -> None:
    """Show the version, its revision, and the version of Python."""
    click.echo(_version())


cli.add_command(annotate)
cli.add_command(checksum)
cli.add_command(drill)
cli.add_command(drift)
cli.add_command(exclude)
cli.add_command(objectives)
cli.add_command(render)
cli.add_command(report)
cli.add_command(failover)
cli.add_command(offsets)
cli.add_command(migrate)
cli.add_command(trace)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    with suppress(OSError):
        # Not by print: the signal may have interrupted one.
        os.write(2, b"mirrorwatch: stopped by a signal before it started.\n")
    raise SystemExit(0)


def _prepare_streams() -> None:
    """Make both streams usable: writes to a closed one are discarded, a narrow encoding shows `?`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Open until the process ends, as the stream itself.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - see above
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Discard buffered output; otherwise Python reports an error at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def main() -> NoReturn:
    """Run the command line and exit with its status."""
    _prepare_streams()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts what it puts behind itself
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # SIGTERM acts as Ctrl-C in commands; as process 1 of a container it would be ignored.
    signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    try:
        status = cli.main(prog_name="mirrorwatch", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        status = READER_GONE
    sys.exit(status)
