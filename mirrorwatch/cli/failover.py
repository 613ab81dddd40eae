"""`mirrorwatch failover`. Imports what it needs when it runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mirrorwatch.cli.commands import UNAVAILABLE, ExplainingCommand
from mirrorwatch.cli.options import FLOW_NAME
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, make_console, read_config


@click.command(cls=ExplainingCommand, short_help="Show where each consumer group would start on the target.")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--group", metavar="GROUP", help="Show this group alone, with its partitions.")
@click.option("--flow", type=FLOW_NAME, metavar="A:B", help="Show this flow alone, source first.")
@click.option("--prove", "proved", is_flag=True, help="With --group: read its next records on both clusters.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@logging_options(QUIET)
@click.pass_context
def failover(
    context: click.Context,
    /,
    config: Path,
    *,
    group: str | None,
    flow: str | None,
    proved: bool,
    as_json: bool,
    **_log: str,
) -> int:
    """Show where each consumer group would start on the target if it failed over now.

    Reads the clusters of CONFIG and the offset syncs in its store, and changes nothing. For each group: how
    many records it would read again, how many it would skip, and how many are on the source alone.

    --prove finds the next record of each partition on the target, so that bounds become exact numbers. It
    needs permission to read the topics.

    Exit status: 0 every group is ready; 1 one is not; 3 there is no group; 4 a target is unavailable.
    """
    if proved and group is None:
        raise click.UsageError("--prove needs --group.")
    found = read_config(context, config)
    from mirrorwatch.failover.asking import ask_flows  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    flows, now_at = ask_flows(found, flow=flow, group=group, proved=proved)
    if as_json:
        from mirrorwatch.failover.document import failover_document  # noqa: PLC0415 - see the module's docstring

        click.echo(json.dumps(failover_document(flows, now_at=now_at)))
    else:
        from mirrorwatch.check.sheet import Sheet  # noqa: PLC0415 - see the module's docstring
        from mirrorwatch.failover.text import print_flow  # noqa: PLC0415 - see the module's docstring
        from runtime.process.logs import Redactor  # noqa: PLC0415 - see the module's docstring

        sheet = Sheet(make_console(), Redactor(found.secrets))
        for one in flows:
            print_flow(sheet, one, with_partitions=group is not None)
    if any(one.problem for one in flows):
        return UNAVAILABLE
    groups = [one.is_ready(each) for one in flows for each in one.groups]
    if not groups:
        return 3
    return 0 if all(groups) else 1
