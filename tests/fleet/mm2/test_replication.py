"""Policies against the answers of the real classes of Kafka 3.9 and 4.3."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.replication import PolicyKind, ReplicationPolicy, major_version

GOLDEN = Path(__file__).parents[1] / "golden"
VERSIONS = ("3.9.2", "4.3.0")
ANSWERS = {version: json.loads((GOLDEN / f"kafka-{version}.json").read_text()) for version in VERSIONS}
KINDS = {"DefaultReplicationPolicy": PolicyKind.DEFAULT, "IdentityReplicationPolicy": PolicyKind.IDENTITY}


def policy_of(properties):
    separator = properties.get("replication.policy.separator")
    switch = properties.get("replication.policy.internal.topic.separator.enabled", "true")
    kind = KINDS[properties["replication.policy.class"]]
    return ReplicationPolicy(
        kind,
        "." if separator is None else separator,
        separator is None or switch.lower() == "true",
        properties.get("source.cluster.alias") if kind is PolicyKind.IDENTITY else None,
    )


def test_the_table_is_as_large_as_it_should_be():
    for version in VERSIONS:
        assert ANSWERS[version]["version"] == version
        assert len(ANSWERS[version]["policies"]) >= 16
        assert all(len(each["topics"]) >= 60 for each in ANSWERS[version]["policies"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("number", range(len(ANSWERS["4.3.0"]["policies"])))
def test_answers_as_the_real_policy(version, number):
    answer = ANSWERS[version]["policies"][number]
    policy = policy_of(answer["given"])
    assert policy.offset_syncs_topic("B") == answer["offset_syncs"]
    assert policy.checkpoints_topic("A") == answer["checkpoints"]
    assert policy.heartbeats_topic == answer["heartbeats"]
    for topic, row in answer["topics"].items():
        ours = [
            policy.remote_topic("A", topic),
            policy.topic_source(topic),
            policy.upstream_topic(topic),
            policy.original_topic(topic),
            policy.is_internal(topic, version),
            policy.is_heartbeats(topic),
            policy.is_checkpoints(topic),
        ]
        assert ours == row, topic


@pytest.mark.parametrize(
    ("topic", "remote", "source", "upstream", "original"),
    [
        ("orders", "orders", None, "orders", "orders"),
        ("B.orders", "B.orders", None, "B.orders", "B.orders"),
        ("heartbeats", "A.heartbeats", None, None, "heartbeats"),
        ("B.heartbeats", "A.B.heartbeats", "B", "heartbeats", "heartbeats"),
        ("my-heartbeats", "my-heartbeats", None, "my-heartbeats", "my-heartbeats"),
    ],
)
def test_legacy_follows_its_proposal(topic, remote, source, upstream, original):
    policy = ReplicationPolicy(PolicyKind.LEGACY)
    assert policy.remote_topic("A", topic) == remote
    assert policy.topic_source(topic) == source
    assert policy.upstream_topic(topic) == upstream
    assert policy.original_topic(topic) == original


def test_legacy_names_its_own_topics_with_a_dot():
    policy = ReplicationPolicy(PolicyKind.LEGACY, "_")
    assert policy.offset_syncs_topic("B") == "mm2-offset-syncs.B.internal"
    assert policy.checkpoints_topic("A") == "A.checkpoints.internal"
    assert policy.remote_topic("A", "heartbeats") == "A_heartbeats"


@pytest.mark.parametrize(
    ("version", "major"),
    [
        ("4.3", 4),
        ("4.3.0", 4),
        ("4", 4),
        ("3.9", 3),
        (" 3.9.1 ", 3),
        ("2.8.2", 3),
        ("3.7.0-IV4", 3),
        ("5.0", 4),
    ],
)
def test_major_version(version, major):
    assert major_version(version) == major


@pytest.mark.parametrize("version", ["", "x", "v4", "1.1", "0.11", "4..3", "4.3.", "four"])
def test_no_version(version):
    with pytest.raises(ValueError, match="write for example 4"):
        major_version(version)


@given(
    topic=st.text(alphabet="abB._-", min_size=1, max_size=12),
    separator=st.sampled_from([".", "_", "-", "--", "._"]),
)
def test_one_hop_can_be_taken_back(topic, separator):
    policy = ReplicationPolicy(separator=separator)
    remote = policy.remote_topic("A", topic)
    if policy.topic_source(remote) == "A":  # not so where nothing but separators follows
        assert policy.upstream_topic(remote) == topic
        assert policy.original_topic(remote) == policy.original_topic(topic)
    else:
        assert not topic.replace(separator, "") or separator[0] in (topic + separator)


@given(topic=st.text(alphabet="ab.hearts", max_size=14))
def test_identity_keeps_every_name_but_heartbeats(topic):
    policy = ReplicationPolicy(PolicyKind.IDENTITY, source_alias="A")
    assert (policy.remote_topic("A", topic) == topic) is not topic.endswith("heartbeats")
