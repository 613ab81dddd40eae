"""A plan from what two clusters say, with pretend ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from checksum.anchors.pairs import Pair
from checksum.inventory.waiting import WaitPolicy
from checksum.plan import cuts
from checksum.plan.building import PlanRules
from checksum.plan.document import canonical, from_document, to_document
from checksum.plan.facts import Verified
from checksum.plan.shape import READ_COMMITTED, READ_UNCOMMITTED, Anchored, LeftOut, OffsetRange, Run
from fleet.errors import ConfigurationError, UnavailableError
from runtime.kafka.admin import TopicDescription
from tests.checksum.plan.test_ranges import healthy
from tests.checksum.pretend_clusters import NOW_MS, Clusters
from tests.checksum.pretend_mirror import MARKER, Log, Mirrored


def only(plan):
    (topic,) = plan.topics
    (partition,) = topic.partitions
    return topic, partition


def without_syncs(_topic, _partition):
    return []


def test_a_healthy_flow_is_planned_whole():
    clusters = Clusters({("orders", 0): healthy(), ("orders", 1): healthy(120), ("quiet", 0): Mirrored()})
    plan = clusters.plan()
    assert (plan.flow, plan.source, plan.target, plan.made_at_ms) == ("A->B", "A", "B", NOW_MS)
    assert [topic.topic for topic in plan.topics] == ["orders"]  # nothing stands in the other one
    (orders,) = plan.topics
    assert (orders.target_topic, orders.source_topic_id, orders.target_topic_id) == ("A.orders", "S1", "T1")
    assert [one.source for one in orders.partitions] == [OffsetRange(0, 250), OffsetRange(0, 120)]
    assert (orders.headers, orders.timestamps, orders.compacted) == (False, True, False)
    assert plan.left_out == ()
    assert from_document(json.loads(canonical(to_document(plan))), file="p") == plan


def test_what_stands_on_the_target_is_asked_before_the_source():
    clusters = Clusters({("orders", 0): healthy()})
    mirrored = clusters.mirrors["orders", 0]

    def then_mirrored(asked):
        def ends(places):
            found = asked(places)
            if mirrored.source.end == 250:  # between the two questions, whichever comes first
                mirrored.write(10)
                mirrored.copy()
                mirrored.flush()
            return found

        return ends

    clusters.source.ends, clusters.target.ends = map(
        then_mirrored, (clusters.source.ends, clusters.target.ends)
    )
    _, partition = only(clusters.plan())
    assert (partition.source.until, partition.target.until) == (250, 250)


def test_headers_are_read_where_a_record_has_any_and_sizes_are_those_of_a_sample():
    mirrored = healthy(100)
    size = [len(record.key) + len(record.value) for record in mirrored.source.records]
    plain, _ = only(Clusters({("orders", 0): mirrored}).plan())
    assert min(size) <= plain.record_bytes <= max(size)
    assert not plain.headers
    mirrored.target.records[50] = replace(mirrored.target.records[50], headers=(("added", b"x"),))
    assert only(Clusters({("orders", 0): mirrored}).plan())[0].headers


def test_headers_that_a_producer_has_just_begun_to_send_are_read():
    # A digest by this plan would end at once otherwise, and at two sites nobody makes another plan.
    mirrored = healthy(1000)
    mirrored.source.records[930] = replace(mirrored.source.records[930], headers=(("new", b"x"),))
    assert only(Clusters({("orders", 0): mirrored}).plan())[0].headers


def test_a_header_that_is_left_out_says_nothing_against_a_pair():
    mirrored = Mirrored()
    mirrored.write(50, key=None)
    mirrored.copy(alter=lambda record: replace(record, headers=(("via", b"B"),)))
    mirrored.flush()
    clusters = Clusters({("orders", 0): mirrored})
    plan = clusters.plan(rules=PlanRules(excluded_headers=("via",), cells=4, bucket_ms=60_000))
    assert (plan.excluded_headers, plan.cells, plan.bucket_ms) == (("via",), 4, 60_000)
    assert only(plan)[1].source == OffsetRange(0, 50)


def test_isolation_is_the_mirror_s_on_the_source_and_follows_its_delivery_on_the_target():
    mirrors = {("orders", 0): healthy()}
    plan = Clusters(mirrors).plan()
    assert (plan.isolation_source, plan.isolation_target) == (READ_UNCOMMITTED, READ_UNCOMMITTED)
    plan = Clusters(mirrors, exactly_once=True, isolation_level=READ_COMMITTED).plan()
    assert (plan.isolation_source, plan.isolation_target) == (READ_COMMITTED, READ_COMMITTED)


def test_a_target_that_stamps_records_has_segments_and_no_times():
    mirrored = healthy(350)
    mirrored.target.records = [replace(record, at_ms=1) for record in mirrored.target.records]
    clusters = Clusters({("orders", 0): mirrored})
    clusters.b.settings["A.orders"] = {"message.timestamp.type": "LogAppendTime"}
    topic, partition = only(clusters.plan())
    assert not topic.timestamps
    assert [one[0] for one in partition.segments] == [0, 101, 202, 303, 349]


def test_records_that_the_target_stamped_are_known_whatever_its_setting_says_now():
    mirrored = healthy(350)
    mirrored.target.records = [replace(record, at_ms=1) for record in mirrored.target.records]
    topic, partition = only(Clusters({("orders", 0): mirrored}, stamped={"A.orders"}).plan())
    assert not topic.timestamps
    assert partition.segments


def test_a_record_that_the_target_stamped_is_found_in_the_middle_too():
    mirrored = healthy(350)
    # Of the middle alone the target gave the times: the setting was changed, and changed back.
    clusters = Clusters({("orders", 0): mirrored})
    picked = clusters.target._picked
    clusters.target._picked = lambda place, offset, record: picked(place, offset, record)._replace(
        stamped=100 < offset < 300
    )
    topic, partition = only(clusters.plan())
    assert not topic.timestamps
    assert [one[0] for one in partition.segments] == [0, 101, 202, 303, 349]


@pytest.mark.parametrize(
    ("side", "name", "gone"),
    [("a", "orders", True), ("b", "A.orders", True), ("a", "orders", False), ("b", "A.orders", False)],
)
def test_a_topic_that_is_made_anew_meanwhile_is_planned_at_another_time(side, name, gone):
    clusters = Clusters({("orders", 0): healthy()})
    admin, pick = getattr(clusters, side), clusters.source.pick

    def remade(wanted):
        admin.topics[name] = None if gone else TopicDescription(name, "another", (1,))
        return pick(wanted)

    clusters.source.pick = remade
    sentence = f"{name} on {side.upper()} was deleted or re-created during planning; try again"
    with pytest.raises(UnavailableError, match=sentence):
        clusters.plan()


def test_a_head_from_before_a_mirror_that_began_with_what_was_new_is_left_out():
    mirrored = Mirrored()
    mirrored.write(100)
    mirrored.position = 100
    mirrored.write(50)
    mirrored.copy()
    mirrored.flush()
    plan = Clusters({("t", 0): mirrored}, offset_reset="latest").plan()
    (held,) = plan.topics[0].partitions
    assert (held.source, held.target) == (OffsetRange(100, 150), OffsetRange(0, 50))
    assert [one.records for one in plan.left_out] == [100]


@pytest.mark.parametrize("side", ["a", "b"])
def test_a_topic_that_either_side_compacts_is_compacted(side):
    clusters = Clusters({("orders", 0): healthy()})
    name = {"a": "orders", "b": "A.orders"}[side]
    getattr(clusters, side).settings[name] = {"cleanup.policy": "delete, compact"}
    topic, partition = only(clusters.plan())
    assert topic.compacted
    assert partition.runs == ()


def test_a_topic_that_the_target_lacks_is_left_out_with_its_records():
    clusters = Clusters({("orders", 0): healthy(), ("new", 0): healthy(30), ("new", 1): healthy(12)})
    del clusters.b.topics["A.new"]
    plan = clusters.plan()
    assert [topic.topic for topic in plan.topics] == ["orders"]
    why = "topic A.new does not exist on B: nothing was replicated"
    assert plan.left_out == (LeftOut("new", None, 42, why),)


def test_partitions_that_one_side_lacks_are_told():
    clusters = Clusters({("orders", 0): healthy(), ("orders", 1): healthy(12)})
    clusters.b.topics["A.orders"] = TopicDescription("A.orders", "T1", (1,))
    plan = clusters.plan()
    assert only(plan)[1].partition == 0
    assert plan.left_out == (LeftOut("orders", 1, 12, "partition missing in A.orders on B"),)


def test_what_stands_in_a_partition_that_only_the_target_has_is_told_and_an_empty_one_is_not():
    clusters = Clusters({("orders", 0): healthy(), ("orders", 1): healthy(12)})
    clusters.b.topics["A.orders"] = TopicDescription("A.orders", "T1", (1,) * 4)
    clusters.target.logs["A.orders", 2], clusters.target.logs["A.orders", 3] = healthy(9).target, Log()
    why = "only in A.orders on B: orders on A has 2 partitions"
    assert clusters.plan().left_out == (LeftOut("orders", 2, 9, why),)
    clusters.target.logs["A.orders", 2] = Log()
    assert clusters.plan().left_out == ()


def test_without_syncs_equal_neighbours_at_equal_times_are_the_anchors():
    mirrored = healthy(300)
    mirrored.expire(source=20, target=60)
    plan = Clusters({("orders", 0): mirrored}).plan(pairs=without_syncs)
    _, partition = only(plan)
    assert (partition.source, partition.target) == (OffsetRange(60, 300), OffsetRange(60, 300))
    assert partition.anchored is Anchored.TIMESTAMPS
    assert partition.runs == (Run(60, 300, 0),)
    assert [(one.records, one.later) for one in plan.left_out] == [(40, False)]


@pytest.mark.parametrize("offset", [3, 120, 155, 290, 900])
@pytest.mark.parametrize("count", [1, 3])
def test_the_offset_of_a_record_that_went_into_another_partition_spoils_no_other(offset, count):
    # The mirror tells it as if it were one of this partition: below all others, in line with them, or above.
    mirrored = healthy(150)
    for at in range(count):
        mirrored.write(1)
        mirrored.copy(1, drop=True)
        mirrored.pairs.append(Pair(150 + at, offset + at))
    lone = Clusters({("orders", 0): mirrored}).plan()
    mirrored.write(150)
    mirrored.copy()
    mirrored.flush()
    plan = Clusters({("orders", 0): mirrored}).plan()
    _, partition = only(plan)
    assert (partition.source, partition.target) == (OffsetRange(0, 300 + count), OffsetRange(0, 300))
    assert partition.runs == (Run(0, 150, 0), Run(150 + count, 300 + count, -count))
    assert plan.left_out == ()
    assert only(lone)[1].source == OffsetRange(0, 150)


def test_what_many_strangers_follow_is_compared_once_the_mirror_cannot_have_been_ahead():
    mirrored = healthy(220)
    for _ in range(10_000):
        mirrored.intrude()
    mirrored.write(300)
    mirrored.copy()
    mirrored.flush()
    plan = Clusters({("orders", 0): mirrored}).plan()
    _, partition = only(plan)
    assert (partition.source, partition.target) == (OffsetRange(0, 520), OffsetRange(0, 10_520))
    assert plan.left_out == ()
    mirrored.write(10)  # perhaps they were copied among the 10,000
    plan = Clusters({("orders", 0): mirrored}).plan()
    assert only(plan)[1].source == OffsetRange(0, 220)
    (copied, waiting) = plan.left_out
    assert (copied.records, copied.later, waiting.records, waiting.later) == (300, False, 10, True)
    assert copied.why.endswith(
        "MirrorMaker may have been ahead, up to source offset 10219, and started again; a later run compares them"
    )
    ended = {("orders", 0): Verified(220, 220, "S1", "T1")}
    plan = Clusters({("orders", 0): mirrored}).plan(verified=ended)
    assert (plan.topics, plan.left_out) == ((), (copied, waiting))


def test_without_syncs_cuts_are_found_by_time_as_well(monkeypatch):
    monkeypatch.setattr(cuts, "MOST_DISTANCE", 100)
    mirrored = Mirrored()
    mirrored.write(150)
    mirrored.copy(100)
    mirrored.copy(1, drop=True)
    mirrored.write(250)
    mirrored.copy()
    _, partition = only(Clusters({("orders", 0): mirrored}).plan(pairs=without_syncs))
    assert (partition.source, partition.target) == (OffsetRange(0, 400), OffsetRange(0, 399))
    # The first pair at or behind offsets 99, 199 and 299 of which the next ones agree as well.
    assert partition.segments == ((0, 0), (101, 100), (199, 198), (299, 298), (399, 398))
    assert partition.runs == (Run(101, 400, -1),)


def test_cuts_are_looked_for_where_known_ones_stand_far_apart():
    assert cuts.offsets_to_search(0, 100_000, []) == []
    assert cuts.offsets_to_search(0, 300_000, [99_000, 100_000]) == [200_000]
    assert cuts.offsets_to_search(500_000, 700_001, [100]) == [566_667, 633_334]
    assert len(cuts.offsets_to_search(0, 10**9, [5])) == cuts.MOST_BY_TIME - 1
    assert cuts.offsets_to_search(7, 7, []) == []


def test_without_syncs_a_mirror_that_is_behind_is_compared_as_far_as_it_came():
    mirrored = Mirrored()
    mirrored.write(300)
    mirrored.copy(200)
    _, partition = only(Clusters({("orders", 0): mirrored}).plan(pairs=without_syncs))
    assert (partition.source, partition.target) == (OffsetRange(0, 200), OffsetRange(0, 200))


def test_without_syncs_and_with_other_times_nothing_is_believed():
    mirrored = healthy(300)
    mirrored.target.records = [replace(record, at_ms=1) for record in mirrored.target.records]
    clusters = Clusters({("orders", 0): mirrored})
    why = "no offset sync of this partition"
    for settings, more in (
        ({}, ", and the target's last records were not found on the source by timestamp"),
        ({"message.timestamp.type": "LogAppendTime"}, ""),
    ):
        clusters.b.settings["A.orders"] = settings
        plan = clusters.plan(pairs=without_syncs)
        assert (plan.topics, plan.left_out) == ((), (LeftOut("orders", 0, 300, why + more),))


def test_a_beginning_is_found_by_time_where_only_the_newest_sync_is_known():
    mirrored = healthy(300)
    mirrored.expire(source=20, target=60)
    newest = mirrored.pairs[-1:]
    _, partition = only(Clusters({("orders", 0): mirrored}).plan(pairs=lambda *_: newest))
    assert (partition.source, partition.anchored) == (OffsetRange(60, 300), Anchored.OFFSET_SYNCS)


@pytest.mark.parametrize(("source", "target"), [(20, 60), (60, 20)])
def test_a_beginning_is_found_among_records_of_one_instant(source, target):
    mirrored = Mirrored()
    mirrored.write(300)
    mirrored.source.records = [replace(record, at_ms=7) for record in mirrored.source.records]
    mirrored.copy()
    mirrored.flush()
    mirrored.expire(source=source, target=target)
    newest = mirrored.pairs[-1:]
    _, partition = only(Clusters({("orders", 0): mirrored}).plan(pairs=lambda *_: newest))
    assert partition.source == OffsetRange(60, 300)


def test_as_many_cells_are_planned_as_fit_into_memory(monkeypatch):
    for module in ("plan.cell_count", "inventory.extents"):
        monkeypatch.setattr(f"checksum.{module}.MOST_CELLS", 300)
    mirrors = {("orders", 0): healthy(250), ("orders", 1): healthy(250), ("other", 0): Mirrored()}
    for one in (mirrors["orders", 0], mirrors["orders", 1]):
        one.now_ms += 10_000_000
        one.write(1)
        one.mark()
        one.copy()
        one.target.records.append(MARKER)
        one.flush()
    rules = PlanRules(cells=16, bucket_ms=900_000)
    plan = Clusters(mirrors).plan(rules=rules)
    # Of 12 or 13 buckets each, in two partitions.
    assert (plan.cells, plan.bucket_ms) == (8, 900_000)
    rules = PlanRules(cells=2, bucket_ms=1000)
    plan = Clusters(mirrors).plan(rules=rules)
    assert (plan.cells, plan.bucket_ms) == (1, 128_000)
    clusters = Clusters(mirrors)
    clusters.b.settings["A.orders"] = {"message.timestamp.type": "LogAppendTime"}
    plan = clusters.plan(rules=PlanRules(cells=64))
    segments = sum(len(one.segments) + 1 for one in plan.topics[0].partitions)
    assert plan.cells * segments <= 300 < 2 * plan.cells * segments


def test_times_are_not_read_of_few_records():
    clusters = Clusters({("orders", 0): healthy(250)})
    clusters.plan()
    few = clusters.source.picked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checksum.inventory.extents.MOST_CELLS", 249)
        clusters.plan()
    assert clusters.source.picked - few == few + 3


class Waiting:
    """A clock, and the wait of a plan that is over at once."""

    def __init__(self):
        self.now_ns = 0
        self.policy = WaitPolicy(40.0, self, sleep=self.sleep)

    def monotonic_ns(self):
        return self.now_ns

    async def sleep(self, for_s):
        self.now_ns += int(for_s * 1e9)


def quiet(*, copied=7):
    """Return a partition with a sync every 100 records, of which the last records have none (KAFKA-15906)."""
    mirrored = healthy(250)
    mirrored.write(7)
    mirrored.copy(copied)
    return mirrored


def test_last_records_without_an_offset_sync_are_found_by_time():
    mirrored = quiet()
    plan = Clusters({("orders", 0): mirrored}).plan(wait_policy=Waiting().policy)
    _, partition = only(plan)
    assert mirrored.pairs[-1].upstream < 250
    assert (partition.source, partition.target) == (OffsetRange(0, 257), OffsetRange(0, 257))
    assert plan.left_out == ()
    verified = {("orders", 0): Verified(257, 257, "S1", "T1")}
    mirrored.write(3)
    mirrored.copy()
    clusters = Clusters({("orders", 0): mirrored})
    plan = clusters.plan(verified=verified, wait_policy=Waiting().policy)
    assert only(plan)[1].source == OffsetRange(257, 260)
    verified = {("orders", 0): Verified(260, 260, "S1", "T1")}
    clusters.target.picked = 0
    plan = clusters.plan(verified=verified, wait_policy=Waiting().policy)
    assert (plan.topics, plan.left_out, clusters.target.picked) == ((), (), 0)


def test_last_records_that_are_not_replicated_stay_so_if_those_before_them_are_found_by_time():
    mirrored = quiet(copied=5)
    plan = Clusters({("orders", 0): mirrored}).plan(wait_policy=Waiting().policy)
    assert only(plan)[1].source == OffsetRange(0, 255)
    (left,) = plan.left_out
    assert (left.records, left.later) == (2, False)
    assert "not replicated" in left.why


def test_a_pair_by_time_is_no_end_where_the_mirror_may_have_been_ahead():
    mirrored = quiet()
    mirrored.target.records += mirrored.target.records[-7:]  # again, and no offset sync shows it
    plan = Clusters({("orders", 0): mirrored}).plan(wait_policy=Waiting().policy)
    assert only(plan)[1].source.until <= 250


def test_equal_offsets_need_no_syncs():
    mirrored = healthy(300)
    clusters = Clusters({("orders", 0): mirrored})
    _, partition = only(clusters.plan(pairs=without_syncs, equal_offsets=True))
    assert partition.anchored is Anchored.EQUAL_OFFSETS
    assert partition.runs == (Run(0, 300, 0),)


def test_the_next_run_goes_on_and_reads_little():
    mirrored = healthy()
    clusters = Clusters({("orders", 0): mirrored})
    ended = {("orders", 0): Verified(250, 250, "S1", "T1")}
    assert clusters.plan(verified=ended).topics == ()
    assert clusters.source.picked + clusters.target.picked == 0
    mirrored.write(100)
    mirrored.copy()
    mirrored.flush()
    assert only(clusters.plan(verified=ended))[1].source == OffsetRange(250, 350)
    clusters.b.topics["A.orders"] = TopicDescription("A.orders", "T2", (1,))
    mirrored.pairs = [pair._replace(target_topic_id=None) for pair in mirrored.pairs]
    assert only(clusters.plan(verified=ended))[1].source == OffsetRange(0, 350)


def test_a_tail_of_markers_is_found_out_by_reading():
    mirrored = healthy()
    mirrored.mark()
    _, partition = only(Clusters({("orders", 0): mirrored}).plan())
    assert partition.source == OffsetRange(0, 251)


def test_a_tail_that_retention_takes_meanwhile_is_not_taken_for_an_empty_one():
    mirrored = healthy()
    mirrored.write(5)
    clusters = Clusters({("orders", 0): mirrored})
    before = clusters.source.pick

    def pick(wanted):
        if wanted.get(("orders", 0)) == (250, 1):  # the look behind the end, where 5 records stood
            mirrored.source.start = 255
        return before(wanted)

    clusters.source.pick = pick
    plan = clusters.plan()
    assert only(plan)[1].source == OffsetRange(0, 250)
    assert [(one.records, one.later) for one in plan.left_out] == [(5, True)]


def test_a_record_behind_a_pair_s_offset_is_not_taken_for_the_one_there():
    mirrored = healthy()
    for log in (mirrored.source, mirrored.target):
        log.records[101] = MARKER
    plan = Clusters({("orders", 0): mirrored}).plan(pairs=lambda *_: [Pair(101, 101)])
    assert plan.topics == ()
    assert "do not both hold a readable record" in plan.left_out[0].why


@pytest.mark.parametrize("told", ["", "AAAAAAAAAAAAAAAAAAAAAA"])
def test_a_cluster_without_topic_ids_continues_nothing(told):
    clusters = Clusters({("orders", 0): healthy()})
    clusters.a.topics["orders"] = TopicDescription("orders", told, (1,))
    topic, partition = only(clusters.plan(verified={("orders", 0): Verified(250, 250, told, "T1")}))
    assert topic.source_topic_id is None
    assert partition.source == OffsetRange(0, 250)


def test_topics_are_chosen_by_patterns():
    clusters = Clusters({("orders", 0): healthy(), ("orders-eu", 0): healthy(), ("bills", 0): healthy()})
    assert [one.topic for one in clusters.plan(["orders.*"]).topics] == ["orders", "orders-eu"]
    with pytest.raises(ConfigurationError, match="no topic on A matches 'other'"):
        clusters.plan(["other"])


def test_a_source_that_shows_no_topic_of_the_flow_proves_nothing():
    clusters = Clusters({("orders", 0): healthy()})
    clusters.a.topics.clear()
    told = "cluster A: A->B replicates none of the 0 topics that Mirrorwatch may describe there; run"
    with pytest.raises(UnavailableError, match=told):
        clusters.plan()
