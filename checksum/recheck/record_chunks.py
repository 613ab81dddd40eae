"""Read ranges of offsets of a partition by a consumer, and hash the records as the digest does.

Blocking; call it on a thread. Each request to the client is limited (runtime/kafka/picking.py), so a stretch
comes in chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from checksum.anchors.records import seen_record
from checksum.digest.record_hash import Content
from checksum.digest.record_hashes import record_hashes
from checksum.plan.shape import OffsetRange
from checksum.recheck.block_differences import ReadRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checksum.anchors.reading import Place, Reader
    from checksum.plan.shape import Plan, TopicPlan
    from runtime.kafka.picking import PickedRecord

CHUNK_RECORDS = 10_000


def chunks(reader: Reader, place: Place, offsets: OffsetRange) -> Iterator[list[PickedRecord]]:
    """Yield the records of a stretch in order, in chunks; deleted records are skipped."""
    return (some for _, some in chunks_of_several(reader, {place: offsets}))


def chunks_of_several(
    reader: Reader, wanted: Mapping[Place, OffsetRange]
) -> Iterator[tuple[Place, list[PickedRecord]]]:
    """Yield the records of a stretch of each place, in chunks; several places in one request are faster."""
    left = {place: offsets for place, offsets in wanted.items() if offsets.span > 0}
    while left:
        following: dict[Place, OffsetRange] = {}
        for place, chunk in one_chunk(reader, left).items():
            if chunk.records:
                yield place, chunk.records
            if chunk.following is not None:
                following[place] = OffsetRange(chunk.following, left[place].until)
        left = following


class Chunk(NamedTuple):
    """Records of one place in order; `following`: the start of the rest of its stretch, or None."""

    records: list[PickedRecord]
    following: int | None


def one_chunk(reader: Reader, wanted: Mapping[Place, OffsetRange]) -> dict[Place, Chunk]:
    """Return the first records of a stretch of each place, with one request."""
    found = reader.pick({place: (one.first, min(CHUNK_RECORDS, one.span)) for place, one in wanted.items()})
    lost = [place for place in wanted if found[place].lost]
    # If the log now starts after the requested offset, read from its start.
    starts = reader.starts(lost) if lost else {}
    chunks_found: dict[Place, Chunk] = {}
    for place, offsets in wanted.items():
        picked = found[place]
        within = [record for record in picked.records if record.offset < offsets.until]
        following = starts.get(place, offsets.first)
        if within and len(within) == len(picked.records) and not picked.ended:
            following = within[-1].offset + 1
        continues = offsets.first < following < offsets.until
        chunks_found[place] = Chunk(within, following if continues else None)
    return chunks_found


def hashes(records: Sequence[PickedRecord], topic: TopicPlan, plan: Plan) -> list[int]:
    """Return the hash of each record by the plan's rules for its topic."""
    contents = [
        Content(one.key, one.value, one.timestamp_ms, one.headers if topic.headers else None)
        for one in records
    ]
    found = record_hashes(contents, timestamps=topic.timestamps, excluded=frozenset(plan.excluded_headers))
    return [int(one) for one in found]


def read_records(
    reader: Reader,
    wanted: Mapping[Place, OffsetRange],
    topics: Mapping[str, TopicPlan],
    plan: Plan,
    *,
    most: int | None = None,
) -> dict[Place, list[ReadRecord]]:
    """Return all records of a stretch of each place with their hashes.

    Places and topics have the names of the reader's cluster. Reading stops after more than `most` records of
    a place.
    """
    read: dict[Place, list[ReadRecord]] = {place: [] for place in wanted}
    for place, some in chunks_of_several(reader, wanted):
        topic = topics[place[0]]
        read[place] += [
            ReadRecord(
                one,
                seen_record(
                    record.offset,
                    record.timestamp_ms,
                    record.key,
                    record.value,
                    record.headers if topic.headers else (),
                    excluded=plan.excluded_headers,
                ),
            )
            for one, record in zip(hashes(some, topic, plan), some, strict=True)
        ]
        if most is not None and len(read[place]) > most:
            break
    return read
