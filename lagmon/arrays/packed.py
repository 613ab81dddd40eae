"""Columns of whole numbers, compressed without loss. Pure.

A block of rows takes 0, 1, 2, 4 or 8 bytes a row, depending on the range of its numbers: times of one poll
and most offsets of one cluster fit into less than four bytes. -1 means "not known" and does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.groups.rules.window import Longs

_NARROW = (np.uint8, np.uint16, np.uint32)


class Packed:
    """One column in blocks of this many rows; the last block may have fewer."""

    def __init__(self, block: int) -> None:
        self._block = block
        self._blocks: list[tuple[int, NDArray[np.integer] | None]] = []

    def add(self, values: Longs) -> None:
        """Append the numbers of the next block."""
        self._blocks.append(_packed(values))

    def __getitem__(self, row: int) -> int:
        least, codes = self._blocks[row // self._block]
        if codes is None:
            return least
        code = int(codes[row % self._block])
        return code if codes.dtype == np.int64 else least + code - 1 if code else -1


def _packed(values: Longs) -> tuple[int, NDArray[np.integer] | None]:
    """Return the smallest number and the codes: 0 for -1, else the distance plus 1; None if all are equal."""
    known = values != -1
    least = int(np.min(values, initial=np.iinfo(np.int64).max, where=known))
    most = int(np.max(values, initial=np.iinfo(np.int64).min, where=known))
    if least > most:
        return -1, None
    if least == most and known.all():
        return least, None
    for kind in _NARROW:
        if most - least < np.iinfo(kind).max:
            return least, np.where(known, values - (least - 1), 0).astype(kind)
    return 0, values.astype(np.int64)
