"""Errors of the lag monitor add up over its processes, and instants stay until newer ones are told."""

from __future__ import annotations

from mirrorwatch.lag_collected import CollectedCounts


def told(positions, *, at=None):
    instants = {} if at is None else {"positions": at}
    return {"last_success_at": {"A": instants}, "errors": {"A": {"positions": positions, "commits": 0.0}}}


def test_errors_of_one_process_after_another_add_up():
    counts = CollectedCounts()
    assert counts.document("A") == {"last_success_at": {}, "errors": {"positions": 0, "commits": 0}}
    counts.take(told(2.0, at=10.0), incarnation=1)
    counts.take(told(3.0), incarnation=1)
    assert counts.document("A")["errors"]["positions"] == 3
    counts.take(told(0.0), incarnation=2)
    counts.take(told(4.0, at=30.0), incarnation=2)
    counts.take({}, incarnation=3)
    assert counts.document("A")["errors"]["positions"] == 7
    assert counts.document("A")["last_success_at"] == {"positions": 30.0}
    assert counts.document("B")["errors"] == {"positions": 0, "commits": 0}


def looks(*, away=None, failed=0.0, at=None):
    found = told(failed, at=at)
    return found if away is None else {**found, "away": {"A": {"since_ms": away * 1000, "why": "no answer"}}}


def test_a_cluster_is_away_until_it_answers_a_look():
    counts = CollectedCounts()
    counts.take(looks(at=10.0), incarnation=1)
    assert counts.unanswered("A") is None
    counts.take(looks(away=20, failed=1.0, at=10.0), incarnation=1)
    assert counts.unanswered("A") == (20.0, "no answer")
    assert counts.unanswered("B") is None
    counts.take(looks(failed=1.0, at=30.0), incarnation=1)
    assert counts.unanswered("A") is None


def test_a_cluster_stays_away_until_the_next_process_has_looked():
    counts = CollectedCounts()
    counts.take(looks(away=20, failed=1.0), incarnation=1)
    counts.take(looks(), incarnation=2)
    assert counts.unanswered("A") == (20.0, "no answer")
    counts.take(looks(away=40, failed=1.0), incarnation=2)
    assert counts.unanswered("A") == (20.0, "no answer")
    counts.take(looks(at=60.0), incarnation=3)
    assert counts.unanswered("A") is None
