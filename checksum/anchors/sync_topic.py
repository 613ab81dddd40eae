"""Read offset syncs from MirrorMaker's topic, if the service has not stored them.

The topic is compacted, so it has the newest pair of each partition and, until the next cleaning, those before
it: enough for an end, rarely for a beginning. Topic ids are not in it, so every pair must be verified by its
records.

Blocking; call it on a thread. Memory is limited: of a long chain, pairs SPACING offsets apart are kept, and
the first one at or past the end of the last run (a re-created source may continue there with the same delta).
Beyond MOST pairs of a partition, the older half is dropped.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair
from fleet.errors import MalformedError
from fleet.wire.mirror import OffsetSync, decode_offset_sync
from runtime.kafka.bulk import Bulk, batches_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

MOST = 10_000  # pairs of one partition
MOST_PARTITIONS = 200_000
SPACING = 1_000  # offsets of the source
LONGEST_S = 300.0
_PARTITION = 0  # MirrorMaker writes to no other


class SyncPairs:
    """Pairs by topic (the source's name) and partition, in the order in which they were written.

    `ended` is the source offset at which the last run ended, by topic and partition.
    """

    def __init__(
        self, wanted: Callable[[str], bool], ended: Mapping[tuple[str, int], int] | None = None
    ) -> None:
        self._wanted = wanted
        self._ended = ended or {}
        self._pairs: dict[tuple[str, int], list[Pair]] = {}
        self.malformed = 0
        self.until = 0  # the offset after the topic's last record

    def of(self, topic: str, partition: int) -> list[Pair]:
        """Return the pairs of a partition."""
        return self._pairs.get((topic, partition), [])

    def places(self) -> frozenset[tuple[str, int]]:
        """Return the partitions with pairs."""
        return frozenset(self._pairs)

    def extend(self, newer: SyncPairs) -> None:
        """Add newer pairs of the same topic."""
        for place, pairs in newer._pairs.items():
            known = self._pairs.setdefault(place, [])
            for pair in pairs:
                _add(known, pair, self._ended.get(place))
        self.malformed += newer.malformed
        self.until = max(self.until, newer.until)

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Add a record of the topic of offset syncs."""
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
    """Return the pairs that the topic of offset syncs holds from offset `since` on, of `wanted` topics.

    `only_since`: earlier records are not read at all, so a topic that ends before is not detected. Raises
    RefusedError if a permission is missing, and UnavailableError if the topic cannot be read to its end in
    `longest_s` seconds.
    """
    found = SyncPairs(wanted, ended)
    bulk = Bulk(settings, cluster=cluster, topic=topic, name=f"{cluster}-checksum-syncs", timed=True)
    with closing(bulk):
        bulk.open([_PARTITION], since=since) if only_since else bulk.open([_PARTITION])
        reading = f"cluster {cluster}: cannot read {topic}"
        for batch in batches_to_end(bulk, [_PARTITION], reading=reading, clock=clock, longest_s=longest_s):
            for offset, key, value in zip(batch.offsets, batch.keys, batch.values, strict=True):
                found.until = offset + 1
                if offset >= since:
                    found.take(key, value)
    return found


def _add(pairs: list[Pair], pair: Pair, ended: int | None) -> None:
    """Add a pair; drop the one before it if it is inside a chain and not needed."""
    if len(pairs) > 1:
        first, last = pairs[-2:]
        same = first.delta == last.delta == pair.delta and first.upstream < last.upstream < pair.upstream
        past_end = ended is not None and first.upstream < ended <= last.upstream
        if same and not past_end and pair.upstream - first.upstream <= SPACING:
            pairs.pop()
    pairs.append(pair)
    if len(pairs) > MOST:
        del pairs[: MOST // 2]
