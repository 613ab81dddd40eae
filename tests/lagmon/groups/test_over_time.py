"""Whole lives of groups: what keeps reading is never alarmed at, and what ends is told when it is due."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lagmon.groups.rules.words import STATUS_OF, Status
from lagmon.groups.trail import STEP_MS
from tests.lagmon.simulated import FIRST, Crowd, Life

ALARMS = {Status.STOP, Status.STALL, Status.REWIND, Status.WARN, Status.ERR}
LIVES = 40
WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # a smaller seed is no simpler life

cadences_s = st.sampled_from(
    (0.1, 0.5, 1.0, 3.0, 5.0, 7.0, 10.0, 11.0, 14.0, 20.0, 31.0, 60.0, 300.0, 3600.0)
)
seeds = st.integers(0, 2**32)


def some_lives(cadence_s, seed):
    """Return lives of this cadence, of whatever kind: what they have in common is that they keep reading."""
    random = Random(seed)
    for _ in range(LIVES):
        yield Life(
            cadence_s=cadence_s,
            rate=random.choice((0.01, 1.0, 10.0, 1000.0)),
            jitter=random.choice((0.0, 0.1, 0.5)),
            lags=tuple(random.randrange(400) for _ in range(random.randint(1, 5))),
            debt=random.choice((0.0, 0.0, 500.0, 1e6)),
            burst_s=random.choice((0.0, 0.0, 7.0, 60.0, 900.0)),
            skew_s=random.choice((0.0, -300.0, 300.0, 0.5)),
            commits=max(random.choice((12, 20)), int(300 / cadence_s)),
            left=random.choice((2, 3, 1000)),
            same_after=random.random() < 0.5,
            seed=random.randrange(2**32),
        )


def due_s(life, look_s):
    """Return how long after there was something to read for one that stands it must have been told."""
    gap_s = max(2 * STEP_MS / 1000, life.cadence_s * (1 + life.jitter))
    return max(60.0, 3 * gap_s) + 2.2 * look_s


@given(cadences_s, seeds, st.booleans())
@settings(deadline=None, max_examples=8, phases=WITHOUT_SHRINKING)
def test_who_keeps_reading_is_never_alarmed_at_and_who_ends_is_told_when_it_is_due(cadence_s, seed, forgets):
    crowd = Crowd(list(some_lives(cadence_s, seed)), forgets_at_s=9.5 * cadence_s if forgets else 0.0)
    ended, due = [], []
    for life, commits in zip(crowd.lives, crowd.read, strict=True):
        ended.append(commits[-1][0])
        due.append(life.unread_since_s(*commits[-1]) + due_s(life, crowd.look_s))
    told = 0
    for at_s, found in crowd.run(min(max(due), max(ended) + 20 * due_s(crowd.lives[0], crowd.look_s))):
        for number, verdict in enumerate(found):
            life, commits = crowd.lives[number], crowd.read[number]
            if verdict is None or at_s < commits[1][0]:
                continue
            status = STATUS_OF[verdict[0]]
            evidence = (status, at_s, ended[number], due[number], verdict[1], life, commits[-12:])
            if at_s <= ended[number]:
                assert status not in ALARMS, evidence
            elif at_s > due[number]:
                told += 1
                assert status is (Status.STALL if life.same_after else Status.STOP), evidence
    assert told


def went_back(at_s):
    """Keep up, and after 200 s begin again 50,000 records before."""
    return FIRST + int(100 * at_s) - (50 if at_s < 200 else 50_000)


@pytest.mark.parametrize("cadence_s", [0.2, 1.0, 5.0, 15.0])
@pytest.mark.parametrize(
    ("offset", "from_s", "status"),
    [
        (lambda at_s: FIRST + int(60 * at_s) - 10, 200, Status.WARN),
        (lambda at_s: FIRST + int(100 * min(at_s, 100)) - 10, 200, Status.STALL),
        (went_back, 215, Status.REWIND),
        (lambda at_s: FIRST + int(100 * at_s) - 10, 60, Status.OK),
    ],
    ids=["falls behind", "is stuck", "went back", "keeps up"],
)
def test_how_often_a_group_commits_changes_nothing_of_what_it_is_called(cadence_s, offset, from_s, status):
    crowd = Crowd([Life(cadence_s=cadence_s, rate=100.0)])
    crowd.read = [[(at * cadence_s, offset(at * cadence_s)) for at in range(1, int(300 / cadence_s))]]
    found = {STATUS_OF[told[0][0]] for at_s, told in crowd.run(300) if at_s > from_s}
    assert found == {status}
