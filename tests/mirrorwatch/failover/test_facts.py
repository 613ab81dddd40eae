"""A flow's groups from the answers of two clusters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.mm2.filters import GroupFilter, TopicFilter
from fleet.verdicts.flow import Flow
from lagmon.failover.readiness import Status
from lagmon.failover.sentences import group_sentence
from lagmon.mirrors.answers.orders import order_of
from lagmon.syncs.pairs import SyncPair
from mirrorwatch.failover.facts import read_flow
from mirrorwatch.failover.mirror_topics import MirrorTopics
from tests.mirrorwatch.failover.cluster import FakeCluster, checkpoint, progress, sync

FLOW = Flow("A", "B", mirror_version="4.3")
NOW_MS = 2_000
ORDERS, REMOTE = ("orders", 0), ("A.orders", 0)


@pytest.fixture
def source():
    return FakeCluster(
        "A",
        sizes={"orders": 1, "left-out": 1},
        states={"billing": "stable", "console-consumer-7": "empty"},
        commits={"billing": {ORDERS: 150}},
        ends={ORDERS: 260},
        records={
            "mm2-offset-syncs.B.internal": [
                sync("orders", 0, *two) for two in ((0, 0), (100, 100), (200, 200))
            ]
        },
    )


@pytest.fixture
def target():
    return FakeCluster(
        "B",
        sizes={"A.orders": 1},
        states={"billing": "empty"},
        commits={"billing": {REMOTE: 101}},
        ends={REMOTE: 240},
        records={
            "A.checkpoints.internal": [
                checkpoint("billing", "A.orders", 0, 120, 101),
                (b"not", b"read"),
                checkpoint("billing", "A.orders", 0, 150, 101),
            ],
            "mm2-offsets.A.internal": [
                progress("orders", 0, 9),
                progress("orders", 0, 239),
                progress("orders", 0, 3, connector="another"),
                progress("orders", 0, 4, cluster="C"),
            ],
        },
    )


def read(source, target, *, flow=FLOW, lag_from="connect-offsets", kept=None, group=None):
    order = order_of(flow, lag_from=lag_from)
    return read_flow(
        {"A": source, "B": target},
        MirrorTopics(order, kept=kept),
        wanted=lambda name: group in (None, name),
        now_ms=NOW_MS,
    )


def test_a_ready_group(source, target):
    found = read(source, target)
    (group,) = found.groups
    (partition,) = group.partitions
    assert (group.group, group.status) == ("billing", Status.READY)
    assert found.is_ready(group)
    assert (partition.start, partition.facts.committed, partition.facts.replicated) == (101, 150, 240)
    assert group.read_again_records == (49, 49)
    assert group.skipped_records == (0, 0)
    assert group.at_risk_records == (0, 20)
    assert partition.facts.checkpoint.at_ms == 1002
    assert found.excluded == ("console-consumer-7",)


def test_a_group_with_members_on_the_target_is_not_ready(source, target):
    target.states["billing"] = "stable"
    found = read(source, target)
    assert found.running_on_target == {"billing"}
    assert not found.is_ready(found.groups[0])


def test_a_group_without_commits_on_the_target_starts_at_its_checkpoint(source, target):
    target.states, target.commits = {}, {}
    (group,) = read(source, target).groups
    assert group.status is Status.NOT_APPLIED
    assert group.partitions[0].start == 101


@pytest.mark.parametrize(
    ("flow", "count"),
    [
        pytest.param(replace(FLOW, topic_filter=TopicFilter("other")), 0, id="its topic is not replicated"),
        pytest.param(replace(FLOW, group_filter=GroupFilter("other")), 0, id="its group is excluded"),
    ],
)
def test_what_the_mirror_excludes_is_left_out(source, target, flow, count):
    assert len(read(source, target, flow=flow).groups) == count


def test_without_the_source_checkpoints_count(source, target):
    source.away = True
    found = read(source, target)
    assert found.source_problem == "cluster A: cannot connect to any broker"
    (group,) = found.groups
    assert group.partitions[0].facts.committed is None
    assert group.partitions[0].facts.committed_least == 150
    assert group.status is Status.UNKNOWN  # the offset syncs are on the source
    kept = {ORDERS: [SyncPair(0, n, n * 100, n * 100, 0) for n in range(3)]}
    (group,) = read(source, target, kept=kept).groups
    assert (group.status, group.read_again_records, group.at_risk_records) == (Status.READY, (49, 139), None)


def test_an_empty_source_is_no_source_that_is_away(source, target):
    source.sizes, source.records, source.states = {}, {}, {}
    found = read(source, target)
    assert (found.groups, found.source_problem) == ((), "")


def test_a_partition_whose_leader_does_not_answer_is_unknown(source, target):
    target.silent = frozenset({REMOTE})
    (group,) = read(source, target).groups
    assert group.status is Status.UNKNOWN


def test_kept_syncs_come_before_those_of_the_topic(source, target):
    kept = {ORDERS: [SyncPair(3, 0, 0, 0, 0), SyncPair(3, 1, 100, 100, 0)]}
    (group,) = read(source, target, kept=kept).groups
    assert [(one.era, one.number) for run in group.partitions[0].facts.runs for one in run] == [
        (3, 0),
        (3, 1),
        (3, 2),
    ]
    kept = {ORDERS: [SyncPair(3, 700, 0, 0, 0)]}  # the topic of syncs was re-created
    (group,) = read(source, target, kept=kept).groups
    assert [(one.era, one.number) for run in group.partitions[0].facts.runs for one in run] == [
        (3, 700),
        (4, 0),
        (4, 1),
        (4, 2),
    ]


def test_syncs_on_the_target(source, target):
    target.records["mm2-offset-syncs.A.internal"] = source.records.pop("mm2-offset-syncs.B.internal")
    (group,) = read(source, target, flow=replace(FLOW, offset_syncs_location="target")).groups
    assert group.read_again_records == (49, 49)


def test_equal_offsets_need_no_checkpoint(source, target):
    target.sizes, target.ends = {"A.orders": 1}, {REMOTE: 240}
    target.records, source.records = {}, {}
    (group,) = read(source, target, lag_from="equal-offsets").groups
    assert (group.status, group.read_again_records, group.at_risk_records) == (
        Status.READY,
        (0, 49),
        (0, 20),
    )
    target.commits["billing"] = {REMOTE: 160}
    (group,) = read(source, target, lag_from="equal-offsets").groups
    assert (group.status, group.skipped_records) == (Status.UNCERTAIN, (0, 10))


def test_a_source_topic_that_was_recreated_is_unknown(source, target):
    source.ends[ORDERS], source.commits["billing"] = 50, {ORDERS: 10}
    found = read(source, target)
    (group,) = found.groups
    assert (group.status, group.at_risk_records) == (Status.UNKNOWN, None)
    assert found.waiting[ORDERS] == (None, 50)
    assert "ends at 50, before records that were replicated" in group_sentence(group, "B")


@pytest.mark.parametrize(("connector", "count"), [("its-name", 240), ("", 240), ("other", 201)])
def test_a_connector_without_a_name_may_be_any(source, target, connector, count):
    target.records["mm2-offsets.A.internal"] = [progress("orders", 0, 239, connector="its-name")]
    (group,) = read(source, target, flow=replace(FLOW, connector=connector)).groups
    assert group.partitions[0].facts.replicated == count


def test_one_group_alone(source, target):
    source.states["reports"] = "empty"
    source.commits["reports"] = {ORDERS: 5}
    assert [one.group for one in read(source, target, group="reports").groups] == ["reports"]
    assert len(read(source, target).groups) == 2
    assert read(source, target, group="nobody").groups == ()
