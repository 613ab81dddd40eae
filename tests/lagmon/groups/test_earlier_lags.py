"""Commits from before a restart get their lags back from the looks that were kept over it."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups import earlier_lags
from lagmon.groups.earlier_lags import EARLIER_MS, SHORT_MS
from lagmon.groups.rules.words import Reason
from lagmon.snapshots.cluster import frames_of, read_cluster, take_up
from tests.lagmon.windows import NOW, S

KEY = encode_commit_key("g", "t", 0)
RATE = 100  # records a second
STEP_S = 5  # between two commits
LOOK_S = 10


def new_lag():
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": 1})
    lag.begin_commits(1)
    return lag


class Reading:
    """A group that reads and falls behind by a second of records every five, and the monitor beside it."""

    def __init__(self, *, skew_ms=0, grows=True):
        self.lag, self.s, self.commits = new_lag(), 0, []
        self.skew_ms, self.grows = skew_ms, grows

    @property
    def now(self):
        return NOW + self.s * S

    def behind(self, s):
        return RATE * (10 + (s // STEP_S if self.grows else 0))

    def go(self, seconds, *, away=False, commits=True):
        for _ in range(seconds):
            self.s += 1
            if commits and self.s % STEP_S == 0:
                one = encode_commit_value(
                    RATE * (self.s + 1000) - self.behind(self.s), self.now + self.skew_ms
                )
                self.commits.append(one)
                if not away:
                    self.lag.intake.take([KEY], [one], read_ms=self.now, live=True)
            if not away and self.s % LOOK_S == 0:
                self.look()
        return self

    def look(self):
        end = np.array([RATE * (self.s + 1000)])
        self.lag.note_polled(np.array([0], np.int32), end, end, self.now)
        self.lag.heads.note_starts(np.array([0], np.int32), np.array([0]))
        self.lag.note_read(0, self.now)

    def restart(self, *, away_s, keeps=True):
        kept = b"".join(frames_of(self.lag, nullcontext(), cluster_id="a", now_ms=self.now))
        self.go(away_s, away=True)
        self.lag = new_lag()
        if keeps:
            take_up(self.lag, read_cluster(kept), partitions={"t": 1}, now_ms=self.now)
        self.lag.intake.take([KEY] * len(self.commits), self.commits, read_ms=self.now, live=False)
        self.look()
        return self

    def reason(self):
        return Reason(int(self.lag.see(self.now).rows.reason[0]))

    def warned_after_s(self):
        """Return after how many seconds it is told to fall behind, as of the looks."""
        for second in range(LOOK_S, 300, LOOK_S):
            if self.go(LOOK_S).reason() is Reason.GROWING:
                return second
        return None


@pytest.mark.parametrize("skew_ms", [0, 300 * S, -3_600 * S])
def test_a_group_that_fell_behind_is_told_so_at_the_look_after_its_next_commit(skew_ms):
    one = Reading(skew_ms=skew_ms).go(300)
    assert one.reason() is Reason.GROWING
    one.restart(away_s=10)
    assert one.reason() is not Reason.GROWING  # nothing was committed under our eyes yet
    assert one.warned_after_s() <= STEP_S + LOOK_S


def test_each_commit_has_the_lag_that_it_had_then():
    one = Reading().go(300).restart(away_s=10).go(2 * LOOK_S)
    trail = one.lag.trail
    made_s = (trail.committed_ms[0] - NOW) // S
    assert trail.lag[0].tolist() == [one.behind(int(at_s)) for at_s in made_s]


def test_one_that_keeps_its_distance_is_not_told_to_fall_behind():
    assert Reading(grows=False).go(300).restart(away_s=10).warned_after_s() is None


def test_without_the_looks_from_before_it_takes_nine_commits_of_its_trail():
    assert Reading().go(300).restart(away_s=10, keeps=False).warned_after_s() > 120


@pytest.mark.parametrize(("away_s", "at_once"), [(SHORT_MS // S, True), (SHORT_MS // S + LOOK_S, False)])
def test_what_was_committed_while_we_were_away_for_long_has_no_lag(away_s, at_once):
    one = Reading().go(300).restart(away_s=away_s)
    assert (one.warned_after_s() <= STEP_S + LOOK_S) is at_once


def test_what_was_committed_long_ago_has_none():
    one = Reading().go(300)
    one.go(EARLIER_MS // S, commits=False).restart(away_s=10)
    one.go(2 * LOOK_S)
    trail = one.lag.trail
    older = trail.committed_ms[0] <= one.now - EARLIER_MS
    assert older.any()
    assert (trail.lag[0][older] == -1).all()


def test_after_a_while_nothing_is_looked_for_any_more():
    one = Reading().go(300).restart(away_s=10)
    one.go(EARLIER_MS // S + LOOK_S)
    one.lag.trail.lag[0, 3] = -1
    one.go(LOOK_S, commits=False)
    assert (one.lag.trail.lag[0] == -1).sum() == 1


def test_of_many_commits_so_many_are_measured_at_a_look(monkeypatch):
    monkeypatch.setattr(earlier_lags, "MOST_COMMITS", 4)
    one = Reading().go(300).restart(away_s=10).go(LOOK_S)
    known = one.lag.trail.lag[0] >= 0
    assert known.tolist() == [False] * 5 + [True] * 4
    one.go(2 * LOOK_S)
    assert (one.lag.trail.lag[0] >= 0).all()
