"""The command line.

Exit status: 0 fine, 1 a finding, 2 bad configuration or usage, 3 incomplete, 4 unavailable, 130 interrupted.
Beside these, 70 is a fault of mirrorwatch itself, and 141 that whoever read its output went away. What a
command needs is imported when it runs, so that help, and Ctrl-C, come at once.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from mirrorwatch.checksum_commands import checksum
from mirrorwatch.cli_commands import ExplainingCommand, NearestGroup, configure_logs
from mirrorwatch.cli_surroundings import QUIET, log_if_asked, logging_options, make_console, read_config

if TYPE_CHECKING:
    from types import FrameType


INTERRUPTED = 130
READER_GONE = 141
DEFAULT_URL = "http://127.0.0.1:9699"

_CONFIG = click.argument("config", type=click.Path(path_type=Path))


@click.group(
    cls=NearestGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 fine; 1 a finding; 2 bad configuration or usage; 3 incomplete; 4 unavailable, try"
    " again; 130 interrupted; 70 a fault of mirrorwatch itself.",
)
@click.version_option(package_name="mirrorwatch")
def cli() -> None:
    """Watch mirrored Kafka clusters: does each flow deliver, how late, and what was lost.

    CONFIG is a YAML file, or the mm2.properties of a MirrorMaker as it is.
    """


@cli.command(
    cls=ExplainingCommand,
    short_help="Check a configuration, and connect to its clusters.",
)
@_CONFIG
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document (docs/check-json.md).")
@click.option("--strict", is_flag=True, help="Exit with status 1 if a flow has no canary.")
@click.option("--no-connect", is_flag=True, help="Do not connect to the clusters.")
@click.option(
    "--acls", is_flag=True, help="Print only the kafka-acls commands that grant the permissions, for a shell."
)
@click.option(
    "--for",
    "part",
    type=click.Choice(["all", "service", "checksum"]),
    default="all",
    show_default=True,
    help="With --acls: the part of Mirrorwatch that gets the permissions.",
)
@click.option(
    "--principal",
    metavar="PRINCIPAL",
    default="User:mirrorwatch",
    show_default=True,
    help="With --acls or --json: the principal that gets the permissions.",
)
@click.option(
    "--command-config",
    metavar="FILE",
    default="admin.properties",
    show_default=True,
    help="With --acls: client properties of an administrator; {cluster} stands for the cluster's alias.",
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

    Prints clusters, flows, the topics that are replicated and those that are not with the reason, what the
    canary costs, and the permissions that are needed. Connects to each cluster and reports every problem at
    once. --acls does not connect.

    Exit status: 0 OK; 1 a setting of a topic spoils the canary, or with --strict a flow has no canary; 2 bad
    configuration; 3 not everything could be checked; 4 a cluster is unavailable or refused a request.
    """
    if acls and as_json:
        raise click.UsageError("--acls and --json exclude each other: the JSON holds the commands too.")
    from fleet.errors import ConfigurationError  # noqa: PLC0415 - see the module's docstring

    try:
        found = read_config(context, config)
    except ConfigurationError as error:
        if not as_json:
            raise
        from mirrorwatch.check import print_refusal  # noqa: PLC0415 - see the module's docstring

        return print_refusal(make_console(), error.problems, path=str(config))
    import asyncio  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch import check as checking  # noqa: PLC0415 - see the module's docstring

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
    """Run the service until SIGTERM or Ctrl-C; a second one ends it at once. SIGHUP reads CONFIG anew."""
    # Until the service listens to signals itself there is nothing to be put in order.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    early: list[int] = []  # a reload that is asked for meanwhile is done as soon as that is possible
    signal.signal(signal.SIGHUP, lambda number, _frame: early.append(number))
    found = read_config(context, config)
    import asyncio  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.service import Service  # noqa: PLC0415 - see the module's docstring
    from runtime.shutdown import Shutdown  # noqa: PLC0415 - see the module's docstring

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


@cli.command(cls=ExplainingCommand, short_help="Show the verdicts of a running service.")
@click.argument("url", default=DEFAULT_URL)
@click.option("--json", "as_json", is_flag=True, help="Print the document of flows instead of a table.")
@click.option("--search", metavar="TEXT", default="", help="Tell of groups with this in their names only.")
@click.option("--cluster", "kafka_cluster", metavar="ALIAS", default="", help="Tell of its groups only.")
@logging_options(QUIET)
@click.pass_context
def status(
    context: click.Context, /, url: str, *, as_json: bool, search: str, kafka_cluster: str, **_log: str
) -> int:
    """Show the verdicts of a running service, by default of the one on this machine.

    Where the service asks for a user, set MIRRORWATCH_USER and MIRRORWATCH_PASSWORD, or write them into the
    address, as https://user:password@host, where others on the machine may read them.

    Exit status: 0 every flow is healthy; 1 one is not; 2 no address; 3 the worst verdict is unknown; 4 no
    answer.
    """
    import asyncio  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.status import status as show  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return asyncio.run(
        show(
            url,
            as_json=as_json,
            console=make_console(),
            environ=os.environ,
            search=search,
            kafka_cluster=kafka_cluster,
        )
    )


cli.add_command(checksum)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    with suppress(OSError):
        # Not by print, which may be what the signal has interrupted.
        os.write(2, b"mirrorwatch ends before it has begun, as it was told to.\n")
    raise SystemExit(0)


def _prepare_streams() -> None:
    """Make both streams usable: a closed one swallows what is written, a narrow one shows `?`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Open until the process ends, as the stream would have been.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - see above
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Have what is left in the buffers go nowhere, or Python complains about it while it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def main() -> NoReturn:
    """Run the command line and leave with its exit status."""
    _prepare_streams()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts what it puts behind itself
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # A supervisor's stop is Ctrl-C to a command; in a container, where we are process 1, it would be nothing.
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
