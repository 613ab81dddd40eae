"""One record of a hundred thousand that a real mirror drops is named by partition, offset and time."""

from __future__ import annotations

import re

import pytest

from checksum.compare.finding_text import time_text
from deploy.local import topics
from tests.checksum_spark.logs import log_ends, read_logs
from tests.eventually import eventually
from tests.real.checksum.test_plan import DEADLINE_S, PARTITIONS, Stage
from tests.real.checksum.test_state import run

RECORDS, BEFORE = 100_000, 60_000  # in all, and before the fault begins
PARTITION, BEHIND = 1, 12_345  # where it drops one, and how far behind what was there before


@pytest.fixture
def stage(kafka_pair, mirror, topic_name):
    topic = topic_name("rare")
    found = Stage(kafka_pair, topic)
    found.mirror = mirror({"A->B.topics": topic})
    found.folder = found.mirror.properties_file.parent
    return found


def wait_copied(stage, count):
    there = stage.client["B"]
    eventually(
        lambda: topics.log_end(there, stage.remote) == count, DEADLINE_S, what=f"{count} copies", every_s=0.2
    )


def newest_synced(stage):
    places = [(stage.topic, number) for number in range(PARTITIONS)]
    known, ends = stage.syncs(), log_ends(stage.client["A"], places)
    return all(known.of(*place)[-1].upstream == ends[place] - 1 for place in places)


def lacking(stage):
    """Return the source's records that the target lacks, as (partition, record), by a full read of both."""
    source = read_logs(stage.client["A"], [(stage.topic, number) for number in range(PARTITIONS)])
    target = read_logs(stage.client["B"], [(stage.remote, number) for number in range(PARTITIONS)])
    assert sum(map(len, source.values())) == RECORDS
    found = []
    for (_, number), log in source.items():
        copies = {one.content.value for one in target[stage.remote, number]}
        found += [(number, one) for one in log if one.content.value not in copies]
    return found


@pytest.mark.long
def test_one_record_lost_of_a_hundred_thousand_is_named_by_offset_and_time(stage, tmp_path):
    stage.write(BEFORE)
    wait_copied(stage, BEFORE)
    lost = BEFORE // PARTITIONS + BEHIND
    stage.mirror.switch.on(
        "drop", topics=re.escape(stage.topic), partition=PARTITION, modulus=10**6, remainder=lost
    )
    stage.write(RECORDS - BEFORE)
    wait_copied(stage, RECORDS - 1)
    eventually(lambda: newest_synced(stage), DEADLINE_S, what="the newest syncs", every_s=0.5)
    ((partition, record),) = lacking(stage)
    assert (partition, record.offset) == (PARTITION, lost)

    status, found, said = run(stage, tmp_path / "result.json")
    assert (status, found["coverage"], found["expected"]["count"]) == (1, 1.0, 0), said
    assert (found["source_records"], found["target_records"]) == (RECORDS, RECORDS - 1)
    at = time_text(record.content.timestamp_ms)
    names = ("verdict", "topic", "partition", "source_offsets", "target_offsets", "at")
    told = [tuple(one[name] for name in names) for one in found["findings"]["shown"]]
    assert told == [("lost", stage.topic, PARTITION, [lost, lost + 1], None, at)], said
    where = f"{stage.topic} [{PARTITION}]: record at offset {lost} on A ({at})"
    assert where in said
