"""Flows, their decisions in words, and the shapes that clusters and flows make together."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.filters import TopicFilter
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.topology import Cluster, Flow, Topology, override_clusters

IDENTITY = ReplicationPolicy(PolicyKind.IDENTITY)


def topology_of(*names, **more):
    pairs = [name.split("->") for name in names]
    aliases = sorted({alias for pair in pairs for alias in pair})
    return Topology(
        tuple(Cluster(alias) for alias in aliases),
        tuple(Flow(*pair, mirror_version="4.3", **more) for pair in pairs),
    )


DECISIONS = [
    ("4.3", "orders", "A.orders", "replicated", "orders on A is mirrored A->B as A.orders because topics has '.*'."),
    ("4.3", "B.foo", None, "cycle", "B.foo on A is never mirrored A->B because its name shows that it came from B."),
    ("4.3", "C.B.foo", None, "cycle", "C.B.foo on A is never mirrored A->B because its name shows that it passed through B."),
    ("4.3", "C.foo", "A.C.foo", "replicated", "C.foo on A is mirrored A->B as A.C.foo because topics has '.*'."),
    ("4.3", "x.internal", "A.x.internal", "replicated", "x.internal on A is mirrored A->B as A.x.internal because topics has '.*'."),
    ("3.9", "x.internal", None, "internal", "x.internal on A is never mirrored A->B because MirrorMaker 3.x takes its name for that of an internal topic."),
    ("3.9", "x-internal", None, "internal", "x-internal on A is never mirrored A->B because MirrorMaker 3.x takes its name for that of an internal topic."),
    ("4.3", "__x", None, "internal", "__x on A is never mirrored A->B because MirrorMaker 4.x takes its name for that of an internal topic."),
    ("4.3", "x.replica", None, "filtered", r"x.replica on A is not mirrored A->B because topics.exclude has '.*\.replica'."),
    ("4.3", "heartbeats", "A.heartbeats", "replicated", "heartbeats on A is mirrored A->B as A.heartbeats because topics has '.*'."),
    ("4.3", "A.checkpoints.internal", None, "internal", "A.checkpoints.internal on A is never mirrored A->B because MirrorMaker 4.x takes its name for that of an internal topic."),
]  # fmt: skip


@pytest.mark.parametrize(("version", "topic", "remote", "rule", "sentence"), DECISIONS)
def test_a_decision_says_what_and_why(version, topic, remote, rule, sentence):
    decision = Flow("A", "B", mirror_version=version).decide(topic)
    assert (decision.replicated, decision.remote_topic, decision.rule, decision.sentence) == (
        remote is not None, remote, rule, sentence,
    )  # fmt: skip


def test_heartbeats_pass_a_filter_that_does_not_name_them():
    flow = Flow("A", "B", topic_filter=TopicFilter("orders"), mirror_version="4.3")
    assert flow.decide("heartbeats").rule == "heartbeats"
    assert flow.decide("C.heartbeats").remote_topic == "A.C.heartbeats"
    assert flow.decide("B.heartbeats").rule == "cycle"
    quiet = Flow(
        "A", "B", topic_filter=TopicFilter("orders"), mirror_version="4.3", heartbeats_replicated=False
    )
    assert quiet.decide("heartbeats").rule == "filtered"


def test_an_unknown_version_gives_both_readings_where_they_differ():
    flow = Flow("A", "B")
    decision = flow.decide("x.internal")
    assert decision.rule == "version_unknown"
    assert [(name, reading.rule) for name, reading in decision.readings] == [
        ("3.x", "internal"),
        ("4.x", "replicated"),
    ]
    assert decision.sentence.startswith(
        "It depends on MirrorMaker's version. 3.x: x.internal on A is never mirrored"
    )
    assert flow.decide("orders").readings == ()
    assert flow.decide("mm2-offsets.A.internal").rule == "internal"


@given(topic=st.text(alphabet="ABm2._-internal", min_size=1, max_size=20))
def test_an_unknown_version_never_contradicts_the_known_ones(topic):
    unknown = Flow("A", "B").decide(topic)
    older, newer = (Flow("A", "B", mirror_version=version).decide(topic) for version in ("3.9", "4.3"))
    if unknown.readings:
        assert older.replicated != newer.replicated
        assert unknown.readings == (("3.x", older), ("4.x", newer))
    else:
        assert unknown.replicated == older.replicated == newer.replicated


def test_a_flow_knows_the_names_of_its_topics():
    flow = Flow("A", "B")
    assert (flow.name, flow.offset_syncs_topic, flow.checkpoints_topic) == (
        "A->B", "mm2-offset-syncs.B.internal", "A.checkpoints.internal",
    )  # fmt: skip
    assert Flow("A", "B", offset_syncs_location="target").offset_syncs_topic == "mm2-offset-syncs.A.internal"


def test_hops_of_a_chain_with_a_shortcut():
    chain = topology_of("A->B", "B->C", "A->C")
    assert [(each.cluster, each.topic, each.path) for each in chain.reach("A", "t")] == [
        ("B", "A.t", ("A", "B")), ("C", "A.t", ("A", "C")), ("C", "B.A.t", ("A", "B", "C")),
    ]  # fmt: skip


def test_both_directions_do_not_loop_under_the_default_policy():
    both = topology_of("A->B", "B->A")
    assert both.reverse_of(both.flow("A->B")) == both.flow("B->A")
    assert [each.topic for each in both.reach("A", "t")] == ["A.t"]


def test_both_directions_loop_under_identity():
    both = topology_of("A->B", "B->A", policy=IDENTITY)
    assert [(each.cluster, each.topic, each.loops) for each in both.reach("A", "t")] == [
        ("B", "t", False),
        ("A", "t", True),
    ]


def test_a_round_of_three_ends_where_it_began():
    ring = topology_of("A->B", "B->C", "C->A")
    assert [(each.cluster, each.topic) for each in ring.reach("A", "t")] == [("B", "A.t"), ("C", "B.A.t")]


def test_a_name_that_grows_with_each_round_ends_where_kafka_takes_no_longer_one():
    mixed = Topology(
        (Cluster("A"), Cluster("B")),
        (Flow("A", "B", policy=IDENTITY, mirror_version="4.3"), Flow("B", "A", mirror_version="4.3")),
    )
    reached = mixed.reach("A", "t")
    assert [arrival.topic for arrival in reached[:4]] == ["t", "B.t", "B.t", "B.B.t"]
    assert (len(reached[-1].topic), any(arrival.loops for arrival in reached)) == (249, False)


def test_more_ways_than_can_be_told_are_an_error():
    names = [f"{a}->{b}" for a in "ABCDEFGH" for b in "ABCDEFGH" if a != b]
    with pytest.raises(ValueError, match=r"^t of A is replicated on more than 10000 ways$"):
        topology_of(*names).reach("A", "t")


def test_hub_and_spoke_fan_in_and_fan_out():
    star = topology_of("s1->hub", "s2->hub", "hub->s3")
    assert [flow.name for flow in star.into("hub")] == ["s1->hub", "s2->hub"]
    assert [flow.name for flow in star.out_of("hub")] == ["hub->s3"]


@pytest.mark.parametrize(
    ("clusters", "flows", "sentence"),
    [
        (("A", "A"), (), "the cluster A is there twice"),
        (("A", "B"), (Flow("A", "B"), Flow("A", "B", tasks_max=2)), "the flow A->B is there twice"),
        (("A",), (Flow("A", "A"),), "the flow A->A leads from a cluster to itself"),
        (("A",), (Flow("A", "B"),), "the flow A->B names the cluster B, which is not there"),
    ],
)
def test_what_cannot_be_is_refused(clusters, flows, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Topology(tuple(map(Cluster, clusters)), flows)


def test_names_that_are_not_there():
    with pytest.raises(KeyError):
        topology_of("A->B").flow("B->A")
    with pytest.raises(KeyError):
        topology_of("A->B").cluster("C")


def test_lay_over_goes_key_by_key():
    clusters = (Cluster("A", {"x": "1", "y": "2"}), Cluster("B", {"x": "3"}))
    laid = override_clusters(clusters, {"A": {"y": "4"}, "C": {"z": "5"}})
    assert [(each.alias, each.client) for each in laid] == [
        ("A", {"x": "1", "y": "4"}), ("B", {"x": "3"}), ("C", {"z": "5"}),
    ]  # fmt: skip
    assert clusters[0].client == {"x": "1", "y": "2"}


def test_a_cluster_does_not_print_its_properties():
    assert "hunter2" not in repr(Cluster("A", {"sasl.jaas.config": "hunter2"}))


@given(
    st.sets(st.sampled_from([f"{a}->{b}" for a in "ABCD" for b in "ABCD" if a != b]), min_size=1, max_size=12)
)
def test_ways_agree_with_the_flows(names):
    made = topology_of(*sorted(names))
    aliases = [cluster.alias for cluster in made.clusters]
    for arrival in made.reach(aliases[0], "t"):
        assert not arrival.loops
        assert len(set(arrival.path)) == len(arrival.path)
        assert all(f"{a}->{b}" in names for a, b in pairwise(arrival.path))
