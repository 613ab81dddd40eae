"""The text output of `check`: headings, folded sentences, and lines that are never folded.

Foreign text passes `clean`, which removes secrets, control characters and characters that the output cannot
show.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from mirrorwatch.web.texts import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from runtime.process.logs import Redactor

LEAST_COLUMNS = 40
MOST_COLUMNS = 100  # longer lines are hard to read, whatever room there is
FIRST = 20  # how many of a long list are shown
_LEAST_NAME = 12  # columns of a name next to figures
_BETWEEN = 2  # columns of a table


class Sheet:
    """Writes to one console; a terminal and a pipe get the same text."""

    def __init__(self, console: Console, redactor: Redactor) -> None:
        self._console = console
        self._redactor = redactor
        self._begun = False
        self._width = max(LEAST_COLUMNS, console.width)
        self._columns = min(self._width, MOST_COLUMNS)

    def heading(self, text: str) -> None:
        """Start a section."""
        if self._begun:
            self._print("")
        self._print(self.clean(text), style="bold")

    def say(self, text: str, *, indent: int = 2, hang: int | None = None) -> None:
        """Write a sentence, folded at words; a word longer than a line stays whole.

        `indent` indents the first line, `hang` the others.
        """
        lines = textwrap.wrap(
            self.clean(text),
            width=self._columns,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent if hang is None else hang),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines:
            self._print(line)

    def fact(self, name: str, text: str, *, indent: int = 4, width: int = 14) -> None:
        """Write a name, and its text in a column next to it."""
        hang = indent + width
        self.say(f"{name:<{width - 1}} {text}" if text else name, indent=indent, hang=hang)

    def verbatim(self, text: str, *, indent: int = 0) -> None:
        """Write a line for copying: it is never folded."""
        self._print(" " * indent + self.clean(text))

    def names(self, names: Sequence[str], *, indent: int = 4) -> None:
        """Write the first of many names, and the number of the others."""
        row = ", ".join(names[:FIRST])
        self.say(row + rest(names, joined=True), indent=indent)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, whole: str = "") -> None:
        """Write a table without lines; folds text in narrow cells.

        The column `whole` holds names: the other columns are folded before it.
        """
        table = Table(box=None, pad_edge=True, padding=(0, 2, 0, 0), header_style="bold")
        cells = [[self.clean(cell) for cell in row] for row in rows]
        for number, name in enumerate(columns):
            longest = max((cell_len(row[number]) for row in cells), default=0)
            fixed = min(longest, self._columns * 2 // 5) if name == whole else None
            table.add_column(name, overflow="fold", width=fixed)
        for row in cells:
            table.add_row(*map(Text, row))
        with self._console.capture() as captured:
            self._console.print(table, width=self._columns)
        for line in captured.get().splitlines():  # without the blanks that fill up the last column
            self._console.print(Text.from_ansi(line.rstrip()), soft_wrap=True)

    def figures(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table with names in the first column and figures in the others.

        Folds names if necessary, but never figures or headings: on a narrow terminal lines may be longer than
        it.
        """
        cells = [[self.clean(cell) for cell in row] for row in (columns, *rows)]
        names, *widths = (max(map(cell_len, column)) for column in zip(*cells, strict=True))
        others = sum(width + _BETWEEN for width in widths) + _BETWEEN
        names = min(names, max(self._width - others, _LEAST_NAME))
        table = Table(box=None, pad_edge=True, padding=(0, _BETWEEN, 0, 0), header_style="bold")
        for name, width in zip(cells[0], (names, *widths), strict=True):
            table.add_column(Text(name), overflow="fold", width=width)
        for row in cells[1:]:
            table.add_row(*map(Text, row))
        # Unlike `print`, this lays out a table that is wider than the terminal.
        options = self._console.options.update_width(names + others)
        for line in self._console.render_lines(table, options, pad=False):
            text = Text.assemble(*((part.text, part.style or "") for part in line))
            text.rstrip()  # of the blanks that fill up the last column
            self._console.print(text, soft_wrap=True)

    def clean(self, text: str) -> str:
        """Return the text without secrets and control characters."""
        shown = plain(self._redactor.text(text))
        encoding = self._console.encoding
        return shown.encode(encoding, "replace").decode(encoding, "replace")

    def _print(self, line: str, *, style: str = "") -> None:
        self._begun = True
        self._console.print(Text(line, style=style), soft_wrap=True)


def rest(many: Sequence[object], *, joined: bool = False) -> str:
    """Return the number of items left out of a list that shows the first; empty if none."""
    if len(many) <= FIRST:
        return ""
    return f"{' ' if joined else ''}and {len(many) - FIRST:,} more"
