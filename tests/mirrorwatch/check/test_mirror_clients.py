"""What `check` shows of MirrorClient's answers: one line for each cluster and policy, and all of it as JSON."""

from __future__ import annotations

import json
import re

from fleet.errors import RefusedError
from tests.mirrorwatch.check.test_check import MM2, YAML, Cluster, explain, flat

__all__ = ["explain"]

HUB = (
    "heartbeats",
    "A.heartbeats",
    "B.A.heartbeats",
    "A.checkpoints.internal",
    "A.orders",
    "orders.eu",
    "plain",
)
CHAIN = """
mirror_version: "4.3"
clusters: {A: {bootstrap.servers: "a:9092"}, B: {bootstrap.servers: "b:9092"}, C: {bootstrap.servers: "c:9092"}}
flows: {A->C: {topics: ".*"}, B->C: {topics: ".*", separator: "_"}}
"""


async def lines(explain, *arguments, **options):
    _, text = await explain(*arguments, **options)
    return re.findall(r"MirrorClient.*? checkpoint\b", flat(text))


async def test_a_line_for_each_target(explain):
    assert await lines(explain, YAML, {"A": Cluster("plain"), "B": Cluster(*HUB)}) == [
        "MirrorClient: upstream A (1 hop), B (1 hop); topics: 4 remote, 3 heartbeat, 1 checkpoint"
    ]


async def test_no_line_without_a_list_of_topics(explain):
    assert await lines(explain, YAML, {"A": Cluster(), "B": Cluster()}) == []
    assert await lines(explain, YAML) == []


async def test_a_source_without_a_remote_topic_has_no_line_and_one_with_them_has(explain):
    b = Cluster("A.orders")
    assert len(await lines(explain, YAML, {"A": Cluster("plain"), "B": b})) == 1
    found = await lines(explain, YAML, {"A": Cluster("C.B.heartbeats"), "B": b})
    assert (
        found[0]
        == "MirrorClient: upstream C (1 hop), B (2 hops); topics: 1 remote, 1 heartbeat, 0 checkpoint"
    )


async def test_without_a_version_both_numbers_are_shown(explain):
    found = await lines(explain, MM2, {"A": Cluster("x"), "B": Cluster("A.orders", "A.stock.internal")})
    assert (
        found[-1]
        == "MirrorClient: upstream none; topics: 1 (3.x) or 2 (4.x) remote, 0 heartbeat, 0 checkpoint"
    )


async def test_a_line_for_each_policy(explain):
    clusters = {
        "A": Cluster("x"),
        "B": Cluster("y"),
        "C": Cluster("A.heartbeats", "B_heartbeats", "B_y", "A.x"),
    }
    assert await lines(explain, CHAIN, clusters) == [
        "MirrorClient with the default policy and separator '.': upstream A (1 hop); topics: 2 remote, 1 heartbeat, 0 checkpoint",
        "MirrorClient with the default policy and separator '_': upstream B (1 hop); topics: 2 remote, 1 heartbeat, 0 checkpoint",
    ]


async def test_the_identity_policy_is_named_with_its_source(explain):
    identity = YAML.replace("flows: {A->B: {", "flows: {A->B: {policy: identity, ")
    found = await lines(
        explain, identity, {"A": Cluster("x"), "B": Cluster("x", "A.heartbeats", "__consumer_offsets")}
    )
    assert found == [
        "MirrorClient with source.cluster.alias=A: upstream A (1 hop); topics: 2 remote, 1 heartbeat, 0 checkpoint"
    ]


async def test_a_name_without_an_alias_and_markup_are_only_text(explain):
    found = await lines(explain, YAML, {"A": Cluster("x"), "B": Cluster(".heartbeats", "[red].heartbeats")})
    assert found == [
        "MirrorClient: upstream '' (1 hop), [red] (1 hop); topics: 1 remote, 2 heartbeat, 0 checkpoint"
    ]


async def test_the_document_has_all_of_it(explain):
    _, text = await explain(YAML, {"A": Cluster("plain"), "B": Cluster(*HUB)}, as_json=True)
    a, b = (cluster["mirror_client"] for cluster in json.loads(text)["clusters"])
    assert a[0]["offset_translation"] == []
    assert b == [
        {
            "policy": "default",
            "separator": ".",
            "source_alias": None,
            "upstream_clusters": [{"alias": "A", "hops": 1}, {"alias": "B", "hops": 1}],
            "heartbeat_topics": ["A.heartbeats", "B.A.heartbeats", "heartbeats"],
            "checkpoint_topics": ["A.checkpoints.internal"],
            "remote_topics": [
                {"source": "A", "topics": ["A.heartbeats", "A.orders"]},
                {"source": "B", "topics": ["B.A.heartbeats"]},
                {"source": "orders", "topics": ["orders.eu"]},
            ],
            "depends_on_version": [],
            "offset_translation": [
                {"source": "A", "topic": "A.checkpoints.internal", "exists": True},
                {"source": "B", "topic": "B.checkpoints.internal", "exists": False},
            ],
        }
    ]


async def test_a_cluster_that_does_not_list_its_topics_is_not_judged(explain):
    class Refusing(Cluster):
        async def list_topics(self):
            raise RefusedError("cluster B: listing its topics failed: it is refused")

    clusters = {"A": Cluster("plain"), "B": Refusing("A.heartbeats")}
    assert await lines(explain, YAML, clusters) == []
    _, text = await explain(YAML, clusters, as_json=True)
    assert json.loads(text)["clusters"][1]["mirror_client"] is None
    _, text = await explain(YAML, {"A": Cluster("plain"), "B": Cluster()}, as_json=True)
    assert json.loads(text)["clusters"][1]["mirror_client"][0]["remote_topics"] == []
