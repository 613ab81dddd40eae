"""What the checksum's benchmark is about is what its figures say it is about."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from bench import checksum, checksum_plain
from bench.checksum_plain import plain_digest
from bench.checksum_records import BUCKETS, CELLS, PARTITIONS, RECORD_BYTES, contents, planned
from checksum.compare.digest_findings import compared
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content
from tests.checksum.pretend_logs import Held, Partition, digest

RECORDS = 5_000
HEADER = "trace"


def held(records, *, headers=True):
    """Return what `write` would write, by partition."""
    found = [Partition() for _ in range(PARTITIONS)]
    for number, key, value, at_ms, header in contents(records, headers=headers):
        told = None if header is None else [(HEADER, header)]
        log = found[number].source
        log.append(Held(len(log), Content(key, value, at_ms, told)))
    return found


@pytest.mark.parametrize("headers", [True, False])
def test_a_record_has_two_hundred_bytes_key_value_and_header_together(headers):
    for _, key, value, _, header in contents(1_000, headers=headers):
        told = len(HEADER) + len(header) if header is not None else 0
        assert len(key) + len(value) + told == RECORD_BYTES
        assert (header is not None) == headers


def test_records_go_over_all_cells_of_twenty_six_hours():
    plan = planned("A", "B", "whole", "A.whole", RECORDS * 40, headers=True)
    assert PARTITIONS * BUCKETS * CELLS == 19_968
    times = [at_ms for _, _, _, at_ms, _ in contents(RECORDS * 40, headers=True)]
    assert times == sorted(times)
    assert len({at_ms // plan.bucket_ms for at_ms in times}) == BUCKETS


@pytest.mark.parametrize("records", [1_000, 1_007])
def test_the_plan_covers_exactly_what_was_written(records):
    plan = planned("A", "B", "whole", "A.whole", records, headers=True)
    logs = held(records)
    assert [one.source.until for one in plan.topics[0].partitions] == [len(log.source) for log in logs]
    assert [one.source for one in plan.topics[0].partitions] == [
        one.target for one in plan.topics[0].partitions
    ]


class Message(NamedTuple):
    """As much of confluent_kafka's Message as the comparer asks."""

    at: int
    held: Held

    def error(self):
        return None

    def key(self):
        return self.held.content.key

    def value(self):
        return self.held.content.value

    def headers(self):
        return self.held.content.headers

    def timestamp(self):
        return 1, self.held.content.timestamp_ms

    def offset(self):
        return self.held.offset

    def partition(self):
        return self.at


class Consumer:
    """Gives the records of all partitions in turns, a few at a time."""

    logs: list[Partition]

    def __init__(self, _settings):
        self._left = []

    def assign(self, places):
        logs = [[Message(one.partition, held) for held in self.logs[one.partition].source] for one in places]
        self._left = [log.pop(0) for _ in range(max(map(len, logs))) for log in logs if log]

    def consume(self, _count, _timeout_s):
        given, self._left = self._left[:700], self._left[700:]
        return given

    def close(self):
        pass


@pytest.mark.parametrize("headers", [True, False])
def test_the_comparer_without_spark_comes_to_the_digest_of_the_reference(monkeypatch, headers):
    logs = held(RECORDS, headers=headers)
    plan = planned("A", "B", "whole", "A.whole", RECORDS, headers=headers)
    monkeypatch.setattr(checksum_plain, "Consumer", type("Given", (Consumer,), {"logs": logs}))
    found = plain_digest({}, "whole", plan)
    assert found == digest({"whole": logs}, plan, Side.SOURCE)
    assert not compared(plan, found.values(), found.values()).known.findings


def test_a_part_that_there_is_not_and_too_few_records_are_refused_before_anything_starts():
    with pytest.raises(ValueError, match="no part is called sped: there are speed, bare,"):
        checksum.measure(parts=("sped",))
    with pytest.raises(ValueError, match="999 records are too few to measure anything: give 1000 or more"):
        checksum.measure(records=999)


def test_every_part_is_measured():
    stage = pytest.importorskip("bench.checksum_stage")
    assert all(callable(getattr(stage.Stage, part)) for part in checksum.PARTS)


def test_the_slope_of_digests_is_per_record_without_what_each_of_them_costs(monkeypatch):
    speed = pytest.importorskip("bench.checksum_speed")
    now = [0.0]
    monkeypatch.setattr(speed.time, "monotonic", lambda: now[0])

    class Pretended:
        def __init__(self, records):
            self.records = records

        def count(self, _spark, _side):
            return self.records

        def digest(self, _spark, _side, _run):
            now[0] += 3.0 + self.records * 1e-6

    found = speed.scaled(None, Pretended(1_000_000), Pretended(10_000_000), 2)
    assert found == {"few_s": 4.0, "many_s": 13.0, "slope_us": 1.0, "billion_each_side_h": 0.56}
