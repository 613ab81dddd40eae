"""`mirrorwatch drift`. Imports what it needs when it runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand
from mirrorwatch.cli.options import FLOW_NAME
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, make_console, read_config


@click.command(cls=ExplainingCommand, short_help="Show how the target of each flow differs from its source.")
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--flow", type=FLOW_NAME, metavar="A:B", help="Show this flow alone, source first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document with every difference.")
@logging_options(QUIET)
@click.pass_context
def drift(context: click.Context, /, config: Path, *, flow: str | None, as_json: bool, **_log: str) -> int:
    """Show how the target of each flow of CONFIG differs from its source.

    Compares topics, partition counts, topic configurations and ACLs, and finds topics whose records loop. It
    changes nothing.

    Exit status: 0 nothing differs; 1 something differs; 2 bad configuration; 3 nothing differs, but something
    was not compared; 4 a cluster is unavailable.
    """
    found = read_config(context, config)
    from lagmon.drift.differences import Verdict, worst  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.drift.asking import ask_drift  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    flows, now_at = ask_drift(found, flow=flow)
    if as_json:
        from mirrorwatch.drift.document import drift_document  # noqa: PLC0415 - see the module's docstring

        click.echo(json.dumps(drift_document(flows, now_at=now_at)))
    else:
        from mirrorwatch.check.sheet import Sheet  # noqa: PLC0415 - see the module's docstring
        from mirrorwatch.drift.text import print_flow  # noqa: PLC0415 - see the module's docstring
        from runtime.process.logs import Redactor  # noqa: PLC0415 - see the module's docstring

        sheet = Sheet(make_console(), Redactor(found.secrets))
        for one in flows:
            print_flow(sheet, one)
    status = {Verdict.SAME: 0, Verdict.DIFFERS: 1, Verdict.NOT_COMPARED: 3}
    return status[worst(one.verdict for one in flows)]
