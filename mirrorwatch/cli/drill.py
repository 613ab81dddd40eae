"""`mirrorwatch drill`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand
from mirrorwatch.cli.options import FLOW_NAME
from mirrorwatch.cli.report import Period
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config


@click.command(cls=ExplainingCommand, short_help="Rehearse a planned failover, step by step.")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--flow", type=FLOW_NAME, metavar="A:B", help="The flow, source first.")
@click.option("--group", "groups", metavar="GROUP", multiple=True, help="Watch this group alone; repeatable.")
@click.option(
    "--limit", "limit_s", type=Period(), default="1h", show_default=True, help="Give up after this."
)
@click.option("--list", "listed", is_flag=True, help="Show all rehearsals in the store.")
@logging_options(QUIET)
@click.pass_context
def drill(
    context: click.Context,
    /,
    config: Path,
    *,
    flow: str | None,
    groups: tuple[str, ...],
    limit_s: float,
    listed: bool,
    **_log: str,
) -> int:
    """Watch a planned failover: groups ready, writers stopped, groups stopped, replicated, offsets final.

    You stop writers and groups; the command says what each step waits for, and how long it took. It changes
    nothing on the clusters, and stores the record for the report.

    Exit status: 0 every step was reached; 1 it ended before; 4 a cluster or the store is unavailable.
    """
    if listed == (flow is not None):
        raise click.UsageError("Write --flow, or --list.")
    found = read_config(context, config)
    from mirrorwatch.failover.rehearsing import (  # noqa: PLC0415 - see the module's docstring
        print_rehearsals,
        rehearse,
    )

    log_if_asked(context)
    if flow is None:
        return print_rehearsals(found)
    return rehearse(found, flow=flow, groups=groups, limit_s=limit_s)
