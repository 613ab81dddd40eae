"""A checksum without Spark: one process, one consumer after the other, the same cells by NumPy.

It is what somebody would write who has no Spark: confluent-kafka reads batches, whole columns are hashed at
once, sums are NumPy's. Its cells are compared with Spark's, so that it does the same work and not less.
"""

from __future__ import annotations

import time
from operator import add
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from confluent_kafka import Consumer, KafkaException, TopicPartition

from checksum.digest.cell_rows import CellKey, CellRow
from checksum.digest.record_hash import SPARK_SEED, Content
from checksum.digest.record_hashes import record_hashes
from checksum.digest.xxhash64_many import hash_ints, hash_longs
from checksum.plan.shape import SEEDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka import Message
    from numpy.typing import NDArray

    from checksum.plan.shape import Plan

    Headers = Sequence[tuple[str, bytes | None]] | None

BATCH: Final = 5_000
_DEADLINE_S = 600.0
_LOW = 0xFFFFFFFF


def plain_digest(client: Mapping[str, str], topic: str, plan: Plan) -> dict[CellKey, CellRow]:
    """Return the digest of the plan's only topic, read as `topic`; its partitions begin at 0 and have a run.

    Raises KafkaException, and TimeoutError where the records do not come.
    """
    (planned,) = plan.topics
    ends = {one.partition: one.source.until for one in planned.partitions}
    consumer = Consumer(
        {
            **client,
            "group.id": "bench-plain-comparer",
            "enable.auto.commit": False,
            "check.crcs": False,
            "fetch.message.max.bytes": 4_000_000,
            "queued.max.messages.kbytes": 65_536,
        }
    )
    cells: dict[tuple[int, int, int], list[int]] = {}
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
        left, until = sum(ends.values()), time.monotonic() + _DEADLINE_S
        while left:
            if time.monotonic() > until:
                raise TimeoutError(f"{left} records of {topic} did not come within {_DEADLINE_S:g} s.")
            messages = consumer.consume(BATCH, 1.0)
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
            left -= len(messages)
            if messages:
                _add(cells, messages, plan)
    finally:
        consumer.close()
    rows = [CellRow(planned.topic, *key, *sums) for key, sums in cells.items()]
    return {row.key: row for row in rows}


def _add(cells: dict[tuple[int, int, int], list[int]], messages: Sequence[Message], plan: Plan) -> None:
    contents = [
        Content(one.key(), one.value(), one.timestamp()[1], cast("Headers", one.headers()))
        for one in messages
    ]
    count = len(messages)
    offsets = np.fromiter((one.offset() or 0 for one in messages), np.int64, count)
    partitions = np.fromiter((one.partition() or 0 for one in messages), np.int64, count)
    times = np.fromiter((one.timestamp_ms for one in contents), np.int64, count)
    hashes = record_hashes(contents)
    buckets, within = np.divmod(times, plan.bucket_ms)
    most, room = int(partitions.max()) + 1, plan.cells
    places = (buckets * most + partitions) * room + np.mod(hashes, room)
    found, where = np.unique(places, return_inverse=True)
    kinds = len(found)
    mixed = hash_longs(hashes, np.full(count, SPARK_SEED, np.uint64))
    second, third = (hash_ints(np.full(count, seed, np.int64), mixed).view(np.int64) for seed in SEEDS)
    order = hash_longs(offsets, mixed).view(np.int64)
    parts = (
        *_halves(hashes), *_halves(second), *_halves(third), within, *_halves(order), offsets,
    )  # fmt: skip
    # As floats the sums are exact: of so few numbers below 2^32 they stay below 2^53.
    sums = [np.bincount(where, minlength=kinds)]
    sums += [np.bincount(where, part, minlength=kinds).astype(np.int64) for part in parts]
    first, last = np.full(kinds, 1 << 62, np.int64), np.full(kinds, -1, np.int64)
    np.minimum.at(first, where, offsets)
    np.maximum.at(last, where, offsets)
    columns = zip(*(one.tolist() for one in (*sums, first, last)), strict=True)
    for number, new in zip(found.tolist(), columns, strict=True):
        place = number // room % most, number // room // most, number % room
        old = cells.get(place)
        cells[place] = list(new) if old is None else _joined(old, new)


def _joined(old: list[int], new: Sequence[int]) -> list[int]:
    # A partition's records come in order, so that the old ones stand before the new ones.
    return [*map(add, old[:-2], new[:-2]), old[-2], new[-1]]


def _halves(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return numbers & _LOW, numbers >> 32 & _LOW
