"""The commands `mirrorwatch objectives`. What they need is imported when they run."""

from __future__ import annotations

from pathlib import Path

import click

from mirrorwatch.cli_commands import ExplainingCommand, NearestGroup
from mirrorwatch.cli_surroundings import QUIET, log_if_asked, logging_options, read_config

_CONFIG = click.argument("config", type=click.Path(path_type=Path))


@click.group(cls=NearestGroup, short_help="Suggest targets; read and write OpenSLO.")
def objectives() -> None:
    """Work on what flows have to deliver."""


@objectives.command(cls=ExplainingCommand, short_help="Suggest targets from the store's history.")
@_CONFIG
@logging_options(QUIET)
@click.pass_context
def suggest(context: click.Context, /, config: Path, **_log: str) -> int:
    """Suggest targets from the store's history, as a section `objectives` with the reasons.

    A flow that was observed for less than 7 days gets no suggestion.

    Exit status: 0 every objective has a suggestion; 2 bad configuration; 3 some history is too short; 4 the
    store cannot be read.
    """
    found = read_config(context, config)
    import asyncio  # noqa: PLC0415 - see the module's docstring
    import time  # noqa: PLC0415 - see the module's docstring

    from mirrorwatch.suggesting import suggest as suggested  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    text, complete = asyncio.run(suggested(found, now_at=time.time()))
    click.echo(text, nl=False)
    return 0 if complete else 3
