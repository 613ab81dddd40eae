"""A table of whole numbers that are close to each other within a row, in half the memory of int64. Pure.

Each row has a 64-bit anchor and stores the distance of each number from it in 32 bits. A number that does not
fit moves the anchor to the row's last number; a row that fits no anchor is stored separately in full. So
values are always exact. -1 means "not known".

It is read and written by rows and columns like an int64 array, but reads return copies, and the rows of one
write must be distinct.
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
        """Create the table; if it is not `anchored`, numbers must be close to zero."""
        self._length = length
        self._near = np.full((rows, length), _UNKNOWN, np.int32)
        self._anchor = np.zeros(rows if anchored else 0, np.int64)
        self._anchored = anchored
        self._wide_of: Ints | None = None  # index in `_wide` by row; None: there is no wide row
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
        """Grow to this many rows."""
        more_rows(self, "_near", rows, _UNKNOWN)
        if self._anchored:
            more_rows(self, "_anchor", rows, 0)
        if self._wide_of is not None:
            more_rows(self, "_wide_of", rows, _NARROW)

    def __getitem__(self, key: Any) -> Any:
        """Return numbers as int64, of rows or of rows and columns."""
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
        """Write numbers to columns of distinct rows, or to all columns."""
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
        """Permute the columns of these rows by `source`, then write new numbers.

        `at` is the position of each new number, counted row by row and column by column.
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
        """Write whole rows with new anchors."""
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
        """Free the entries of these rows among the wide ones."""
        if self._wide_of is None:
            return
        places = self._wide_of[rows]
        self._spare += places[places != _NARROW].tolist()
        self._wide_of[rows] = _NARROW
        if len(self._spare) == len(self._wide):
            self._wide_of, self._wide, self._spare = None, self._wide[:0].copy(), []

    def _room(self, count: int) -> Ints:
        """Return free entries for this many wide rows."""
        lacking = count - len(self._spare)
        if lacking > 0:
            before = len(self._wide)
            room = max(lacking, before // 4)
            self._wide = np.concatenate([self._wide, np.empty((room, self._length), np.int64)])
            self._spare += range(before, before + room)
        taken, self._spare = self._spare[:count], self._spare[count:]
        return np.array(taken, np.int32)
