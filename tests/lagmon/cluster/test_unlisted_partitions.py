"""Commits to partitions that their topic does not have: what is told of them, and until when."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import Reason, Status

NOW = 1_790_000_000_000


def judged(lag, group):
    """Return status, reason and sentence of the group's one partition, as it is and in the group's row."""
    view = lag.see(NOW)
    (slot,) = lag.slots.of(group).tolist()
    row = view.groups.row(lag.slots.number(group))
    return row.status, Reason(int(view.rows.reason[slot])), view.rows.sentence(slot)


def cluster(partition, topics, *, asking=False):
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics(topics)
    if asking:
        lag.begin_asking()
    else:
        lag.begin_commits(1)
    key, value = encode_commit_key("g", "t", partition), encode_commit_value(5, NOW)
    lag.intake.take([key], [value], read_ms=NOW, live=True)
    look(lag, topics.get("t", 0))
    lag.note_read(0, NOW)
    return lag


def look(lag, partitions):
    places = np.array(lag.places.of("t")[:partitions], np.int32)
    ends = np.full(partitions, 5, np.int64)
    lag.note_polled(places, ends, ends, NOW)


@pytest.mark.parametrize("asking", [False, True])
@pytest.mark.parametrize(("partition", "count", "has"), [(3, 3, "3 partitions"), (50_000, 1, "1 partition")])
def test_a_partition_that_its_topic_does_not_have_is_called_that(partition, count, has, asking):
    lag = cluster(partition, {"t": count}, asking=asking)
    status, reason, sentence = judged(lag, "g")
    assert (status, reason) == (Status.UNKNOWN, Reason.NO_PARTITION)
    assert sentence == (
        f"Lag unknown: the topic has only {has}, as last listed. No log belongs to the committed offset 5."
    )


@pytest.mark.parametrize("topics", [{}, {"t": 0}, {"other": 9}])
def test_of_a_topic_whose_partitions_are_not_known_only_the_end_is_missed(topics):
    assert judged(cluster(3, topics), "g")[1] is Reason.NO_HEAD


def test_the_last_partition_of_a_topic_whose_end_was_not_read_is_there():
    lag = cluster(2, {"t": 3})
    assert judged(lag, "g")[1] is Reason.CAUGHT_UP
    lag.heads.forget(np.array(lag.places.of("t"), np.int32))
    assert judged(lag, "g")[1] is Reason.NO_HEAD


def test_partitions_that_were_added_are_read_from_the_next_list_on():
    lag = cluster(3, {"t": 3})
    assert judged(lag, "g")[1] is Reason.NO_PARTITION
    lag.note_topics({"t": 6})
    assert judged(lag, "g")[1] is Reason.NO_HEAD
    look(lag, 6)
    assert judged(lag, "g")[1] is Reason.CAUGHT_UP
