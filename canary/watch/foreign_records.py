"""Records on the source that are not intact probes: the mirror did not change them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from canary.tracker.stamp import Compared, Corrupted, ForeignRecord, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.kafka.tap import TappedRecord

    Line = tuple[str, int]  # a flow's name and a partition of its target topic

MAX_KEPT = 50_000
HOLD_S = 1.0  # a record may be read before its original: the source's tap is lazy


class ForeignRecords:
    """Hashes of the newest MAX_KEPT such records of one source topic.

    A record on the target that equals one of them was replicated unchanged. Otherwise anyone who may write to
    the topic could make a correct mirror look as if it altered records.
    """

    def __init__(self) -> None:
        self._kept: set[int] = set()
        self._order: deque[int] = deque()
        self._lines: dict[Line, deque[tuple[TappedRecord, Reading, Callable[[Reading], None]]]] = {}

    @property
    def idle(self) -> bool:
        """Return whether no record waits for a comparison."""
        return not self._lines

    def add(self, record: TappedRecord) -> None:
        """Keep a record of the source that is not an intact probe."""
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
        """Pass on the reading of a target's record; as a foreign record if the source has the same one.

        A changed record waits for HOLD_S, in case its original is read later. Later records of its `line` (a
        partition of a flow) wait too: a later probe would prove the changed one lost before its record is
        known. Instants stay those of the reading. A waiting record is reported at once as `Compared`, so that
        no deadline passes it.
        """
        if line in self._lines or (isinstance(reading, Corrupted) and not self._knows(record)):
            self._lines.setdefault(line, deque()).append((record, reading, give))
            give(Compared())
        else:
            give(self._sorted(record, reading))

    def release(self, now_ns: int, *, all_of_it: bool = False) -> None:
        """Pass on records that waited long enough or are now known from the source, and those after them."""
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
            return ForeignRecord("its bytes on the source are the same")
        return reading

    def _knows(self, record: TappedRecord) -> bool:
        return _mark(record) in self._kept


def _mark(record: TappedRecord) -> int:
    return hash((record.key, record.value, tuple(record.headers or ())))
