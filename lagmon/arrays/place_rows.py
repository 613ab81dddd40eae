"""Rows of arrays by place: chunks, slices for consecutive rows, arrays that grow. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

Int32s: TypeAlias = npt.NDArray[np.int32]
Rows: TypeAlias = slice | Int32s
_Number = TypeVar("_Number", np.int64, np.int32)

_CHUNK = 16_384  # rows at a time, so that temporaries stay small


def grown(array: npt.NDArray[_Number], capacity: int, size: int) -> npt.NDArray[_Number]:
    """Return a copy of the first `size` along the last axis, with room for `capacity` of them."""
    new = np.empty((*array.shape[:-1], capacity), array.dtype)
    new[..., :size] = array[..., :size]
    return new


def parts(count: int, size: int = _CHUNK) -> Iterator[slice]:
    """Yield slices that cover `count` rows."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def chunks(places: Int32s) -> Iterator[tuple[Rows, slice]]:
    """Yield the rows of each chunk and its slice; consecutive rows as a slice, several times faster."""
    for part in parts(len(places)):
        chunk = places[part]
        first = int(chunk[0])
        consecutive = int(chunk[-1]) - first == len(chunk) - 1 and bool((np.diff(chunk) == 1).all())
        yield (slice(first, first + len(chunk)) if consecutive else chunk), part


def places_of(rows: Rows) -> Int32s:
    """Return the numbers of these rows."""
    return np.arange(rows.start, rows.stop, dtype=np.int32) if isinstance(rows, slice) else rows
