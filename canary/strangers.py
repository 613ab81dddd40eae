"""Records that are no intact probes on the source already: it was not the mirror that made them so."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from canary.stamp import Corrupted, Reading, Stranger

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.kafka.tap import TappedRecord

MAX_KEPT = 50_000
HOLD_S = 1.0  # a copy may be read before its original is: two taps, two threads


class Strangers:
    """Remembers what stood in one source topic, by a hash of all its bytes, the newest MAX_KEPT of it.

    A copy that equals one of these was passed on as it was, however strange it looks. Whoever may write
    into the topic could otherwise have a mirror called altering that copies every byte.
    """

    def __init__(self) -> None:
        self._kept: set[int] = set()
        self._order: deque[int] = deque()
        self._held: deque[tuple[int, TappedRecord, Corrupted, Callable[[Reading], None]]] = deque()

    def add(self, record: TappedRecord) -> None:
        """Keep a record of the source that is no intact probe."""
        mark = _mark(record)
        if mark in self._kept:
            return
        self._kept.add(mark)
        self._order.append(mark)
        if len(self._order) > MAX_KEPT:
            self._kept.discard(self._order.popleft())

    def sort(self, record: TappedRecord, reading: Reading, give: Callable[[Reading], None]) -> None:
        """Give the reading of a target's record on: as a stranger's where the source holds the same.

        A changed copy that names no probe waits for HOLD_S, in case its original is read only now. One that
        names its probe is given at once, because what is judged of that probe depends on it.
        """
        if not isinstance(reading, Corrupted) or (reading.identity is not None and not self._knows(record)):
            give(reading)
        elif self._knows(record):
            give(Stranger("it stands like this on the source"))
        else:
            self._held.append((record.at_ns + int(HOLD_S * 1e9), record, reading, give))

    def release(self, now_ns: int) -> None:
        """Give on what has waited long enough."""
        while self._held and self._held[0][0] <= now_ns:
            _, record, reading, give = self._held.popleft()
            give(Stranger("it stands like this on the source") if self._knows(record) else reading)

    def _knows(self, record: TappedRecord) -> bool:
        return _mark(record) in self._kept


def _mark(record: TappedRecord) -> int:
    return hash((record.key, record.value, tuple(record.headers or ())))
