"""Missing records of a mirror that reads as a group are a suspicion by topic, and no verdict."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import HELD_MS
from tests.lagmon.mirror_flows import Mirrored, S

COPIES = ("A.orders", 0), ("A.orders", 1)


class Grouped(Mirrored):
    """A mirror that is at rest, and has been for 30 s."""

    def __init__(self):
        super().__init__({"orders": 2, "empty": 1}, lag_from="group", group="mm1")
        self.poll()
        self.go(30, each=self.traffic)
        self.go(30)

    def traffic(self, *, dropped=0):
        """Have 100 records come to each partition; keys say where their copies go."""
        for partition in (0, 1):
            self.write(100, partition=partition, copied=False)
            self.commit(partition=partition)
        for copy, came in zip(COPIES, (150 - dropped, 50), strict=True):
            self.target_ends[copy] += came

    def found(self):
        return [(one.code, one.topic, one.partition, one.records) for one in self.snapshot().findings]


def test_offsets_that_are_moved_forward_pass_records_over_which_is_a_suspicion():
    one = Grouped()
    one.go(20, each=one.traffic)
    for partition in (0, 1):
        one.write(2000, partition=partition, copied=False)
    one.go(300)
    for partition in (0, 1):
        one.commit(partition=partition)  # kafka-consumer-groups --to-latest
    one.go(20, each=one.traffic)
    assert one.found() == []
    one.go(30)
    assert one.found() == [(Cause.FILTERED, "orders", None, 4000)]
    (finding,) = one.snapshot().findings
    assert (finding.proved, finding.first_offset) == (False, None)
    assert (
        "since 2026-09-21 14:14:20 UTC the mirror passed 12,000 offsets, and A.orders grew by 8,000."
        in finding.sentence
    )
    assert "At least 4,000 records of orders may be missing on B" in finding.sentence
    assert one.verdict().verdict is Verdict.HEALTHY
    one.go(HELD_MS // S + 10, step=10)
    assert one.found() == []


@pytest.mark.parametrize("dropped", [0, -5])
def test_targets_that_come_to_other_partitions_or_twice_are_none(dropped):
    one = Grouped()
    for _ in range(3):
        one.go(20, each=lambda: one.traffic(dropped=dropped))
        one.go(30)
    assert one.found() == []


def test_commits_that_come_late_are_none():
    one = Grouped()
    one.go(20, each=one.traffic)
    for partition in (0, 1):
        one.write(50, partition=partition, copied=False)
    one.target_ends[COPIES[0]] += 100
    one.go(60)
    one.commit()
    one.go(60)
    assert one.found() == []
    one.commit(partition=1)
    one.go(60)
    assert one.found() == []


def test_a_source_that_was_not_polled_since_shows_no_rest():
    """Its end is older than what was copied since, which makes the copies seem to be more than they are."""
    one = Grouped()
    for copy in COPIES:
        one.target_ends[copy] += 50
    places = np.array([one.b.places.of(topic)[partition] for topic, partition in COPIES], np.int32)
    for _ in range(4):
        one.now += 10 * S
        one.b.heads.note(places, np.array([one.target_ends[copy] for copy in COPIES]), one.now)
        one.snapshot()
    for partition in (0, 1):
        one.write(50, partition=partition, copied=False)
        one.commit(partition=partition)
    one.go(60)
    assert one.found() == []


@pytest.mark.parametrize("why", ["compacted", "transactions"])
def test_where_it_has_another_cause_nothing_is_reported(why):
    one = Grouped()
    if why == "compacted":
        one.flow.note_settings("A", "orders", {"cleanup.policy": "compact"})
    else:
        one.a.heads.note_stable(np.array([one.a.places.of("orders")[0]], np.int32), np.array([10]))
        one.snapshot()
    one.go(20, each=lambda: one.traffic(dropped=3))
    one.go(30)
    assert one.found() == []


@pytest.mark.parametrize("side", ["A", "B"])
def test_a_recreated_topic_starts_again(side):
    one = Grouped()
    for topic_id in ("one", "two"):
        one.now += S
        one.flow.note_ids(side, {"orders" if side == "A" else "A.orders": topic_id}, one.now)
    one.go(20, each=lambda: one.traffic(dropped=3))
    one.go(30)
    assert [found for found in one.found() if found[0] is Cause.FILTERED] == []
    one.go(20, each=lambda: one.traffic(dropped=3))
    one.go(30)
    assert (Cause.FILTERED, "orders", None, 60) in one.found()


def test_topics_that_are_listed_again_are_the_same_and_another_groups_offsets_start_again():
    one = Grouped()
    one.go(20, each=lambda: one.traffic(dropped=3))
    one.a.note_topics({"orders": 2, "empty": 1, "more": 1})
    one.go(30)
    assert one.found() == [(Cause.FILTERED, "orders", None, 60)]
    one = Grouped()
    one.go(20, each=lambda: one.traffic(dropped=3))
    one.flow.windows.forget("orders", 0)
    one.commit()
    one.go(30)
    assert one.found() == []


def test_a_topic_with_a_partition_that_has_records_and_no_offset_is_not_at_rest():
    one = Grouped()
    one.flow.windows.forget("orders", 1)
    for _ in range(2):
        one.go(20, each=lambda: one.write(100))
        one.commit()
        one.target_ends[COPIES[0]] -= 10
        one.go(30)
    assert one.found() == []
