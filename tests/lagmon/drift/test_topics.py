"""Missing topics, partition counts and loops: a table of rules each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.mm2.filters import TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.topology import Cluster, Topology
from fleet.verdicts.flow import Flow
from lagmon.drift.differences import Verdict
from lagmon.drift.topics import AHEAD_MS, loops, missing_topics, partition_counts

FLOW = Flow("A", "B", mirror_version="4.3")
PAIRS = {"orders": "A.orders", "bills": "A.bills"}
NOW_MS = 10_000_000
REFRESH_MS = 600_000


def missing(flow=FLOW, on_target=(), **more):
    facts = {"never": {}, "since_ms": {}, "now_ms": NOW_MS, **more}
    return missing_topics(flow, PAIRS, on_target, **facts)


def test_topics_on_the_target_are_the_same():
    found = missing(on_target=PAIRS.values())
    assert (found.verdict, found.compared) == (Verdict.SAME, 2)


@pytest.mark.parametrize(
    ("since_ms", "refresh_s", "expected", "words"),
    [
        (None, 600.0, False, "age is unknown"),
        (NOW_MS - REFRESH_MS, 600.0, False, "older than the mirror's topic refresh (every 10 min)"),
        (NOW_MS - REFRESH_MS + 1, 600.0, True, "expected at the next refresh"),
        (NOW_MS - 1, None, False, "restart it"),
        (NOW_MS + AHEAD_MS, 600.0, True, "expected at the next refresh"),
        (NOW_MS + AHEAD_MS + 1, 600.0, False, "age is unknown"),
    ],
)
def test_a_young_topic_is_expected_and_an_old_one_is_missing(since_ms, refresh_s, expected, words):
    flow = replace(FLOW, refresh_topics_interval_s=refresh_s)
    known = {} if since_ms is None else {"orders": since_ms}
    found = missing(flow, ["A.bills"], since_ms=known)
    (one,) = found.remarks if expected else found.differences
    assert (one.subject, one.remote, one.source, one.target) == ("orders", "A.orders", "exists", "missing")
    assert words in one.advice
    assert found.verdict is (Verdict.SAME if expected else Verdict.DIFFERS)
    assert one.until_ms == (since_ms + REFRESH_MS if expected else None)


@pytest.mark.parametrize(
    ("rule", "words"), [("internal", "internal topic"), ("cycle", "starts with the alias of a cluster")]
)
def test_topics_that_are_never_replicated_are_missing_with_the_reason(rule, words):
    found = missing(on_target=PAIRS.values(), never={"B.foo": rule})
    (one,) = found.differences
    assert (one.subject, one.remote) == ("B.foo", "A.B.foo")
    assert words in one.advice
    assert found.compared == 3


def test_topics_that_may_not_be_seen_are_not_compared():
    found = missing(on_target=["A.bills"], hidden=["A.orders"], unsure=["x-internal"])
    assert (found.verdict, found.compared) == (Verdict.NOT_COMPARED, 1)
    assert [one.subjects for one in found.omissions] == [("orders",), ("x-internal",)]
    assert "grant it Describe" in found.omissions[0].why


def test_a_source_without_visible_topics_is_not_compared():
    found = missing_topics(FLOW, {}, (), never={}, sees_none=True, since_ms={}, now_ms=NOW_MS)
    assert found.verdict is Verdict.NOT_COMPARED
    assert "no topic is visible on A" in found.omissions[0].why


@pytest.mark.parametrize(
    ("here", "there", "verdict", "remarks"),
    [
        (3, 3, Verdict.SAME, 0),
        (4, 3, Verdict.DIFFERS, 0),
        (3, 4, Verdict.SAME, 1),
    ],
)
def test_fewer_partitions_on_the_target_are_drift_and_more_are_a_remark(here, there, verdict, remarks):
    found = partition_counts(FLOW, {"orders": "A.orders"}, {"orders": here}, {"A.orders": there})
    assert (found.verdict, len(found.remarks), found.compared) == (verdict, remarks, 1)
    for one in (*found.differences, *found.remarks):
        assert (one.what, one.source, one.target) == ("partitions", f"{here}", f"{there}")


def test_without_a_topic_on_both_sides_it_says_so():
    assert partition_counts(FLOW, {}, {}, {}).note == "no replicated topic is on B"


def topology(*names, kind=PolicyKind.IDENTITY, topics=".*"):
    flows = tuple(
        Flow(
            *name.split("->"),
            policy=ReplicationPolicy(kind),
            topic_filter=TopicFilter(topics),
            mirror_version="4.3",
        )
        for name in names
    )
    clusters = dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target))
    return Topology(tuple(map(Cluster, clusters)), flows)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (topology("A->B"), []),
        (topology("A->B", "B->A"), ["loop A->B->A"]),
        (topology("A->B", "B->A", kind=PolicyKind.DEFAULT), []),
        (topology("A->B", "B->C", "C->A"), ["loop A->B->C->A"]),
        (topology("A->B", "A->C", "C->A"), []),
    ],
)
def test_records_that_come_back_under_their_name_loop(found, expected):
    flow = found.flow("A->B")
    compared = loops(flow, found, {"orders": flow.remote_topic("orders")})
    assert [one.what for one in compared.differences] == expected
    assert compared.compared == 1
    assert all(one.subject == "orders" and "for ever" in one.advice for one in compared.differences)


def test_a_filter_in_one_direction_ends_the_loop():
    both = topology("A->B", "B->A")
    back = replace(both.flow("B->A"), topic_filter=TopicFilter("bills"))
    one_way = Topology(both.clusters, (both.flow("A->B"), back))
    found = loops(one_way.flow("A->B"), one_way, {"orders": "orders", "bills": "bills"})
    assert [one.subject for one in found.differences] == ["bills"]
