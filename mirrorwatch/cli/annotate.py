"""`mirrorwatch annotate`. Imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mirrorwatch.cli.commands import ExplainingCommand
from mirrorwatch.cli.surroundings import QUIET, log_if_asked, logging_options, read_config

if TYPE_CHECKING:
    from mirrorwatch.configuration.configuration import Configuration


class _Text(click.ParamType[str]):
    """A text with 1 to `most` characters, which a store can hold."""

    name = "text"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text without surrounding blanks."""
        text = str(value).strip()
        if not text:
            self.fail("empty; write at least one letter", param, ctx)
        if len(text) > self._most:
            self.fail(f"{len(text):,} letters are too many; write at most {self._most:,}", param, ctx)
        if any("\ud800" <= one <= "\udfff" for one in text):  # as Python reads bytes that are not UTF-8
            self.fail("invalid text: not UTF-8; write it in UTF-8", param, ctx)
        return text


@click.command(cls=ExplainingCommand, short_help="Add a note to an incident.")
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("incident", type=_Text(300), metavar="INCIDENT")
@click.option("--author", required=True, type=_Text(200), metavar="NAME", help="Author of the note.")
@click.option("--text", required=True, type=_Text(10_000), metavar="TEXT", help="Text of the note.")
@logging_options(QUIET)
@click.pass_context
def annotate(
    context: click.Context, /, config: Path, incident: str, *, author: str, text: str, **_log: str
) -> int:
    """Add a note to an incident. Its page shows all notes, with author and time.

    INCIDENT is the name in the address of its page. The command writes the note into the store of CONFIG; the
    service may run meanwhile.

    Exit status: 0 the note was added; 2 bad configuration, or unknown incident; 4 the store is unavailable.
    """
    found = read_config(context, config)
    import asyncio  # noqa: PLC0415 - see the module's docstring
    import time  # noqa: PLC0415 - see the module's docstring

    log_if_asked(context)
    if not asyncio.run(_written(found, incident, author, text, time.time())):
        raise click.UsageError(
            f"incident '{incident[:100]}': unknown in the store of {config};"
            " copy the name from the page /incidents"
        )
    click.echo(f"Note added to incident {incident}.")
    return 0


async def _written(config: Configuration, incident: str, author: str, text: str, now_at: float) -> bool:
    from alerts.incident_tables import add_note  # noqa: PLC0415 - see the module's docstring
    from alerts.incidents import Note  # noqa: PLC0415 - see the module's docstring
    from mirrorwatch.history.made_store import made_store  # noqa: PLC0415 - see the module's docstring
    from runtime.store.store import Store  # noqa: PLC0415 - see the module's docstring

    note = Note(now_at, author, text)
    async with made_store(config, Store.open_if_made) as store:
        return await store.write(lambda connection: add_note(connection, incident, note))
