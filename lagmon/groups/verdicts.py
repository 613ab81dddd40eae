"""Verdicts on many rows in compact form: status and lag as arrays, other numbers packed. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.packed import Packed
from lagmon.groups.rules.window import statuses
from lagmon.groups.sweep import Sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.groups.rules.sentences import Facts

_PACKED = ("offset", "head", "since_ms", "limit_ms", "before", "after")


class Verdicts:
    """The results of sweeps over blocks of rows, in their order."""

    def __init__(self, now_ms: int, rows: int, block: int, *, kind: type[Sweep] = Sweep) -> None:
        """Reserve room for these rows; `kind` has the sentences."""
        self.now_ms = now_ms
        self.reason = np.empty(rows, np.int8)
        self.lag = np.empty(rows, np.int64)
        self._kind = kind
        self._numbers = {name: Packed(block) for name in _PACKED}

    def put(self, part: slice, found: Sweep) -> None:
        """Add the verdicts on the next block of rows."""
        self.reason[part], self.lag[part] = found.reason, found.lag
        for name, column in self._numbers.items():
            column.add(getattr(found, name))

    @property
    def status(self) -> NDArray[np.int8]:
        """Return the status of each row."""
        return statuses(self.reason)

    def row(self, row: int) -> Sweep:
        """Return the verdict on one row, as a sweep over that row."""
        numbers = {name: np.array([column[row]], np.int64) for name, column in self._numbers.items()}
        only = slice(row, row + 1)
        return self._kind(now_ms=self.now_ms, reason=self.reason[only], lag=self.lag[only], **numbers)

    def facts(self, row: int) -> Facts:
        """Return the numbers behind one row's verdict."""
        return self.row(row).facts(0)

    def sentence(self, row: int) -> str:
        """Return the sentence of one row's verdict."""
        return self.row(row).sentence(0)
