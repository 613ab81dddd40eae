"""Offset syncs of one flow on their way to the store: read here, and asked for by who writes them. Pure.

Each has a number, the offset of its record in the topic of syncs. Who asks names the number that it wants
next, and so says that all before it is written.

A mirror is judged by what is read, so reading does not wait for the store. A queue that is full *leaves* what
comes to the topic and notes from which number on; once there is room, that is read again from there. What is
new joins only when nothing is left any more: so each is handed over behind those before it, and what is
written never passes what is left. The topic is compacted: what it has no more by then is gone, and counted.
Of each partition it has the newest.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from lagmon.syncs.pairs import SyncPair
from lagmon.syncs.thinning import Thinning, thin

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_WAITING = 50_000
MOST_HANDED = 1000  # in one answer: what takes it in does so between other things
# A mirror that syncs each record writes many more for one partition within seconds than are to stay. What
# is too old is for the store to tell.
CROWDED = Thinning(keep_ms=1 << 60)


class WaitingSync(NamedTuple):
    """One offset sync that waits."""

    number: int
    topic: str
    partition: int
    upstream: int
    downstream: int
    at_ms: int


class Handed(NamedTuple):
    """What is handed over: the syncs, the number after the last of those looked at, and if more wait."""

    syncs: list[WaitingSync]
    next_number: int
    more: bool


class SyncQueue:
    """Holds what one topic of syncs, known by its id, gave for one flow."""

    def __init__(self) -> None:
        self.topic_id = ""  # "" if it is not known
        self.gone = 0  # syncs that were read and never handed over, as their topic had them no more
        self._waiting: deque[WaitingSync] = deque()
        self._wanted = 0  # all before it is written
        self._handed = 0  # all before it was handed over
        self._newest = -1  # of those that were read
        self._left_from: int | None = None  # what was read from there on is left to the topic
        self._left = 0  # how many of it have numbers behind `_uncounted`
        self._uncounted = -1

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    @property
    def whole(self) -> bool:
        """Return whether nothing is left to the topic."""
        return self._left_from is None

    @property
    def read_again_from(self) -> int | None:
        """Return the number from which on the topic is to be read again, None while that is not so."""
        return self._left_from if len(self._waiting) < MOST_WAITING else None

    def begin(self, topic_id: str) -> None:
        """Begin at the start of a topic; what waited comes again, or is of another topic that is gone."""
        if topic_id != self.topic_id:
            self.gone += self._left + sum(one.number >= self._handed for one in self._waiting)
            self._wanted, self._handed, self._newest = 0, 0, -1
            self._left_from, self._left, self._uncounted = None, 0, -1
        elif self._left_from is None:
            self._newest = -1
        elif self._waiting:  # it is left as well, so that each is still counted once
            self._left_from = self._waiting[0].number
            self._left += sum(one.number > self._uncounted for one in self._waiting)
        self.topic_id = topic_id
        self._waiting.clear()

    def add(self, sync: WaitingSync) -> None:
        """Take in one that was read, or leave it to the topic; numbers grow from one to the next."""
        if sync.number <= self._newest:
            return  # left before the topic was begun again
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
        """Add what the topic still has of what was left, read on up to and not including `position`.

        So many at once may be more than there is room for.
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
        """Return what comes at this number and after it; all before it is forgotten."""
        self._wanted = since
        while self._waiting and self._waiting[0].number < since:
            self._waiting.popleft()
        if self._left_from is not None and since > self._left_from:
            # Written before a restart, or by another process. How many are left behind it was not counted.
            self._left_from = since if since <= self._newest else None
            self._left, self._uncounted = 0, self._newest
        looked_at = [sync for sync, _ in zip(self._waiting, range(MOST_HANDED), strict=False)]
        if not looked_at:
            return Handed([], since, more=False)
        self._handed = looked_at[-1].number + 1
        return Handed(_without_crowds(looked_at, now_ms), self._handed, len(looked_at) < len(self._waiting))


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
