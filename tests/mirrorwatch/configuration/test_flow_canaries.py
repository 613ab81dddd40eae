"""The rounds that are refused are those that the topology of the flows has."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.config import CanaryConfig
from fleet.errors import Problem
from fleet.mm2.filters import TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.topology import Cluster, Flow, Topology
from mirrorwatch.configuration.flow_canaries import canary_flows, fix_of, topics_line

IDENTITY = ReplicationPolicy(PolicyKind.IDENTITY)
PAIRS = [(a, b) for a in "ABCDE" for b in "ABCDE" if a != b]


def rounds_told(topology):
    _, problems, _ = canary_flows(
        topology, CanaryConfig(), {}, where=lambda key, sentence: Problem("", ".".join(key), sentence)
    )
    return [
        tuple(problem.sentence.split("in a loop (")[1].split(")")[0].split(" -> ")) for problem in problems
    ]


def closed_walks(pairs, path):
    """Yield every walk that goes on from this path and ends where it began, with no other cluster twice."""
    for source, target in pairs:
        if source == path[-1] and target == path[0]:
            yield (*path, target)
        elif source == path[-1] and target not in path:
            yield from closed_walks(pairs, (*path, target))


@settings(deadline=None)  # the machine may be busy with brokers
@given(st.lists(st.sampled_from(PAIRS), unique=True, max_size=12))
def test_rounds_of_flows_that_keep_names_are_those_of_the_topology(pairs):
    topology = Topology(
        tuple(Cluster(alias) for alias in "ABCDE"),
        tuple(Flow(*pair, policy=IDENTITY, mirror_version="4.3") for pair in pairs),
    )
    told = rounds_told(topology)
    cycles = {frozenset(pairwise(path)) for alias in "ABCDE" for path in closed_walks(pairs, (alias,))}
    edges = [frozenset(pairwise(path)) for path in told]
    assert len(set(edges)) == len(edges)
    assert set(edges) <= cycles
    # Each cluster to which the topic comes back lies on a round that is told.
    back = {
        alias
        for alias in "ABCDE"
        for arrival in topology.reach(alias, "mirrorwatch-canary")
        if arrival.loops and arrival.cluster == alias
    }
    assert {alias for path in told for alias in path} == back


@settings(deadline=None)  # the machine may be busy with brokers
@given(st.lists(st.sampled_from(PAIRS), unique=True, max_size=12))
def test_flows_that_name_the_source_go_in_no_round(pairs):
    topology = Topology(
        tuple(Cluster(alias) for alias in "ABCDE"),
        tuple(Flow(*pair, mirror_version="4.3") for pair in pairs),
    )
    assert rounds_told(topology) == []


def test_a_round_of_flows_that_keep_names_by_their_aliases_is_refused():
    """An empty alias and an empty separator keep names as the identity policy does."""
    flows = [
        Flow(*pair, policy=ReplicationPolicy(separator=""), source_alias="", mirror_version="4.3")
        for pair in (("A", "B"), ("B", "A"))
    ]
    clusters = (Cluster("A"), Cluster("B"))
    assert rounds_told(Topology(clusters, tuple(flows))) == [("A", "B", "A")]
    assert rounds_told(Topology(clusters, (flows[0],))) == []


def test_the_heartbeats_of_both_sides_in_one_topic_prove_nothing():
    policy = ReplicationPolicy(separator="")
    kept = Flow("A", "B", policy=policy, source_alias="", mirror_version="4.3")
    ((canary,), _, _) = canary_flows(
        Topology((Cluster("A"), Cluster("B")), (kept,)),
        CanaryConfig(),
        {},
        where=lambda key, sentence: Problem("", ".".join(key), sentence),
    )
    assert (canary.target_topic, canary.heartbeats_topic) == ("mirrorwatch-canary", "")


@pytest.mark.parametrize(
    ("include", "own", "line"),
    [
        ("orders.*", False, "A->B.topics = orders.*, mirrorwatch-canary"),
        ("orders.*", True, 'flows.A->B.topics: "orders.*, mirrorwatch-canary"'),
        ("orders\\..*,, x ,", True, 'flows.A->B.topics: "orders\\\\..*, x, mirrorwatch-canary"'),
        ("orders.* mirrorwatch-canary", False, "A->B.topics = orders.*, mirrorwatch-canary"),
        ("orders.*; mirrorwatch-canary", False, "A->B.topics = orders.*, mirrorwatch-canary"),
        ("[a b]", False, "A->B.topics = [a b], mirrorwatch-canary"),
        (" ", False, "A->B.topics = mirrorwatch-canary"),
    ],
)
def test_the_line_to_add_belongs_where_the_topics_are_and_repeats_no_mistake(include, own, line):
    flow = Flow("A", "B", topic_filter=TopicFilter(include), mirror_version="4.3", own_topics=own)
    assert topics_line(flow, "mirrorwatch-canary") == line
    assert ("Mirrorwatch's configuration" in fix_of(flow, "mirrorwatch-canary")) is own
