"""Count and filter records of a topic of offset syncs. Pure.

One topic may hold the syncs of two flows: those of A->B and, if they are stored at the target, of B->A. A
record names a topic and no flow; it counts for every flow that mirrors a topic of that name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.topic_name import is_topic_name
from fleet.wire.mirror import decode_offset_sync
from fleet.wire.records import Tombstone
from lagmon.logs.writer_clocks import WriterClocks
from lagmon.syncs.queue import WaitingSync

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fleet.wire.records import OffsetSync, OffsetSyncKey
    from lagmon.syncs.queue import SyncQueue

    _Record = tuple[bytes | None, bytes | None, int, int]  # key, value, offset and time
    _Found = tuple[tuple[str, int], OffsetSync, int, int]  # topic and partition, its offset and time

MOST_PARTITIONS = 200_000  # of one flow
_SAMPLE_BYTES = 200


@dataclass(slots=True)
class SyncsTaken:
    """Counters of records: every record counts in exactly one of these."""

    syncs: int = 0
    resets: int = 0  # records without a value
    others: int = 0  # of topics that the flow does not mirror
    malformed: int = 0
    beyond: int = 0  # of more partitions than are followed
    sample: str = ""  # of the first malformed record


@dataclass(slots=True)
class SyncIntake:
    """Processes the syncs of one flow; `mirrored` selects its topics, `note` is called for each sync."""

    queue: SyncQueue
    mirrored: Callable[[str], bool]
    note: Callable[[WaitingSync], None]
    taken: SyncsTaken = field(default_factory=SyncsTaken)
    _clocks: WriterClocks = field(default_factory=WriterClocks)
    _places: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    _mirrored: dict[str, bool] = field(default_factory=dict)

    def take(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        offsets: Sequence[int],
        times_ms: Sequence[int],
        *,
        read_ms: int,
        live: bool,
    ) -> None:
        """Add records in the order in which they were read, with their own timestamps (-1: none).

        The mirror's clock may be wrong, and each partition may be replicated by another worker.
        """
        found = list(self._records(zip(keys, values, offsets, times_ms, strict=True), self.taken))
        if live:
            self._clocks.note_all(((place, told_ms) for place, _, _, told_ms in found), read_ms)
        for sync in self._by_our_clock(found, read_ms):
            self.queue.add(sync)
            self.note(sync)

    def take_again(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        offsets: Sequence[int],
        times_ms: Sequence[int],
        *,
        read_ms: int,
        position: int,
    ) -> None:
        """Return skipped syncs for the store only; they are already counted and noted."""
        found = self._records(zip(keys, values, offsets, times_ms, strict=True), SyncsTaken())
        self.queue.regain(self._by_our_clock(found, read_ms), position)

    def _by_our_clock(self, found: Iterable[_Found], read_ms: int) -> Iterator[WaitingSync]:
        for place, record, number, told_ms in found:
            at_ms = self._clocks.at_ms(place, told_ms, read_ms)
            yield WaitingSync(number, *place, record.upstream_offset, record.downstream_offset, at_ms)

    def _records(self, records: Iterable[_Record], taken: SyncsTaken) -> Iterator[_Found]:
        """Yield the syncs among these records, and count each record in `taken`."""
        for key, value, number, told_ms in records:
            try:
                record = _decoded(key, value)
            except MalformedError as error:
                taken.malformed += 1
                if not taken.sample:
                    taken.sample = f"{error} (key {(key or b'')[:_SAMPLE_BYTES].hex()})"
                continue
            if not self._is_mirrored(record.key.topic):
                taken.others += 1
            elif isinstance(record, Tombstone):
                taken.resets += 1
            elif (place := self._place(record.key.topic, record.key.partition)) is None:
                taken.beyond += 1
            else:
                taken.syncs += 1
                yield place, record, number, told_ms

    def _is_mirrored(self, topic: str) -> bool:
        known = self._mirrored.get(topic)
        if known is None:
            known = self.mirrored(topic)
            if len(self._mirrored) < MOST_PARTITIONS:
                self._mirrored[topic] = known
        return known

    def _place(self, topic: str, partition: int) -> tuple[str, int] | None:
        """Return topic and partition, always the same objects; None beyond the limit of partitions."""
        place = self._places.get((topic, partition))
        if place is None and len(self._places) < MOST_PARTITIONS:
            place = self._places[topic, partition] = topic, partition
        return place


def _decoded(key: bytes | None, value: bytes | None) -> OffsetSync | Tombstone[OffsetSyncKey]:
    record = decode_offset_sync(key, value)
    name = record.key.topic
    if not is_topic_name(name):
        raise MalformedError(f"offset sync: invalid topic name of {len(name)} characters in its key")
    return record
