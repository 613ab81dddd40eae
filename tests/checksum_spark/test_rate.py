"""A digest keeps `max_rate`, as a counter of bytes between it and a real broker sees it."""

from __future__ import annotations

import os
import time
from itertools import accumulate
from pathlib import Path

import pytest
from confluent_kafka import Producer

from checksum.digest.cell_rows import Side
from checksum.digest.side import NEWEST_OFFSETS
from checksum.digest.spark_digests import ClusterAccess, SparkDigests
from checksum.plan.shape import READ_UNCOMMITTED, Anchored, OffsetRange, PartitionPlan, Plan, Run, TopicPlan
from deploy.local.broker import Broker
from deploy.local.ports import free_port
from deploy.local.proxy import listen_behind
from deploy.local.topics import create_topic
from runtime.process.clock import SystemClock
from tests.checksum_spark.byte_counter import ByteCounter

pytestmark = pytest.mark.real
PARTITIONS, RECORDS, RECORD_BYTES = 4, 30_000, 1000  # 30 MB
MAX_RATE = 1_200_000.0
AT_THE_SOCKET = 1.1
CLIENT_ID = "mirrorwatch-checksum"
FLUSH_S = 60.0


@pytest.fixture
def counted(kafka_folder):
    """Give a broker behind a counter of bytes, with a topic of 30 MB."""
    broker = Broker("R", kafka_folder / "rate")
    counted_port = free_port()
    behind = listen_behind(broker, counted_port)
    try:
        broker.start()
        broker.wait_ready()
        create_topic(broker.client_properties(), "much", partitions=PARTITIONS)
        # As a Java producer makes them. What a broker hands out ends within a batch, and is read again from there:
        # of larger ones that is more than the tenth, and of those of 1 MB a few are ahead of the rate.
        batches = {"linger.ms": "50", "batch.size": "16384"}
        producer = Producer(broker.client_properties() | batches)
        for number in range(RECORDS):
            producer.produce("much", os.urandom(RECORD_BYTES), partition=number % PARTITIONS)
            producer.poll(0)
        assert producer.flush(FLUSH_S) == 0
        with ByteCounter(counted_port, behind) as counter:
            yield f"127.0.0.1:{counted_port}", counter
    finally:
        broker.kill()


@pytest.mark.long
def test_no_more_bytes_come_from_the_broker_than_the_rate_allows(spark, counted, tmp_path):
    address, counter = counted
    each = RECORDS // PARTITIONS
    whole = OffsetRange(0, each)
    partitions = tuple(
        PartitionPlan(number, whole, whole, (Run(0, each, 0),), (), Anchored.EQUAL_OFFSETS)
        for number in range(PARTITIONS)
    )
    topic = TopicPlan("much", "R.much", None, None, False, True, False, partitions, RECORD_BYTES)
    plan = Plan(
        "R->B", "R", "B", 1, 16, 900_000, READ_UNCOMMITTED, READ_UNCOMMITTED, (), (topic,), ()
    )  # fmt: skip
    access = ClusterAccess({"R": {"bootstrap.servers": address}}, "test", Path(), CLIENT_ID, MAX_RATE)
    begun_s = time.monotonic()
    digests = SparkDigests(spark, access, SystemClock())
    for progress in digests.digest(plan, Side.SOURCE, str(tmp_path / "digest")):
        print(f"{time.monotonic() - begun_s:.1f} s: {progress.offsets} offsets, {progress.slices} slices")
    took_s = time.monotonic() - begun_s
    assert progress.records == RECORDS
    sent = sum(size for _, size in counter.sent)
    print(f"{sent} bytes in {took_s:.1f} s are {sent / took_s:.0f} a second, of {MAX_RATE:.0f} allowed")
    read_so_far = accumulate(size for _, size in counter.sent)
    for (at_s, _), read in zip(counter.sent, read_so_far, strict=True):
        assert read <= AT_THE_SOCKET * MAX_RATE * (at_s - begun_s), f"after {at_s - begun_s:.1f} s"
    assert sent <= AT_THE_SOCKET * MAX_RATE * took_s
    # Nothing is fetched twice, but for the newest records, which are looked at for headers.
    assert (
        RECORDS * RECORD_BYTES
        <= sent
        <= AT_THE_SOCKET * (RECORDS + PARTITIONS * NEWEST_OFFSETS) * RECORD_BYTES
    )
    assert counter.fetching == {CLIENT_ID}
    assert took_s < 2.5 * sent / MAX_RATE  # it is not far slower than it may be either
