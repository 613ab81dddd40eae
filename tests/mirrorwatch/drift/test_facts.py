"""The drift of a flow from what two clusters answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException

from fleet.errors import RefusedError, UnavailableError
from fleet.mm2.filters import TopicFilter
from fleet.mm2.topic_sync import TopicSync
from fleet.topic_acls import TopicAcl, TopicAcls
from fleet.topic_settings import Origin, Setting
from fleet.topology import Cluster, Topology
from fleet.verdicts.flow import Flow
from lagmon.drift.differences import Kind, Verdict, drift_counts
from mirrorwatch.drift.facts import read_flow
from tests.mirrorwatch.drift.cluster import FakeAdmin, clusters

FLOW = Flow("A", "B", topic_filter=TopicFilter(exclude="secret.*"), mirror_version="4.3")
NOW_MS = 1_000_000_000
OWN = {"__consumer_offsets": 50, "mm2-offset-syncs.B.internal": 1}
KEPT = {"retention.ms": Setting("1", Origin.TOPIC)}
READERS = TopicAcls((TopicAcl("orders", False, "User:x", "*", "Read", True),))
SAME = dict.fromkeys(Kind, 0)


def equal():
    source = FakeAdmin({"orders": 3, "bills": 1, **OWN}, {"orders": KEPT}, READERS)
    there = TopicAcls(tuple(one._replace(name="A.orders") for one in READERS.rules))
    return source, FakeAdmin({"A.orders": 3, "A.bills": 1, **OWN}, {"A.orders": dict(KEPT)}, there)


async def drift(source, target, flow=FLOW):
    topology = Topology((Cluster("A"), Cluster("B")), (flow,))
    return await read_flow(flow, topology, await clusters(A=source, B=target), now_ms=NOW_MS)


async def test_equal_clusters_do_not_differ():
    found = await drift(*equal())
    assert (found.verdict, drift_counts(found)) == (Verdict.SAME, SAME)
    assert [one.compared for one in found.comparisons] == [2, 2, 2, 1, 2]
    counts = found.inventory
    assert (counts.topics, counts.replicated, counts.internal) == (4, 2, 2)


def _partition_added(source, _target):
    source.sizes["orders"] = 4


def _topic_added(source, _target):
    source.sizes["new"] = 1


def _config_changed(_source, target):
    target.settings["A.orders"] = {"retention.ms": Setting("2", Origin.TOPIC)}


def _acl_dropped(_source, target):
    target.acls = TopicAcls()


def _trap_added(source, _target):
    source.sizes["B.foo"] = 1


@pytest.mark.parametrize(
    ("change", "kind", "subject"),
    [
        (_partition_added, Kind.PARTITION_COUNT, "orders"),
        (_topic_added, Kind.TOPIC_MISSING, "new"),
        (_config_changed, Kind.CONFIG, "orders"),
        (_acl_dropped, Kind.ACL, "orders"),
        (_trap_added, Kind.TOPIC_MISSING, "B.foo"),
    ],
)
async def test_one_change_is_found_exactly_once(change, kind, subject):
    source, target = equal()
    change(source, target)
    found = await drift(source, target)
    assert (found.verdict, drift_counts(found)) == (Verdict.DIFFERS, SAME | {kind: 1})
    (one,) = (each for kinds in found.comparisons for each in kinds.differences)
    assert one.subject == subject
    assert found.inventory.topics == len(source.sizes)


async def test_topics_count_once_in_the_inventory():
    source, target = equal()
    source.sizes |= {
        "secret-1": 1,
        "__hidden": 1,
        "A.orders": 1,
        "B.back": 1,
        "new": 1,
        "young": 1,
        "unseen": 1,
    }
    source.oldest_ms = {"young": NOW_MS - 1000, "new": 5}
    target.hidden = frozenset(["A.unseen"])
    target.sizes["back"] = 1
    back = replace(FLOW, source="B", target="A")
    topology = Topology((Cluster("A"), Cluster("B")), (FLOW, back))
    found = await read_flow(FLOW, topology, await clusters(A=source, B=target), now_ms=NOW_MS)
    counts = found.inventory
    # new, A.orders (for A->B a name like any other), and __hidden, which the filter of this flow accepts.
    assert (counts.missing, counts.expected, counts.unknown) == (3, 1, 1)
    assert (counts.excluded, counts.from_target, counts.internal) == (1, 1, 2)
    assert counts.topics == len(source.sizes) == 11
    assert found.comparisons[0].verdict is Verdict.DIFFERS


async def test_topics_that_the_filter_excludes_are_no_drift_even_if_they_are_never_replicated():
    source, target = equal()
    source.sizes |= {"secret": 1, "B.foo": 1}
    flow = replace(FLOW, topic_filter=TopicFilter(exclude="secret.*, B[.].*"))
    found = await drift(source, target, flow)
    assert drift_counts(found) == SAME
    assert found.inventory.excluded == 2


def unknown_topic():
    error = UnavailableError("no such topic")
    error.__cause__ = KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    return error


async def test_settings_that_may_not_be_read_are_not_compared():
    source, target = equal()
    source.settings |= {"orders": RefusedError("no"), "bills": unknown_topic()}
    found = await drift(source, target)
    (omission,) = found.comparisons[2].omissions
    assert omission.subjects == ("orders",)
    assert "A: grant it DescribeConfigs" in omission.why
    assert drift_counts(found)[Kind.CONFIG] is None
    source.settings["bills"] = UnavailableError("no answer")
    with pytest.raises(UnavailableError, match="no answer"):
        await drift(source, target)


async def test_settings_are_not_asked_for_if_they_are_not_compared():
    source, target = equal()
    flow = replace(FLOW, topic_sync=TopicSync(configs_interval_s=None))
    found = await drift(source, target, flow)
    assert found.verdict is Verdict.NOT_COMPARED
    assert source.asked == target.asked == []


async def test_a_cluster_that_is_away_is_an_error():
    source, target = equal()
    target.away = True
    with pytest.raises(UnavailableError):
        await drift(source, target)
