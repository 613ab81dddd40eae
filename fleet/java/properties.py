"""Java properties text, read as java.util.Properties.load reads it.

Source: the documentation of java.util.Properties.load(Reader) and the behaviour of Java 17, with which
tests/fleet/golden compares this file. MirrorMaker loads its own file from a stream, so its bytes are taken
as ISO-8859-1; a file of the `file` provider is UTF-8. The caller decodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLANK = " \t\f"
_SEPARATORS = "=:"
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value, and the number of the line (from 1) on which the key starts."""

    key: str
    value: str
    line: int


def parse(text: str) -> tuple[Entry, ...]:
    r"""Return every entry of the text in order, repeated keys included (in Java the last one wins).

    Raises ValueError with a sentence that names the line where a \u escape is not followed by four
    hexadecimal digits, as Java does.
    """
    return tuple(_entry(logical, number) for number, logical in _logical_lines(text))


def as_mapping(entries: tuple[Entry, ...]) -> dict[str, str]:
    """Return the values by key; of two equal keys the last wins, as in Java."""
    return {entry.key: entry.value for entry in entries}


def repeated(entries: tuple[Entry, ...]) -> tuple[tuple[Entry, Entry], ...]:
    """Return (earlier, later) for each entry that overrides an earlier one of the same key."""
    seen: dict[str, Entry] = {}
    pairs = []
    for entry in entries:
        if entry.key in seen:
            pairs.append((seen[entry.key], entry))
        seen[entry.key] = entry
    return tuple(pairs)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return the logical lines without comments and blank lines, each with the number of its first line."""
    found: list[tuple[int, str]] = []
    pending, started, continuing = "", 0, False
    lines = re.split(r"\r\n|\n|\r", text)
    if not lines[-1]:
        lines.pop()  # what follows the last line end is not a line
    for number, raw in enumerate(lines, start=1):
        line = raw.lstrip(_BLANK)
        if not pending:
            # Only here is a '#' a comment: on a continuation line it is text. Java counts a line that
            # holds nothing but a backslash as not started, so a comment may follow it.
            started = number
            if not line or line[0] in "#!":
                continuing = False
                continue
        continuing = _ends_in_open_backslash(line)
        pending += line[:-1] if continuing else line
        if not continuing:
            if pending:
                found.append((started, pending))
            pending = ""
    # Java reads a lone backslash at the end as an entry without a key.
    if pending or (continuing and not text.endswith("\r\n")):
        found.append((started, pending))
    return found


def _ends_in_open_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _entry(line: str, number: int) -> Entry:
    """Split a logical line at its first unescaped separator or space, and resolve the escapes of both."""
    end, escaped = 0, False
    while end < len(line) and (escaped or line[end] not in _SEPARATORS + _BLANK):
        escaped = line[end] == "\\" and not escaped
        end += 1
    rest = line[end:].lstrip(_BLANK)
    if rest[:1] and rest[0] in _SEPARATORS:
        rest = rest[1:].lstrip(_BLANK)
    return Entry(_unescaped(line[:end], number), _unescaped(rest, number), number)


def _unescaped(text: str, number: int) -> str:
    if "\\" not in text:
        return text
    pieces, position = [], 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\" or position == len(text):
            pieces.append("" if char == "\\" else char)
            continue
        char = text[position]
        position += 1
        if char == "u":
            digits = text[position : position + 4]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise ValueError(rf"line {number} holds \u without four hexadecimal digits after it")
            pieces.append(chr(int(digits, 16)))
            position += 4
        else:
            pieces.append(_ESCAPES.get(char, char))
    # Java's characters are UTF-16 units: two escapes may be one Python character.
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
