"""What the Admin API tells, taken in: what counts as a commit, how fresh it is, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from lagmon.cluster.state import ClusterLag
from lagmon.groups.rows import clients, partition_rows
from lagmon.groups.rules.words import Reason, Status
from lagmon.ingest.admin_intake import AdminIntake

NOW = 1_790_000_000_000
S = 1000


class Asked:
    """A cluster with the topics t, of two partitions, and u, asked about its groups every ten seconds."""

    def __init__(self, cycle_s=10):
        self.lag = ClusterLag(wanted=lambda group, _topic: group != "unwanted")
        self.lag.note_topics({"t": 2, "u": 1})
        self.intake = AdminIntake(self.lag)
        self.intake.begin()
        self.intake.allow_for(cycle_s)

    def ends(self, *ends, ago_s):
        places = np.array(self.lag.places.of("t"), np.int32)
        order = np.argsort(places)
        found = np.array(ends, np.int64)
        self.lag.note_polled(places[order], found[order], found[order], NOW - ago_s * S)

    def told(self, group, offsets, *, ago_s):
        at_ms = NOW - ago_s * S
        self.intake.take_offsets(group, offsets, asked_ms=at_ms - 50, answered_ms=at_ms)

    def commits(self, group, topic="t", partition=0):
        slots = self.lag.slots.of(group)
        place = self.lag.places.of(topic)[partition]
        (slot,) = [one for one in slots.tolist() if self.lag.slots.place[one] == place]
        filled = int(self.lag.rings.filled[slot])
        rings = self.lag.rings
        return list(
            zip(
                rings.offset[slot, -filled:].tolist(),
                rings.committed_ms[slot, -filled:].tolist(),
                strict=True,
            )
        )

    def rows(self, group, *, later_s=0):
        sight = self.lag.see(NOW + later_s * S)
        found, _ = partition_rows(self.lag, sight, group)
        return {(row["topic"], row["partition"]): row for row in found}

    def status(self, group, *, later_s=0):
        sight = self.lag.see(NOW + later_s * S)
        return Status(int(sight.groups.status[self.lag.slots.number(group)]))


def test_an_offset_that_is_as_it_was_is_no_commit():
    asked = Asked()
    asked.told("g", [("t", 0, 5), ("t", 1, 7)], ago_s=30)
    asked.told("g", [("t", 0, 5), ("t", 1, 8)], ago_s=20)
    asked.told("g", [("t", 0, 6), ("t", 1, 8)], ago_s=10)
    assert asked.commits("g") == [(5, NOW - 30 * S), (6, NOW - 10 * S)]
    assert asked.commits("g", partition=1) == [(7, NOW - 30 * S), (8, NOW - 20 * S)]
    assert asked.lag.intake.taken.commits == 4


def test_what_is_not_told_any_more_goes_and_so_does_a_group_that_is_gone():
    asked = Asked()
    asked.told("g", [("t", 0, 5), ("t", 1, 7)], ago_s=30)
    asked.told("g", [("t", 1, 7)], ago_s=20)
    assert list(asked.rows("g")) == [("t", 1)]
    asked.told("g", [("t", 1, 7), ("t", 0, 5)], ago_s=10)
    assert sorted(asked.rows("g")) == [("t", 0), ("t", 1)]
    asked.intake.take_state("g", "empty")
    asked.intake.forget("g")
    assert (asked.lag.slots.used, asked.lag.asked_ms, asked.lag.group_states) == (0, {}, {})
    assert asked.lag.membership.members("g") == -1


def test_places_without_an_offset_topics_not_seen_and_groups_not_wanted_are_left_out():
    asked = Asked()
    asked.told("g", [("t", 0, -1001), ("t", 5, 3), ("hidden", 0, 3), ("t", 1, 0)], ago_s=10)
    asked.told("unwanted", [("t", 0, 3)], ago_s=10)
    assert list(asked.rows("g")) == [("t", 1)]
    assert asked.lag.slots.number("unwanted") is None
    assert not asked.intake.wanted("unwanted")


def test_a_topic_that_goes_and_comes_back_between_two_questions_is_taken_in_again():
    asked = Asked()
    asked.told("g", [("t", 0, 5), ("u", 0, 7)], ago_s=30)
    asked.lag.note_topics({"t": 2})
    asked.lag.note_topics({"t": 2, "u": 1})
    assert list(asked.rows("g")) == [("t", 0)]
    asked.told("g", [("t", 0, 5), ("u", 0, 7)], ago_s=10)
    assert sorted(asked.rows("g")) == [("t", 0), ("u", 0)]
    assert asked.commits("g") == [(5, NOW - 30 * S)]  # and the other is no commit now


def test_verdicts_are_as_fresh_as_each_groups_own_answer():
    asked = Asked()
    asked.ends(100, 100, ago_s=130)
    for group in ("fresh", "silent"):
        asked.told(group, [("t", 0, 100)], ago_s=120)
    asked.told("fresh", [("t", 0, 100)], ago_s=5)
    asked.ends(100, 100, ago_s=1)
    assert asked.status("fresh") is Status.OK
    row = asked.rows("silent")["t", 0]
    assert (row["status"], row["reason"], row["lag_records"]) == ("UNKNOWN", "commits_stale", None)
    assert "were last polled" in row["sentence"]
    assert "2 min" in row["sentence"]


@pytest.mark.parametrize(
    ("state", "members", "status", "said"),
    [
        ("stable", 1, Status.STALL, "has members"),
        ("empty", 0, Status.STOP, "has no active member"),
        ("stable", None, Status.STOP, "number of its members is unknown"),
    ],
)
def test_a_group_that_stands_is_judged_by_its_state(state, members, status, said):
    asked = Asked()
    asked.ends(100, 100, ago_s=130)
    asked.intake.take_state("g", state)
    if members:
        asked.intake.take_members("g", [("m", "client", "/host", [("t", [0, 1])])])
    for number in range(13):
        asked.told("g", [("t", 0, 40)], ago_s=130 - 10 * number)
    asked.ends(150, 100, ago_s=1)
    row = asked.rows("g")["t", 0]
    assert asked.status("g") is status
    assert row["status"] == status.name
    assert row["lag_records"] == 110
    assert said in row["sentence"]
    assert "commits of" not in row["sentence"]
    assert "commit at" not in row["sentence"]
    assert "lag 110 at offset 40" in row["sentence"]


def test_no_group_is_stopped_before_it_was_asked_twice_without_moving():
    asked = Asked(cycle_s=55)
    asked.ends(100, 100, ago_s=200)
    asked.told("g", [("t", 0, 40)], ago_s=110)
    asked.told("g", [("t", 0, 60)], ago_s=55)
    asked.ends(150, 100, ago_s=1)
    assert asked.status("g") is Status.OK  # it moved at the last question
    asked.told("g", [("t", 0, 60)], ago_s=0)
    assert asked.status("g") is Status.OK
    for after_s in (30, 54):
        asked.ends(150, 100, ago_s=-after_s)
        assert asked.status("g", later_s=after_s) is Status.OK
    asked.told("g", [("t", 0, 60)], ago_s=-55)
    asked.told("g", [("t", 0, 60)], ago_s=-110)
    asked.ends(150, 100, ago_s=-115)
    assert asked.status("g", later_s=109) is Status.OK
    assert asked.status("g", later_s=115) is Status.UNKNOWN  # three times its pace, and not asked since
    asked.told("g", [("t", 0, 60)], ago_s=-116)
    assert asked.status("g", later_s=116) is Status.STOP


@pytest.mark.parametrize("members", [0, 1])
def test_a_group_is_told_to_stand_by_what_was_answered_and_never_by_what_was_not(members):
    asked = Asked()
    asked.intake.take_state("g", "stable" if members else "empty")
    asked.intake.take_members("g", [("m", "client", "/host", [("t", [0])])] * members)
    for number in range(20):
        asked.ends(100 * number, 0, ago_s=200 - 10 * number)
        asked.told("g", [("t", 0, 100 * (number // 2))], ago_s=200 - 10 * number)
    for later_s in range(-9, 51):
        asked.ends(100 * 21, 0, ago_s=-later_s)
        assert asked.status("g", later_s=later_s) not in (Status.STOP, Status.STALL)
    row = asked.rows("g", later_s=49)["t", 0]
    assert row["sentence"].endswith(" The group may have moved since: its offsets were not polled again.")
    assert asked.rows("g", later_s=60)["t", 0]["reason"] == "commits_stale"
    asked.told("g", [("t", 0, 900)], ago_s=-60)
    assert asked.status("g", later_s=60) is (Status.STALL if members else Status.STOP)


def test_members_of_a_group_that_was_empty_are_not_known_until_they_are_told():
    asked = Asked()
    for state, members in (("empty", 0), ("preparing_rebalancing", -1), ("dead", 0), ("unknown", -1)):
        asked.intake.take_state("g", state)
        assert asked.lag.membership.members("g") == members
    asked.intake.take_members("g", [("m", "client", "/host", [])])
    asked.intake.take_state("g", "stable")
    assert asked.lag.membership.members("g") == 1  # until other ones are told


@pytest.mark.parametrize(("state", "joined"), [("stable", True), ("empty", False), ("unknown", False)])
def test_a_group_that_has_members_by_its_state_was_joined_also_where_nobody_tells_by_whom(state, joined):
    asked = Asked()
    for one in ("empty", state, "empty"):
        asked.intake.take_state("g", one)
    assert asked.lag.membership.joined("g") is joined


def test_a_group_that_moves_and_falls_behind_or_goes_back_is_told_so_without_a_word_of_commits():
    asked = Asked()
    for number in range(40):
        ago_s = 400 - 10 * number
        asked.ends(1000 + 100 * number, 100, ago_s=ago_s)
        asked.told("slow", [("t", 0, 500 + 10 * number)], ago_s=ago_s)
        asked.told("back", [("t", 0, 300 + 10 * number if number < 36 else 50 + number)], ago_s=ago_s)
    slow, back = asked.rows("slow", later_s=11)["t", 0], asked.rows("back", later_s=11)["t", 0]
    assert (slow["status"], back["status"]) == ("WARN", "REWIND")
    assert "at its last move" in slow["sentence"]
    assert "seen at" in back["sentence"]
    assert "commit" not in slow["sentence"] + back["sentence"]


def test_members_and_what_they_were_given_are_shown():
    asked = Asked()
    asked.told("g", [("t", 0, 40)], ago_s=10)
    asked.intake.take_state("g", "stable")
    asked.intake.take_members("g", [("m1", "one", "/h1", [("t", [0])]), ("m2", "two", "/h2", [])])
    assert asked.lag.membership.members("g") == 2
    assert clients(asked.lag, "g") == [{"client_id": "one", "host": "/h1", "partitions": 1}]
    asked.intake.take_state("g", "empty")
    assert asked.lag.membership.members("g") == 0


def test_what_was_known_from_elsewhere_is_forgotten_and_so_it_is_at_the_end():
    asked = Asked(cycle_s=100)
    usual = AdminIntake(ClusterLag(wanted=lambda *_: True))._policy
    assert asked.lag.policy.stopped_after_ms == asked.lag.policy.stale_after_ms == 250 * S
    asked.told("g", [("t", 0, 5)], ago_s=30)
    asked.intake.end()
    assert (asked.lag.asking, asked.lag.policy) == (False, usual)
    asked.intake.begin()
    assert (asked.lag.asking, asked.lag.slots.used) == (True, 0)
    asked.told("g", [("t", 0, 5)], ago_s=10)
    assert asked.commits("g") == [(5, NOW - 10 * S)]


@pytest.mark.parametrize("cycle_s", [10, 100])
def test_the_end_of_a_log_is_stale_after_a_minute_however_long_a_cycle_is(cycle_s):
    asked = Asked(cycle_s)
    asked.ends(100, 100, ago_s=60)
    asked.told("g", [("t", 0, 100)], ago_s=5)
    assert asked.status("g") is Status.OK
    assert asked.status("g", later_s=1) is Status.UNKNOWN
    assert "log end offset last read 1 min 1 s ago" in asked.rows("g", later_s=1)["t", 0]["sentence"]


def test_a_group_of_which_nothing_is_told_yet_is_unknown():
    asked = Asked()
    asked.ends(100, 100, ago_s=1)
    asked.told("g", [("t", 0, 5)], ago_s=1)
    asked.lag.asked_ms.pop("g")
    row = asked.rows("g")["t", 0]
    assert Reason[row["reason"].upper()] is Reason.COMMITS_STALE
    assert row["sentence"] == "Lag unknown: the Admin API has not returned the group's offsets yet."


def test_a_group_is_asked_for_the_topics_that_are_not_left_out():
    asked = Asked()
    asked.lag = ClusterLag(wanted=lambda group, topic: group == "g" and topic in (None, "t"))
    asked.lag.note_topics({"t": 2, "u": 1})
    asked.intake = AdminIntake(asked.lag)
    asked.intake.begin()
    assert asked.intake.wanted("g")
    assert not asked.intake.wanted("unwanted")
    for ago_s in (20, 10):
        asked.told("g", [("t", 0, 5), ("u", 0, 7)], ago_s=ago_s)
    assert list(asked.rows("g")) == [("t", 0)]
    assert asked.lag.intake.taken.commits == 1


def test_positions_that_are_kept_for_a_mirror_alone_are_not_taken_in_again_and_again():
    asked = Asked()
    asked.lag = ClusterLag(wanted=lambda *_: True, hidden=lambda _group, topic: topic == "u")
    asked.lag.note_topics({"t": 2, "u": 1})
    asked.intake = AdminIntake(asked.lag)
    asked.intake.begin()
    for ago_s in (30, 20, 10):
        asked.told("mm1", [("t", 0, 5), ("u", 0, 7)], ago_s=ago_s)
    assert asked.lag.intake.taken.commits == 2
    assert list(asked.rows("mm1")) == [("t", 0)]
    asked.intake.forget("mm1")
    assert asked.lag.slots.used == 0


def test_a_group_that_is_kept_for_a_mirror_alone_is_taken_in_as_any_other():
    asked = Asked()
    asked.lag = ClusterLag(wanted=lambda *_: True, hidden=lambda group, _topic: group == "mm1")
    asked.lag.note_topics({"t": 2})
    asked.intake = AdminIntake(asked.lag)
    asked.intake.begin()
    for ago_s in (30, 20, 10):
        asked.told("mm1", [("t", 0, 5), ("t", 1, 7)], ago_s=ago_s)
    assert asked.lag.intake.taken.commits == 2  # it stood
    asked.told("mm1", [("t", 1, 7)], ago_s=5)
    assert (asked.lag.intake.taken.gone, asked.lag.slots.used) == (1, 1)
    asked.intake.forget("mm1")
    assert asked.lag.slots.used == 0


def test_what_was_deleted_since_a_group_was_asked_it_may_have_read():
    asked = Asked(cycle_s=55)
    starts = np.array([[300, 0], [480, 0], [490, 0]])
    places = np.array(asked.lag.places.of("t"), np.int32)

    def begins_at(turn, *, ago_s):
        asked.lag.heads.note_starts(places, starts[turn], read_ms=NOW - ago_s * S)

    for ago_s in range(300, 54, -55):
        asked.ends(1000 - ago_s, 10, ago_s=ago_s)
        asked.told("g", [("t", 0, 500 - ago_s)], ago_s=ago_s)
    begins_at(0, ago_s=290)
    asked.ends(1000, 10, ago_s=21)
    begins_at(1, ago_s=20)
    asked.ends(1000, 10, ago_s=11)
    begins_at(2, ago_s=10)  # read again before the group is asked again: it stays judged by what was before
    row = asked.rows("g")["t", 0]
    assert (row["reason"], row["lag_records"]) == ("pausing", 1000 - 420)
    asked.told("g", [("t", 0, 495)], ago_s=1)
    assert asked.rows("g")["t", 0]["reason"] == "moving"


def test_a_group_that_is_still_before_what_was_deleted_when_it_is_asked_again_has_lost_it():
    asked = Asked(cycle_s=55)
    for ago_s in (120, 65, 10):
        asked.ends(1000, 10, ago_s=ago_s)
        if ago_s == 10:
            places = np.array(asked.lag.places.of("t"), np.int32)
            asked.lag.heads.note_starts(places, np.array([300, 0]), read_ms=NOW - 300 * S)
            asked.lag.heads.note_starts(places, np.array([480, 0]), read_ms=NOW - 9 * S)
        asked.told("g", [("t", 0, 475)], ago_s=ago_s)
    assert asked.rows("g")["t", 0]["reason"] != "deleted_unread"
    asked.told("g", [("t", 0, 475)], ago_s=1)
    assert asked.rows("g")["t", 0]["reason"] == "deleted_unread"
