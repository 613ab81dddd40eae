"""Every group is asked once in a cycle, within the budget, and none holds up another."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.ingest.admin_plan import Budget, Plan

TICK_S = 0.1


class Cluster:
    """A pretend cluster: what is asked is answered after `answer_s`, never where a group is among `silent`."""

    def __init__(self, groups, *, budget=None, random=lambda: 0.5, silent=(), refusing=(), answer_s=0.3):
        self.plan = Plan(random=random, budget=budget)
        self.asked: list[tuple[float, str]] = []
        self.described: list[tuple[float, str]] = []
        self.now_s = 0.0
        self.states = dict.fromkeys(groups, "empty")
        self.silent, self.refusing, self.answer_s = set(silent), set(refusing), answer_s
        self._answers: list[tuple[float, str, bool]] = []
        self.plan.note_listed(self.states, 0.0, whole=True)

    def run(self, for_s):
        for _ in range(round(for_s / TICK_S)):
            self.now_s += TICK_S
            here = [one for one in self._answers if one[0] <= self.now_s]
            self._answers = [one for one in self._answers if one[0] > self.now_s]
            for _, name, good in here:
                (self.plan.note_answered if good else self.plan.note_failed)(name, self.now_s)
            for name in self.plan.due(self.now_s):
                self.asked.append((self.now_s, name))
                late = name in self.silent
                after_s = self.plan.budget.timeout_s if late else self.answer_s
                self._answers.append((self.now_s + after_s, name, not (late or name in self.refusing)))
            for name in self.plan.to_describe(self.now_s):
                self.described.append((self.now_s, name))
                if name not in self.silent:
                    self.plan.note_described(name, self.now_s, members=1)

    def times(self, name):
        return [at_s for at_s, one in self.asked if one == name]


def names(count):
    return [f"g{number}" for number in range(count)]


def test_5000_groups_pass_within_a_minute_and_never_too_many_at_once():
    drawn = itertools.cycle([0.1, 0.9, 0.5, 0.3, 0.7])
    cluster = Cluster(names(5000), random=lambda: next(drawn))
    cluster.run(240)
    assert cluster.plan.settled == 5000
    by_name: dict[str, list[float]] = {}
    for at_s, name in cluster.asked:
        by_name.setdefault(name, []).append(at_s)
    assert len(by_name) == 5000
    longest_s = max(later - first for times in by_name.values() for first, later in itertools.pairwise(times))
    assert longest_s <= 60
    by_second = Counter(int(at_s) for at_s, _ in cluster.asked)
    assert max(by_second.values()) <= 100 + 25  # a quarter of a second may come at once
    # Evenly, as the rounds go on:
    third = [by_second[second] for second in range(120, 180)]
    assert min(third) >= 25  # and no second goes by in which nothing is asked


def test_few_groups_are_asked_as_often_as_is_useful_and_no_oftener():
    cluster = Cluster(names(3))
    cluster.run(100)
    assert 9 <= len(cluster.times("g0")) <= 11


@settings(max_examples=15, deadline=None)
@given(
    count=st.integers(1, 60),
    silent=st.integers(0, 60),
    refusing=st.integers(0, 60),
    seed=st.randoms(use_true_random=False),
)
def test_groups_that_do_not_answer_hold_up_no_other(count, silent, refusing, seed):
    budget = Budget(asked_per_s=10, shortest_cycle_s=2, timeout_s=10)
    every = names(count + silent + refusing)
    well = every[:count]
    cluster = Cluster(
        every,
        budget=budget,
        random=seed.random,
        silent=every[count : count + silent],
        refusing=every[count + silent :],
    )
    cluster.run(60)
    cycle_s = budget.cycle_s(len(every))
    for name in well:
        times = cluster.times(name)
        # Late where all begin at once and the budget is shared, never by a timeout of somebody else.
        gaps = [later - first for first, later in itertools.pairwise([0.0, *times])]
        assert max(gaps) <= 1.35 * cycle_s + 2, (name, times)
    waiting = Counter(int(at_s) for at_s, _ in cluster.asked)
    assert max(waiting.values()) <= budget.asked_per_s * 1.25 + 1


def test_what_fails_is_asked_ever_more_seldom_and_at_once_when_brokers_are_back():
    budget = Budget(shortest_cycle_s=1, first_pause_s=10, longest_pause_s=40)
    cluster = Cluster(["good", "bad"], budget=budget, refusing=["bad"])
    cluster.run(200)
    times = cluster.times("bad")
    gaps = [round(later - first) for first, later in itertools.pairwise(times)]
    assert gaps[:5] == [10, 20, 40, 41, 40] or gaps[:4] == [10, 20, 40, 40]
    assert len(cluster.times("good")) > 140
    before = len(times)
    cluster.plan.note_back(cluster.now_s)
    cluster.run(1)
    assert len(cluster.times("bad")) == before + 1


def test_what_was_asked_of_a_process_that_died_is_asked_again():
    cluster = Cluster(names(20), silent=names(20))
    cluster.run(2)
    assert len(cluster.asked) == 20
    cluster.plan.note_lost(cluster.now_s)
    cluster.run(2)
    assert Counter(name for _, name in cluster.asked) == dict.fromkeys(names(20), 2)


def test_groups_that_go_are_asked_no_more_and_only_a_whole_list_shows_it():
    cluster = Cluster(names(4))
    cluster.run(5)
    for whole in (False, False, True, False):
        assert cluster.plan.note_listed({"g0": "empty"}, cluster.now_s, whole=whole) == []
    assert "g1" in cluster.plan  # one whole list lacks it: its coordinator may be on its way
    assert sorted(cluster.plan.note_listed({"g0": "empty"}, cluster.now_s, whole=True)) == ["g1", "g2", "g3"]
    assert "g1" not in cluster.plan
    seen = len(cluster.asked)
    cluster.run(30)
    assert {name for _, name in cluster.asked[seen:]} == {"g0"}


def test_a_group_that_a_list_lacks_between_two_that_have_it_is_never_gone():
    cluster = Cluster(["g"])
    for states in ({}, cluster.states, {}, cluster.states):
        cluster.run(10)
        assert cluster.plan.note_listed(states, cluster.now_s, whole=True) == []
    assert len(cluster.times("g")) == 4


def begun(state="empty", **budget):
    """Return a plan with one group that is being asked since second 1."""
    plan = Plan(random=lambda: 0.5, budget=Budget(**budget))
    plan.note_listed({"g": state}, 0.0, whole=True)
    plan.due(0.0)
    plan.to_describe(0.0)
    assert plan.due(1.0) == ["g"]
    return plan


def leave(plan):
    for _ in range(2):
        plan.note_listed({}, 1.0, whole=True)


def test_an_answer_of_a_group_that_is_gone_changes_nothing():
    plan = begun()
    leave(plan)
    assert not plan.note_answered("g", 1.2)
    assert not plan.note_failed("g", 1.2)
    assert (plan.groups, plan.due(100.0)) == (0, [])


def test_an_answer_counts_once_and_only_while_it_is_waited_for():
    plan = begun()
    assert (plan.note_answered("g", 1.2), plan.note_answered("g", 1.3)) == (True, False)
    assert not plan.note_failed("g", 1.4)
    plan = begun()
    leave(plan)
    plan.note_listed({"g": "empty"}, 2.0, whole=True)
    assert not plan.note_answered("g", 2.0)  # it was asked for before it went
    assert plan.due(2.1) == ["g"]
    assert plan.note_answered("g", 2.2)


def test_what_is_never_answered_is_asked_again_and_fills_no_place():
    plan = begun("stable", asked_per_s=1, timeout_s=1, lost_after_s=60)
    assert plan.to_describe(1.0) == ["g"]
    assert plan.due(61.0) == []
    plan.note_listed({"g": "stable", "other": "empty"}, 61.0, whole=True)
    assert plan.due(61.0) == []  # one may be in flight at once
    assert plan.due(61.2) == ["other"]
    assert plan.note_answered("other", 61.3)
    plan.note_listed({"g": "preparing_rebalancing", "other": "empty"}, 61.5, whole=True)
    assert plan.to_describe(61.5) == ["g"]
    assert plan.due(76.0) == ["g"]
    assert not plan.note_answered("other", 76.0)


def test_members_are_asked_for_where_the_state_changed_and_now_and_then():
    cluster = Cluster(["a", "b"])
    cluster.run(5)
    assert cluster.described == []  # nobody is in an empty group
    cluster.plan.note_listed({"a": "stable", "b": "empty"}, cluster.now_s, whole=True)
    cluster.run(280)
    assert [name for _, name in cluster.described] == ["a"]
    cluster.run(60)
    assert [name for _, name in cluster.described] == ["a", "a"]
    cluster.plan.note_listed({"a": "preparing_rebalance", "b": "empty"}, cluster.now_s, whole=True)
    cluster.run(1)
    assert [name for _, name in cluster.described] == ["a", "a", "a"]


def test_members_that_are_not_told_are_asked_for_again_ever_more_seldom():
    plan = Plan(random=lambda: 0.5)
    plan.note_listed({"g": "stable"}, 0.0, whole=True)
    asked = []
    for second in range(1, 2000):
        for name in plan.to_describe(float(second)):
            asked.append(second)
            if second > 1500:
                assert plan.note_described(name, float(second), members=2)
            elif second > 100:
                plan.note_not_described(name, float(second))
            else:  # members of a group without any: that was another moment
                assert not plan.note_described(name, float(second), members=0)
        for name in plan.due(float(second)):
            plan.note_answered(name, float(second))
    gaps = [later - first for first, later in itertools.pairwise(asked)]
    assert gaps[:5] == pytest.approx([10, 20, 40, 80, 160], abs=12)
    assert gaps[5:] == pytest.approx([300] * len(gaps[5:]), abs=20)
    assert len(gaps) >= 8


def test_members_count_once_and_not_of_a_group_that_was_found_empty_since():
    def asked():
        plan = Plan(random=lambda: 0.5)
        plan.note_listed({"g": "stable"}, 0.0, whole=True)
        plan.to_describe(0.0)
        assert plan.to_describe(1.0) == ["g"]
        return plan

    plan = asked()
    assert (plan.note_described("g", 1.1, members=1), plan.note_described("g", 1.2, members=1)) == (
        True,
        False,
    )
    plan = asked()
    plan.note_listed({"g": "empty"}, 1.1, whole=True)
    assert not plan.note_described("g", 1.2, members=1)
    plan = asked()
    leave(plan)
    assert not plan.note_described("g", 1.2, members=1)
    plan.note_not_described("g", 1.2)
    assert plan.to_describe(100.0) == []


def test_a_change_while_members_are_asked_for_waits_for_the_answer():
    plan = Plan(random=lambda: 0.5)
    plan.note_listed({"g": "preparing_rebalancing"}, 0.0, whole=True)
    plan.to_describe(0.0)
    assert plan.to_describe(1.0) == ["g"]
    plan.note_listed({"g": "stable"}, 2.0, whole=True)
    assert plan.to_describe(3.0) == []
    assert plan.note_described("g", 4.0, members=1)
    assert plan.to_describe(5.0) == ["g"]


def test_members_asked_of_a_process_that_died_are_asked_for_again_within_the_budget():
    plan = Plan(random=lambda: 0.5)
    plan.note_listed(dict.fromkeys(names(100), "stable"), 0.0, whole=True)
    plan.to_describe(0.0)
    first = plan.to_describe(10.0)
    assert len(first) == 12
    plan.note_lost(10.0)
    again = [name for tenth in range(1, 300) for name in plan.to_describe(10 + tenth / 10)]
    assert Counter(again) == dict.fromkeys(names(100), 1)


def test_members_have_a_budget_of_their_own():
    cluster = Cluster(names(500))
    cluster.plan.note_listed(dict.fromkeys(names(500), "stable"), 0.0, whole=True)
    cluster.run(5)
    assert 200 <= len(cluster.described) <= 265


@pytest.mark.parametrize(("groups", "cycle_s"), [(0, 10), (900, 10), (5000, 54.3), (50_000, 543.5)])
def test_the_cycle_grows_with_the_groups(groups, cycle_s):
    assert Budget().cycle_s(groups) == pytest.approx(cycle_s, abs=0.1)
