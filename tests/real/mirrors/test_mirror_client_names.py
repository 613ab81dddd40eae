"""Our MirrorClient view against the real client, for thousands of lists of names that no cluster needs to have."""

from __future__ import annotations

import random

import pytest

from fleet.mm2.replication import PolicyKind
from tests.fleet.golden.mirror_client import java_answers, our_answer
from tests.fleet.mm2.test_replication import VERSIONS, policy_of

LISTS, TOPICS = 12, 40
ALIASES = ("A", "B", "C", "", "us.east", "my", "mm2", "-", "a_b", "none")
ENDS = (
    "heartbeats", "xheartbeats", "my-heartbeats", "checkpoints.internal", "checkpoints_internal", "checkpoints--internal",
    "orders", "orders.eu", "orders.internal", "x-internal", "__consumer_offsets", "__x", ".x", "mm2-offset-syncs.B.internal",
    "mm2_x_internal", "mm2", "internal", "", "-",
)  # fmt: skip
SEPARATORS = (None, ".", "_", "-", "--", "._", "")
POLICY = "org.apache.kafka.connect.mirror."


def properties():
    """Return the properties of each policy: its class, separator, separator of internal topics, source."""
    for kind in ("DefaultReplicationPolicy", "IdentityReplicationPolicy"):
        for separator in SEPARATORS:
            for switch in (None, "true", "false"):
                for source in (None, "A") if kind.startswith("Identity") else (None,):
                    given = {
                        "replication.policy.class": POLICY + kind,
                        "replication.policy.separator": separator,
                        "replication.policy.internal.topic.separator.enabled": switch,
                        "source.cluster.alias": source,
                    }
                    yield {key: value for key, value in given.items() if value is not None}


def topics(drawn, separator):
    """Return a list of names: up to five aliases, mostly with this separator, and an end."""
    found = set()
    for _ in range(TOPICS):
        joint = separator if drawn.random() < 0.8 else drawn.choice(".-_")
        hops = drawn.choices(ALIASES[:8], k=drawn.choice((0, 1, 1, 2, 3, 5)))
        found.add(joint.join([*hops, drawn.choice(ENDS)]))
    return sorted(found - {""})


@pytest.mark.parametrize("version", VERSIONS)
def test_any_list_of_names_is_answered_as_the_client_does(version):
    drawn = random.Random(29)
    questions = [
        {"props": given, "aliases": ALIASES, "topics": topics(drawn, given.get("replication.policy.separator") or ".")}
        for given in properties()
        for _ in range(LISTS)
    ]  # fmt: skip
    answers = java_answers(questions, version)
    upstream = cyclic = remote = 0
    for question, answer in zip(questions, answers, strict=True):
        props = question["props"]
        short = props | {"replication.policy.class": props["replication.policy.class"].removeprefix(POLICY)}
        assert our_answer(question["topics"], policy_of(short), version, ALIASES) == answer, props
        upstream += len(answer["upstream"])
        remote += len(answer["remote"])
        cyclic += any(hops > 1 for hops in answer["hops"].values())
    assert min(upstream, remote, cyclic) > LISTS


def test_both_policies_are_asked():
    kinds = {policy_of(one | {"replication.policy.class": one["replication.policy.class"].removeprefix(POLICY)}).kind for one in properties()}  # fmt: skip
    assert kinds == {PolicyKind.DEFAULT, PolicyKind.IDENTITY}
