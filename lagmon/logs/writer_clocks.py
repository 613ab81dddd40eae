"""Clocks of producers, compared with ours by records that are read live. Pure.

A record is read a moment after it was written, or later if reading is delayed. The difference between our
clock and its timestamp is that moment plus the difference of the clocks. What one producer wrote yesterday
another may write today, with another clock, and any record may have an absurd time. So for each key, which
one producer writes at a time, the last three records count: the middle one identifies the clock. The smallest
recent difference close to it, over all keys, is the difference of the clocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

_ASKED = 3
_CLOSE_MS = 10_000  # reading may be delayed by this; clocks that differ by less count as one
_LATELY_MS = 3_600_000
_MOST_CLOSE = 256  # absurd times would fill the table


@dataclass(slots=True)
class WriterClocks:
    """What is known of the clocks of all producers of one topic."""

    _behind_ms: dict[Hashable, tuple[int, ...]] = field(default_factory=dict)  # the last ones of each key
    # by multiples of _CLOSE_MS, with the time
    _least_ms: dict[int, tuple[int, int]] = field(default_factory=dict)
    _read_ms: int = 0

    def note_all(self, told: Iterable[tuple[Hashable, int]], read_ms: int) -> None:
        """Record live records: the key (`what`) and time of each (-1: none)."""
        newest = {what: told_ms for what, told_ms in told if told_ms >= 0}
        for what, told_ms in newest.items():
            self.note(what, told_ms, read_ms)

    def note(self, what: Hashable, told_ms: int, read_ms: int) -> None:
        """Record the newest of the live records about `what`."""
        behind_ms, self._read_ms = read_ms - told_ms, read_ms
        self._behind_ms[what] = (*self._behind_ms.get(what, ())[1 - _ASKED :], behind_ms)
        close = behind_ms // _CLOSE_MS
        least_ms, seen_ms = self._least_ms.get(close, (behind_ms, read_ms))
        if behind_ms <= least_ms or read_ms - seen_ms > _LATELY_MS:
            if close not in self._least_ms and len(self._least_ms) >= _MOST_CLOSE:
                self._least_ms.clear()
            self._least_ms[close] = behind_ms, read_ms

    def difference_ms(self, what: Hashable) -> int:
        """Return by how much our clock is ahead of that of the producer of `what`, 0 if unknown."""
        seen_ms = sorted(self._behind_ms.get(what, ()))
        if not seen_ms:
            return 0
        usual_ms = seen_ms[(len(seen_ms) - 1) // 2]
        close = usual_ms // _CLOSE_MS
        others_ms = (
            least_ms
            for least_ms, at_ms in (self._least_ms.get(one, (usual_ms, 0)) for one in (close - 1, close))
            if self._read_ms - at_ms <= _LATELY_MS
        )
        return min(one for one in (*seen_ms, *others_ms) if usual_ms - _CLOSE_MS <= one <= usual_ms)

    def at_ms(self, what: Hashable, told_ms: int, read_ms: int) -> int:
        """Return by our clock when a record with this time was written, -1 for none."""
        if told_ms < 0:
            return read_ms
        return max(0, min(told_ms + self.difference_ms(what), read_ms))

    def forget(self, what: Hashable) -> None:
        """Forget a key that is no longer written."""
        self._behind_ms.pop(what, None)
