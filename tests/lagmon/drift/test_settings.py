"""Configurations of topics: a table of rules, and properties."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.topic_sync import TopicSync
from fleet.topic_settings import Origin, Setting
from fleet.verdicts.flow import Flow
from lagmon.drift.differences import Verdict, grouped
from lagmon.drift.settings import topic_settings

FLOW = Flow("A", "B", mirror_version="4.3")
TOPIC, BROKER, STATIC, DEFAULT = (Origin.TOPIC, Origin.BROKER, Origin.STATIC, Origin.DEFAULT)


def compared(here, there, *, name="retention.ms", **sync):
    flow = replace(FLOW, topic_sync=TopicSync(**sync))
    sides = [{} if one is None else {name: Setting(*one)} for one in (here, there)]
    return topic_settings(flow, {"t": "A.t"}, {"t": sides[0]}, {"A.t": sides[1]})


@pytest.mark.parametrize(
    ("here", "there", "sync", "words"),
    [
        (("1", TOPIC), ("2", TOPIC), {}, "the mirror sets it on the target (every 10 min)"),
        (("1", TOPIC), ("2", DEFAULT), {}, "the mirror sets it"),
        (("1", BROKER), ("2", DEFAULT), {}, "the mirror sets it"),
        (("1", DEFAULT), ("2", TOPIC), {}, "the mirror removes it"),
        (("1", DEFAULT), ("2", TOPIC), {"defaults_from": "source"}, "the mirror sets it"),
        (("1", DEFAULT), ("2", STATIC), {"defaults_from": "source"}, "the mirror sets it"),
        (("1", STATIC), ("2", TOPIC), {}, "the mirror leaves it alone"),
        (("1", TOPIC), None, {}, "the version of the target does not know"),
        (None, ("1", TOPIC), {}, "the version of the source does not know"),
    ],
)
def test_settings_that_differ_by_topic(here, there, sync, words):
    found = compared(here, there, **sync)
    (one,) = found.differences
    assert (one.subject, one.remote, one.what) == ("t", "A.t", "retention.ms")
    assert (one.source, one.target) == (here and here[0], there and there[0])
    assert words in one.advice
    assert found.compared == 1


@pytest.mark.parametrize(
    ("here", "there", "sync", "name"),
    [
        (("1", TOPIC), ("1", DEFAULT), {}, "retention.ms"),
        (("1", DEFAULT), ("1", TOPIC), {}, "retention.ms"),
        (("1", DEFAULT), None, {}, "retention.ms"),  # a property of one version
        (None, ("1", STATIC), {}, "retention.ms"),
        (("1", TOPIC), ("2", TOPIC), {}, "min.insync.replicas"),
        (("1", TOPIC), ("2", TOPIC), {"exclude": "retention.*"}, "retention.ms"),
    ],
)
def test_settings_that_do_not_count(here, there, sync, name):
    assert compared(here, there, name=name, **sync).verdict is Verdict.SAME


def test_an_own_list_of_exclusions_takes_the_place_of_the_default():
    found = compared(("1", TOPIC), ("2", TOPIC), name="min.insync.replicas", exclude="retention.*")
    assert found.verdict is Verdict.DIFFERS


def test_broker_defaults_are_reported_once():
    pairs = {f"t{number}": f"A.t{number}" for number in range(100)}
    here = {topic: {"retention.ms": Setting("1", STATIC)} for topic in pairs}
    there = {topic: {"retention.ms": Setting("2", DEFAULT)} for topic in pairs.values()}
    found = topic_settings(FLOW, pairs, here, there)
    (one,) = found.differences
    assert (one.subject, one.source, one.target) == ("", "1", "2")
    assert "default of the brokers" in one.advice
    assert found.compared == 100


@pytest.mark.parametrize(
    ("sync", "words"),
    [
        ({"configs_interval_s": None}, "sync.topic.configs.enabled is false"),
        ({"unknown": "because"}, "not known: because"),
    ],
)
def test_a_mirror_that_does_not_sync_is_not_compared(sync, words):
    found = compared(("1", TOPIC), ("2", TOPIC), **sync)
    assert found.verdict is Verdict.NOT_COMPARED
    assert words in found.omissions[0].why


def test_topics_without_permission_are_not_compared_and_deleted_ones_are_left_out():
    pairs = {name: f"A.{name}" for name in ("refused", "deleted", "same")}
    found = topic_settings(
        FLOW, pairs, {"refused": "no", "deleted": {}, "same": {}}, {"A.refused": {}, "A.same": {}}
    )
    assert (found.verdict, found.compared) == (Verdict.NOT_COMPARED, 1)
    assert [(one.why, one.subjects) for one in found.omissions] == [("no", ("refused",))]


NAMES = st.sampled_from(["retention.ms", "segment.ms", "cleanup.policy", "min.insync.replicas"])
SETTINGS = st.dictionaries(NAMES, st.builds(Setting, st.sampled_from("123"), st.sampled_from(Origin)))
CLUSTERS = st.dictionaries(st.sampled_from(["a", "b", "c"]), SETTINGS, min_size=1)


@given(CLUSTERS, st.sampled_from(["source", "target"]))
def test_equal_clusters_never_differ(source, defaults_from):
    flow = replace(FLOW, topic_sync=TopicSync(defaults_from=defaults_from))
    pairs = {name: f"A.{name}" for name in source}
    found = topic_settings(flow, pairs, source, {pairs[name]: one for name, one in source.items()})
    assert found.verdict is Verdict.SAME


@given(CLUSTERS, st.data())
def test_one_changed_property_is_found_exactly_once(source, data):
    topic = data.draw(st.sampled_from(sorted(source)))
    pairs = {name: f"A.{name}" for name in source}
    target = {pairs[name]: dict(one) for name, one in source.items()}
    source[topic] = source[topic] | {"max.message.bytes": Setting("1", TOPIC)}
    target[pairs[topic]]["max.message.bytes"] = Setting("2", data.draw(st.sampled_from(Origin)))
    (one,) = topic_settings(FLOW, pairs, source, target).differences
    assert (one.subject, one.what) == (topic, "max.message.bytes")


def test_equal_differences_are_one_group():
    pairs = {f"t{number}": f"A.t{number}" for number in range(5000)}
    there = {topic: {"retention.ms": Setting("2", TOPIC)} for topic in pairs.values()}
    here = {topic: {"retention.ms": Setting("1", TOPIC)} for topic in pairs}
    here["t7"] = {"retention.ms": Setting("3", TOPIC)}
    first, second = grouped(topic_settings(FLOW, pairs, here, there).differences)
    assert (len(first.subjects), second.subjects) == (4999, ["t7"])
