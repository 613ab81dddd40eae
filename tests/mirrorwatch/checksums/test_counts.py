"""`checksum run --counts-only` from the plan to the exit status: numbers differ where records were lost."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict

import pytest

from checksum.counts.counting import BucketCount, CountProgress
from checksum.digest.cell_rows import Side, bucket_of, planned_partitions
from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from mirrorwatch.checksums.counts import count_all
from runtime.kafka.admin import TopicDescription
from tests.checksum.pretend_mirror import MARKER, Mirrored
from tests.mirrorwatch.checksum_stage import Stage
from tests.mirrorwatch.checksums.test_run import TWO_FLOWS, mirrored
from tests.mirrorwatch.checksums.test_run import run as run_all_of

NOTHING_ELSE = "Only counts were compared: equal counts verify no record."


class PretendCounting:
    """Counts of what the pretend logs hold at that moment; `errs` changes a count of the target."""

    def __init__(self, stage):
        self.stage = stage
        self.errs = []  # each look's: what is taken from the target's first bucket
        self.failing = []
        self.asked = []

    def count(self, plan, side):
        self.asked.append((str(side), sorted(planned_partitions(plan))))
        if self.failing:
            raise self.failing.pop(0)
        rows = defaultdict(list)
        for (topic, number), one in planned_partitions(plan).items():
            mirrored = self.stage.clusters.mirrors[topic, number]
            source = side is Side.SOURCE
            log, span = (
                (mirrored.source, one.partition.source) if source else (mirrored.target, one.partition.target)
            )
            for offset in range(max(span.first, log.start), span.until):
                record = log.records[offset]
                if record is not MARKER:
                    bucket = bucket_of(one, plan.bucket_ms, side, offset=offset, timestamp_ms=record.at_ms)
                    rows[topic, number, bucket].append(offset)
        err = self.errs.pop(0) if self.errs and side is Side.TARGET else 0
        found = [BucketCount(*key, len(held), held[0], held[-1]) for key, held in sorted(rows.items())]
        found = [found[0]._replace(records=found[0].records - err), *found[1:]] if found else []
        spans = sum(len(held) for held in rows.values())
        yield CountProgress(0, spans, 0, 0, 0, 0)
        yield CountProgress(spans, spans, 0, 0, spans, 0, (), tuple(found))


@pytest.fixture
def stage(tmp_path, monkeypatch):
    def made(mirrors, **more):
        found = Stage(tmp_path, mirrors, monkeypatch, **more)
        found.digests_made = PretendCounting(found)
        return found

    return made


def count(stage, *topics, json_file=None):
    return count_all(stage.session, stage.chosen(*topics), spark=stage, json_file=json_file)


def test_equal_counts_are_fine_and_verify_nothing(stage):
    found = stage({("orders", 0): mirrored(), ("orders", 1): mirrored(77)})
    path = found.folder / "result.json"
    assert count(found, json_file=path) == 0
    (run,) = found.read_json(path)["runs"]
    assert (run["counts_only"], run["coverage"], run["findings"]["count"]) == (True, None, 0)
    assert run["source_records"] == run["target_records"] == 277
    assert Counter(one["topic"] for one in run["counts"]["shown"])["orders"] >= 2
    assert f"OK: both sides have the same number of records in each time bucket. {NOTHING_ELSE}" in found.said
    kept = sqlite3.connect(found.folder / "mirrorwatch.db")
    sums = kept.execute("select sum(source_records), sum(target_records) from checksum_counts").fetchall()
    assert sums == [(277, 277)]
    assert kept.execute("select counts_only, coverage, status from checksum_runs").fetchall() == [
        (1, None, 0)
    ]
    assert kept.execute("select count(*) from checksum_verified").fetchall() == [(0,)]
    kept.close()


def test_a_lost_record_is_a_bucket_with_both_numbers(stage):
    found = stage({("orders", 0): mirrored(drop_at=10), ("orders", 1): mirrored()})
    path = found.folder / "result.json"
    assert count(found, json_file=path) == 1
    (one,) = found.read_json(path)["runs"][0]["findings"]["shown"]
    assert (one["verdict"], one["topic"], one["partition"]) == ("lacking", "orders", 0)
    assert one["source_records"] - one["target_records"] == 1
    assert "counts differ in 1 bucket; 400 records counted" in found.said
    assert "1 record missing on B" in found.said
    assert NOTHING_ELSE in found.said
    # Only what differs is counted twice.
    assert found.digests_made.asked[2:] == [("source", [("orders", 0)]), ("target", [("orders", 0)])]


def test_topics_that_differ_stand_first(stage):
    found = stage({("alpha", 0): mirrored(), ("zeta", 0): mirrored(drop_at=10)})
    assert count(found, "alpha", "zeta") == 1
    table = found.said.partition("buckets differing")[2]
    assert table.split()[0] == "zeta"
    assert "alpha" in table


def test_what_one_look_alone_sees_is_no_difference(stage):
    found = stage({("orders", 0): mirrored()})
    found.digests_made.errs = [1, 0]
    assert count(found) == 3
    assert "orders [0]: the first and the second count differ" in found.said
    twice = stage({("orders", 0): mirrored()})
    twice.digests_made.errs = [1, 1]
    assert count(twice) == 1


def test_a_surplus_is_incomplete_under_at_least_once(stage):
    found = stage({("orders", 0): mirrored()})
    found.digests_made.errs = [-1, -1]
    assert count(found) == 3
    assert "200 on A, 201 on B; duplicates or foreign records" in found.said
    assert "Incomplete: no records missing in what could be compared" in found.said


def test_a_topic_that_was_made_anew_meanwhile_ends_it(stage):
    found = stage({("orders", 0): mirrored()})
    anew = TopicDescription("A.orders", "ANEW", (1,))
    work = found.digests_made.count

    def count_and_make_anew(plan, side):
        yield from work(plan, side)
        found.clusters.b.topics["A.orders"] = anew

    found.digests_made.count = count_and_make_anew
    with pytest.raises(UnavailableError, match=r"A\.orders was re-created after the plan was made"):
        count(found)


def test_more_bytes_than_allowed_are_refused(stage):
    with pytest.raises(ConfigurationError, match=r"max_bytes \(10 B\)"):
        count(stage({("orders", 0): mirrored()}, max_bytes=10))


def test_one_flow_that_fails_does_not_blind_the_other(stage):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    found.digests_made.failing = [RefusedError("cluster A: no permission to read the topics")]
    path = found.folder / "result.json"
    assert count(found, json_file=path) == 4
    assert [one["status"] for one in found.read_json(path)["runs"]] == [4, 0]
    assert "A->B: nothing compared cluster A: no permission" in found.said
    assert "A->C: no difference in the counts of 200 records" in found.said


def test_an_empty_topic_that_the_target_lacks_makes_it_no_less_complete(stage):
    found = stage({("orders", 0): mirrored(), ("new", 0): Mirrored()})
    del found.clusters.b.topics["A.new"]
    assert count(found) == 0
    assert "Not compared" not in found.said


def test_nothing_new_needs_no_spark(stage):
    found = stage({("orders", 0): Mirrored()})
    assert count(found) == 0
    assert (found.started, "no new records to count" in found.said) == (0, True)
    assert "no new records in 1 topic, empty or compared before: orders" in found.said


def test_what_was_verified_before_is_not_counted_again_and_called_equal_by_nobody(
    stage, tmp_path, monkeypatch
):
    mirrors = {("orders", 0): mirrored(drop_at=10), ("audit", 0): mirrored()}
    assert run_all_of(Stage(tmp_path, mirrors, monkeypatch)) == 1
    found = stage(mirrors)
    assert count(found) == 0
    assert "no new records in 2 topics, empty or compared before: audit, orders" in found.said
    assert "found 1 difference; each is reported once. No later run cleared it." in found.said
    assert found.said.rstrip().endswith(
        "Result No new records: nothing counted. The findings of earlier runs still hold."
    )
    assert "the same number" not in found.said


def test_topics_with_nothing_new_are_counted_beside_those_that_are_compared(stage, tmp_path, monkeypatch):
    mirrors = {("orders", 0): mirrored(), ("audit", 0): mirrored()}
    assert run_all_of(Stage(tmp_path, mirrors, monkeypatch), "audit") == 0
    found = stage(mirrors)
    assert count(found) == 0
    assert "no new records in 1 topic, empty or compared before: audit" in found.said
    assert "OK: both sides have the same number of records in each time bucket." in found.said
