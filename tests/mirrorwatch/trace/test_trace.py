"""Every reason that a trace gives, from clusters in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.errors import UnavailableError
from fleet.mm2.filters import TopicFilter
from fleet.mm2.handling import Handling
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.flow import Flow
from lagmon.mirrors.answers.orders import order_of
from lagmon.syncs.pairs import SyncPair
from mirrorwatch.trace.choosing import Wanted, choose_cluster, choose_record
from mirrorwatch.trace.content import Part
from mirrorwatch.trace.facts import Basis, Status
from mirrorwatch.trace.following import follow
from tests.mirrorwatch.trace.logs import (
    FakeClusters,
    Log,
    LogCluster,
    committed,
    mirrored,
    record,
    syncs,
)

FLOW = Flow("A", "B", mirror_version="4.3")
BACK = Flow("B", "A", mirror_version="4.3")
ON = Flow("B", "C", mirror_version="4.3")
ORDERS, REMOTE = ("orders", 0), ("A.orders", 0)
NOW_MS = 1_790_000_900_000


class Stage:
    """Orders on A with 100 records, B without any yet; `mirror` replicates them."""

    def __init__(self, count=100):
        self.here, self.there = Log(), Log()
        for number in range(count):
            self.here.append(record(number))
        self.a = LogCluster("A", logs={ORDERS: self.here})
        self.b = LogCluster("B", logs={REMOTE: self.there})

    def mirror(self, *, progress=None, **how):
        pairs = mirrored(self.here, self.there, **how)
        self.a.records["mm2-offset-syncs.B.internal"] = syncs("orders", 0, pairs)
        upto = how.get("upto")
        last = (self.here.end if upto is None else upto) - 1
        self.b.records["mm2-offsets.A.internal"] = committed(
            "orders", 0, last if progress is None else progress
        )
        return pairs

    def trace(self, offset=44, *, flows=(FLOW,), lag_from="connect-offsets", more=(), excluded_headers=()):
        clusters = FakeClusters(self.a, self.b, *more, excluded_headers=excluded_headers)
        wanted = Wanted(topic="orders", partition=0, offset=offset)
        chosen = choose_record(wanted, clusters[choose_cluster(wanted, flows, clusters)])
        orders = [order_of(one, lag_from=lag_from) for one in flows]
        return follow(chosen, orders, clusters, lambda _flow, _place: {}, now_ms=NOW_MS)

    def hop(self, offset=44, **how):
        found = self.trace(offset, **how)
        (one,) = found.hops
        return one, found.exit_status


@pytest.fixture
def stage():
    return Stage()


def test_found_where_offset_syncs_put_it(stage):
    stage.mirror()
    one, status = stage.hop()
    assert (one.status, one.offsets, one.basis, status) == (Status.FOUND, (44,), Basis.OFFSET_SYNC, 0)
    assert one.sentence == "On B at offset 44 of A.orders-0 (offset syncs prove this offset)."
    assert not one.arrival.exact


def test_found_between_syncs_after_an_earlier_loss(stage):
    stage.mirror(drop={20})
    one, status = stage.hop()
    assert (one.status, one.offsets, status) == (Status.FOUND, (43,), 0)


def test_found_by_content_without_offset_syncs(stage):
    stage.mirror()
    stage.a.records.clear()
    one, status = stage.hop()
    assert (one.status, one.offsets, one.basis, status) == (Status.FOUND, (44,), Basis.WHOLE_LOG, 0)
    assert one.arrival is None


def test_found_by_time_in_a_long_log_without_offset_syncs():
    stage = Stage(6000)
    stage.mirror()
    stage.a.records.clear()
    one, status = stage.hop(5000)
    assert (one.status, one.offsets, one.basis, status) == (Status.FOUND, (5000,), Basis.TIMESTAMP, 0)
    assert stage.b.reads < 4100


def test_several_equal_records_are_named(stage):
    same = record(44)
    for offset in (43, 44, 45):
        stage.here.records[offset] = same._replace(offset=offset)
    stage.mirror()
    stage.a.records["mm2-offset-syncs.B.internal"] = syncs("orders", 0, [(40, 40), (50, 51)])
    one, status = stage.hop()
    assert (one.status, one.offsets, status) == (Status.FOUND, (43, 44, 45), 0)
    assert "at one of 3 offsets of A.orders-0 with equal records: 43, 44, 45" in one.sentence


def test_a_broker_timestamp_is_the_arrival(stage):
    stage.mirror(change=lambda _offset, one: one._replace(stamped=True, timestamp_ms=one.timestamp_ms + 250))
    one, _ = stage.hop()
    assert (one.status, one.arrival.exact, one.arrival.delay_ms) == (Status.FOUND, True, 250)


def test_equal_offsets_of_a_mirror_that_keeps_them(stage):
    flow = replace(FLOW, policy=ReplicationPolicy(kind=PolicyKind.IDENTITY))
    stage.b.logs = {ORDERS: stage.there}
    stage.mirror(upto=60)
    one, status = stage.hop(flows=(flow,), lag_from="equal-offsets")
    assert (one.status, one.offsets, one.basis, status) == (Status.FOUND, (44,), Basis.EQUAL_OFFSETS, 0)
    one, status = stage.hop(75, flows=(flow,), lag_from="equal-offsets")
    assert (one.status, one.lag_records, status) == (Status.NOT_YET, 16, 3)
    stage.there.records[44] = record(1)._replace(offset=44)
    one, status = stage.hop(flows=(flow,), lag_from="equal-offsets")
    assert (one.status, one.offsets, status) == (Status.CHANGED, (44,), 1)


def test_not_replicated_by_the_filter(stage):
    one, status = stage.hop(flows=(replace(FLOW, topic_filter=TopicFilter("other")),))
    assert (one.status, status) == (Status.NOT_REPLICATED, 3)
    assert "orders on A is not mirrored A->B because" in one.sentence


def test_the_topic_or_partition_is_missing_on_the_target(stage):
    stage.b.logs = {}
    one, status = stage.hop()
    assert (one.status, status) == (Status.TOPIC_MISSING, 1)
    assert "Topic A.orders is missing on B" in one.sentence
    stage.a.logs[("orders", 1)] = stage.here
    stage.b.sizes = {"A.orders": 1}
    clusters = FakeClusters(stage.a, stage.b)
    chosen = choose_record(Wanted(topic="orders", partition=1, offset=44), clusters["A"])
    (one,) = follow(chosen, [order_of(FLOW)], clusters, lambda *_: {}, now_ms=NOW_MS).hops
    assert one.status is Status.PARTITION_MISSING
    assert one.sentence == "Partition 1 of A.orders is missing on B, which has 0 to 0."


def test_not_there_yet(stage):
    stage.mirror(upto=40)
    one, status = stage.hop()
    assert (one.status, one.lag_records, status) == (Status.NOT_YET, 5, 3)
    assert "has to replicate up to 5 records to reach it, from offset 40 on" in one.sentence


def test_it_is_there_although_the_mirror_has_not_committed_it_yet(stage):
    stage.mirror(progress=20, syncs_every=1000)
    one, status = stage.hop()
    assert (one.status, one.offsets, status) == (Status.FOUND, (44,), 0)


def test_nothing_known_of_the_mirror(stage):
    one, status = stage.hop()
    assert (one.status, status) == (Status.UNKNOWN, 3)
    assert "no offset of the mirror is known" in one.sentence


def test_deleted_on_the_target(stage):
    stage.mirror()
    stage.there.start = 100
    one, status = stage.hop()
    assert (one.status, status) == (Status.DELETED, 1)
    assert one.sentence == ("Deleted on B: it was at offset 44; the log start offset of A.orders-0 is 100.")
    stage.a.records.clear()  # without offset syncs
    stage.there.start = 60
    one, status = stage.hop()
    assert (one.status, status) == (Status.DELETED, 1)
    assert "the oldest record there is newer" in one.sentence


def test_not_yet_even_though_the_target_is_emptied(stage):
    stage.mirror(upto=40)
    stage.there.start = 40
    one, status = stage.hop()
    assert (one.status, status) == (Status.NOT_YET, 3)


def test_the_target_topic_was_recreated(stage):
    stage.mirror()
    stage.there.records.clear()
    stage.there.end = 0
    one, status = stage.hop()
    assert (one.status, status) == (Status.DELETED, 1)
    assert "re-created" in one.sentence


def test_the_source_topic_was_recreated(stage):
    stage.mirror()
    stage.here.records = {at: one for at, one in stage.here.records.items() if at < 50}
    stage.here.end = 50
    stage.there.records.clear()
    stage.there.start = stage.there.end
    one, status = stage.hop()
    assert (one.status, status) == (Status.UNKNOWN, 3)
    assert "orders-0 on A, which was re-created" in one.sentence


@pytest.mark.parametrize("with_syncs", [True, False])
def test_dropped_by_the_mirror(stage, with_syncs):
    stage.mirror(drop={44})
    if not with_syncs:
        stage.a.records.clear()
    flow = replace(FLOW, handling=Handling(drops=("fault",)))
    one, status = stage.hop(flows=(flow,))
    assert (one.status, status) == (Status.DROPPED, 1)
    assert one.sentence == (
        "Dropped by A->B: the records around it are next to each other on B, the later at offset 44; transform"
        " 'fault' may drop records."
    )


def test_dropped_with_all_of_its_neighbors(stage):
    stage.mirror(drop={*range(20, 80)}, syncs_every=0)
    one, status = stage.hop()
    assert (one.status, status) == (Status.DROPPED, 1)
    assert "offset syncs leave no offset for it on B" in one.sentence
    stage.a.records.clear()
    one, _ = stage.hop()
    assert one.status is Status.DROPPED
    assert "not among the 40 records read there, and the mirror has passed source offset 44" in one.sentence


def test_a_later_record_proves_it_before_the_mirror_commits(stage):
    stage.mirror(drop={44}, progress=20)
    stage.a.records.clear()
    one, status = stage.hop()
    assert (one.status, status) == (Status.DROPPED, 1)


CHANGES = {
    Part.KEY: {"key": b"another"},
    Part.VALUE: {"value": b"another"},
    Part.HEADERS: {"headers": [("h", b"1")]},
    Part.TIMESTAMP: {"timestamp_ms": 5},
}


@pytest.mark.parametrize("part", CHANGES)
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("with_syncs", [True, False])
def test_changed_by_the_mirror(stage, part, every, with_syncs):
    stage.mirror(
        change=lambda offset, one: one._replace(**CHANGES[part]) if (offset - 44) % every == 0 else one
    )
    if not with_syncs:
        stage.a.records.clear()
    one, status = stage.hop()
    if part is Part.TIMESTAMP and every == 1 and not with_syncs:
        assert one.status is not Status.FOUND  # nothing is left by which it could be known
        return
    assert (one.status, one.offsets, one.differs, status) == (Status.CHANGED, (44,), (part,), 1)


@pytest.mark.parametrize(
    "common",
    [{"headers": [("app", b"billing")]}, {"key": b"sensor"}, {"headers": [("h", b"1")], "key": b"sensor"}],
)
def test_another_record_at_its_offset_is_not_one_that_was_changed(stage, common):
    for offset in range(100):
        stage.here.records[offset] = stage.here.records[offset]._replace(**common)
    stage.mirror()
    for offset in range(100):  # the source topic was re-created, and the mirror continued
        other = record(10_000 + offset)._replace(offset=offset)
        stage.here.records[offset] = other._replace(**common)
    one, status = stage.hop()
    assert (one.status, status) == (Status.UNKNOWN, 3)
    assert "where offset syncs put it, holds another record; the topic was re-created" in one.sentence


def test_a_dropped_record_is_not_taken_for_a_similar_one(stage):
    for offset in range(100):
        stage.here.records[offset] = record(offset, key=b"sensor", value=b"21.5")._replace(offset=offset)
    stage.mirror(drop={44})
    stage.a.records.clear()
    one, _ = stage.hop()
    assert one.status is Status.DROPPED


def compact(stage, *, keep_from):
    """Remove each record before an offset from the target that has a later one of its key."""
    newest = {one.key: at for at, one in sorted(stage.there.records.items())}
    stage.there.records = {
        at: one for at, one in stage.there.records.items() if at >= keep_from or newest[one.key] == at
    }


def test_compacted_away(stage):
    stage.mirror()
    compact(stage, keep_from=90)
    stage.b.policies = {"A.orders": "compact,delete"}
    one, status = stage.hop()
    assert (one.status, status) == (Status.COMPACTED, 1)
    assert "later record of its key at offset 9" in one.sentence
    stage.b.policies = None
    one, status = stage.hop()
    assert (one.status, status) == (Status.UNKNOWN, 3)
    assert "no permission to read cleanup.policy" in one.sentence


def test_another_event_of_its_key_and_time_is_not_taken_for_a_record_that_is_not_replicated_yet(stage):
    for offset in (10, 80):
        stage.here.records[offset] = record(
            offset, key=b"sensor", value=b"event %d" % offset, at_ms=1_790_000_000_000
        )
    stage.mirror(upto=50)
    one, status = stage.hop(80)
    assert (one.status, one.lag_records, status) == (Status.NOT_YET, 31, 3)
    stage.a.records.clear()
    stage.b.records.clear()
    one, status = stage.hop(80)
    assert (one.status, status) == (Status.UNKNOWN, 3)


def test_headers_that_the_mirror_adds_are_not_compared(stage):
    stage.mirror(change=lambda _offset, one: one._replace(headers=[("via", b"A"), ("trace", b"1")]))
    stage.here.records[44].headers.append(("trace", b"1"))
    one, status = stage.hop(excluded_headers=["via"])
    assert (one.status, one.offsets, one.record.headers, status) == (
        Status.FOUND,
        (44,),
        [("trace", b"1")],
        0,
    )
    assert stage.hop()[0].differs == (Part.HEADERS,)


EXACTLY_ONCE = replace(FLOW, exactly_once=True)


@pytest.mark.parametrize("with_syncs", [True, False])
def test_a_record_of_an_aborted_transaction_of_the_mirror_is_not_found(stage, with_syncs):
    stage.mirror()
    if not with_syncs:
        stage.a.records.clear()
    stage.there.aborted = frozenset({44})
    assert stage.hop()[0].offsets == (44,)
    one, status = stage.hop(flows=(EXACTLY_ONCE,))
    assert (one.status, status) == (Status.DROPPED, 1)
    if not with_syncs:  # those of the second attempt would be other ones
        again = stage.there.append(record(44))
        one, status = stage.hop(flows=(EXACTLY_ONCE,))
        assert (one.status, one.offsets, status) == (Status.FOUND, (again,), 0)


@pytest.mark.parametrize("with_syncs", [True, False])
def test_a_record_of_an_open_transaction_of_the_mirror_is_not_there_yet(stage, with_syncs):
    stage.mirror()
    if not with_syncs:
        stage.a.records.clear()
    stage.there.stable = 40
    one, status = stage.hop(flows=(EXACTLY_ONCE,))
    assert (one.status, status) == (Status.NOT_YET, 3)
    assert one.sentence == "Not on B yet: a transaction of the mirror is open from offset 40 of A.orders-0."
    assert stage.hop(39, flows=(EXACTLY_ONCE,))[0].status is Status.FOUND
    stage.there.records.pop(30)
    assert stage.hop(30, flows=(EXACTLY_ONCE,))[0].status is Status.DROPPED


def test_a_transaction_of_a_mirror_that_reads_committed_records(stage):
    stage.here.aborted = frozenset({44})
    flow = replace(FLOW, isolation_level="read_committed")
    stage.mirror(drop={44})
    one, status = stage.hop(flows=(flow,))
    assert (one.status, status) == (Status.NOT_REPLICATED, 3)
    assert "its transaction was aborted" in one.sentence
    stage.here.aborted, stage.here.stable = frozenset(), 40
    one, status = stage.hop(flows=(flow,))
    assert (one.status, status) == (Status.NOT_YET, 3)
    assert "its transaction is open" in one.sentence


def test_an_offset_without_a_record(stage):
    del stage.here.records[44]
    found = stage.trace()
    assert (found.hops, found.exit_status) == ((), 3)
    assert found.chosen.remark.startswith("Offset 44 of orders-0 on A holds no record: it is the marker")


def test_too_many_offsets_to_read():
    stage = Stage(6000)
    for offset in stage.here.records:
        stage.here.records[offset] = stage.here.records[offset]._replace(timestamp_ms=-1)
    stage.mirror(drop={5000})
    stage.a.records.clear()
    one, status = stage.hop(5000)
    assert (one.status, status) == (Status.UNKNOWN, 3)
    assert "it may be at other offsets" in one.sentence


def test_a_chain_and_the_way_back(stage):
    stage.mirror()
    third = Log()
    pairs = mirrored(stage.there, third, upto=30)
    stage.b.records["mm2-offset-syncs.C.internal"] = syncs("A.orders", 0, pairs)
    c = LogCluster(
        "C", logs={("B.A.orders", 0): third}, records={"mm2-offsets.B.internal": committed("A.orders", 0, 29)}
    )
    found = stage.trace(flows=(FLOW, BACK, ON), more=[c])
    assert [(one.flow.name, one.status) for one in found.hops] == [
        ("A->B", Status.FOUND),
        ("B->A", Status.NOT_REPLICATED),
        ("B->C", Status.NOT_YET),
    ]
    assert found.exit_status == 3
    found = stage.trace(20, flows=(FLOW, BACK, ON), more=[c])
    assert (found.hops[2].offsets, found.hops[2].remote, found.exit_status) == ((20,), "B.A.orders", 0)


def test_a_policy_that_keeps_names_ends_where_it_was(stage):
    identity = ReplicationPolicy(kind=PolicyKind.IDENTITY)
    flows = tuple(replace(one, policy=identity) for one in (FLOW, BACK))
    stage.b.logs = {ORDERS: stage.there}
    stage.mirror()
    clusters = FakeClusters(stage.a, stage.b)
    chosen = choose_record(Wanted(topic="orders", partition=0, offset=44), clusters["A"])
    found = follow(chosen, [order_of(one) for one in flows], clusters, lambda *_: {}, now_ms=NOW_MS)
    assert [one.flow.name for one in found.hops] == ["A->B"]


def test_a_mirror_with_a_group_does_not_keep_partitions(stage):
    flow = replace(FLOW, policy=ReplicationPolicy(kind=PolicyKind.IDENTITY))
    stage.b.logs = {("orders", 0): Log(), ("orders", 1): stage.there}
    stage.mirror(drop={70})
    stage.a.states, stage.a.commits = {"mirror": "stable"}, {"mirror": {ORDERS: 90}}
    clusters = FakeClusters(stage.a, stage.b)
    orders = [order_of(flow, lag_from="group", group="mirror")]
    for offset, status, partition in (
        (44, Status.FOUND, 1),
        (70, Status.DROPPED, None),
        (95, Status.FOUND, 1),
    ):
        chosen = choose_record(Wanted(topic="orders", partition=0, offset=offset), clusters["A"])
        (one,) = follow(chosen, orders, clusters, lambda *_: {}, now_ms=NOW_MS).hops
        assert (one.status, one.remote_partition) == (status, partition)


def test_an_unavailable_target_does_not_hide_the_others(stage):
    stage.mirror()
    other = replace(FLOW, target="C")
    found = stage.trace(flows=(FLOW, other), more=[LogCluster("C", away=True)])
    assert [one.status for one in found.hops] == [Status.FOUND, Status.UNAVAILABLE]
    assert (found.exit_status, found.hops[1].sentence) == (4, "cluster C: cannot connect to any broker")
    stage.a.away = True
    with pytest.raises(UnavailableError):
        stage.trace()


def test_a_partition_whose_leader_does_not_answer(stage):
    stage.mirror()
    stage.b.silent = frozenset({REMOTE})
    one, status = stage.hop()
    assert (one.status, status) == (Status.UNAVAILABLE, 4)
    assert "no offsets of A.orders-0" in one.sentence


def test_offset_syncs_in_the_store_are_exact_where_the_topic_has_the_newest_alone(stage):
    pairs = stage.mirror(drop={20})
    stage.a.records["mm2-offset-syncs.B.internal"] = syncs("orders", 0, pairs[-1:])
    one, _ = stage.hop()
    assert (one.offsets, one.basis) == ((43,), Basis.BETWEEN_SYNCS)
    clusters = FakeClusters(stage.a, stage.b)
    chosen = choose_record(Wanted(topic="orders", partition=0, offset=44), clusters["A"])
    kept = {ORDERS: [SyncPair(0, number, *pair, 5) for number, pair in enumerate(pairs[:-1])]}
    (one,) = follow(chosen, [order_of(FLOW)], clusters, lambda *_: kept, now_ms=NOW_MS).hops
    assert (one.offsets, one.basis) == ((43,), Basis.OFFSET_SYNC)


def test_without_permission_to_read_the_mirrors_topics_the_record_is_found_by_content(stage):
    stage.mirror()
    stage.a.forbidden = "cluster A: no permission to read mm2-offset-syncs.B.internal"
    one, status = stage.hop()
    assert (one.status, one.basis, status) == (Status.FOUND, Basis.WHOLE_LOG, 0)
    stage.there.records.clear()
    one, status = stage.hop()
    assert (one.status, status) == (Status.UNKNOWN, 3)
    assert stage.a.forbidden in one.sentence
