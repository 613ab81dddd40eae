"""Equal records on two brokers, as a mirror that keeps offsets would have made them, and the plan for both.

Each record has a key, a value and one header, 200 bytes together; values do not compress. Their times go over
26 hours, so that a digest with buckets of a quarter of an hour has about 20,000 cells on each side.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Producer

from checksum.plan.shape import (
    READ_UNCOMMITTED,
    Anchored,
    OffsetRange,
    PartitionPlan,
    Plan,
    Run,
    TopicPlan,
)
from deploy.local.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    _Headers = list[tuple[str, str | bytes | None]]

PARTITIONS: Final = 12
RECORD_BYTES: Final = 200
BUCKET_MS: Final = 900_000
CELLS: Final = 16
BUCKETS: Final = 104  # 26 hours: with 16 cells in 12 partitions these are 19,968 cells
HEADER: Final = "trace"
FIRST_MS: Final = 1_760_000_400_000  # where a bucket begins
_KEY_BYTES, _HEADER_BYTES = 16, 15
_POOL_BYTES = 1 << 20
_FLUSH_S = 120.0


def contents(records: int, *, headers: bool) -> Iterator[tuple[int, bytes, bytes, int, bytes | None]]:
    """Yield partition, key, value, time and the header's value of each record, in the order of writing."""
    pool = random.Random(1).randbytes(_POOL_BYTES)  # noqa: S311 - the same bytes in each run
    value_bytes = RECORD_BYTES - _KEY_BYTES - (len(HEADER) + _HEADER_BYTES if headers else 0)
    last = _POOL_BYTES - value_bytes
    span_ms = BUCKETS * BUCKET_MS
    for number in range(records):
        at = number * 7_919 % last
        yield (
            number % PARTITIONS,
            b"%016d" % number,
            pool[at : at + value_bytes],
            FIRST_MS + number * span_ms // records,
            b"%015d" % number if headers else None,
        )


def write(
    clients: Mapping[str, Mapping[str, str]], topics: Mapping[str, str], records: int, *, headers: bool
) -> None:
    """Write the same records into a topic of each cluster; clients and topics are given by its alias.

    Raises TimeoutError where they are not there in time.
    """
    producers = {}
    for alias, client in clients.items():
        # Times are of long ago, and order is what makes offsets equal.
        create_topic(client, topics[alias], partitions=PARTITIONS, config={"retention.ms": "-1"})
        producers[alias] = Producer(
            {
                **client,
                "enable.idempotence": True,
                "linger.ms": 50,
                "batch.size": 1_000_000,
                "queue.buffering.max.messages": 1_000_000,
                "queue.buffering.max.kbytes": 200_000,
            }
        )
    for partition, key, value, at_ms, header in contents(records, headers=headers):
        told: _Headers | None = None if header is None else [(HEADER, header)]
        for alias, producer in producers.items():
            _put(producer, topics[alias], value, key, partition=partition, timestamp=at_ms, headers=told)
    for producer in producers.values():
        if producer.flush(_FLUSH_S):
            raise TimeoutError(f"{len(producer)} records were not written within {_FLUSH_S:g} s.")


def _put(producer: Producer, topic: str, value: bytes, key: bytes, **how: Any) -> None:
    while True:
        try:
            producer.produce(topic, value, key, **how)
        except BufferError:
            producer.poll(0.05)
        else:
            return


def planned(source: str, target: str, topic: str, target_topic: str, records: int, *, headers: bool) -> Plan:
    """Return the plan that compares all of these records, by equal offsets."""
    partitions = []
    for number in range(PARTITIONS):
        held = OffsetRange(0, len(range(number, records, PARTITIONS)))
        run = Run(held.first, held.until, 0)
        partitions.append(PartitionPlan(number, held, held, (run,), (), Anchored.EQUAL_OFFSETS))
    return Plan(
        flow=f"{source}->{target}",
        source=source,
        target=target,
        made_at_ms=0,
        cells=CELLS,
        bucket_ms=BUCKET_MS,
        isolation_source=READ_UNCOMMITTED,
        isolation_target=READ_UNCOMMITTED,
        excluded_headers=(),
        topics=(
            TopicPlan(
                topic,
                target_topic,
                None,
                None,
                headers=headers,
                timestamps=True,
                compacted=False,
                partitions=tuple(partitions),
                record_bytes=RECORD_BYTES,
            ),
        ),
        left_out=(),
    )
