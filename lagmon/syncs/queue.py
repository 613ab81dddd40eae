"""Offset syncs of one flow that wait for the store: read here, and requested by the writer. Pure.

Each has a number, the offset of its record in the topic of syncs. A request names the next wanted number,
which confirms that all before it are written.

Verdicts on the mirror do not wait for the store. A full queue *skips* new syncs and records from which number
on; once there is room, the topic is read again from there. New ones are queued again only when none is
skipped, so the order is kept. The topic is compacted: skipped syncs that it no longer has are counted as
gone. It always has the newest of each partition.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from lagmon.syncs.pairs import SyncPair
from lagmon.syncs.thinning import Thinning, thin

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_WAITING = 50_000
MOST_HANDED = 1000  # in one answer, so that the event loop is not blocked
# A mirror that syncs each record writes many more for one partition within seconds than are kept.
# The store decides what is too old.
CROWDED = Thinning(keep_ms=1 << 60)


class WaitingSync(NamedTuple):
    """One waiting offset sync."""

    number: int
    topic: str
    partition: int
    upstream: int
    downstream: int
    at_ms: int


class Handed(NamedTuple):
    """An answer: the syncs, the number after the last one considered, and whether more wait."""

    syncs: list[WaitingSync]
    next_number: int
    more: bool


class SyncQueue:
    """The waiting syncs of one topic (by its id) for one flow."""

    def __init__(self) -> None:
        self.topic_id = ""  # "" if it is not known
        self.gone = 0  # syncs that were skipped and then compacted away
        self._waiting: deque[WaitingSync] = deque()
        self._wanted = 0  # all before it are written
        self._handed = 0  # all before it were handed over
        self._newest = -1  # of those that were read
        self._left_from: int | None = None  # syncs from this number on were skipped
        self._left = 0  # number of skipped syncs after `_uncounted`
        self._uncounted = -1

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    @property
    def whole(self) -> bool:
        """Return whether no sync is skipped."""
        return self._left_from is None

    @property
    def read_again_from(self) -> int | None:
        """Return the number from which to read the topic again, None while there is no need or room."""
        return self._left_from if len(self._waiting) < MOST_WAITING else None

    def begin(self, topic_id: str) -> None:
        """Start at the beginning of a topic; waiting syncs come again, or belong to an older topic."""
        if topic_id != self.topic_id:
            self.gone += self._left + sum(one.number >= self._handed for one in self._waiting)
            self._wanted, self._handed, self._newest = 0, 0, -1
            self._left_from, self._left, self._uncounted = None, 0, -1
        elif self._left_from is None:
            self._newest = -1
        elif self._waiting:  # skipped as well, so that each is counted once
            self._left_from = self._waiting[0].number
            self._left += sum(one.number > self._uncounted for one in self._waiting)
        self.topic_id = topic_id
        self._waiting.clear()

    def add(self, sync: WaitingSync) -> None:
        """Add a sync, or skip it; numbers grow."""
        if sync.number <= self._newest:
            return  # skipped before the topic was started again
        self._newest = sync.number
        if sync.number < self._wanted:
            return
        if self._left_from is None and len(self._waiting) < MOST_WAITING:
            self._waiting.append(sync)
            return
        if self._left_from is None:
            self._left_from = sync.number
        self._left += 1

    def regain(self, syncs: Iterable[WaitingSync], position: int) -> None:
        """Add skipped syncs that the topic still has, read up to `position` (not included).

        There may not be room for all of them.
        """
        if self._left_from is None:
            return
        for sync in syncs:
            if self._left_from <= sync.number <= self._newest:
                self._waiting.append(sync)
                self._left -= sync.number > self._uncounted
        self._left_from = max(self._left_from, position)
        if self._left_from > self._newest:
            self.gone += self._left
            self._left_from, self._left = None, 0

    def hand(self, since: int, *, now_ms: int) -> Handed:
        """Return the syncs from this number on; all before it are forgotten."""
        self._wanted = since
        while self._waiting and self._waiting[0].number < since:
            self._waiting.popleft()
        if self._left_from is not None and since > self._left_from:
            # Written before a restart or by another process: the number of skipped syncs after it is unknown.
            self._left_from = since if since <= self._newest else None
            self._left, self._uncounted = 0, self._newest
        polled_at = [sync for sync, _ in zip(self._waiting, range(MOST_HANDED), strict=False)]
        if not polled_at:
            return Handed([], since, more=False)
        self._handed = polled_at[-1].number + 1
        return Handed(_without_crowds(polled_at, now_ms), self._handed, len(polled_at) < len(self._waiting))


def _without_crowds(syncs: list[WaitingSync], now_ms: int) -> list[WaitingSync]:
    by_partition: dict[tuple[str, int], list[WaitingSync]] = defaultdict(list)
    for sync in syncs:
        by_partition[sync.topic, sync.partition].append(sync)
    found = []
    for crowd in by_partition.values():
        if len(crowd) <= CROWDED.whole_pairs:
            found += crowd
            continue
        pairs = [SyncPair(0, one.number, one.upstream, one.downstream, one.at_ms) for one in crowd]
        kept = {pair.number for pair in thin(pairs, now_ms=now_ms, rules=CROWDED)}
        found += [one for one in crowd if one.number in kept]
    return sorted(found)
