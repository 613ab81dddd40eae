"""Looks at ends of logs: what is asked, what comes of the answers, and who is told of what may not be read."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.errors import UnavailableError
from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rows import partition_rows
from lagmon.groups.rules.words import Reason
from lagmon.logs.record_due import RecordReaders
from lagmon.logs.tail_reads import IDLE_LOOKS, MOST_TOLD, REFUSED_S, TailReads
from lagmon.logs.time_lag import LagKind
from runtime.kafka.gaps import LONGEST_S, Found
from runtime.kafka.properties.client_settings import ClientSettings

BEGAN_S = 1_790_000_000
S = 1000


class Gaps:
    """Answers as a test has told it to."""

    def __init__(self):
        self.asked, self.answer, self.closed = [], Found(), 0

    def look(self, starts, *, longest_s):
        assert 0 < longest_s <= LONGEST_S
        self.asked.append(starts)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self):
        self.closed += 1


class Desk:
    """A cluster with a topic of two partitions whose logs end at 102 and 50, and a look every ten seconds."""

    def __init__(self):
        self.now_s = BEGAN_S
        self.lag = ClusterLag(wanted=lambda _group, _topic: True)
        self.lag.note_topics({"t": 2})
        self.lag.begin_commits(1)
        self.ends = [102, 50]
        clock = SimpleNamespace(wall_s=lambda: float(self.now_s))
        settings = ClientSettings({"bootstrap.servers": "a:1"})
        self.looks = TailReads("A", settings, self.lag, threading.Lock(), clock=clock)
        self.gaps, self.others = Gaps(), Gaps()
        for kind, gaps in zip(self.looks._kinds, (self.gaps, self.others), strict=True):
            kind.gaps = gaps

    def commit(self, offset, *, group="g", partition=0):
        key = encode_commit_key(group, "t", partition)
        value = encode_commit_value(offset, self.now_s * S)
        self.lag.intake.take([key], [value], read_ms=self.now_s * S, live=True)

    def go(self, seconds, *, again=None):
        """Let looks go by; `again` is an offset that the group commits meanwhile."""
        for _ in range(seconds // 10):
            self.now_s += 10
            if again is not None:
                self.commit(again)
            places, ends = np.array(self.lag.places.of("t"), np.int32), np.array(self.ends)
            self.lag.note_polled(places, ends, ends, self.now_s * S)
            self.lag.heads.note_starts(places, np.zeros(2, np.int64))
            self.lag.note_read(0, self.now_s * S)
            self.looks.look()

    def verdict(self, group="g"):
        sight = self.lag.see(self.now_s * S)
        slot = int(self.lag.slots.of(group)[0])
        return Reason(int(sight.rows.reason[slot])), int(sight.rows.lag[slot]), float(sight.lag_s[slot])


def standing(offset=100, **others):
    desk = Desk()
    desk.go(30)
    desk.commit(offset - 5)
    desk.go(10)
    desk.commit(offset)
    desk.gaps.answer = Found(empty_to={("t", 0): 102}) if not others else Found(**others)
    return desk


def test_a_group_before_a_marker_has_never_stopped():
    desk = standing()
    for _ in range(20):
        desk.go(10)
        assert desk.verdict()[0] not in {Reason.STOPPED, Reason.STALLED, Reason.ONE_COMMIT}
    assert desk.verdict() == (Reason.NOTHING_READABLE, 0, 0.0)
    assert desk.gaps.asked == [{("t", 0): 100}]  # once, for the end does not move
    desk.ends[0] = 105
    desk.gaps.answer = Found(records={("t", 0): 103})
    desk.go(30)
    assert desk.gaps.asked[1:] == [{("t", 0): 102}]
    reason, lag, seconds = desk.verdict()
    assert (reason, lag) == (Reason.MOVING, 2) or (reason, lag) == (Reason.PAUSING, 2)
    assert 20 <= seconds <= 40  # since that record came, and not since the marker
    desk.go(120)
    assert desk.verdict()[:2] == (Reason.STOPPED, 2)
    assert len(desk.gaps.asked) == 2


def test_the_numbers_of_a_row_are_those_that_its_verdict_was_made_from():
    """Verdicts are told for some seconds, and meanwhile ends and commits go on being read."""
    desk = standing()
    desk.go(10)
    sight = desk.lag.see(desk.now_s * S)
    (before,), _ = partition_rows(desk.lag, sight, "g")
    assert (before["end_offset"], before["committed_offset"], before["readable_from"]) == (102, 100, None)
    assert before["lag_records"] == 2
    desk.go(10)
    desk.ends[0] = 110
    desk.go(10)
    (later,), _ = partition_rows(desk.lag, desk.lag.see(desk.now_s * S), "g")
    assert (later["lag_records"], later["readable_from"], later["end_offset"]) == (8, 102, 110)
    desk.commit(101)
    (row,), _ = partition_rows(desk.lag, sight, "g")
    numbers = ("end_offset", "committed_offset", "readable_from", "start_offset", "lag_records", "sentence")
    assert [row[name] for name in numbers] == [before[name] for name in numbers]


def test_one_that_commits_the_same_on_and_on_has_not_stalled():
    desk = standing()
    desk.go(300, again=100)
    assert desk.verdict() == (Reason.NOTHING_READABLE, 0, 0.0)
    assert len(desk.gaps.asked) == 1


def test_a_group_that_has_records_left_has_stopped_and_is_looked_at_once():
    desk = standing(records={("t", 0): 101})
    desk.go(200)
    assert desk.verdict()[:2] == (Reason.STOPPED, 1)
    assert len(desk.gaps.asked) == 1


def test_what_is_not_answered_is_asked_again_and_judged_as_before_meanwhile():
    desk = standing(empty_to={("t", 0): 100})
    desk.go(200)
    assert desk.verdict()[:2] == (Reason.STOPPED, 2)
    assert len(desk.gaps.asked) > 10


def test_what_may_not_be_read_is_told_once_with_the_right_to_grant_and_tried_again_later():
    desk = standing(refused={"t": "cluster A: reading the end of t failed: not authorised."})
    desk.go(200)
    assert desk.verdict()[:2] == (Reason.STOPPED, 2)
    assert "Grant READ on the topic t" in desk.looks.problem
    assert len(desk.gaps.asked) == 1
    desk.gaps.answer = Found(empty_to={("t", 0): 102})
    desk.go(int(REFUSED_S))
    assert len(desk.gaps.asked) == 2
    assert desk.verdict()[0] is Reason.NOTHING_READABLE
    assert desk.looks.problem == ""


def refusals(desk, *topics):
    """Have these topics refuse, and return which of them a person is told of."""
    told = []
    desk.looks._tell = told.append
    found = Found(refused={topic: f"reading {topic} failed." for topic in topics})
    desk.looks._note_refused(found, desk.now_s)
    return [one.split("on the topic ")[1].split(":")[0] for one in told]


def test_a_topic_that_may_not_be_read_again_after_it_was_granted_is_told_again():
    desk = Desk()
    assert [refusals(desk, "t"), refusals(desk, "t")] == [["t"], []]
    desk.looks._note_refused(Found(records={("t", 1): 5}), desk.now_s)
    assert refusals(desk, "t") == ["t"]


def test_what_was_told_of_topics_that_are_gone_is_not_kept_and_of_very_many_the_first_are_told():
    desk = Desk()
    for turn in range(5):
        topics = [f"t{turn}-{number}" for number in range(40)]
        desk.lag.note_topics(dict.fromkeys(topics, 1))
        assert refusals(desk, *topics) == topics
        assert len(desk.looks._told) <= 80  # of this list and the one before
    many = [f"u{number}" for number in range(2 * MOST_TOLD)]
    desk.lag.note_topics(dict.fromkeys(many, 1))
    assert refusals(desk, *many) == many[:MOST_TOLD]
    assert len(desk.looks._told) == MOST_TOLD


def test_a_look_that_fails_is_told_and_ends_nothing():
    desk = standing()
    desk.gaps.answer = UnavailableError("cluster A is away")
    desk.go(60)
    assert desk.looks.problem == "cluster A is away"
    desk.gaps.answer = Found(empty_to={("t", 0): 102})
    desk.go(10)
    assert desk.verdict()[0] is Reason.NOTHING_READABLE
    assert desk.looks.problem == ""


def test_the_client_is_let_go_when_there_is_nothing_to_look_at():
    desk = standing()
    desk.go(30)
    assert desk.gaps.closed == 0
    desk.go(10 * IDLE_LOOKS)
    assert desk.gaps.closed == 1


@pytest.mark.parametrize("what", ["made anew", "gone"])
def test_a_topic_that_is_another_one_is_not_known_any_more(what):
    desk = standing()
    desk.lag.note_id("t", "one", desk.now_s * S)
    desk.go(60)
    places = np.array(desk.lag.places.of("t"), np.int32)
    before = desk.lag.readable.readable_from(places[:1], np.array([100]))
    if what == "gone":
        desk.lag.note_topics({"u": 1})
    else:
        desk.lag.note_id("t", "two", desk.now_s * S)
    after = desk.lag.readable.readable_from(places[:1], np.array([100]))
    assert (before.tolist(), after.tolist()) == ([102], [-1])


def test_a_group_whose_next_records_are_deleted_is_not_told_that_there_was_nothing():
    desk = standing()
    for _ in range(3):
        desk.now_s += 10
        places, ends = np.array(desk.lag.places.of("t"), np.int32), np.array(desk.ends)
        desk.lag.note_polled(places, ends, ends, desk.now_s * S)
        desk.lag.heads.note_starts(places, np.array([101, 0]))
        desk.lag.note_read(0, desk.now_s * S)
        desk.looks.look()
    assert desk.gaps.asked == []
    assert desk.verdict()[:2] == (Reason.DELETED_UNREAD, 1)


def old(offset=100, *, end=50_000):
    """Return a cluster whose first partition ended there at all looks, and a group far behind on it."""
    desk = Desk()
    desk.ends[0] = end
    desk.go(20)
    desk.commit(offset)
    return desk


def lag_of(desk, group="g"):
    sight = desk.lag.see(desk.now_s * S)
    slot = int(desk.lag.slots.of(group)[0])
    return float(sight.lag_s[slot]), LagKind(int(sight.lag_kind[slot]))


def of_record(offset, age_s, partition=0):
    """Return the answer that this is the next record, written so long before the beginning."""
    place = ("t", partition)
    return Found(records={place: offset}, times={place: (BEGAN_S - age_s) * S})


def test_how_old_records_are_that_were_there_before_the_first_look_is_read_once():
    desk = old()
    assert lag_of(desk) == (10.0, LagKind.AT_LEAST)  # since the first look
    desk.gaps.answer = of_record(103, 7200)
    desk.go(300)
    assert desk.gaps.asked == [{("t", 0): 100}]
    assert lag_of(desk) == (7200 + 320.0, LagKind.ESTIMATE)
    assert desk.others.asked == []
    (row,), _ = partition_rows(desk.lag, desk.lag.see(desk.now_s * S), "g")
    assert (row["lag_s"], row["lag_s_kind"]) == (7520.0, "estimate")


def test_a_record_that_a_look_at_an_end_finds_tells_its_time_too():
    desk = standing()
    desk.gaps.answer = of_record(101, 7200)
    desk.go(60)
    assert desk.gaps.asked == [{("t", 0): 100}]
    assert lag_of(desk)[1] is LagKind.ESTIMATE


def test_a_verdict_is_made_from_what_was_seen_and_not_from_what_a_producer_says():
    desk = old()
    desk.gaps.answer = of_record(100, 7200)
    desk.go(20)
    with_time = desk.verdict()[0]
    other = old()
    other.go(20)
    assert with_time is other.verdict()[0] is Reason.ONE_COMMIT


def test_a_record_of_a_topic_that_may_not_be_read_stays_a_bound_and_is_tried_again_later():
    desk = old()
    desk.gaps.answer = Found(refused={"t": "cluster A: reading the end of t failed: not authorised."})
    desk.go(300)
    assert len(desk.gaps.asked) == 1
    assert "leave the lag of mirrors unknown, and the age of records" in (desk.looks.problem)
    assert lag_of(desk) == (310.0, LagKind.AT_LEAST)
    desk.gaps.answer = of_record(100, 7200)
    desk.go(int(REFUSED_S))
    assert len(desk.gaps.asked) == 2
    assert lag_of(desk)[1] is LagKind.ESTIMATE


def test_what_groups_stand_at_is_not_looked_at_while_their_commits_are_still_read():
    desk = old()
    desk.lag.begin_commits(2)  # of the second partition of __consumer_offsets nothing is known
    desk.commit(100)
    desk.go(60)
    assert desk.gaps.asked == []


def test_a_topic_that_went_away_during_the_look_leaves_nothing():
    desk = old()
    look = desk.gaps.look

    def gone(starts, **limits):
        desk.lag.note_topics({"u": 2})  # takes the places
        return look(starts, **limits)

    desk.gaps.answer, desk.gaps.look = of_record(100, 7200), gone
    desk.looks.look()
    assert len(desk.gaps.asked) == 1
    assert len(desk.lag.heads.records) == 0


def test_a_mirror_that_stands_is_looked_at_where_nobody_ever_committed():
    desk = Desk()
    desk.ends[0] = 50_000
    desk.go(20)
    desk.lag.begin_commits(1)  # and of no partition is anything read
    place = np.array(desk.lag.places.of("t")[:1], np.int32)
    desk.lag.idle_mirrors["A->B"] = RecordReaders(place, np.array([7]))
    desk.looks.look()
    assert desk.gaps.asked == [{("t", 0): 7}]


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(
    ("answer", "is_record"),
    [
        (Found(records={("t", 1): 20}), True),
        (Found(records={("t", 1): 22}), False),
        (Found(empty_to={("t", 1): 50}), False),
        (Found(empty_to={("t", 1): 20}), None),  # the log ends there
        (Found(), None),
    ],
)
def test_whether_a_record_stands_at_an_offset_is_found_out_for_who_asks(committed, answer, is_record):
    desk = Desk()
    desk.go(30)
    questions, gaps = desk.lag.tails.questions[committed], (desk.others, desk.gaps)[committed]
    place = int(desk.lag.places.of("t")[1])
    questions.ask(place, 20)
    gaps.answer = answer
    desk.go(10)
    assert gaps.asked[0] == {("t", 1): 20}
    assert questions.answer(place, 20) is is_record
    desk.go(10)
    assert len(gaps.asked) == (1 if is_record is not None else 2)


def test_a_topic_that_went_away_answers_no_question():
    desk = Desk()
    desk.go(30)
    questions, place = desk.lag.tails.questions[True], int(desk.lag.places.of("t")[1])
    questions.ask(place, 20)
    desk.lag.note_topics({"u": 2})
    assert questions.due(lambda _: True) == {}
