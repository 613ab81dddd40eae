"""Rounds of questions about groups: lists, answers, failures, and a process that dies in between."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from fleet.errors import UnavailableError
from lagmon.cluster.readiness import not_ready, share_read
from lagmon.cluster.state import ClusterLag
from lagmon.ingest.admin_rounds import AdminRounds
from runtime.kafka.group_offsets import (
    Failed,
    GroupsListed,
    GroupsOfAnyKind,
    MembersTold,
    OffsetsTold,
    RightTold,
)
from tests.runtime.fake_clock import FakeClock


class PretendAsker:
    """Answers at the next turn from what a test says; `dead` for a process that ended."""

    def __init__(self):
        self.states: dict[str, str] = {}
        self.offsets: dict[str, list[list[object]]] = {}
        self.problem = ""
        self.refused: set[str] = set()
        self.silent: set[str] = set()
        self.dead = False
        self.may_describe, self.rights_asked = True, 0
        self.simple = ()
        self.listless, self.hung = False, 0  # the client waits for brokers without end
        self.asked: list[str] = []
        self.described: list[str] = []
        self.undescribed: set[str] = set()
        self.members = [["m", "client", "/h", [["t", [0]]]]]
        self.lists = 0
        self._answers: list[object] = []

    def list_groups(self):
        self.lists += 1
        if self.listless:
            self.hung += 1
        else:
            self._answers.append(GroupsListed(dict(self.states), self.problem, self.simple))

    def count_others(self):
        self._answers.append(GroupsOfAnyKind(2))

    def ask_right(self):
        self.rights_asked += 1
        self._answers.append(RightTold(self.may_describe))

    def ask(self, groups):
        if self.dead:
            raise UnavailableError("cluster A: the process ended")
        self.asked += groups
        for group in groups:
            if group in self.refused:
                self._answers.append(Failed("offsets", group, f"{group} is refused", refused=True))
            elif group not in self.silent:
                self._answers.append(OffsetsTold(group, self.offsets.get(group, [])))

    def describe(self, groups):
        self.described += groups
        for group in groups:
            if group in self.undescribed:
                self._answers.append(Failed("members", group, "it timed out", refused=False))
            elif group not in self.silent:
                self._answers.append(MembersTold(group, "stable", self.members))

    def take(self):
        if self.dead:
            raise UnavailableError("cluster A: the process ended")
        if self.hung and not self.listless:
            self.hung -= 1
            self._answers.append(GroupsListed(dict(self.states), self.problem, self.simple))
        found, self._answers = self._answers, []
        return found


@pytest.fixture
def made():
    clock, asker, told = FakeClock(), PretendAsker(), []
    lag = ClusterLag(wanted=lambda group, _topic: group != "unwanted")
    lag.note_topics({"t": 2})
    rounds = AdminRounds(
        None,
        lag,
        threading.Lock(),
        cluster="A",
        clock=clock,
        random=lambda: 0.5,
        tell=told.append,
        asker=asker,
    )
    rounds.begin()

    def turns(for_s):
        for _ in range(round(for_s * 10)):
            clock.advance(0.1)
            rounds.turn()

    return SimpleNamespace(clock=clock, asker=asker, lag=lag, rounds=rounds, turns=turns, told=told)


def groups_of(made):
    return {name for _, name in made.lag.slots.groups()}


def test_groups_are_listed_asked_and_described_and_then_all_is_known(made):
    made.asker.states = {"busy": "stable", "idle": "empty", "bare": "empty", "unwanted": "stable"}
    made.asker.offsets = {"busy": [["t", 0, 5]], "idle": [["t", 0, 7], ["t", 1, -1001]]}
    assert not_ready(None, made.rounds.progress)["phase"] == "reading"
    made.turns(0.1)
    lacking = not_ready(None, made.rounds.progress)
    assert lacking["sentence"] == "Listing groups with the Admin API."
    made.turns(3)
    assert not_ready(None, made.rounds.progress) is None
    assert share_read(made.rounds.progress) == 1.0
    assert groups_of(made) == {"busy", "idle"}
    assert made.asker.described == ["busy"]
    assert made.lag.membership.members("busy") == 1
    assert made.lag.membership.members("idle") == 0
    assert made.lag.group_states == {"busy": "stable", "idle": "empty", "bare": "empty"}
    assert "unwanted" not in made.asker.asked
    assert made.rounds.others == 2  # share groups and the like: known, counted, not asked
    assert set(made.lag.asked_ms) == {"busy", "idle", "bare"}


def test_an_empty_group_had_members_unless_it_is_simple(made):
    made.asker.states, made.asker.simple = {"left": "empty", "carried": "empty"}, ("carried",)
    made.turns(3)
    assert [made.lag.membership.joined(group) for group in ("left", "carried")] == [True, False]


def test_how_far_the_first_round_is_is_said(made):
    made.asker.states = dict.fromkeys([f"g{number}" for number in range(1000)], "empty")
    made.turns(5)
    progress = made.rounds.progress
    assert progress.total_groups == 1000
    assert 400 <= progress.asked_groups <= 520
    said = f"{progress.asked_groups} of 1,000 groups."
    assert not_ready(None, progress)["sentence"].endswith(said)
    assert share_read(progress) == progress.asked_groups / 1000
    made.turns(8)
    assert not_ready(None, made.rounds.progress) is None


def test_a_list_that_is_not_whole_takes_no_group_away_and_ends_no_start(made):
    made.asker.states, made.asker.problem = {"here": "empty"}, "broker 2 is down"
    made.asker.offsets = {"here": [["t", 0, 5]], "there": [["t", 0, 5]]}
    made.turns(3)
    assert "Broker 2 is down." in not_ready(None, made.rounds.progress)["sentence"]
    made.asker.states, made.asker.problem = {"here": "empty", "there": "empty"}, ""
    made.turns(12)
    assert not_ready(None, made.rounds.progress) is None
    made.asker.states, made.asker.problem = {"here": "empty"}, "broker 2 is down"
    made.turns(12)
    assert groups_of(made) == {"here", "there"}
    assert made.rounds.progress.problem == "broker 2 is down"
    made.asker.problem = ""
    made.turns(22)
    assert groups_of(made) == {"here"}
    assert made.rounds.progress.problem == ""


def test_a_group_that_refuses_is_told_once_and_the_others_are_asked_as_before(made):
    made.asker.states = {"good": "empty", "bad": "empty"}
    made.asker.offsets = {"good": [["t", 0, 5]]}
    made.asker.refused = {"bad"}
    made.turns(60)
    assert made.told == ["the Admin API returned no offsets of 1 of 2 groups (first error: bad is refused)"]
    assert not_ready(None, made.rounds.progress) is None  # what can be known is
    assert made.asker.asked.count("good") >= 5
    assert made.asker.asked.count("bad") <= 4
    before = made.lag.asked_ms["good"]
    made.turns(20)
    assert made.lag.asked_ms["good"] > before
    assert "bad" not in made.lag.asked_ms
    made.asker.refused = set()
    made.turns(100)
    assert (made.rounds.progress.problem, made.rounds.failing) == ("", {})


def test_groups_that_may_not_be_described_are_hidden_and_the_right_is_named(made):
    """A list of groups is cut to those that may be described, without a word about it."""
    made.asker.may_describe = False
    made.turns(60)
    lacking = not_ready(None, made.rounds.progress)
    assert lacking["phase"] == "refused"
    assert lacking["sentence"].startswith(
        "Cluster A: no permission to describe any group; grant the principal Describe on its groups"
    )
    assert made.told == [made.rounds.progress.refused]
    assert share_read(made.rounds.progress) == 0.0
    made.asker.may_describe = True
    made.asker.states, made.asker.offsets = {"g": "empty"}, {"g": [["t", 0, 5]]}
    made.turns(12)
    assert not_ready(None, made.rounds.progress) is None
    assert (made.rounds.progress.problem, groups_of(made)) == ("", {"g"})


def test_a_cluster_without_groups_lacks_no_right(made):
    made.turns(12)
    assert made.asker.rights_asked == 2
    assert not_ready(None, made.rounds.progress) is None
    made.asker.states = {"g": "empty"}
    made.turns(30)
    assert made.asker.rights_asked == 2  # what is shown may be described


def test_groups_that_are_all_shown_and_all_refused_name_the_right(made):
    made.asker.states, made.asker.refused = {"one": "empty", "two": "empty"}, {"one", "two"}
    made.asker.offsets = {"two": [["t", 0, 5]]}
    made.turns(5)
    lacking = not_ready(None, made.rounds.progress)
    assert (lacking["phase"], "Describe on groups" in lacking["sentence"]) == ("refused", True)
    assert lacking["sentence"].endswith(" is refused).")
    assert made.told == [made.rounds.progress.refused]
    made.asker.refused = {"one"}
    made.turns(200)
    assert not_ready(None, made.rounds.progress) is None


def test_lists_that_are_not_answered_do_not_pile_up_and_their_end_wakes_what_failed(made):
    made.asker.states = {"g": "empty"}
    made.asker.offsets = {"g": [["t", 0, 5]]}
    made.turns(3)
    made.asker.listless, made.asker.refused = True, {"g"}
    before = made.asker.lists
    made.turns(130)
    assert made.asker.lists <= before + 2
    assert made.rounds.progress.problem == ("cluster A: no list of groups within 15 s")
    asked = len(made.asker.asked)
    made.asker.listless, made.asker.refused = False, set()
    made.turns(20)
    assert made.rounds.progress.problem == ""
    assert len(made.asker.asked) > asked
    assert made.lag.asked_ms["g"] > (made.clock.wall_s() - 20) * 1000


def test_a_process_that_died_is_asked_everything_again(made):
    made.asker.states = {"g": "empty"}
    made.asker.offsets = {"g": [["t", 0, 5]]}
    made.asker.silent = {"g"}
    made.turns(2)
    assert made.asker.asked == ["g"]
    made.asker.dead = True
    with pytest.raises(UnavailableError):
        made.turns(0.1)
    made.rounds.note_lost("it ended")
    assert made.rounds.progress.problem == "it ended"
    made.asker.dead, made.asker.silent = False, set()
    made.turns(1)
    assert made.asker.asked == ["g", "g"]
    assert made.asker.lists == 2
    assert groups_of(made) == {"g"}


def test_a_group_that_is_deleted_goes_with_its_offsets_and_with_the_second_list(made):
    made.asker.states = {"g": "empty", "other": "empty"}
    made.asker.offsets = {"g": [["t", 0, 5]], "other": [["t", 0, 5]]}
    made.turns(3)
    made.asker.states, made.asker.offsets["g"] = {}, []
    made.turns(11)
    assert groups_of(made) == {"other"}
    made.turns(10)
    assert groups_of(made) == set()
    assert made.lag.asked_ms == {}


def test_a_group_that_one_list_lacks_keeps_what_is_known_of_it(made):
    made.asker.states = {"g": "stable"}
    made.asker.offsets = {"g": [["t", 0, 5]]}
    made.turns(15)
    made.asker.offsets = {"g": [["t", 0, 6]]}
    made.turns(5)
    made.asker.states = {}
    made.turns(10)
    made.asker.states = {"g": "stable"}
    made.turns(10)
    (slot,) = made.lag.slots.of("g").tolist()
    assert made.lag.rings.offset[slot, -2:].tolist() == [5, 6]
    assert made.lag.membership.members("g") == 1


def test_an_answer_that_comes_when_its_group_has_gone_and_is_back_is_passed_over(made):
    made.asker.states, made.asker.silent = {"g": "empty"}, {"g"}
    made.turns(3)
    assert made.asker.asked == ["g"]
    made.asker.states = {}
    made.turns(20)
    made.asker.states, made.asker.offsets = {"g": "empty"}, {"g": [["t", 0, 7]]}
    list_groups = made.asker.list_groups

    def list_and_answer():
        list_groups()
        made.asker._answers.append(OffsetsTold("g", [["t", 0, 5]]))

    made.asker.list_groups = list_and_answer
    made.turns(10)
    assert groups_of(made) == set()  # the next question is not answered yet
    made.asker.list_groups = list_groups
    made.asker._answers.append(OffsetsTold("g", [["t", 0, 7]]))
    made.turns(0.1)
    assert groups_of(made) == {"g"}


def test_an_answer_that_comes_twice_is_taken_once(made):
    made.asker.states, made.asker.offsets = {"g": "empty"}, {"g": [["t", 0, 7]]}
    made.turns(3)
    asked_ms = dict(made.lag.asked_ms)
    made.asker._answers += [
        OffsetsTold("g", [["t", 0, 5]]),  # of an earlier time
        Failed("offsets", "g", "it timed out", refused=True),
        MembersTold("g", "stable", made.asker.members),
    ]
    made.turns(0.1)
    (slot,) = made.lag.slots.of("g").tolist()
    assert made.lag.rings.offset[slot, -1] == 7
    assert (made.lag.asked_ms, made.rounds.failing) == (asked_ms, {})
    assert made.lag.membership.members("g") == 0


def test_a_group_that_is_left_and_joined_again_has_members_that_are_not_known_until_they_are_told(made):
    made.asker.states, made.asker.offsets = {"g": "stable"}, {"g": [["t", 0, 7]]}
    made.turns(3)
    made.asker.states = {"g": "empty"}
    made.turns(10)
    assert made.lag.membership.members("g") == 0
    made.asker.states, made.asker.undescribed = {"g": "stable"}, {"g"}
    made.turns(10)
    assert made.lag.membership.members("g") == -1
    assert len(made.asker.described) == 2
    made.turns(15)
    assert 3 <= len(made.asker.described) <= 4  # again, with pauses
    made.asker.undescribed = set()
    made.turns(45)
    assert made.lag.membership.members("g") == 1


def test_members_that_were_told_in_between_two_states_are_not_believed(made):
    made.asker.states, made.asker.offsets = {"g": "stable"}, {"g": [["t", 0, 7]]}
    made.turns(3)
    made.asker.states, made.asker.members = {"g": "preparing_rebalancing"}, []  # just when all are away
    made.turns(10)
    assert made.lag.membership.members("g") == 1
    made.asker.members = [["m", "client", "/h", []], ["n", "client", "/h", []]]
    made.turns(25)
    assert made.lag.membership.members("g") == 2
    made.asker.silent, made.asker.states = {"g"}, {"g": "stable"}
    made.turns(10)
    made.asker.states = {"g": "empty"}
    made.turns(10)
    made.asker._answers.append(MembersTold("g", "stable", made.asker.members))  # late
    made.turns(1)
    assert made.lag.membership.members("g") == 0


def test_members_asked_of_a_process_that_died_are_asked_for_again(made):
    made.asker.states, made.asker.silent = {"g": "stable"}, {"g"}
    made.turns(2)
    assert made.asker.described == ["g"]
    made.rounds.note_lost("it ended")
    made.asker.silent = set()
    made.turns(2)
    assert made.asker.described == ["g", "g"]
    assert made.lag.membership.members("g") == 1
