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
    from collections.abc import Iterator, Sequence

    from checksum.anchor_reading import Place, Reader
    from checksum.plan_shape import OffsetRange, Plan, TopicPlan
    from runtime.kafka.picking import PickedRecord

CHUNK_RECORDS = 10_000


def chunks(reader: Reader, place: Place, offsets: OffsetRange) -> Iterator[list[PickedRecord]]:
    """Give the records of a stretch in order, some at a time; what the log has lost of it is passed over."""
    at = offsets.first
    while at < offsets.until:
        found = reader.pick({place: (at, min(CHUNK_RECORDS, offsets.until - at))})[place]
        if found.lost:
            start = reader.starts([place])[place]
            if start <= at:  # it lies behind the log's end
                return
            at = start
            continue
        within = [record for record in found.records if record.offset < offsets.until]
        if within:
            yield within
        if found.ended or len(within) < len(found.records) or not found.records:
            return
        at = found.records[-1].offset + 1


def hashes(records: Sequence[PickedRecord], topic: TopicPlan, plan: Plan) -> list[int]:
    """Return the hash of each record by the plan's rules for its topic."""
    contents = [
        Content(one.key, one.value, one.timestamp_ms, one.headers if topic.headers else None)
        for one in records
    ]
    found = record_hashes(contents, timestamps=topic.timestamps, excluded=frozenset(plan.excluded_headers))
    return [int(one) for one in found]


def read_records(
    reader: Reader, place: Place, offsets: OffsetRange, *, topic: TopicPlan, plan: Plan
) -> list[ReadRecord]:
    """Return all records of a stretch with their hashes; `place` is as the reader's cluster names it."""
    return [
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
        for some in chunks(reader, place, offsets)
        for one, record in zip(hashes(some, topic, plan), some, strict=True)
    ]
