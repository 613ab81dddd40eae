"""ACLs on topics: which of the source the target lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.mm2.topic_sync import TopicSync
from fleet.topic_acls import TopicAcl, TopicAcls
from fleet.verdicts.flow import Flow
from lagmon.drift.acls import missing_acls
from lagmon.drift.differences import Verdict

FLOW = Flow("A", "B", mirror_version="4.3")
IDENTITY = Flow("A", "B", policy=ReplicationPolicy(PolicyKind.IDENTITY), mirror_version="4.3")
TOPICS = ("orders", "orders.eu", "bills")


def acl(text):
    """Return an ACL from `name operation [principal [host]]`; a name with * at its end is a prefix."""
    words = text.split()
    name, operation, principal, host = [*words, *("x", "*")[len(words) - 2 :]]
    prefixed = len(name) > 1 and name.endswith("*")
    return TopicAcl(
        name.removesuffix("*") if prefixed else name,
        prefixed,
        f"User:{principal}",
        host,
        operation.removeprefix("-"),
        not operation.startswith("-"),
    )


def compared(source, target, flow=FLOW):
    pairs = {topic: flow.remote_topic(topic) for topic in TOPICS}
    return missing_acls(flow, pairs, TopicAcls(tuple(map(acl, source))), TopicAcls(tuple(map(acl, target))))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("orders Read", "A.orders Read"),
        ("orders Describe", "A.orders Describe"),
        ("orders All", "A.orders Read"),
        ("orders -All", "A.orders -All"),
        ("orders Read", "A.orders All"),
        ("orders Read", "A.ord* Read"),
        ("orders Read", "* Read"),
        ("orders Read", "A.orders Read *"),
        ("orders Read x 10.0.0.1", "A.orders Read x"),
        ("orders Describe", "A.orders Read"),
        ("orders Describe", "A.orders Write"),
        ("orders* Read", "A.orders* Read"),
        ("orders* Read", "A.* Read"),
        ("* Read", "A.* Read"),
        ("* Read", "* Read"),
        ("orders -Read", "A.orders -Read"),
    ],
)
def test_an_acl_that_covers_it_is_enough(source, target):
    found = compared([source], [target])
    assert (found.verdict, found.compared) == (Verdict.SAME, 1)


@pytest.mark.parametrize(
    ("source", "target", "what", "remote", "words"),
    [
        ("orders Read", "orders Read", "Read for User:x", "A.orders", "the mirror adds it"),
        ("orders Read", "A.orders Read y", "Read for User:x", "A.orders", "the mirror adds it"),
        ("orders Read", "A.orders Read x 10.0.0.1", "Read for User:x", "A.orders", "the mirror adds"),
        ("orders Read x 10.1.1.1", "A.bills Read", "Read for User:x from 10.1.1.1", "A.orders", "adds"),
        ("orders Read", "A.orders Describe", "Read for User:x", "A.orders", "the mirror adds it"),
        ("orders -Describe", "A.orders -Read", "Describe for User:x", "A.orders", "the mirror adds it"),
        ("orders -Read", "A.orders Read", "Read for User:x", "A.orders", "the mirror adds it"),
        ("orders All", "A.orders Write", "Read for User:x", "A.orders", "the mirror adds it"),
        ("orders* Read", "A.orders Read", "Read for User:x", "A.orders*", "does not sync"),
        ("* Read", "A.orders* Read", "Read for User:x", "A.*", "does not sync"),
    ],
)
def test_an_acl_that_the_target_lacks(source, target, what, remote, words):
    (one,) = compared([source], [target]).differences
    assert (one.what, one.remote, one.target) == (what, remote, None)
    assert one.source == ("denied" if " -" in source else "allowed")
    assert words in one.advice


def test_what_mirrormaker_makes_of_an_acl_on_all_topics_is_not_enough():
    made = TopicAcl("A.*", False, "User:x", "*", "Read", True)
    found = missing_acls(FLOW, {"orders": "A.orders"}, TopicAcls((acl("* Read"),)), TopicAcls((made,)))
    assert [one.subject for one in found.differences] == ["*"]


@pytest.mark.parametrize(
    "source",
    ["orders Write", "orders DescribeConfigs", "others Read", "others* Read"],
)
def test_acls_that_are_not_compared(source):
    found = compared([source], [])
    assert (found.verdict, found.compared) == (Verdict.SAME, 0)


def test_an_acl_on_each_topic_covers_a_pattern():
    assert compared(["orders* Read"], ["A.orders Read", "A.orders.eu Read"]).verdict is Verdict.SAME
    assert compared(["* Read"], [f"A.{topic} Read" for topic in TOPICS]).verdict is Verdict.SAME


def test_a_policy_that_keeps_names_keeps_patterns():
    same = ["orders Read", "bil* Read", "* Describe y"]
    assert compared(same, same, IDENTITY).verdict is Verdict.SAME
    assert [one.remote for one in compared(["* Read"], [], IDENTITY).differences] == ["*"]


@pytest.mark.parametrize(
    ("source", "target", "verdict", "words"),
    [
        (False, False, Verdict.SAME, "neither cluster has an authorizer"),
        (True, False, Verdict.DIFFERS, "every principal may do everything on B"),
        (False, True, Verdict.DIFFERS, "principals without an ACL are refused on B"),
    ],
)
def test_clusters_without_an_authorizer(source, target, verdict, words):
    sides = [TopicAcls(has_authorizer=one) for one in (source, target)]
    found = missing_acls(FLOW, {}, *sides)
    assert found.verdict is verdict
    assert words in found.note + "".join(one.advice for one in found.differences)


def test_acls_that_cannot_be_read_or_are_not_synced_are_not_compared():
    found = missing_acls(FLOW, {}, TopicAcls(unread="not allowed"), TopicAcls())
    assert (found.verdict, found.omissions[0].why) == (Verdict.NOT_COMPARED, "not allowed")
    off = replace(FLOW, topic_sync=TopicSync(acls_interval_s=None))
    found = missing_acls(off, {}, TopicAcls(), TopicAcls())
    assert "sync.topic.acls.enabled is false" in found.omissions[0].why


ACLS = st.builds(
    TopicAcl,
    st.sampled_from([*TOPICS, "*", "ord"]),
    st.booleans(),
    st.sampled_from(["User:x", "User:*"]),
    st.sampled_from(["*", "10.0.0.1"]),
    st.sampled_from(["Read", "Describe", "All", "Write"]),
    st.booleans(),
)


@given(st.frozensets(ACLS))
def test_equal_acls_never_differ(rules):
    rules = tuple(one for one in rules if one.name != "*" or not one.prefixed)
    both = TopicAcls(rules)
    assert missing_acls(IDENTITY, {topic: topic for topic in TOPICS}, both, both).verdict is Verdict.SAME


@given(st.frozensets(ACLS))
def test_an_acl_of_a_principal_of_its_own_is_found_once(rules):
    rules = tuple(one for one in rules if one.principal != "User:*" and (one.name != "*" or not one.prefixed))
    more = acl("bills Read y")
    pairs = {topic: topic for topic in TOPICS}
    (one,) = missing_acls(IDENTITY, pairs, TopicAcls((*rules, more)), TopicAcls(rules)).differences
    assert (one.subject, one.what) == ("bills", "Read for User:y")
