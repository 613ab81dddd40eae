"""`mirrorwatch trace`. Imports what it needs when it runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand, conclude_refusals_with
from mirrorwatch.cli.options import MOMENT
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, make_console, read_config


@click.command(cls=ExplainingCommand, short_help="Follow one record through all clusters.")
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--topic", metavar="TOPIC", required=True, help="The topic of the record on its source cluster."
)
@click.option(
    "--cluster", metavar="ALIAS", help="The source cluster. Default: the one whose flows replicate TOPIC."
)
@click.option("--partition", type=click.IntRange(min=0), metavar="P", help="The partition of the record.")
@click.option("--offset", type=click.IntRange(min=0), metavar="N", help="The offset of the record.")
@click.option("--key", metavar="KEY", help="The newest record with this key, of the last 10,000 offsets.")
@click.option(
    "--time", type=MOMENT, metavar="TIME", help="The first record at or after this RFC 3339 moment."
)
@click.option("--show-key", is_flag=True, help="Show the key of the record.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@logging_options(QUIET)
@click.pass_context
def trace(
    context: click.Context,
    /,
    config: Path,
    *,
    topic: str,
    cluster: str | None,
    partition: int | None,
    offset: int | None,
    key: str | None,
    time: str | None,
    show_key: bool,
    as_json: bool,
    **_log: str,
) -> int:
    """Follow one record through all clusters: where it is, since when, or why it is not there.

    Write --partition and --offset, or --key, or --time. It reads the record, offset syncs, and at most 4,000
    offsets of each target, and changes nothing. It never shows a value.

    Exit status: 0 it is everywhere it should be; 1 it is missing or changed somewhere; 2 no such record; 3 it
    is unknown, or not there yet; 4 a cluster is unavailable.
    """
    from mirrorwatch.trace.asking import trace_record, wanted_record  # noqa: PLC0415 - see the module's docstring

    found = read_config(context, config)
    conclude_refusals_with(context, "Nothing was traced")
    wanted = wanted_record(
        topic=topic, cluster=cluster, partition=partition, offset=offset, key=key, time=time
    )
    log_if_asked(context)
    result = trace_record(found, wanted)
    if as_json:
        from mirrorwatch.trace.document import trace_document  # noqa: PLC0415 - see the module's docstring

        click.echo(json.dumps(trace_document(result, show_key=show_key)))
    else:
        from mirrorwatch.check.sheet import Sheet  # noqa: PLC0415 - see the module's docstring
        from mirrorwatch.trace.text import print_trace  # noqa: PLC0415 - see the module's docstring
        from runtime.process.logs import Redactor  # noqa: PLC0415 - see the module's docstring

        print_trace(Sheet(make_console(), Redactor(found.secrets)), result, show_key=show_key)
    return result.exit_status
