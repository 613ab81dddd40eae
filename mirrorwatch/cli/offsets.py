"""`mirrorwatch offsets`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand, NearestGroup, conclude_refusals_with
from mirrorwatch.cli.options import FLOW_NAME, MOMENT
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config

_CONFIG = click.argument("config", type=click.Path(path_type=Path))
_FLOW = click.option("--flow", type=FLOW_NAME, metavar="A:B", required=True, help="The flow, source first.")
_GROUP = click.option("--group", metavar="GROUP", required=True, help="The consumer group.")


@click.group(cls=NearestGroup, short_help="Translate a group's offsets to the target; export and apply them.")
def offsets() -> None:
    """Work with the offsets of a consumer group on the target of a flow."""


@offsets.command(cls=ExplainingCommand, short_help="Show a group's offsets on the target.")
@_CONFIG
@_FLOW
@_GROUP
@logging_options(QUIET)
@click.pass_context
def translate(context: click.Context, /, config: Path, *, flow: str, group: str, **_log: str) -> int:
    """Show where a group continues on the target, next to what MirrorMaker's checkpoints say.

    An exact offset is the group's next record. A safe one misses nothing and reads some records again.

    Exit status: 0 every partition has an offset; 1 one has none; 4 a cluster is unavailable.
    """
    found = read_config(context, config)
    from mirrorwatch.failover.moving import print_translation  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return print_translation(found, flow=flow, group=group)


@offsets.command(cls=ExplainingCommand, short_help="Write a group's offsets on the target into a file.")
@_CONFIG
@_FLOW
@_GROUP
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The new file.")
@logging_options(QUIET)
@click.pass_context
def export(context: click.Context, /, config: Path, *, flow: str, group: str, out: Path, **_log: str) -> int:
    """Write a group's translated offsets into a file for `offsets apply`. Changes nothing on the clusters.

    Exit status: 0 every partition has an offset; 1 one has none; 4 a cluster is unavailable.
    """
    found = read_config(context, config)
    from mirrorwatch.failover.moving import export_offsets  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return export_offsets(found, flow=flow, group=group, out=out)


@offsets.command(cls=ExplainingCommand, short_help="Write the offsets of a moment into a file.")
@_CONFIG
@_FLOW
@_GROUP
@click.option(
    "--to-time",
    type=MOMENT,
    metavar="TIME",
    required=True,
    help="The moment, such as 2026-11-27T10:00:00Z.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The new file.")
@logging_options(QUIET)
@click.pass_context
def reset(
    context: click.Context, /, config: Path, *, flow: str, group: str, to_time: str, out: Path, **_log: str
) -> int:
    """Write a group's offsets at a moment into a file for `offsets apply`, for groups without checkpoints.

    Each offset is that of the first record on the target stamped at or after TIME, in RFC 3339 with a
    zone. Changes nothing on the clusters.

    Exit status: 0 every partition has an offset; 1 one has none; 4 a cluster is unavailable.
    """
    found = read_config(context, config)
    from mirrorwatch.failover.moving import reset_offsets  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return reset_offsets(found, flow=flow, group=group, to_time=to_time, out=out)


@offsets.command(cls=ExplainingCommand, short_help="Commit exported offsets on the target.")
@_CONFIG
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--execute", is_flag=True, help="Commit them. Without it, nothing is changed.")
@logging_options(QUIET)
@click.pass_context
def apply(context: click.Context, /, config: Path, file: Path, *, execute: bool, **_log: str) -> int:
    """Compare FILE with the target, and commit its offsets with --execute.

    Refuses everything if the group has members, an offset is out of range, or anything has changed since the
    export. Before it commits, it writes the replaced offsets into a file that undoes it.

    Exit status: 0 done, or nothing to do; 1 it would change offsets; 2 refused; 4 the target is unavailable.
    """
    found = read_config(context, config)
    conclude_refusals_with(context, f"{file} was not applied, and nothing was changed")
    from mirrorwatch.failover.moving import apply_offsets  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    return apply_offsets(found, file=file, execute=execute)
