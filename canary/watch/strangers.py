"""Records that are no intact probes on the source already: it was not the mirror that made them so."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from canary.tracker.stamp import Compared, Corrupted, Reading, Stranger

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.kafka.tap import TappedRecord

    Line = tuple[str, int]  # a flow's name and a partition of its target topic

MAX_KEPT = 50_000
HOLD_S = 1.0  # a copy may be read before its original is: the source's tap is lazy


class Strangers:
    """Remembers what stood in one source topic, by a hash of all its bytes, the newest MAX_KEPT of it.

    A copy that equals one of these was passed on as it was, however strange it looks. Whoever may write
    into the topic could otherwise have a mirror called altering that copies every byte.
    """

    def __init__(self) -> None:
        self._kept: set[int] = set()
        self._order: deque[int] = deque()
        self._lines: dict[Line, deque[tuple[TappedRecord, Reading, Callable[[Reading], None]]]] = {}

    @property
    def idle(self) -> bool:
        """Tell whether nothing waits to be compared."""
        return not self._lines

    def add(self, record: TappedRecord) -> None:
        """Keep a record of the source that is no intact probe."""
        mark = _mark(record)
        if mark in self._kept:
            return
        self._kept.add(mark)
        self._order.append(mark)
        if len(self._order) > MAX_KEPT:
            self._kept.discard(self._order.popleft())

    def sort(
        self, record: TappedRecord, reading: Reading, give: Callable[[Reading], None], *, line: Line
    ) -> None:
        """Give the reading of a target's record on: as a stranger's where the source holds the same.

        A changed copy waits for HOLD_S, in case its original is read only now. What comes after it in its
        line, which is a partition of a flow, waits with it: a later probe would prove the changed one lost
        before it is known that a copy of it came. Instants are those of the reading all the same, and that
        something waits is told at once, so that no deadline passes over it.
        """
        if line in self._lines or (isinstance(reading, Corrupted) and not self._knows(record)):
            self._lines.setdefault(line, deque()).append((record, reading, give))
            give(Compared())
        else:
            give(self._sorted(record, reading))

    def release(self, now_ns: int, *, all_of_it: bool = False) -> None:
        """Give on what has waited long enough, what the source has shown meanwhile, and what stood behind."""
        for line in list(self._lines):
            waiting = self._lines[line]
            while waiting:
                record, reading, give = waiting[0]
                held = now_ns < record.at_ns + int(HOLD_S * 1e9) and not all_of_it
                if held and isinstance(reading, Corrupted) and not self._knows(record):
                    break
                waiting.popleft()
                give(self._sorted(record, reading))
            if not waiting:
                del self._lines[line]

    def _sorted(self, record: TappedRecord, reading: Reading) -> Reading:
        if isinstance(reading, Corrupted) and self._knows(record):
            return Stranger("its bytes on the source are the same")
        return reading

    def _knows(self, record: TappedRecord) -> bool:
        return _mark(record) in self._kept


def _mark(record: TappedRecord) -> int:
    return hash((record.key, record.value, tuple(record.headers or ())))
