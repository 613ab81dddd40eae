"""What both logs prove of a group, from clusters in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lagmon.failover.readiness import Status, judge_group
from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.failover.facts import FlowFailover
from mirrorwatch.failover.mirror_topics import MirrorTopics
from mirrorwatch.failover.proving import prove
from tests.lagmon.failover.test_readiness import FACTS
from tests.mirrorwatch.trace.logs import FakeClusters
from tests.mirrorwatch.trace.test_trace import FLOW, NOW_MS, ORDERS, Stage


@pytest.fixture
def stage():
    return Stage()


def proved(stage, **changes):
    """Return how a group that has read up to offset 50 and starts at 20 is judged, without offset syncs."""
    facts = replace(FACTS, runs=[], committed=50, source_end=stage.here.end, replicated=None, checkpoint=None)
    ends = {"target_start": stage.there.start, "target_end": stage.there.end}
    facts = replace(facts, **{"target_committed": 20, **ends, **changes})
    clusters, mirror = FakeClusters(stage.a, stage.b), MirrorTopics(order_of(FLOW))
    found = FlowFailover(flow=FLOW, groups=(judge_group("billing", [facts]),))
    (group,) = prove(found, mirror, clusters, now_ms=NOW_MS).groups
    return group.partitions[0]


def counts(one):
    return one.status, one.read_again_records, one.skipped_records


def test_the_next_record_is_found_and_what_is_before_it_counted(stage):
    stage.mirror(drop={30})
    one = proved(stage)
    assert counts(one) == (Status.READY, (29, 29), (0, 0))
    assert one.proof.sentence == "the next record, 50 on the source, is 49 on the target"


def test_only_the_next_record_is_read_of_a_source_far_ahead():
    stage = Stage(3000)
    stage.mirror()
    before = stage.a.reads
    assert counts(proved(stage)) == (Status.READY, (30, 30), (0, 0))
    assert stage.a.reads - before == 1


def test_a_start_after_the_next_record_skips(stage):
    stage.mirror()
    stage.there.records.pop(55)  # compacted
    assert counts(proved(stage, target_committed=60)) == (Status.SKIPS, (0, 0), (9, 9))


@pytest.mark.parametrize(("upto", "again"), [(50, 30), (40, 20)])
def test_a_record_that_is_not_replicated_yet_is_after_all_that_is(stage, upto, again):
    stage.mirror(upto=upto)
    one = proved(stage)
    assert counts(one) == (Status.READY, (again, again), (0, 0))
    assert one.proof.sentence == "the next record, 50, is not replicated yet"


def test_a_group_that_has_read_all_starts_at_the_end():
    stage = Stage(50)
    stage.mirror()
    assert counts(proved(stage)) == (Status.READY, (30, 30), (0, 0))


def test_a_next_record_that_the_source_has_deleted_proves_nothing(stage):
    stage.mirror()
    stage.here.start = 60
    one = proved(stage)
    assert counts(one) == (Status.UNKNOWN, None, None)
    assert one.proof.sentence == "its next record is not on the source, whose log start offset is 60"


def test_a_next_record_that_the_mirror_dropped_proves_nothing(stage):
    stage.mirror(drop={50})
    one = proved(stage)
    assert one.status is Status.UNKNOWN
    assert one.proof.sentence.startswith("the next record, 50: Dropped by A->B: ")


def test_a_cluster_that_is_away_proves_nothing(stage):
    stage.mirror()
    stage.a.silent = frozenset({ORDERS})
    assert proved(stage).proof.sentence.startswith("not read: cluster A: no offsets of orders-0")
