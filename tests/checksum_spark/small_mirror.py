"""A mirror of this test's own: it copies a topic with the faults that are asked for, and tells what a mirror tells.

Its offset syncs are those that OffsetSyncWriter of Kafka 4.3 writes: at once at the start, after a gap of the
source's offsets, after `lag_max` records, where the target went back; and the last one with the flush.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Producer

from fleet.wire.mirror import OffsetSync, encode_offset_sync
from fleet.wire.records import OffsetSyncKey
from tests.checksum_spark.logs import read_logs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.digest.record_hash import Content

FLUSH_S = 30.0
LAG_MAX = 100


class Copy(NamedTuple):
    """A record on its way to a partition of the target; `origin` is its offset on the source, None: it has none."""

    partition: int
    content: Content
    origin: int | None


def originals(
    client: Mapping[str, str], topic: str, partitions: int, *, since: int = 0, committed: bool = False
) -> list[Copy]:
    """Return what the source holds from an offset on, partition by partition, as copies without a fault."""
    places = [(topic, number) for number in range(partitions)]
    return [
        Copy(place[1], held.content, held.offset)
        for place, log in read_logs(client, places, committed=committed).items()
        for held in log
        if held.offset >= since
    ]


def write(
    client: Mapping[str, str],
    topic: str,
    copies: Sequence[Copy],
    *,
    transaction: str = "",
    commit: bool = True,
) -> list[int]:
    """Write records in their order and return the offset of each; in one transaction where that has a name."""
    offsets = [-1] * len(copies)

    def delivered(number):
        def told(error, message):
            assert error is None, error
            offsets[number] = message.offset()

        return told

    named = {"transactional.id": transaction} if transaction else {}
    producer = Producer({**client, "log_level": 0, "linger.ms": 5, "enable.idempotence": True, **named})
    if transaction:
        producer.init_transactions(FLUSH_S)
        producer.begin_transaction()
    for number, (partition, content, _) in enumerate(copies):
        producer.produce(
            topic, content.value, content.key, partition,
            on_delivery=delivered(number), timestamp=content.timestamp_ms, headers=content.headers,
        )  # fmt: skip
        producer.poll(0)
    assert producer.flush(FLUSH_S) == 0
    if transaction:
        (producer.commit_transaction if commit else producer.abort_transaction)(FLUSH_S)
    return offsets


def write_syncs(
    client: Mapping[str, str], syncs: str, topic: str, copies: Sequence[Copy], offsets: Sequence[int]
) -> None:
    """Write the offset syncs of what was copied into the topic `syncs`, as one life of a mirror's task."""
    producer = Producer({**client, "log_level": 0})
    for partition in {one.partition for one in copies}:
        pairs = [
            (copy.origin, offset)
            for copy, offset in zip(copies, offsets, strict=True)
            if copy.partition == partition and copy.origin is not None
        ]
        for upstream, downstream in due(pairs):
            key, value = encode_offset_sync(OffsetSync(OffsetSyncKey(topic, partition), upstream, downstream))
            producer.produce(syncs, value, key, 0)
    assert producer.flush(FLUSH_S) == 0


def due(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return which of the pairs a mirror writes."""
    found: list[tuple[int, int]] = []
    before = (-2, -2)
    for pair in pairs:
        gap = pair[0] != before[0] + 1 or pair[1] < before[1] + 1
        if gap or pair[1] >= found[-1][1] + 1 + LAG_MAX:
            found.append(pair)
        before = pair
    return found if not found or found[-1] == before else [*found, before]
