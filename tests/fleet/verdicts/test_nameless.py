"""Copies that do not tell which probe they were explain losses: each one, once, for as long as it holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.verdicts.judgement import judge
from fleet.verdicts.nameless import not_altered
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import HOLD_S
from tests.fleet.verdicts.test_judgement import LOST, NOW, finding, flow, nameless, standing


def copy(at, *, count=1, partition=0):
    """A changed copy that came at this instant."""
    return replace(nameless(count=count, partition=partition), at=at)


def lost(at, *, count=1, partition=0):
    return replace(finding(LOST, count=count, partition=partition), at=at)


@pytest.mark.parametrize("proved_s", [0.0, 1.0, 60.0, 600.0])
def test_a_copy_explains_its_loss_until_that_holds_no_more(proved_s):
    evidence = flow(findings=(copy(0.0), lost(proved_s)))
    told = [judge(evidence, now_at=proved_s + second).verdict for second in range(int(HOLD_S) + 2)]
    assert set(told) == {Verdict.ALTERED, Verdict.HEALTHY}
    altered_s = HOLD_S - proved_s
    assert told.index(Verdict.HEALTHY) == pytest.approx(altered_s, abs=1.0)


def test_a_copy_is_spent_on_the_loss_that_it_explained_also_when_neither_holds_any_more():
    evidence = flow(findings=(copy(0.0), lost(60.0), lost(800.0)))
    for now_at in (900.0, 901.0, 960.0, 961.0, 1700.0):
        judgement = judge(evidence, now_at=now_at)
        assert (judgement.verdict, judgement.cause) == (Verdict.LOSING, Cause.FILTERED), now_at
        assert [row.at for row in judgement.evidence] == [800.0]


@pytest.mark.parametrize(("later_s", "left"), [(-2.1, 1), (-2.0, 0), (HOLD_S, 0), (HOLD_S + 0.1, 1)])
def test_a_copy_explains_what_is_lost_after_it_and_not_for_ever(later_s, left):
    at = 1000.0
    evidence = flow(findings=(copy(at), lost(at + later_s)))
    assert len(not_altered(evidence, at + later_s)) == left


def test_copies_explain_nothing_of_another_partition():
    evidence = flow(findings=(copy(0.0, count=9, partition=1), lost(1.0, count=2)))
    assert [one.count for one in not_altered(evidence, 1.0)] == [2]


def test_in_a_topic_of_several_flows_a_copy_is_no_proof_of_a_change_in_the_one_that_stalls():
    waiting = (standing(0, 6.0), standing(1, 5.8))
    for shared, verdict in ((False, Verdict.ALTERED), (True, Verdict.STALLED)):
        evidence = flow(*waiting, findings=(nameless(ago_s=2.0),), topic={"shared": shared})
        assert judge(evidence, now_at=NOW).verdict is verdict


def test_in_a_topic_of_several_flows_a_copy_explains_a_loss_of_its_partition():
    for partition, verdict in ((0, Verdict.ALTERED), (1, Verdict.LOSING)):
        found = (nameless(ago_s=2.0), finding(LOST, ago_s=1.0, partition=partition))
        judged = judge(flow(findings=found, topic={"shared": True}), now_at=NOW)
        assert judged.verdict is verdict


some = st.lists(st.tuples(st.floats(0, 2000), st.integers(1, 4)), max_size=12)


@given(some, some)
def test_no_copy_explains_more_probes_than_it_is_and_none_that_could_stays_unused(copies, losses):
    evidence = flow(
        findings=(*(copy(at, count=n) for at, n in copies), *(lost(at, count=n) for at, n in losses))
    )
    left = not_altered(evidence, 0.0)  # all of them still hold
    explained = sum(n for _, n in losses) - sum(one.count for one in left)
    assert 0 <= explained <= sum(n for _, n in copies)
    assert explained == most_pairs(copies, losses)


def most_pairs(copies, losses):
    """Return how many probes can be paired with copies at most, by augmenting paths, one by one."""
    singles = [at for at, n in copies for _ in range(n)]
    taken = {}

    def place(at, tried):
        for index, came_at in enumerate(singles):
            if index not in tried and came_at <= at + 2 and at - came_at <= HOLD_S:
                tried.add(index)
                if index not in taken or place(taken[index], tried):
                    taken[index] = at
                    return True
        return False

    return sum(place(at, set()) for at, n in losses for _ in range(n))
