"""Read stretches of a partition by a plain consumer, and hash what came as the digest does.

It blocks, and belongs on a thread. What it reads is chosen by whoever asks; each question to the client is
bounded (runtime/kafka/picking.py), so a stretch comes in chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.anchor_records import seen_record
from checksum.narrow import ReadRecord
from checksum.record_hash import Content
from checksum.record_hashes import record_hashes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checksum.anchor_reading import Place, Reader
    from checksum.plan_shape import OffsetRange, Plan, TopicPlan
    from runtime.kafka.picking import PickedRecord

CHUNK_RECORDS = 10_000


def chunks(reader: Reader, place: Place, offsets: OffsetRange) -> Iterator[list[PickedRecord]]:
    """Give the records of a stretch in order, some at a time; what the log has lost of it is passed over."""
    return (some for _, some in chunks_of_several(reader, {place: offsets}))


def chunks_of_several(
    reader: Reader, wanted: Mapping[Place, OffsetRange]
) -> Iterator[tuple[Place, list[PickedRecord]]]:
    """Give the records of a stretch of each place, some of one place at a time: at once it takes less."""
    at = {place: offsets.first for place, offsets in wanted.items() if offsets.span > 0}
    while at:
        asked = {
            place: (first, min(CHUNK_RECORDS, wanted[place].until - first)) for place, first in at.items()
        }
        found = reader.pick(asked)
        lost = [place for place in asked if found[place].lost]
        # Where the log begins behind what is asked for it is read from there; else it ends before.
        starts = reader.starts(lost) if lost else {}
        following = {place: start for place, start in starts.items() if start > at[place]}
        for place in asked:
            picked, until = found[place], wanted[place].until
            within = [record for record in picked.records if record.offset < until]
            if within:
                yield place, within
                if len(within) == len(picked.records) and not picked.ended:
                    following[place] = within[-1].offset + 1
        at = {place: first for place, first in following.items() if first < wanted[place].until}


def hashes(records: Sequence[PickedRecord], topic: TopicPlan, plan: Plan) -> list[int]:
    """Return the hash of each record by the plan's rules for its topic."""
    contents = [
        Content(one.key, one.value, one.timestamp_ms, one.headers if topic.headers else None)
        for one in records
    ]
    found = record_hashes(contents, timestamps=topic.timestamps, excluded=frozenset(plan.excluded_headers))
    return [int(one) for one in found]


def read_records(
    reader: Reader, wanted: Mapping[Place, OffsetRange], topics: Mapping[str, TopicPlan], plan: Plan
) -> dict[Place, list[ReadRecord]]:
    """Return all records of a stretch of each place with their hashes.

    Places are as the reader's cluster names them, and so are the topics.
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
    return read
