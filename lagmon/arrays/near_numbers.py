"""A table of whole numbers of which those of a row lie near each other, in half the room of 64 bits. Pure.

Each row has an anchor of 64 bits and keeps how far each of its numbers lies from that, in 32. What does not
fit moves the anchor to the row's last number; a row that fits by no anchor is kept whole, beside the others.
So nothing is ever rounded or cut, and -1, which is "not known", costs no more than any number.

It is read and written as an array of int64 is, by rows and columns; but what is read is always a copy, and
rows that are written are all different.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.arrays.growing import more_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Ints = NDArray[np.int32]
    Rows = NDArray[np.integer]

_UNKNOWN = np.iinfo(np.int32).min
_FARTHEST = np.iinfo(np.int32).max
_NARROW = -1


class NearNumbers:
    """Rows of `length` numbers, -1 at first."""

    def __init__(self, rows: int, length: int, *, anchored: bool = True) -> None:
        """Make it; where it is not `anchored`, numbers are taken to lie near zero."""
        self._length = length
        self._near = np.full((rows, length), _UNKNOWN, np.int32)
        self._anchor = np.zeros(rows if anchored else 0, np.int64)
        self._anchored = anchored
        self._wide_of: Ints | None = None  # by row its place in `_wide`; None: there is no wide row
        self._wide = np.empty((0, length), np.int64)
        self._spare: list[int] = []

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._near)

    @property
    def nbytes(self) -> int:
        """Return how many bytes it takes."""
        beside = 0 if self._wide_of is None else self._wide_of.nbytes
        return self._near.nbytes + self._anchor.nbytes + self._wide.nbytes + beside

    def hold(self, rows: int) -> None:
        """Have so many rows, no fewer than before."""
        more_rows(self, "_near", rows, _UNKNOWN)
        if self._anchored:
            more_rows(self, "_anchor", rows, 0)
        if self._wide_of is not None:
            more_rows(self, "_wide_of", rows, _NARROW)

    def __getitem__(self, key: Any) -> Any:
        """Return numbers as int64, as from an array: of rows, or of rows and columns."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        near = self._near[rows, columns]
        found = np.asarray(near + self._anchors(rows, near.ndim), np.int64)
        found[near == _UNKNOWN] = -1
        if self._wide_of is not None:
            places = self._wide_of[rows]
            if np.ndim(places) == 0:
                if places != _NARROW:
                    found[...] = self._wide[places, columns]
            elif (there := np.flatnonzero(places != _NARROW)).size:
                # A column for each row, or the same columns for all.
                across = columns[there] if np.ndim(columns) else columns
                found[there] = self._wide[places[there], across]
        return found if found.ndim else found[()]

    def __setitem__(self, key: Any, numbers: Any) -> None:
        """Write numbers to columns of rows that are all different, or to all columns."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            rows = np.array([rows], np.intp)
        whole = self[rows]
        whole[:, columns] = numbers
        self._write(rows, whole)

    def clear(self, rows: Rows) -> None:
        """Forget these rows."""
        self._near[rows] = _UNKNOWN
        self._narrow(rows)

    def push(self, rows: Rows, source: NDArray[np.integer], at: NDArray[np.integer], new: Longs) -> None:
        """Have these rows' columns be those that `source` tells, and then write new numbers.

        `at` is where each of these goes, counted through the rows: row by row, and column by column.
        """
        anchors = self._anchor[rows[at // self._length]] if self._anchored else 0
        apart = new - anchors
        fits = (np.abs(apart) <= _FARTHEST) | (new == -1)
        if fits.all() and (self._wide_of is None or (self._wide_of[rows] == _NARROW).all()):
            near = np.take_along_axis(self._near[rows], source, axis=1)
            near.reshape(-1)[at] = np.where(new == -1, _UNKNOWN, apart)
            self._near[rows] = near
            return
        whole = np.take_along_axis(self[rows], source, axis=1)
        whole.reshape(-1)[at] = new
        self._write(rows, whole)

    def _anchors(self, rows: Any, dimensions: int) -> Any:
        if not self._anchored:
            return np.int64(0)
        anchors = self._anchor[rows]
        return anchors[:, None] if dimensions > np.ndim(anchors) == 1 else anchors

    def _write(self, rows: Any, whole: Longs) -> None:
        """Write whole rows; each is anchored anew."""
        unknown = whole == -1
        if self._anchored:
            anchors = np.where(unknown[:, -1], whole.max(axis=1, initial=0), whole[:, -1])
            self._anchor[rows] = anchors
            apart = whole - anchors[:, None]
        else:
            apart = whole
        fits = ((np.abs(apart) <= _FARTHEST) | unknown).all(axis=1)
        self._near[rows] = np.where(unknown | ~fits[:, None], _UNKNOWN, apart)
        self._narrow(rows)
        if not fits.all():
            numbers = np.arange(len(self))[rows][~fits]
            if self._wide_of is None:
                self._wide_of = np.full(len(self), _NARROW, np.int32)
            self._wide_of[numbers] = places = self._room(len(numbers))
            self._wide[places] = whole[~fits]

    def _narrow(self, rows: Any) -> None:
        """Give back what these rows have among the wide ones."""
        if self._wide_of is None:
            return
        places = self._wide_of[rows]
        self._spare += places[places != _NARROW].tolist()
        self._wide_of[rows] = _NARROW
        if len(self._spare) == len(self._wide):
            self._wide_of, self._wide, self._spare = None, self._wide[:0].copy(), []

    def _room(self, count: int) -> Ints:
        """Return places among the wide rows for so many more."""
        lacking = count - len(self._spare)
        if lacking > 0:
            before = len(self._wide)
            room = max(lacking, before // 4)
            self._wide = np.concatenate([self._wide, np.empty((room, self._length), np.int64)])
            self._spare += range(before, before + room)
        taken, self._spare = self._spare[:count], self._spare[count:]
        return np.array(taken, np.int32)
