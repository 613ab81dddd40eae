"""`mirrorwatch migrate`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand, NearestGroup, conclude_refusals_with
from mirrorwatch.cli.options import FLOW_NAME
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config

_NEW = click.argument("config", metavar="NEW", type=click.Path(path_type=Path))
_FILE = click.argument("file", type=click.Path(path_type=Path))
_FLOW = click.option(
    "--flow", type=FLOW_NAME, metavar="A:B", help="The flow of the new mirror, if it has another name."
)


@click.group(cls=NearestGroup, short_help="Move a flow to another MirrorMaker without loss.")
def migrate() -> None:
    """Move a flow to another MirrorMaker, to Kafka Connect, from MirrorMaker 1, or to another policy.

    The commands change nothing on the clusters. They say what to do, and check it.
    """


@migrate.command(cls=ExplainingCommand, short_help="Write the positions of the old mirror into a file.")
@click.argument("config", metavar="OLD", type=click.Path(path_type=Path))
@click.option("--flow", type=FLOW_NAME, metavar="A:B", required=True, help="The flow, source first.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The new file.")
@logging_options(QUIET)
@click.pass_context
def export(context: click.Context, /, config: Path, *, flow: str, out: Path, **_log: str) -> int:
    """Write the positions of the mirror of configuration OLD into a file, once it is stopped.

    Exit status: 0 the mirror is stopped; 1 it runs; 3 that is not visible, or its offsets cannot be read;
    4 a cluster or Kafka Connect is unavailable.
    """
    found = read_config(context, config)
    from mirrorwatch.migration.exporting import export_positions  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return export_positions(found, flow=flow, out=out)


@migrate.command(cls=ExplainingCommand, short_help="Check the new mirror, and show the next steps.")
@_NEW
@_FILE
@_FLOW
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write its offsets into this folder."
)
@logging_options(QUIET)
@click.pass_context
def plan(
    context: click.Context, /, config: Path, file: Path, *, flow: str | None, out: Path | None, **_log: str
) -> int:
    """Check whether the mirror of configuration NEW can continue at the positions in FILE.

    With --out it writes the offsets that it needs: for Kafka Connect's REST API, and as records for the topic
    of its worker's offsets. Run it after each step.

    Exit status: 0 ready; 1 something is to do, or wrong; 3 ready, but not everything is visible; 4 a cluster
    or Kafka Connect is unavailable.
    """
    found = read_config(context, config)
    conclude_refusals_with(context, f"{file} cannot be used with {config}")
    from mirrorwatch.migration.planning import plan_migration  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return plan_migration(found, path=file, flow=flow, out=out)


@migrate.command(cls=ExplainingCommand, short_help="Compare what the new mirror has replicated.")
@_NEW
@_FILE
@_FLOW
@logging_options(QUIET)
@click.pass_context
def verify(context: click.Context, /, config: Path, file: Path, *, flow: str | None, **_log: str) -> int:
    """Count the records that the new mirror has skipped and repeated since the positions in FILE.

    It reads these records on both clusters and compares their content.

    Exit status: 0 nothing skipped, and repeated as expected; 1 records were skipped, or more were repeated;
    3 not everything was compared, or numbers are lower bounds; 4 a cluster or Kafka Connect is unavailable.
    """
    found = read_config(context, config)
    conclude_refusals_with(context, f"{file} cannot be used with {config}")
    from mirrorwatch.migration.verifying import verify_migration  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return verify_migration(found, path=file, flow=flow)
