"""One large family of series: its labels, written once, and its lines, made from an array of values.

A line consists of shared texts: the name with the labels before `topic` (one text for each group or flow),
one for each further label (for each topic, for each partition number), and the value. So a series takes two
or three numbers instead of a text.

Invariants: the order of series is the order in which they were added; the cap leaves out the newest; a text
exists exactly as long as a series uses it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.arrays.place_rows import parts
from lagmon.exposition.format import LONGEST_VALUE_BYTES, Form, header, pair_text
from lagmon.exposition.texts import Texts
from lagmon.exposition.values import known, seconds_texts, value_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fleet.series.kinds import Series

    # Numbers of texts by table, for series in order, and their values.
    _Block: TypeAlias = "tuple[list[NDArray[np.int32]], NDArray[Any]]"

CHUNK_BYTES = 64 * 1024
"""The longest chunk that a family is handed on in."""

_BLOCK = 8_192  # series; texts and widths are gathered in blocks of this size
_MOST_INT32 = np.iinfo(np.int32).max
_FIRST_ROOM = 64
_FEWEST_HOLES = 1024  # fewer are not compacted


class Family:
    """The series of one metric, by the caller's row numbers, which are free again after `drop`."""

    def __init__(self, series: Series, *, max_series: int | None = None) -> None:
        """Create a family without series, of which at most `max_series` are written (None: all).

        The cap leaves out the newest. When a series is dropped, the oldest one left out takes its place.
        Raises ValueError for a histogram.
        """
        header(series, Form.PLAIN)
        self.series = series
        self.max_series = max_series
        self.left_out_total = 0
        """How many series the cap has left out, each counted when it came, also if it was told later."""
        names = series.label_names
        self._leading = names.index("topic") if "topic" in names else len(names)
        self._tables: list[Texts[Any]] = [
            Texts(self._spell_head),
            *(Texts(self._spell_label(n)) for n in range(self._leading, len(names))),
        ]
        self._live = 0
        self._filled = 0  # used entries of the order, holes included
        self._order = np.full(_FIRST_ROOM, -1, dtype=np.int32)  # row by place, -1 for a hole
        self._columns = [np.zeros(_FIRST_ROOM, dtype=np.int32) for _ in self._tables]
        self._place = np.full(_FIRST_ROOM, -1, dtype=np.int32)  # place by row, -1 for none

    def __len__(self) -> int:
        """Return the number of series, those left out by the cap included."""
        return self._live

    @property
    def left_out(self) -> int:
        """Return how many series the cap leaves out now."""
        return 0 if self.max_series is None else max(0, self._live - self.max_series)

    def put(self, row: int, labels: Sequence[str]) -> None:
        """Add a series with its value at `row` and its label values in the catalogue's order.

        Raises ValueError if the row is negative or has a series, or if the number of labels is wrong.
        """
        if len(labels) != len(self.series.labels):
            raise ValueError(
                f"{self.series.full_name}: {len(labels)} label values for the labels "
                f"{', '.join(self.series.label_names)}"
            )
        if row < 0:
            raise ValueError(f"{self.series.full_name}: invalid row {row}; rows count from 0")
        if row >= len(self._place):
            self._place = _grown(self._place, row + 1, -1)
        if self._place[row] >= 0:
            raise ValueError(f"{self.series.full_name}: row {row} already has a series; drop it first")
        if self._filled == len(self._order):
            self._order = _grown(self._order, self._filled + 1, -1)
            self._columns = [_grown(column, self._filled + 1, 0) for column in self._columns]
        place = self._filled
        keys = (tuple(labels[: self._leading]), *labels[self._leading :])
        for column, table, key in zip(self._columns, self._tables, keys, strict=True):
            column[place] = table.take(key)
        self._order[place] = row
        self._place[row] = place
        self._filled += 1
        self._live += 1
        if self.max_series is not None and self._live > self.max_series:
            self.left_out_total += 1

    def drop(self, row: int) -> None:
        """Remove the row's series, if it has one."""
        place = int(self._place[row]) if 0 <= row < len(self._place) else -1
        if place < 0:
            return
        for column, table in zip(self._columns, self._tables, strict=True):
            table.give_back(int(column[place]))
        self._place[row] = self._order[place] = -1
        self._live -= 1
        holes = self._filled - self._live
        if holes >= _FEWEST_HOLES and holes > self._live // 4:
            self._close_holes()

    def chunks(self, values: NDArray[Any], form: Form) -> Iterator[bytes]:
        """Return the family's header and lines, whole lines in chunks of at most CHUNK_BYTES.

        `values` are by row, integers or floats (rounded to thousandths). Series with a value below 0, NaN or
        infinity are left out. The output is as of this call: series may be added and removed while the chunks
        are read. Raises ValueError if values do not reach a series' row.
        """
        tables = [(table.texts.copy(), table.lengths.copy()) for table in self._tables]
        return _chunked(header(self.series, form) + b"\n", tables, self._told(values))

    def _told(self, values: NDArray[Any]) -> deque[_Block]:
        """Return blocks with the texts and values of the lines to write."""
        found: deque[_Block] = deque()
        left = self._live if self.max_series is None else self.max_series
        for part in parts(self._filled, _BLOCK):
            places = part.start + np.flatnonzero(self._order[part] >= 0)[:left]
            left -= len(places)
            rows = self._order[places]
            if rows.size and int(rows.max()) >= len(values):
                raise ValueError(
                    f"{self.series.full_name}: a series at row {int(rows.max())}, but only {len(values)} "
                    "values; extend the values with the rows"
                )
            seen = values[rows]
            mask = known(seen)
            if not mask.all():
                places, seen = places[mask], seen[mask]
            found.append(([column[places] for column in self._columns], _narrowed(seen)))
        return found

    def _close_holes(self) -> None:
        alive = np.flatnonzero(self._order[: self._filled] >= 0)
        order = self._order[alive]
        self._columns = [_grown(column[alive], len(alive) + _FIRST_ROOM, 0) for column in self._columns]
        self._order = _grown(order, len(alive) + _FIRST_ROOM, -1)
        self._place[order] = np.arange(len(alive), dtype=np.int32)
        self._filled = len(alive)

    def _spell_head(self, values: tuple[str, ...]) -> bytes:
        pairs = zip(self.series.label_names, values, strict=False)
        written = b",".join(pair_text(name, value) for name, value in pairs)
        if len(self._tables) > 1:
            return b"".join([self.series.full_name.encode(), b"{", written, b"," if written else b""])
        return self.series.full_name.encode() + (b"{" + written + b"} " if written else b" ")

    def _spell_label(self, at: int) -> Callable[[str], bytes]:
        name, last = self.series.label_names[at], at == len(self.series.labels) - 1
        return lambda value: pair_text(name, value) + (b"} " if last else b",")


def _chunked(
    head: bytes, tables: list[tuple[NDArray[np.object_], NDArray[np.int32]]], told: deque[_Block]
) -> Iterator[bytes]:
    yield head
    while told:
        numbers, seen = told.popleft()
        widths = sum(lengths[number] for (_, lengths), number in zip(tables, numbers, strict=True))
        ends = np.cumsum(widths + np.int64(LONGEST_VALUE_BYTES))
        texts = [texts[number] for (texts, _), number in zip(tables, numbers, strict=True)]
        begin = 0
        while begin < len(ends):
            before = int(ends[begin - 1]) if begin else 0
            end = int(np.searchsorted(ends, before + CHUNK_BYTES, side="right"))
            yield _lines([column[begin:end] for column in texts], seen[begin:end])
            begin = end


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers as int32 if they fit."""
    if values.dtype.kind == "f" or values.max(initial=0) > _MOST_INT32:
        return values
    return values.astype(np.int32)


def _lines(texts: list[NDArray[np.object_]], values: NDArray[Any]) -> bytes:
    pieces: list[list[bytes]] = [column.tolist() for column in texts]
    if values.dtype.kind == "f":
        whole, rest = seconds_texts(values)
        pieces += [whole, rest.tolist()]
    else:
        pieces.append(value_texts(values))
    # Column by column is the fastest way to interleave them.
    flat: list[bytes] = [b""] * (len(pieces) * len(values))
    for at, column in enumerate(pieces):
        flat[at :: len(pieces)] = column
    return b"".join(flat)


def _grown(array: NDArray[np.int32], needed: int, filling: int) -> NDArray[np.int32]:
    room = np.full(max(needed, len(array) * 5 // 4), filling, dtype=np.int32)
    room[: len(array)] = array
    return room
