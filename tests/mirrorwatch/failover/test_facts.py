"""A flow's groups from the answers of two clusters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.errors import UnavailableError
from fleet.mm2.filters import GroupFilter, TopicFilter
from fleet.verdicts.flow import Flow
from lagmon.failover.readiness import Status
from lagmon.failover.sentences import group_sentence
from lagmon.failover.translation import Basis, Translated, translate_offset
from lagmon.mirrors.answers.orders import order_of
from lagmon.syncs.id_tables import SeenId
from lagmon.syncs.pairs import SyncPair
from mirrorwatch.failover.facts import read_flow
from mirrorwatch.failover.mirror_topics import MirrorTopics
from tests.mirrorwatch.failover.cluster import FakeCluster, checkpoint, progress, sync

FLOW = Flow("A", "B", mirror_version="4.3")
NOW_MS = 2_000
KEPT = {("orders", 0): [SyncPair(0, n, n * 100, n * 100, 0) for n in range(3)]}
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


def read(
    source,
    target,
    *,
    flow=FLOW,
    lag_from="connect-offsets",
    kept=None,
    ids=(),
    group=None,
    now_ms=NOW_MS,
    any_group=False,
):
    order = order_of(flow, lag_from=lag_from)
    return read_flow(
        {"A": source, "B": target},
        MirrorTopics(order, kept=kept, seen=ids),
        wanted=lambda name: group in (None, name),
        now_ms=now_ms,
        any_group=any_group,
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
    (group,) = read(source, target, kept=KEPT).groups
    assert (group.status, group.read_again_records, group.at_risk_records) == (Status.READY, (49, 139), None)


def test_an_empty_source_is_no_source_that_is_away(source, target):
    source.sizes, source.records, source.states = {}, {}, {}
    found = read(source, target)
    assert ([one.group for one in found.groups], found.source_problem) == (["billing"], "")
    assert found.by_checkpoints == {"billing"}


@pytest.mark.parametrize("fault", ["withheld", "breaks"])
def test_a_source_that_answers_in_part_is_not_read(source, target, fault):
    setattr(source, fault, True)
    found = read(source, target, kept=KEPT)
    assert found.source_problem.startswith("cluster")
    (group,) = found.groups
    (partition,) = group.partitions
    assert (partition.facts.committed, partition.facts.committed_least) == (None, 150)
    assert (group.status, partition.facts.replicated) == (Status.READY, 240)


def test_a_source_whose_leaders_are_away_leaves_what_is_at_risk_unknown(source, target):
    def away(_places, _which):
        raise UnavailableError("cluster A: no leader")

    source.offsets = away
    found = read(source, target)
    (group,) = found.groups
    assert (group.status, group.at_risk_records, found.waiting) == (Status.READY, None, {})


def test_a_group_that_the_source_does_not_list_counts_by_its_checkpoints(source, target):
    del source.states["billing"]
    found = read(source, target)
    (group,) = found.groups
    assert (group.status, group.partitions[0].facts.committed_least) == (Status.READY, 150)
    assert found.by_checkpoints == {"billing"}
    source.states["billing"], source.commits["billing"] = "empty", {}  # its offsets have expired
    assert read(source, target).by_checkpoints == {"billing"}
    assert read(source, target, group="billing").groups == found.groups


def test_checkpoints_of_a_group_that_was_deleted_or_moved_do_not_count(source, target):
    del source.states["billing"]
    target.states["billing"] = "stable"
    assert read(source, target).groups == ()
    target.states = {}
    assert len(read(source, target).groups) == 1
    assert read(source, target, now_ms=NOW_MS + 7 * 86_400_000).groups == ()
    target.states["billing"] = "empty"
    assert len(read(source, target, now_ms=NOW_MS + 7 * 86_400_000).groups) == 1


def test_without_the_source_partitions_without_a_checkpoint_are_not_known(source, target):
    source.away, target.sizes["A.orders"] = True, 3
    target.ends["A.orders", 1] = 7
    (group,) = read(source, target, kept=KEPT).groups
    found = {one.facts.partition: (one.status, translate_offset(one.facts)) for one in group.partitions}
    assert found[1] == (Status.NO_CHECKPOINT, None)
    assert found[2] == (Status.READY, Translated(0, Basis.EXACT, 0))  # any start in an empty log is its end
    assert found[0][0] is Status.READY


@pytest.mark.parametrize(("start", "end"), [(0, 0), (50, 50)])
def test_a_partition_without_records_needs_no_checkpoint(source, target, start, end):
    place = ("orders", 1)
    source.sizes["orders"] = target.sizes["A.orders"] = 2
    source.commits["billing"][place] = source.ends[place] = end
    source.starts[place] = start
    found = read(source, target)
    (group,) = found.groups
    assert (group.status, group.at_risk_records, found.waiting[place].left) == (Status.READY, (0, 20), 0)
    (empty,) = (one for one in group.by_place() if one.partition == 1)
    assert translate_offset(empty) == Translated(0, Basis.EXACT, 0)
    source.ends[place] += 10  # not replicated yet, and not read
    (group,) = read(source, target).groups
    assert group.status is Status.NO_CHECKPOINT


def test_what_retention_has_deleted_is_not_at_risk(source, target):
    source.ends[ORDERS] = source.starts[ORDERS] = 250
    found = read(source, target)
    assert (found.groups[0].at_risk_records, found.waiting[ORDERS].left) == ((0, 0), 0)


def test_any_group_counts_by_what_it_has_committed_on_the_target(source, target):
    group = "console-consumer-7"
    source.commits[group] = {ORDERS: 9}
    target.states[group], target.commits[group] = "empty", {("A.orders", 1): 5, ("other", 0): 5}
    target.sizes |= {"A.orders": 2, "other": 1}
    assert read(source, target, group=group).groups == ()
    for away in (False, True):
        source.away = away
        found = read(source, target, group=group, any_group=True)
        (one,) = found.groups
        assert [(each.topic, each.partition) for each in one.by_place()] == [("orders", 0), ("orders", 1)]
        assert found.excluded == ()


def test_a_partition_whose_leader_does_not_answer_is_unknown(source, target):
    target.silent = frozenset({REMOTE})
    (group,) = read(source, target).groups
    assert group.status is Status.UNKNOWN


def seen(side, topic_id, first_ms=0):
    return SeenId("orders", side, topic_id, first_ms, first_ms)


@pytest.mark.parametrize(("side", "where"), [("source", "the source"), ("target", "B")])
def test_after_its_topic_is_recreated_older_offset_syncs_and_checkpoints_do_not_count(
    source, target, side, where
):
    older = [seen(side, "of an older topic")]
    target.commits["billing"] = {REMOTE: 150}
    found = read(source, target, kept=KEPT, ids=older)
    (group,) = found.groups
    (partition,) = group.by_place()
    assert (group.status, group.at_risk_records, found.waiting[ORDERS].replicated) == (
        Status.UNKNOWN,
        None,
        None,
    )
    assert translate_offset(partition) is None
    sentence = f"not enough data for orders-0: its topic on {where} was re-created, and no newer offset sync is known."
    assert group_sentence(group, "B") == sentence
    target.commits, target.states = {}, {}
    assert group_sentence(read(source, target, ids=older).groups[0], "B") == sentence
    source.away = True
    (partition,) = (
        read(source, target, kept=KEPT, ids=older).groups[0].by_place() if side == "target" else [None]
    )
    assert partition is None or translate_offset(partition) is None


@pytest.mark.parametrize("side", ["source", "target"])
def test_offset_syncs_of_a_recreated_topic_count_with_what_was_never_replicated(source, target, side):
    ids = [
        seen(side, "of an older topic"),
        seen(side, "A-orders" if side == "source" else "B-A.orders", 1001),
    ]
    (group,) = read(source, target, ids=ids).groups  # the syncs were written at 1000, 1001 and 1002
    (partition,) = group.by_place()
    assert [[one.upstream for one in run] for run in partition.runs] == [[100, 200]]
    assert (group.status, group.read_again_records, group.at_risk_records) == (
        Status.READY,
        (49, 49),
        (0, 20),
    )
    source.commits["billing"] = {ORDERS: 60}
    (group,) = read(source, target, ids=ids).groups
    assert group.at_risk_records == (0, 60)  # 60 to 99, and 240 to 259


def test_a_topic_seen_once_was_never_recreated(source, target):
    found = read(source, target, ids=[seen("source", "A-orders", 1500), seen("target", "B-A.orders", 1500)])
    assert found.groups == read(source, target).groups


def test_between_two_reads_a_topic_is_recreated(source, target):
    mirror = MirrorTopics(order_of(FLOW, lag_from="connect-offsets"))

    def status(now_ms):
        readers = {"A": source, "B": target}
        return read_flow(readers, mirror, wanted=lambda _: True, now_ms=now_ms).groups[0].status

    assert status(NOW_MS) is Status.READY
    source.ids = {"orders": "another"}
    assert status(NOW_MS) is status(NOW_MS + 60_000) is Status.UNKNOWN
    target.ids, target.ends = {"A.orders": "another"}, {}  # an empty log has nothing to be wrong about
    target.commits, source.commits = {}, {"billing": {ORDERS: 260}}
    source.starts = dict(source.ends)
    assert status(NOW_MS) is Status.READY


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


@pytest.mark.parametrize("exactly_once", [False, True])
def test_equal_offsets_need_no_checkpoint(source, target, exactly_once):
    flow = replace(FLOW, exactly_once=exactly_once)
    target.sizes, target.ends = {"A.orders": 1}, {REMOTE: 240}
    target.records, source.records = {}, {}
    (group,) = read(source, target, lag_from="equal-offsets", flow=flow).groups
    assert translate_offset(group.partitions[0].facts) == Translated(150, Basis.EXACT, 0)
    assert (group.status, group.read_again_records, group.at_risk_records) == (
        Status.READY,
        (0, 49),
        (0, 20),
    )
    target.commits["billing"] = {REMOTE: 160}
    (group,) = read(source, target, lag_from="equal-offsets", flow=flow).groups
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
