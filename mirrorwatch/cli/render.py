"""`mirrorwatch render`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mirrorwatch.cli.commands import ExplainingCommand
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, make_console, read_config

if TYPE_CHECKING:
    from mirrorwatch.configuration.configuration import Configuration


@click.command(cls=ExplainingCommand, short_help="Write alerts, routes and dashboards for a configuration.")
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["files", "kubernetes"]),
    default="files",
    show_default=True,
    help="Also write a PrometheusRule object with `kubernetes`.",
)
@click.option(
    "--divide-times",
    "divisor",
    type=click.FloatRange(min=1, max=100),
    default=1.0,
    help="For trials: divide all windows, waits and intervals by this number.",
)
@click.option(
    "--replay",
    is_flag=True,
    help="Write nothing: show what the alerts would have done with the minutes in the store.",
)
@logging_options(QUIET)
@click.pass_context
def render(
    context: click.Context,
    /,
    config: Path,
    folder: Path | None,
    *,
    form: str,
    divisor: float,
    replay: bool,
    **_log: str,
) -> int:
    """Write Prometheus rules with their tests, Alertmanager routes and Grafana dashboards into DIR.

    DIR must be empty or written by an earlier render. Files that render did not write, or that you changed,
    are never overwritten.

    --replay shows how often and how long each alert would have fired in the period of the objectives, and bad
    periods without an alert. It needs no Prometheus.
    """
    if replay == (folder is not None):
        raise click.UsageError("Write DIR, or --replay without DIR.")
    if replay and (form != "files" or divisor != 1):
        raise click.UsageError("--replay writes nothing: leave out --format and --divide-times.")
    found = read_config(context, config)
    if folder is None:
        return _replay(context, found)
    try:
        from mirrorwatch.history.rendering import render as write  # noqa: PLC0415 - see the module's docstring
    except ModuleNotFoundError as error:
        if error.name != "grafanalib":
            raise
        raise click.ClickException(
            "grafanalib: missing; install requirements-render.txt of the release"
        ) from error

    log_if_asked(context)
    changed, advice = write(found, folder, kubernetes=form == "kubernetes", divisor=divisor)
    console = make_console()
    for path in changed:
        console.print(f"{folder / path}", soft_wrap=True)
    console.print(f"{len(changed)} files written or removed." if changed else "Nothing changed.")
    for one in advice:
        click.echo(f"warning: {one}", err=True)
    return 0


def _replay(context: click.Context, config: Configuration) -> int:
    import asyncio  # noqa: PLC0415 - see the module's docstring
    import time  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.history.replaying import replay  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    for line in asyncio.run(replay(config, now_at=time.time())):
        click.echo(line)
    return 0
