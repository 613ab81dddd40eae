"""The lag of groups by topic and by partition: sums, and labels that follow slots which are given out anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.exposition.format import Form
from lagmon.exposition.lag_metrics import LagMetrics

NOW = 1_790_000_000_000
TOPICS = {"t": 2, "u": 1}
BY_TOPIC, BY_PARTITION = "mirrorwatch_group_topic_lag_records", "mirrorwatch_group_partition_lag_records"


class Desk:
    """Two clusters of the same topics, each of whose logs ends at 100, and what is told of them."""

    def __init__(self, **options):
        self.lags = {alias: _cluster() for alias in ("A", "B")}
        self.telling = LagMetrics(self.lags, **{"per_partition": True, "max_series": 1000} | options)

    def commit(self, alias, group, topic, partition, offset):
        key = encode_commit_key(group, topic, partition)
        value = None if offset is None else encode_commit_value(offset, NOW)
        self.lags[alias].intake.take([key], [value], read_ms=NOW, live=True)

    def sights(self):
        return {alias: lag.see(NOW) for alias, lag in self.lags.items()}

    def text(self, sights):
        """Return what is told by these verdicts, whenever they were made."""
        return b"".join(self.telling.tell(sights, Form.PLAIN)).decode()

    def told(self, name):
        """Return the samples of a family: values by labels in the catalogue's order."""
        text = self.text(self.sights())
        family = next((one for one in text_string_to_metric_families(text) if one.name == name), None)
        samples = family.samples if family is not None else []
        assert len({tuple(one.labels.values()) for one in samples}) == len(samples)
        return {tuple(one.labels.values()): one.value for one in samples}


def _cluster():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics(TOPICS)
    places = np.array(sorted(place for topic in TOPICS for place in lag.places.of(topic)), np.int32)
    ends = np.full(len(places), 100, np.int64)
    lag.note_polled(places, ends, ends, NOW)
    lag.begin_commits(1)
    lag.note_read(0, NOW)
    return lag


def test_a_topic_has_the_sum_of_its_partitions():
    desk = Desk()
    desk.commit("A", "g", "t", 0, 90)
    desk.commit("A", "g", "t", 1, 60)
    desk.commit("A", "g", "u", 0, 99)
    desk.commit("B", "g", "t", 0, 1)
    assert desk.told(BY_TOPIC) == {("A", "g", "t"): 50, ("A", "g", "u"): 1, ("B", "g", "t"): 99}
    assert desk.told(BY_PARTITION)["A", "g", "t", "1"] == 40


def test_what_is_not_known_of_one_partition_leaves_the_others_in_the_sum():
    desk = Desk()
    desk.commit("A", "g", "t", 0, 90)
    desk.commit("A", "g", "t", 1, -5)  # no offset of a log
    desk.commit("A", "g", "u", 0, -5)
    assert desk.told(BY_TOPIC) == {("A", "g", "t"): 10}
    assert desk.told(BY_PARTITION) == {("A", "g", "t", "0"): 10}


def test_another_group_that_gets_the_same_numbers_gets_its_own_labels():
    desk = Desk()
    desk.commit("A", "before", "t", 0, 90)
    assert desk.told(BY_TOPIC) == {("A", "before", "t"): 10}
    slots = desk.lags["A"].slots
    number, place = int(slots.group[0]), int(slots.place[0])
    desk.commit("A", "before", "t", 0, None)
    desk.commit("A", "after", "t", 0, 80)
    assert (int(slots.group[0]), int(slots.place[0])) == (number, place)
    assert desk.told(BY_TOPIC) == {("A", "after", "t"): 20}
    assert desk.told(BY_PARTITION) == {("A", "after", "t", "0"): 20}


def test_partitions_are_told_where_asked_for_only():
    desk = Desk(per_partition=False)
    desk.commit("A", "g", "t", 0, 90)
    assert desk.told(BY_PARTITION) == {}
    assert desk.told(BY_TOPIC) == {("A", "g", "t"): 10}


@pytest.mark.parametrize("name", [BY_TOPIC, BY_PARTITION])
def test_the_cap_holds_for_each_family(name):
    desk = Desk(max_series=2)
    for group in ("one", "two", "three"):
        desk.commit("A", group, "t", 0, 90)
    assert len(desk.told(name)) == 2


_COMMITS = st.tuples(
    st.sampled_from("AB"),
    st.sampled_from(["g", "h", "i"]),
    st.sampled_from([("t", 0), ("t", 1), ("u", 0)]),
    st.none() | st.integers(0, 100),
)


@given(st.lists(st.lists(_COMMITS, max_size=6), max_size=6))
def test_at_every_scrape_the_series_are_those_of_the_groups_that_are_there(scrapes):
    desk, there = Desk(), {}
    for commits in scrapes:
        for alias, group, (topic, partition), offset in commits:
            desk.commit(alias, group, topic, partition, offset)
            there.pop((alias, group, topic, str(partition)), None)
            if offset is not None:
                there[alias, group, topic, str(partition)] = 100 - offset
        assert desk.told(BY_PARTITION) == there
        by_topic = {}
        for (alias, group, topic, _), lag in there.items():
            by_topic[alias, group, topic] = by_topic.get((alias, group, topic), 0) + lag
        assert desk.told(BY_TOPIC) == by_topic


def test_a_group_that_came_after_the_verdicts_were_made_is_told_with_the_next():
    desk = Desk()
    desk.commit("A", "g", "t", 0, 90)
    sights = desk.sights()
    desk.commit("A", "new", "t", 0, 80)
    text = desk.text(sights)
    lags = [line for line in text.splitlines() if line.startswith("mirrorwatch_group_lag_records{")]
    assert len(lags) == 1
    assert 'group="g"' in lags[0]
    assert desk.told("mirrorwatch_group_lag_records") == {("A", "g"): 10, ("A", "new"): 20}


def test_a_group_that_got_the_numbers_of_another_since_the_verdicts_is_told_with_the_next():
    """Until then it has no value, and never that of the one before it."""
    desk = Desk()
    desk.commit("A", "before", "t", 0, 10)
    desk.commit("A", "stays", "t", 1, 60)
    desk.told(BY_TOPIC)
    sights = desk.sights()
    desk.commit("A", "before", "t", 0, None)
    desk.commit("A", "after", "t", 0, 80)
    text = desk.text(sights)
    told = [line for line in text.splitlines() if line.startswith("mirrorwatch_group_")]
    assert {line.split("{")[0].removeprefix("mirrorwatch_group_") for line in told} == {
        "status",
        "lag_records",
        "max_lag_records",
        "lag_seconds",
        "topic_lag_records",
        "partition_lag_records",
    }
    assert all('group="stays"' in line for line in told)
    assert desk.told(BY_TOPIC) == {("A", "stays", "t"): 40, ("A", "after", "t"): 20}


def test_a_slot_that_went_to_another_partition_of_the_group_is_told_with_the_next_verdicts():
    desk = Desk()
    desk.commit("A", "g", "t", 0, 10)
    desk.commit("A", "g", "u", 0, 60)
    desk.told(BY_TOPIC)
    sights = desk.sights()
    desk.commit("A", "g", "t", 0, None)
    desk.commit("A", "g", "t", 1, 80)
    text = desk.text(sights)
    told = [line for line in text.splitlines() if line.startswith((BY_TOPIC, BY_PARTITION))]
    assert len(told) == 2
    assert all('topic="u"' in line for line in told)
    assert desk.told(BY_PARTITION) == {("A", "g", "t", "1"): 20, ("A", "g", "u", "0"): 40}
