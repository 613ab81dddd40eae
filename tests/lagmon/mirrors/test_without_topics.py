"""A flow with a cluster whose topics are unknown: there is an answer, and it says why nothing is known."""

from __future__ import annotations

import itertools
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause
from lagmon.cluster.state import ClusterLag
from lagmon.exposition.mirrors import MirrorSeries
from lagmon.mirrors.answers.flows import MirrorAnswers
from lagmon.mirrors.flow import MirrorFlow
from lagmon.mirrors.progress.equal import EqualProgress
from lagmon.mirrors.progress.group import GroupProgress
from tests.lagmon.mirror_flows import NOW, Mirrored, S

SOURCES = ("connect-offsets", "offset-syncs", "group", "equal-offsets")
NOT_LISTED, LISTED, LOOKED_AT = "not listed", "listed", "looked at"
HOW_FAR = (NOT_LISTED, LISTED, LOOKED_AT)


class Beginning:
    """A flow of which each cluster is known so far, and of which offsets may have been read."""

    def __init__(self, lag_from, source, target, *, offsets=True, read=True):
        order = Mirrored(lag_from=lag_from, group="g" if lag_from == "group" else None).flow.order
        self.now = NOW
        self.a, self.b = (ClusterLag(wanted=lambda *_: True) for _ in range(2))
        self.flow = MirrorFlow(order, self.a, self.b)
        for lag, topic, known in ((self.a, "orders", source), (self.b, "A.orders", target)):
            if known != NOT_LISTED:
                lag.note_topics({topic: 2})
            if known == LOOKED_AT:
                places = np.array(lag.places.of(topic), np.int32)
                lag.note_polled(places, np.array([5, 9]), np.array([5, 9]), NOW)
        if offsets:
            for topic, partition in (("orders", 0), ("orders", 1), ("gone", 7)):
                self.flow.windows.take(topic, partition, 3, NOW, live=True)
        follows = {"group": GroupProgress, "equal-offsets": EqualProgress}.get(lag_from)
        self.follow = follows(self.flow).follow if follows else None
        self.read = read
        clock = SimpleNamespace(wall_s=lambda: self.now / S)
        self.answers = MirrorAnswers([self.flow], [threading.Lock()], clock=clock)

    def ask(self):
        """Ask all that is asked of flows, a few times, and return the last document in short."""
        telling = MirrorSeries([self.flow], per_partition=True, max_series=100)
        for _ in range(3):
            self.now += 40 * S
            if self.follow is not None:
                self.follow(self.now)
            if self.read:
                self.flow.read_to_ms = self.now
            answer = self.answers.answer_flows({"canary_topic": "orders"})
            self.answers.answer_flow({"flow": "A->B"})
            telling.values(self.answers.snapshots())
        (found,) = json.loads(b"".join(answer.pieces))["flows"]
        return found


@pytest.mark.parametrize("lag_from", SOURCES)
def test_whatever_of_its_clusters_is_known_there_is_an_answer(lag_from):
    cases = itertools.product(HOW_FAR, HOW_FAR, (True, False), (True, False))
    for source, target, offsets, read in cases:
        found = Beginning(lag_from, source, target, offsets=offsets, read=read).ask()
        assert found["verdict"] == "unknown", (source, target, offsets, read, found["sentence"])


@pytest.mark.parametrize("lag_from", SOURCES)
def test_a_source_whose_topics_are_not_listed_is_named_as_the_reason(lag_from):
    found = Beginning(lag_from, NOT_LISTED, LOOKED_AT).ask()
    assert (found["verdict"], found["cause"]) == ("unknown", None)
    assert found["sentence"].startswith("The topics of A are not listed yet.")
    assert (found["partitions"], found["lag_records"]) == (0, None)


def test_a_source_that_shows_no_topic_may_lack_a_right():
    one = Beginning("connect-offsets", NOT_LISTED, LOOKED_AT)
    one.a.note_topics({})
    assert one.ask()["sentence"] == (
        "No topic of A is visible: it has none, or the principal lacks Describe on them; grant it "
        "(`mirrorwatch check --acls` prints how)."
    )


def test_targets_that_are_not_listed_are_a_reason_where_only_their_ends_show():
    found = Beginning("equal-offsets", LOOKED_AT, NOT_LISTED).ask()
    assert found["sentence"] == "The topics of B are not listed yet."


def test_a_cluster_that_refuses_is_no_dead_one_and_both_are_named():
    one = Beginning("connect-offsets", NOT_LISTED, LOOKED_AT)
    why = "cluster A: reading the list of topics failed: are the credentials right?"
    one.a.note_answer(NOW, why, refused=True)
    found = one.ask()
    assert found["cause"] is None
    assert found["sentence"].endswith(f"A has denied access since 2026-09-21 14:13:20 UTC: {why}")
    one.b.note_answer(NOW, "cluster B: nobody answers")
    found = one.ask()
    assert found["cause"] == Cause.TARGET_DOWN
    assert "A has denied access since" in found["sentence"]
    assert found["sentence"].endswith(
        "B has not answered since 2026-09-21 14:13:20 UTC: cluster B: nobody answers."
    )
    one.a.note_answer(NOW + 60 * S, "cluster A: nobody answers")
    found = one.ask()
    assert found["cause"] == Cause.SOURCE_DOWN
    assert "A has not answered since 2026-09-21 14:14:20 UTC" in found["sentence"]  # not since it refused
    assert "B has not answered since" in found["sentence"]
