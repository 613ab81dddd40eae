"""MirrorClient's rules in tables, and what must hold of any list of names.

tests/real/mirrors compares with the real client.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.mirror_client import UNREACHABLE, view_of
from fleet.mm2.replication import PolicyKind, ReplicationPolicy

DEFAULT = ReplicationPolicy()
UNDERSCORE = ReplicationPolicy(separator="_")
DOTTED_INTERNAL = ReplicationPolicy(separator="_", internal_separator_enabled=False)
IDENTITY = ReplicationPolicy(PolicyKind.IDENTITY)
IDENTITY_OF_A = ReplicationPolicy(PolicyKind.IDENTITY, source_alias="A")
LEGACY = ReplicationPolicy(PolicyKind.LEGACY)
ALIASES = ("A", "B", "C", "my", "")


@pytest.mark.parametrize(
    ("policy", "topics", "hops"),
    [
        pytest.param(DEFAULT, "heartbeats", {}, id="own heartbeats only"),
        pytest.param(DEFAULT, "heartbeats A.heartbeats", {"A": 1}, id="one hop"),
        pytest.param(DEFAULT, "B.A.heartbeats", {"B": 1, "A": 2}, id="two hops"),
        pytest.param(DEFAULT, "B.A.heartbeats A.heartbeats", {"B": 1, "A": 1}, id="the fewest hops"),
        pytest.param(DEFAULT, "C.C.B.heartbeats", {"C": 1}, id="a cycle hides what is behind it"),
        pytest.param(DEFAULT, "A.B.A.C.heartbeats", {"A": 1, "B": 2}, id="a longer cycle"),
        pytest.param(DEFAULT, "A.orders A.my-heartbeats A.checkpoints.internal", {}, id="no heartbeats"),
        pytest.param(DEFAULT, ".heartbeats", {"": 1}, id="a cluster without a name"),
        pytest.param(UNDERSCORE, "A.heartbeats B_heartbeats", {"B": 1}, id="another separator"),
        pytest.param(IDENTITY, "heartbeats A.heartbeats", {"A": 1}, id="identity renames heartbeats"),
        pytest.param(IDENTITY_OF_A, "heartbeats orders", {}, id="identity: own heartbeats"),
        pytest.param(LEGACY, "B.A.heartbeats B.orders", {"B": 1, "A": 2}, id="legacy"),
    ],
)
def test_upstream_clusters_are_those_of_the_heartbeat_topics(policy, topics, hops):
    view = view_of(topics.split(), policy, "4.3")
    assert view.hops == hops
    assert {alias: view.replication_hops(alias) for alias in ALIASES} == dict.fromkeys(ALIASES, -1) | hops


@pytest.mark.parametrize(
    ("policy", "version", "topics", "remote"),
    [
        (DEFAULT, "4.3", "orders A.orders B.A.orders orders.eu", {"A": "A.orders", "B": "B.A.orders", "orders": "orders.eu"}),
        (DEFAULT, "4.3", "A.heartbeats heartbeats", {"A": "A.heartbeats"}),
        (DEFAULT, "4.3", "A.checkpoints.internal mm2-offsets.A.internal __x.y .x.y", {}),
        (DEFAULT, "4.3", "A.stock.internal", {"A": "A.stock.internal"}),
        (DEFAULT, "3.9", "A.stock.internal A.x-internal", {}),
        (UNDERSCORE, "4.3", "A.orders A_orders A_checkpoints_internal", {"A": "A_orders"}),
        (DOTTED_INTERNAL, "4.3", "A_checkpoints_internal A_b.checkpoints.internal", {"A": "A_checkpoints_internal"}),
        (IDENTITY, "4.3", "orders A.orders", {}),
        (IDENTITY, "4.3", "A.heartbeats", {"A": "A.heartbeats"}),
        (IDENTITY_OF_A, "4.3", "A.checkpoints.internal heartbeats orders", {"A": "orders"}),
        (LEGACY, "4.3", "A.orders orders A.heartbeats", {"A": "A.heartbeats"}),
    ],
)  # fmt: skip
def test_remote_topics_have_a_source_and_are_not_internal(policy, version, topics, remote):
    view = view_of(topics.split(), policy, version)
    assert view.remote_by_source == {source: tuple(names.split()) for source, names in remote.items()}
    assert view.remote_topics == tuple(
        sorted(name for names in view.remote_by_source.values() for name in names)
    )
    assert view.remote_topics_of("nowhere") == ()
    assert view.internal_in_3x == ()


def test_without_a_version_the_difference_is_shown():
    view = view_of(["A.orders", "A.stock.internal", "A.x-internal"], DEFAULT, None)
    assert view.remote_topics == ("A.orders", "A.stock.internal", "A.x-internal")
    assert view.internal_in_3x == ("A.stock.internal", "A.x-internal")


@pytest.mark.parametrize(
    ("policy", "topics", "found"),
    [
        (DEFAULT, "A.checkpoints.internal x.checkpoints.internal A_checkpoints_internal", "A.checkpoints.internal x.checkpoints.internal"),
        (DEFAULT, "checkpoints.internal A.checkpoints", ""),
        (UNDERSCORE, "A.checkpoints.internal A_checkpoints_internal", "A_checkpoints_internal"),
        (DOTTED_INTERNAL, "A.checkpoints.internal A_checkpoints_internal", "A.checkpoints.internal"),
        (IDENTITY, "A.checkpoints.internal", "A.checkpoints.internal"),
    ],
)  # fmt: skip
def test_checkpoint_topics_and_the_one_of_a_source(policy, topics, found):
    view = view_of(topics.split(), policy, "4.3")
    assert view.checkpoint_topics == tuple(found.split())
    assert view.has_checkpoints_of("A") is (policy.checkpoints_topic("A") in found.split())
    assert not view.has_checkpoints_of("B")


NAMES = st.lists(
    st.lists(st.sampled_from(("A", "B", "C", "", "heartbeats", "orders", "mm2", "internal", "checkpoints")), min_size=1, max_size=6).map(".".join),
    max_size=8,
)  # fmt: skip
POLICIES = st.sampled_from((DEFAULT, UNDERSCORE, IDENTITY, IDENTITY_OF_A, LEGACY))


@given(topics=NAMES, policy=POLICIES)
def test_an_upstream_cluster_has_hops_and_no_other_has(topics, policy):
    view = view_of(topics, policy, "4.3")
    assert all(hops >= 1 for hops in view.hops.values())
    assert {
        alias for alias in ALIASES if view.replication_hops(alias) != UNREACHABLE
    } == view.hops.keys() & set(ALIASES)
    assert set(view.hops) == {
        source
        for source in view.upstream_clusters
        for topic in view.heartbeat_topics
        if source in policy.sources(topic)
    }


@given(topics=NAMES, more=NAMES, policy=POLICIES)
def test_a_further_topic_only_adds(topics, more, policy):
    fewer, view = view_of(topics, policy, None), view_of([*topics, *more], policy, None)
    assert all(view.hops[alias] <= hops for alias, hops in fewer.hops.items())
    assert set(fewer.remote_topics) <= set(view.remote_topics)
    assert set(view.internal_in_3x) == set(view.remote_topics) - set(
        view_of([*topics, *more], policy, "3.9").remote_topics
    )


@given(topics=NAMES)
def test_behind_one_more_cluster_everything_is_one_hop_further_away(topics):
    here = view_of(topics, DEFAULT, "4.3")
    there = view_of([DEFAULT.remote_topic("Z", topic) for topic in here.heartbeat_topics], DEFAULT, "4.3")
    further = {source: hops + 1 for source, hops in here.hops.items()}
    assert there.hops == ({"Z": 1, **further} if here.heartbeat_topics else {})
