"""YAML reader: mappings, lists and text, with the line of each key.

Every scalar stays text as in the file: `NO` is a cluster, `1:30` a time, `0123` a name, and a missing value
is the empty text. `for_kubernetes` reads a resource as kubectl and Helm do. A key whose value is missing, or
is a plain `~` or `null`, is left out. A plain `yes` or `off` is a boolean of YAML 1.1 and becomes `true` or
`false`, except under keys of `texts`, whose values are always text. `managedFields` and `status` are left
out.

Refused, each with its line: a repeated key, anchors and aliases (a few can expand to gigabytes), merge keys,
tags, several documents (`split` divides such a file), deep nesting, text that is not UTF-8, control
characters, and large files. No tag constructs anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from fleet.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Value: TypeAlias = "str | list[Value] | dict[str, Value]"
KeyPath: TypeAlias = "tuple[str, ...]"

MAX_BYTES = 1_000_000
MAX_RESOURCES_BYTES = 20_000_000
"""The limit for resources: kubectl prints several kilobytes of bookkeeping with each."""
_DEEPEST = 32
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})  # as YAML's core schema has them
# Those of YAML 1.1, as go-yaml v2 has them, which kubectl and Helm read by.
_BOOLEANS = {
    form: says
    for says, words in (("true", ("y", "yes", "true", "on")), ("false", ("n", "no", "false", "off")))
    for word in words
    for form in (word, word.capitalize(), word.upper())
}
_BOOKKEEPING = frozenset({"managedFields", "status"})  # Kubernetes' own, often the most of a resource
_MARKER = re.compile(r"(?:---|\.\.\.)(?=\s|$)")
_EMPTY = re.compile(r"\s*(?:#|%|$)")
_NOT_PRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The parser in C reads a megabyte in a fraction of a second, the one in Python in half a minute.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """Content of a file: `data`, the line of each key path (from 1), and its interpolated secrets."""

    file: str
    data: dict[str, Value]
    lines: Mapping[KeyPath, int]
    secrets: frozenset[str] = frozenset()

    def line_of(self, path: tuple[str | int, ...]) -> int | None:
        """Return the line of the key path, list positions counted from 0; None if absent."""
        return self.lines.get(tuple(str(step) for step in path))


@dataclass(frozen=True, slots=True)
class Part:
    """One document of a file that may hold several: its text, and how many lines are above it."""

    text: str
    above: int


def load(
    text: str | bytes,
    *,
    file: str,
    for_kubernetes: bool = False,
    texts: frozenset[str] = frozenset(),
    above: int = 0,
) -> Document:
    """Return the document in `text`; raises ConfigurationError with file and line.

    `above` is how many lines of the file are above the text.
    """
    try:
        decoded = _decode(text, MAX_RESOURCES_BYTES if for_kubernetes else MAX_BYTES)
        lines: dict[KeyPath, int] = {}
        data = _Builder(decoded, lines, for_kubernetes=for_kubernetes, texts=texts).document()
    except _Fault as fault:
        where = f"{file}:{fault.line + above}" if fault.line else file
        raise ConfigurationError([Problem(where, fault.key, fault.sentence)]) from fault.__cause__
    if above:
        lines = {path: line + above for path, line in lines.items()}
    return Document(file, data, lines)


def split(content: bytes, *, file: str) -> tuple[Part, ...]:
    """Return the non-empty documents of a file of resources.

    A line that begins with --- or ... ends a document, wherever it is (YAML 1.2, 9.1.2). Raises
    ConfigurationError for what is not text.
    """
    try:
        text = _decode(content, MAX_RESOURCES_BYTES)
    except _Fault as fault:
        where = f"{file}:{fault.line}" if fault.line else file
        raise ConfigurationError([Problem(where, fault.key, fault.sentence)]) from fault.__cause__
    parts: list[Part] = []
    rows: list[str] = []
    above = 0
    for number, row in enumerate([*text.split("\n"), "---"]):
        if not _MARKER.match(row):
            rows.append(row)
            continue
        if any(not _EMPTY.match(each) for each in rows):
            parts.append(Part("\n".join(rows), above))
        # What is on the marker's own line belongs to the next document.
        rows, above = ([f"   {row[3:]}"] if row.startswith("---") else []), number
        above += 0 if rows else 1
    return tuple(parts)


def read(path: Path, *, file: str | None = None) -> Document:
    """Return the document in the file at `path`, called `file` in messages; reads at most 1 MB."""
    name = file or str(path)
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise ConfigurationError(
            [Problem(name, "", f"cannot be read ({reason.lower()}); check the path and its permissions")]
        ) from error
    return load(text, file=name)


class _Fault(Exception):  # noqa: N818 - not an error for others: it never leaves this module
    def __init__(self, sentence: str, *, line: int | None = None, key: str = "") -> None:
        super().__init__(sentence)
        self.sentence, self.line, self.key = sentence, line, key


def _decode(text: str | bytes, limit: int) -> str:
    if len(text) > limit:
        size = f"{limit // 1_000_000} MB"
        raise _Fault(f"larger than {size}, the limit for a configuration; check the path")
    if isinstance(text, bytes):
        encoded = text
        try:
            text = encoded.decode("utf-8")
        except UnicodeDecodeError as error:
            line = encoded.count(b"\n", 0, error.start) + 1
            raise _Fault("not UTF-8 text; save the file as UTF-8", line=line) from error
    text = text.removeprefix("\ufeff")
    strange = _NOT_PRINTABLE.search(text)
    if strange is not None:
        line = text.count("\n", 0, strange.start()) + 1
        raise _Fault(f"invalid control character U+{ord(strange[0]):04X}; remove it", line=line)
    return text


class _Builder:
    """Builds data from the parser's events, with bounded recursion."""

    def __init__(
        self, text: str, lines: dict[KeyPath, int], *, for_kubernetes: bool, texts: frozenset[str]
    ) -> None:
        self._text = text
        self._lines = lines
        self._for_kubernetes = for_kubernetes
        self._texts = texts
        self._events = self._parse()

    def document(self) -> dict[str, Value]:
        self._next()  # the beginning of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            raise _Fault("file is empty; add keys")
        first = self._next()
        data = self._node(first, ())
        self._next()  # the end of the document
        further = self._next()
        if not isinstance(further, yaml.StreamEndEvent):
            raise _Fault("second YAML document (after ---); keep one", line=_line(further))
        if data == "":
            raise _Fault("file is empty; add keys", line=_line(first))
        if not isinstance(data, dict):
            shape = "a list" if isinstance(data, list) else "plain text"
            raise _Fault(f"must be a mapping of keys, such as 'key: value', not {shape}", line=_line(first))
        return data

    def _parse(self) -> Iterator[yaml.Event]:
        try:
            yield from yaml.parse(self._text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            raise self._broken(error) from error
        except yaml.YAMLError as error:
            raise _Fault("invalid YAML") from error

    def _broken(self, error: yaml.MarkedYAMLError) -> _Fault:
        mark = error.problem_mark or error.context_mark
        if mark is None:
            return _Fault(f"invalid YAML: {error.problem or 'it ends too early'}")
        rows = self._text.split("\n")
        row = rows[mark.line] if mark.line < len(rows) else ""
        before = row[: mark.column + 1]
        if "\t" in before and not before.strip():
            return _Fault("invalid YAML: tab in the indentation; indent with spaces", line=mark.line + 1)
        what = " ".join(part for part in (error.context, error.problem) if part)
        hint = ""
        if "mapping values are not allowed" in what:
            hint = "; indent the line like the one above it, and quote text with ': '"
        return _Fault(f"invalid YAML: {what} (column {mark.column + 1}){hint}", line=mark.line + 1)

    def _next(self) -> yaml.Event:
        return next(self._events)

    def _node(self, event: yaml.Event, path: KeyPath) -> Value:
        line, key = _line(event), ".".join(path)
        if isinstance(event, yaml.AliasEvent):
            raise _Fault("aliases (*name) are not supported; write the value itself", line=line, key=key)
        if getattr(event, "anchor", None) is not None:
            raise _Fault("anchors (&name) are not supported; write the value itself", line=line, key=key)
        if getattr(event, "tag", None) is not None:
            raise _Fault("tags (!name) are not supported; write the value alone", line=line, key=key)
        self._lines.setdefault(path, line)
        if len(path) > _DEEPEST:
            raise _Fault(f"must not be nested more than {_DEEPEST} levels deep", line=line)
        match event:
            case yaml.ScalarEvent():
                return self._boolean(event, path) if event.value in _BOOLEANS else str(event.value)
            case yaml.SequenceStartEvent():
                return self._list(path)
            case _:
                return self._mapping(path)

    def _boolean(self, event: yaml.ScalarEvent, path: KeyPath) -> str:
        """Return what one of the words of YAML 1.1 means where it is: a boolean, or the text that it is."""
        plain = self._for_kubernetes and event.implicit[0] and not (path and path[-1] in self._texts)
        return _BOOLEANS[event.value] if plain else str(event.value)

    def _list(self, path: KeyPath) -> list[Value]:
        items: list[Value] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, str(len(items)))))
        return items

    def _mapping(self, path: KeyPath) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            line, inside = _line(event), ".".join(path)
            name = self._node(event, path)
            if not isinstance(name, str):
                raise _Fault("a key must be text, not a list or a mapping", line=line, key=inside)
            if name == "":
                raise _Fault("empty key; write its name, or remove the line", line=line, key=inside)
            if name == "<<":
                raise _Fault(
                    "merge keys (<<) are not supported; write the keys themselves", line=line, key=inside
                )
            own = (*path, name)
            if own in self._lines:  # also where its value was left out
                first = self._lines[own]
                raise _Fault(f"duplicate key, first in line {first}; keep one", line=line, key=".".join(own))
            self._lines[own] = line
            event = self._next()
            if self._for_kubernetes and name in _BOOKKEEPING:
                self._pass_over(event)
                continue
            value = self._node(event, own)
            if not (self._for_kubernetes and _is_null(event)):
                found[name] = value
        return found

    def _pass_over(self, event: yaml.Event) -> None:
        """Skip a value."""
        depth = 0
        while True:
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth == 0:
                return
            event = self._next()


def _is_null(event: yaml.Event) -> bool:
    """Return whether it is an unquoted scalar that means null."""
    return isinstance(event, yaml.ScalarEvent) and event.implicit[0] and event.value in _NULLS


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
