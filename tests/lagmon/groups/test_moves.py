"""Who reads partitions in turns may leave one for minutes; who is stuck in one is told, and that others move."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.wire.commits import MemberAssigned, MemberDescribed, encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.listing import group_line
from lagmon.groups.rows import partition_rows
from lagmon.groups.rules.words import Reason, Status
from tests.lagmon.turns import BEGAN_MS, Seen, Turns


def test_a_partition_that_waits_for_its_turn_for_two_minutes_is_no_stop():
    seen = Seen([Turns(1.0, 70.0, 5.0, again=again, backlog_s=300, seed=4) for again in (False, True)])
    found = set()
    for at_s, view in seen.run(900):
        if at_s > 60:
            found |= set(seen.statuses(view))
            found_rows = {Reason(int(one)) for one in view.rows.reason}
            found |= found_rows & {Reason.RESTING}
    assert Reason.RESTING in found
    assert not found & {Status.STOP, Status.STALL}


@pytest.mark.parametrize("again", [False, True])
def test_a_partition_that_waits_for_its_turn_for_as_long_as_before_is_no_stop(again):
    seen = Seen([Turns(1.0, 60.0, 5.0, again=again, partitions=8, backlog_s=2500, seed=4)])
    found, longest_s = set(), 0.0
    for at_s, view in seen.run(2000):
        if at_s > 1000:  # each has had two turns, and it is known how long it rests between them
            found |= set(seen.statuses(view))
            for row in np.flatnonzero(view.rows.reason == Reason.RESTING).tolist():
                longest_s = max(longest_s, (view.now_ms - view.rows.facts(row).since_ms) / 1000)
    assert longest_s > 360
    assert not found & {Status.STOP, Status.STALL}


class Shared:
    """A group of members that read a partition each, or two; 20 records a second, commits every 5 s."""

    def __init__(self, owners):
        self.lag = ClusterLag(wanted=lambda _group, _topic: True)
        self.lag.note_topics({"t": 3})
        self.lag.begin_commits(1)
        for client in sorted(set(owners)):
            assigned = {"t": tuple(number for number, owner in enumerate(owners) if owner == client)}
            described = MemberDescribed("g", client, None, client, "/10.0.0.1", ("t",), None)
            self.lag.membership.take(described)
            self.lag.membership.take(MemberAssigned("g", client, assigned))

    def run(self, stuck_for_s):
        """Let partition 0 stand for the last so many seconds of ten minutes, and return what is seen."""
        for at_s in range(0, 605, 5):
            now_ms = BEGAN_MS + 1000 * at_s
            read = [min(at_s, 600 - stuck_for_s), at_s, at_s]
            commits = {number: 20 * one for number, one in enumerate(read) if one == at_s}
            self.look(now_ms, commits, [20 * at_s + 10] * 3)
        return self.lag.see(now_ms)

    def look(self, now_ms, commits, ends):
        """Take in these commits, and where the logs end."""
        self.lag.intake.take(
            [encode_commit_key("g", "t", number) for number in commits],
            [encode_commit_value(offset, now_ms) for offset in commits.values()],
            read_ms=now_ms,
            live=True,
        )
        places = np.array(self.lag.places.of("t"), np.int32)
        self.lag.note_polled(places, np.array(ends), np.array(ends), now_ms)
        self.lag.heads.note_starts(places, np.zeros(3, np.int64))
        self.lag.note_read(0, now_ms)


@pytest.mark.parametrize(
    ("owners", "stuck_for_s", "status"),
    [
        (("one", "one", "one"), 90, Status.OK),
        (("one", "one", "one"), 310, Status.STOP),
        (("one", "one", "two"), 90, Status.OK),
        (("one", "two", "two"), 90, Status.STOP),
        ((), 90, Status.OK),
    ],
    ids=["one member", "one member, for long", "it has another", "it has no other", "no member is known"],
)
def test_a_partition_may_stand_while_its_own_reader_moves_elsewhere(owners, stuck_for_s, status):
    shared = Shared(owners)
    view = shared.run(stuck_for_s)
    assert Status(int(view.groups.status[0])) is status


@pytest.mark.parametrize("again", [False, True])
def test_a_reader_stuck_in_a_partition_that_was_idle_for_an_hour_is_told_as_soon_as_any(again):
    shared = Shared(("one", "one", "one"))
    ends, read, told = [0, 0, 0], [0, 0, 0], []
    for at_s in range(0, 60 + 3600 + 30 + 400, 10):
        idle, stuck = 60 <= at_s < 3660, at_s >= 3690
        moving = [1, 2] if idle or stuck else [0, 1, 2]
        for number in range(3):
            ends[number] += 0 if idle and number == 0 else 100
        for number in moving:
            read[number] = ends[number]
        now_ms = BEGAN_MS + 1000 * at_s
        shared.look(now_ms, {number: read[number] for number in (range(3) if again else moving)}, ends)
        told.append(Status(int(shared.lag.see(now_ms).groups.status[0])))
    stuck = told[369:]
    assert told[10:369] == [Status.OK] * 359
    assert set(stuck[31:]) == {Status.STALL if again else Status.STOP}
    assert not set(stuck[:30]) & {Status.STALL, Status.STOP}


def test_the_sentence_names_the_partition_that_stands_and_says_that_others_move():
    shared = Shared(("one", "one", "one"))
    line = group_line("A", "g", 0, shared.lag, shared.run(310))
    assert (line["status"], line["worst"]) == ("STOP", {"topic": "t", "partition": 0})
    assert line["sentence"].endswith("consumer progresses on others, last at 2026-09-21 14:23:20 UTC.")


def test_a_group_with_one_empty_topic_that_was_made_anew_is_well_and_lags_by_nothing():
    shared = Shared(("one", "one", "one"))
    shared.run(0)
    lag, now_ms = shared.lag, BEGAN_MS + 605_000
    places = np.array(lag.places.of("t"), np.int32)
    lag.note_id("t", "first", now_ms - 2000)
    assert lag.note_id("t", "second", now_ms - 1000)
    for end, status, seen in ((0, "OK", (0, 0.0, "exact")), (4, "UNKNOWN", (None, None, "none"))):
        lag.note_polled(places, np.full(3, end), np.full(3, end), now_ms)
        lag.note_read(0, now_ms)
        rows, _ = partition_rows(lag, lag.see(now_ms), "g")
        assert {row["status"] for row in rows} == {status}
        assert {(row["lag_records"], row["lag_s"], row["lag_s_kind"]) for row in rows} == {seen}
