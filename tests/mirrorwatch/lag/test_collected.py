"""Errors of the lag monitor add up over its processes, and instants stay until newer ones are told."""

from __future__ import annotations

import pytest

from mirrorwatch.lag.collected import STALE_S, CollectedCounts


def told(positions, *, at=None):
    instants = {} if at is None else {"positions": at}
    return {"last_success_at": {"A": instants}, "errors": {"A": {"positions": positions, "commits": 0.0}}}


def test_errors_of_one_process_after_another_add_up():
    counts = CollectedCounts()
    assert counts.document("A") == {"last_success_at": {}, "errors": {"positions": 0, "commits": 0}}
    counts.take(told(2.0, at=10.0), incarnation=1, now_ns=0)
    counts.take(told(3.0), incarnation=1, now_ns=0)
    assert counts.document("A")["errors"]["positions"] == 3
    counts.take(told(0.0), incarnation=2, now_ns=0)
    counts.take(told(4.0, at=30.0), incarnation=2, now_ns=0)
    counts.take({}, incarnation=3, now_ns=0)
    assert counts.document("A")["errors"]["positions"] == 7
    assert counts.document("A")["last_success_at"] == {"positions": 30.0}
    assert counts.document("B")["errors"] == {"positions": 0, "commits": 0}


def looks(*, away=None, failed=0.0, at=None):
    found = told(failed, at=at)
    return found if away is None else {**found, "away": {"A": {"since_ms": away * 1000, "why": "no answer"}}}


def test_a_cluster_is_away_until_it_answers_a_look():
    counts = CollectedCounts()
    counts.take(looks(at=10.0), incarnation=1, now_ns=0)
    assert counts.unanswered("A") is None
    counts.take(looks(away=20, failed=1.0, at=10.0), incarnation=1, now_ns=0)
    assert counts.unanswered("A") == (20.0, "no answer")
    assert counts.unanswered("B") is None
    counts.take(looks(failed=1.0, at=30.0), incarnation=1, now_ns=0)
    assert counts.unanswered("A") is None


def test_a_cluster_stays_away_until_the_next_process_has_looked():
    counts = CollectedCounts()
    counts.take(looks(away=20, failed=1.0), incarnation=1, now_ns=0)
    counts.take(looks(), incarnation=2, now_ns=0)
    assert counts.unanswered("A") == (20.0, "no answer")
    counts.take(looks(away=40, failed=1.0), incarnation=2, now_ns=0)
    assert counts.unanswered("A") == (20.0, "no answer")
    counts.take(looks(at=60.0), incarnation=3, now_ns=0)
    assert counts.unanswered("A") is None


class Told:
    """What is told by one process after the other, second by second."""

    def __init__(self):
        self.counts = CollectedCounts()
        self.now_s = 0.0

    def take(self, *, incarnation, after_s=1.0, **looked):
        self.now_s += after_s
        self.counts.take(looks(**looked), incarnation=incarnation, now_ns=int(self.now_s * 1e9))

    def standing(self, *, after_s=0.0):
        return self.counts.standing("A", now_ns=int((self.now_s + after_s) * 1e9))


def test_a_cluster_is_up_as_long_as_the_process_that_read_it_shows_so():
    told = Told()
    assert told.standing() is None
    told.take(incarnation=1)
    assert told.standing() is None
    for at in (1000.0, 1000.0, 1010.0):
        told.take(incarnation=1, at=at)
    assert told.standing(after_s=STALE_S) == ("up", 1000.0, "")
    assert told.standing(after_s=STALE_S + 0.1) is None  # the process is dead


def test_a_process_that_ends_before_it_has_looked_shows_of_no_cluster_that_it_is_up():
    told = Told()
    told.take(incarnation=1, at=1000.0)
    for incarnation in range(2, 8):
        assert told.standing() == ("up", 1000.0, "")
        told.take(incarnation=incarnation, after_s=2.0)
    assert told.standing() is None
    told.take(incarnation=8, at=1030.0)
    assert told.standing() == ("up", 1030.0, "")
    assert told.counts.document("A")["last_success_at"] == {"positions": 1030.0}


def test_what_was_known_before_it_was_switched_off_shows_nothing_of_now_and_counts_stay():
    counts = CollectedCounts()
    for before in (looks(away=20, failed=1.0), looks() | {"refused": {"A": {"since_ms": 1, "why": "no"}}}):
        counts.take(before, incarnation=1, now_ns=0)
        counts.forget_clusters()
        assert counts.standing("A", now_ns=1) is None
        assert counts.unanswered("A") is None
    counts.take(looks(failed=2.0, at=10.0), incarnation=1, now_ns=2)
    counts.forget_clusters()
    assert counts.standing("A", now_ns=3) is None
    counts.take(looks(), incarnation=2, now_ns=4)
    assert counts.standing("A", now_ns=4) is None
    counts.take(looks(away=40, failed=1.0), incarnation=2, now_ns=5)
    assert counts.standing("A", now_ns=5) == ("down", 40.0, "no answer")
    assert counts.document("A")["errors"]["positions"] == 3


REFUSED = {"A": {"since_ms": 2_000_000, "why": "not authorised"}}


def test_what_was_read_before_a_cluster_refused_shows_nothing_of_it_later():
    counts = CollectedCounts()
    counts.take(told(0.0, at=1000.0), incarnation=1, now_ns=0)
    counts.take(told(1.0, at=1000.0) | {"refused": REFUSED}, incarnation=1, now_ns=1)
    assert counts.standing("A", now_ns=1) == ("refused", 2000.0, "not authorised")
    counts.take(told(0.0), incarnation=2, now_ns=2)
    assert counts.standing("A", now_ns=2) is None


@pytest.mark.parametrize("before", [looks(at=1000.0), looks(away=20, failed=1.0)], ids=["up", "away"])
def test_nothing_is_known_of_a_cluster_that_was_left_and_comes_again(before):
    counts = CollectedCounts()
    counts.take(before, incarnation=1, now_ns=0)
    assert counts.tried == {"A"}
    counts.take({"last_success_at": {"B": {}}}, incarnation=2, now_ns=1)
    counts.take(looks(), incarnation=3, now_ns=2)
    assert counts.standing("A", now_ns=2) is None
    assert counts.tried == set()


@pytest.mark.parametrize(
    ("answer", "tried"),
    [
        (looks(), set()),
        (looks(at=10.0), {"A"}),
        (looks(failed=1.0), {"A"}),
        (looks(away=20), {"A"}),
        (looks() | {"refused": REFUSED}, {"A"}),
    ],
)
def test_a_cluster_is_tried_once_it_was_reached_or_failed_at(answer, tried):
    counts = CollectedCounts()
    counts.take(answer, incarnation=1, now_ns=0)
    assert counts.tried == tried
    counts.take(looks(), incarnation=2, now_ns=1)
    assert counts.tried == tried
