"""What `check` prints of clusters that no flow touches, and where there is no flow at all."""

from __future__ import annotations

import pytest

from tests.mirrorwatch.check.test_check import YAML, Cluster, explain, flat, same_as

__all__ = ["explain"]

LONE = 'clusters: {A: {bootstrap.servers: "a:9092"}}\nflows: {}\n'
THREE = YAML.replace("clusters: {", 'clusters: {C: {bootstrap.servers: "c:9092"}, ')
OF_WRITING = [
    "Create",
    "IdempotentWrite",
    "Write",
    "DescribeConfigs",
    "record_rejected",
    "canary",
    "probe every",
]
OF_FLOWS = ["mirror", "MirrorMaker", "lag: {commits: off}"]


async def test_without_a_flow_nothing_is_shown_of_mirrors_and_of_what_is_written(explain):
    code, text = await explain(LONE, {"A": Cluster("orders")})
    assert code == 0
    same_as("lone", text)


@pytest.mark.parametrize("commits", ["topic", "admin"])
async def test_none_of_those_words_stands_there_however_commits_are_read(explain, commits):
    text = flat((await explain(LONE + f"lag: {{commits: {commits}}}\n"))[1])
    said = text.replace("mirrorwatch.yml", "")
    assert [word for word in OF_WRITING + OF_FLOWS if word in said] == []
    assert "Read implies Describe." in text or commits == "admin"
    assert "No flows, so no probes and no control probes: Mirrorwatch writes nothing." in text


async def test_with_the_canary_off_nothing_is_shown_of_what_is_written_either(explain):
    text = flat((await explain(YAML + "canary: {mode: 'off'}\n"))[1])
    permissions = text.partition("Permissions that run needs")[2].partition("Permissions that checksum")[0]
    assert [word for word in OF_WRITING if word in permissions and word != "DescribeConfigs"] == []
    assert "the lag monitor reports retention headroom" in permissions


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ("}", "only consumer groups (not part of a flow)"),
        (
            ", offsets: {topic: t, kafka_cluster: C}}",
            "consumer groups and the offsets of A->B (not part of a flow)",
        ),
    ],
)
async def test_what_is_watched_of_a_cluster_with_the_flows(explain, flow, said):
    text = flat((await explain(THREE.replace('canary"}', f'canary"{flow}')))[1])
    assert f"watched {said}" in text
    assert "on each of 2 clusters" in text


async def test_one_that_cannot_be_read_is_reported_and_makes_nothing_fail(explain):
    mirror = "clusters = A, B, C\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
    code, text = await explain(mirror, {"A": Cluster(), "B": Cluster()})
    assert code == 0
    assert "C: not part of a flow, and it has a warning (see Warnings), so it is not used" in flat(text)
    assert "C.bootstrap.servers: missing" in flat(text)
