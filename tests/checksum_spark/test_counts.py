"""Counts of real logs by Spark are those of a full read, and `--counts-only` tells which bucket lacks what."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest
from confluent_kafka import Producer

from checksum.counts.counting import added_rows
from checksum.counts.side import SideCount
from checksum.digest.cell_rows import Side, bucket_of, planned_partitions
from checksum.digest.kafka_options import Cluster, client_options, reading_options
from checksum.plan.places import places_of
from checksum.plan.shape import (
    READ_UNCOMMITTED,
    Anchored,
    OffsetRange,
    PartitionPlan,
    Plan,
    TopicPlan,
)
from deploy.local.topics import create_topic
from runtime.process.clock import SystemClock
from tests.checksum_spark.logs import read_log
from tests.checksum_spark.test_run import newest_synced, stage, typed  # noqa: F401 - a fixture
from tests.eventually import eventually
from tests.real.checksum.test_plan import DEADLINE_S

pytestmark = pytest.mark.real
BUCKET_MS = 500


@pytest.fixture
def written(kafka_pair, topic_name):
    """Give a topic of three partitions, one of them empty, with gaps of transactions in the others."""
    topic, client = topic_name("counted"), kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=3, config={"retention.ms": "-1"})
    producer = Producer({**client, "transactional.id": topic})
    producer.init_transactions()
    for batch in range(3):
        producer.begin_transaction()
        for number in range(70):
            at_ms = 1_700_000_000_000 + 97 * (batch * 70 + number) - (9_000 if number == 7 else 0)
            producer.produce(
                topic, None if number % 9 == 0 else b"x" * number, b"k", partition=number % 2, timestamp=at_ms
            )
        producer.commit_transaction()
    return topic


def planned(pair, topic, *, timestamps):
    held = {}
    for number in range(3):
        log = read_log(pair.a.client_properties(), topic, number)
        until = log[-1].offset + 1 if log else 0
        held[number] = (log, until)
    partitions = tuple(
        PartitionPlan(
            number,
            OffsetRange(0, until),
            OffsetRange(0, max(until, 1)),
            (),
            tuple((at, at) for at in range(20, until, 33)),
            Anchored.EQUAL_OFFSETS,
        )
        for number, (_, until) in held.items()
    )
    topics = (TopicPlan(topic, topic, None, None, True, timestamps, False, partitions),)
    plan = Plan("A->A", "A", "A", 1, 4, BUCKET_MS, READ_UNCOMMITTED, READ_UNCOMMITTED, (), topics, ())
    return plan, {number: log for number, (log, _) in held.items()}


@pytest.mark.parametrize("timestamps", [True, False])
@pytest.mark.parametrize("max_rate", [None, 1e9])
def test_counts_are_those_of_a_full_read(spark, kafka_pair, written, timestamps, max_rate):
    plan, logs = planned(kafka_pair, written, timestamps=timestamps)
    options = client_options(kafka_pair.a.java_properties(), cluster="A", file="test") | reading_options(
        client_id="audit", digest="counts", isolation=READ_UNCOMMITTED
    )
    work = SideCount(
        spark, plan, Side.SOURCE,
        places=places_of(plan, Side.SOURCE), cluster=Cluster("A", options), clock=SystemClock(),
        pause=lambda _seconds: None,
    )  # fmt: skip
    seen = list(work.run(slice_offsets=60, max_rate=max_rate))
    expected = defaultdict(list)
    for (topic, number), one in planned_partitions(plan).items():
        for record in logs[number]:
            at_ms = record.content.timestamp_ms
            bucket = bucket_of(one, BUCKET_MS, Side.SOURCE, offset=record.offset, timestamp_ms=at_ms)
            expected[topic, number, bucket].append(record.offset)
    found = added_rows(row for progress in seen for row in progress.rows)
    assert {key: (row.records, row.first_offset, row.last_offset) for key, row in found.items()} == {
        key: (len(offsets), min(offsets), max(offsets)) for key, offsets in expected.items()
    }
    assert len(found) > 4
    assert len(seen) > 4
    last = seen[-1]
    assert (last.records, last.offsets, last.partitions) == (210, last.of_offsets, last.of_partitions)
    size = sum(len(one.content.value or b"") + len(one.content.key) for log in logs.values() for one in log)
    assert last.size_bytes == (0 if max_rate is None else size)
    assert last.of_partitions == 2  # the empty one is none


@pytest.mark.long
def test_the_bucket_that_lacks_a_record_is_told_with_both_numbers(stage, tmp_path):  # noqa: F811
    stage.write(3000)
    stage.wait_copied()
    path, page = tmp_path / "result.json", tmp_path / "page.html"
    command = (
        "run", stage.mirror.properties_file, "--topic", stage.topic, "--flow", "A:B", "--master", "local[2]",
        "--counts-only", "--json", path, "--page", page,
    )  # fmt: skip
    status, said = typed(*command)
    assert (status, "Only counts were compared" in " ".join(said.split())) == (0, True), said
    lost = stage.records("A", 1)[-1].offset + 100
    stage.mirror.switch.on("drop", topics=re.escape(stage.topic), partition=1, modulus=10**6, remainder=lost)
    stage.write(1000)
    eventually(lambda: len(stage.copies()) == stage.written - 1, DEADLINE_S, every_s=0.2)
    eventually(lambda: newest_synced(stage), DEADLINE_S, what="the newest syncs", every_s=0.5)
    status, said = typed(*command)
    assert status == 1, said
    (found,) = json.loads(path.read_text())["runs"]
    (one,) = found["findings"]["shown"]
    assert (one["verdict"], one["topic"], one["partition"]) == ("lacking", stage.topic, 1), said
    assert one["source_records"] - one["target_records"] == 1
    assert found["coverage"] is None
    assert "counts differ" in page.read_text()
