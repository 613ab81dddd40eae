"""Read offset syncs from the mirror's own topic, where no service has kept them as they passed.

The topic is compacted, so it holds the newest pair of each partition and, until its cleaner has passed, those
before it: enough for an end, seldom for a beginning. Which topics by their ids a pair is about is not written
in it, so every pair from here has to be believed by its records alone.

It blocks, and belongs on a thread. What is kept in memory is bounded: of a long chain only pairs SPACING
offsets apart are kept, and the first one at or past the end of the last run (a re-created source may go on
there at the same distance). Beyond MOST pairs of a partition the older half goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair
from fleet.errors import MalformedError, UnavailableError
from fleet.wire.mirror import OffsetSync, decode_offset_sync
from runtime.kafka.bulk import Bulk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

MOST = 10_000  # pairs of one partition
MOST_PARTITIONS = 200_000
SPACING = 1_000  # offsets of the source
LONGEST_S = 300.0
_WAIT_S = 0.5
_PARTITION = 0  # MirrorMaker writes to no other


class SyncPairs:
    """Pairs by topic (the source's name) and partition, in the order in which they were written.

    `ended` has, by topic and partition, the source offset at which the last run ended.
    """

    def __init__(
        self, wanted: Callable[[str], bool], ended: Mapping[tuple[str, int], int] | None = None
    ) -> None:
        self._wanted = wanted
        self._ended = ended or {}
        self._pairs: dict[tuple[str, int], list[Pair]] = {}
        self.malformed = 0
        self.until = 0  # the offset behind the topic's last record

    def of(self, topic: str, partition: int) -> list[Pair]:
        """Return what is known of a partition."""
        return self._pairs.get((topic, partition), [])

    def places(self) -> frozenset[tuple[str, int]]:
        """Return the partitions of which something is known."""
        return frozenset(self._pairs)

    def extend(self, newer: SyncPairs) -> None:
        """Add what was read of the same topic behind these."""
        for place, pairs in newer._pairs.items():
            known = self._pairs.setdefault(place, [])
            for pair in pairs:
                _add(known, pair, self._ended.get(place))
        self.malformed += newer.malformed
        self.until = max(self.until, newer.until)

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take a record of the topic of offset syncs."""
        try:
            sync = decode_offset_sync(key, value)
        except MalformedError:
            self.malformed += 1
            return
        place = sync.key.topic, sync.key.partition
        known = place in self._pairs or (len(self._pairs) < MOST_PARTITIONS and self._wanted(place[0]))
        if known and isinstance(sync, OffsetSync):
            pair = Pair(sync.upstream_offset, sync.downstream_offset)
            _add(self._pairs.setdefault(place, []), pair, self._ended.get(place))


def read_sync_topic(
    settings: ClientSettings,
    *,
    cluster: str,
    topic: str,
    clock: Clock,
    wanted: Callable[[str], bool],
    ended: Mapping[tuple[str, int], int] | None = None,
    longest_s: float = LONGEST_S,
    since: int = 0,
    only_since: bool = False,
) -> SyncPairs:
    """Return all pairs that the topic of offset syncs holds from offset `since` on, of what is `wanted`.

    `only_since`: what lies before is not read at all, so that a topic that ends before is not noticed.
    Raises RefusedError where it may not be read, and UnavailableError where it could not be read to its end
    in `longest_s` seconds.
    """
    found = SyncPairs(wanted, ended)
    until_ns = clock.monotonic_ns() + int(longest_s * 1e9)
    bulk = Bulk(settings, cluster=cluster, topic=topic, name=f"{cluster}-checksum-syncs", timed=True)
    bulk.open([_PARTITION], since=since) if only_since else bulk.open([_PARTITION])
    said = "; try again"
    try:
        while True:
            batch = bulk.take(wait_s=_WAIT_S)
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                found.until = offset + 1
                if offset >= since:
                    found.take(key, value)
            if batch.refused is not None:
                raise batch.refused
            if batch.ends:
                return found
            if batch.faults:
                said = f": {batch.faults[-1]}"
            if clock.monotonic_ns() > until_ns:
                raise UnavailableError(
                    f"cluster {cluster}: {topic} could not be read to its end within {longest_s:g} s{said}"
                )
    finally:
        bulk.close()


def _add(pairs: list[Pair], pair: Pair, ended: int | None) -> None:
    """Add a pair; the one before it goes where it only repeats that its chain goes on."""
    if len(pairs) > 1:
        first, last = pairs[-2:]
        same = first.delta == last.delta == pair.delta and first.upstream < last.upstream < pair.upstream
        past_end = ended is not None and first.upstream < ended <= last.upstream
        if same and not past_end and pair.upstream - first.upstream <= SPACING:
            pairs.pop()
    pairs.append(pair)
    if len(pairs) > MOST:
        del pairs[: MOST // 2]
