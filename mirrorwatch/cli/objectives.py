"""`mirrorwatch objectives`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path

import click

from mirrorwatch.cli.commands import ExplainingCommand, NearestGroup, conclude_refusals_with
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config

_CONFIG = click.argument("config", type=click.Path(path_type=Path))


@click.group(cls=NearestGroup, short_help="Suggest targets; read and write OpenSLO.")
def objectives() -> None:
    """Work with objectives of flows."""


@objectives.command(cls=ExplainingCommand, short_help="Suggest targets from the store's history.")
@_CONFIG
@logging_options(QUIET)
@click.pass_context
def suggest(context: click.Context, /, config: Path, **_log: str) -> int:
    """Suggest targets from the history in the store, as a section `objectives` with reasons.

    An objective with less than 7 days of history keeps its target. Excluded time does not count.

    Exit status: 0 every objective has a suggestion; 2 bad configuration; 3 too little history; 4 the store is
    unavailable.
    """
    found = read_config(context, config)
    import asyncio  # noqa: PLC0415 - see the module's docstring
    import time  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.history.suggesting import suggest as suggested  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    text, complete = asyncio.run(suggested(found, now_at=time.time()))
    click.echo(text, nl=False)
    return 0 if complete else 3


@objectives.command(name="to-openslo", cls=ExplainingCommand, short_help="Write objectives as OpenSLO v1.")
@_CONFIG
@logging_options(QUIET)
@click.pass_context
def to_openslo(context: click.Context, /, config: Path, **_log: str) -> int:
    """Write the objectives of CONFIG as OpenSLO v1.

    Objectives with a limit, and loss, are not ratio metrics: the command lists them on standard error.

    Exit status: 0 every objective is written; 2 bad configuration; 3 some cannot be written.
    """
    found = read_config(context, config)
    from mirrorwatch.history.openslo_files import written  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    text, left_out = written(found)
    click.echo(text, nl=False)
    for line in left_out:
        click.echo(line, err=True)
    return 3 if left_out else 0


@objectives.command(name="from-openslo", cls=ExplainingCommand, short_help="Read OpenSLO v1.")
@click.argument("file", type=click.Path(path_type=Path))
@logging_options(QUIET)
@click.pass_context
def from_openslo(context: click.Context, /, file: Path, **_log: str) -> int:
    """Read SLOs of OpenSLO v1 in FILE and print them as a section `objectives`.

    Supports ratio metrics over Mirrorwatch's counters, with Occurrences or with Timeslices of a minute.
    Refuses everything else by name.

    Exit status: 0 all SLOs are read; 2 something is not supported.
    """
    from mirrorwatch.history.openslo_files import section_of  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    conclude_refusals_with(context, f"{file} cannot be used")
    click.echo(section_of(file), nl=False)
    return 0
