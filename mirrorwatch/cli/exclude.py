"""`mirrorwatch exclude`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand, conclude_refusals_with
from mirrorwatch.cli.options import FLOW_NAME
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config


@click.command(cls=ExplainingCommand, short_help="Exclude time of a flow from its objectives.")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--flow", type=FLOW_NAME, metavar="A:B", help="The flow, source first.")
@click.option("--from", "since", metavar="TIME", help="The start, such as 2026-11-27T10:00Z.")
@click.option("--to", "until", metavar="TIME", help="The end. It may be in the future.")
@click.option("--author", metavar="NAME", help="Who excludes it.")
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--list", "listed", is_flag=True, help="Show all exclusions.")
@click.option("--remove", "removed", metavar="NUMBER", type=int, help="Remove the exclusion of this number.")
@logging_options(QUIET)
@click.pass_context
def exclude(
    context: click.Context,
    /,
    config: Path,
    *,
    listed: bool,
    removed: int | None,
    flow: str | None,
    since: str | None,
    until: str | None,
    author: str | None,
    reason: str | None,
    **_log: str,
) -> int:
    """Exclude time of a flow from its objectives, for example planned maintenance.

    Reports leave this time out and show it with its author and reason. Alerts do not change. TIME is RFC
    3339, in UTC if it has no zone.

    Exit status: 0 done; 2 invalid options or configuration; 4 the store is unavailable.
    """
    found = read_config(context, config)
    import asyncio  # noqa: PLC0415 - see the module's docstring
    import time  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.history import excluding  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    conclude_refusals_with(context, "Nothing was changed")
    given = {"--flow": flow, "--from": since, "--to": until, "--author": author, "--reason": reason}
    some = [name for name, value in given.items() if value is not None]
    if listed + (removed is not None) + bool(some) != 1:
        raise click.UsageError(
            "Write one of: --list; --remove NUMBER; --flow, --from, --to, --author, --reason."
        )
    if listed:
        lines = asyncio.run(excluding.listed(found))
    elif removed is not None:
        lines = asyncio.run(excluding.remove(found, removed))
    else:
        lines = asyncio.run(excluding.add(found, given, now_at=time.time()))
    for line in lines:
        click.echo(line)
    return 0
