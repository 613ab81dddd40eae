"""One group on one cluster, second by second: commits, looks every ten seconds, absences, and verdicts."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from fleet.wire.commits import GroupDescribed, encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rows import partition_rows
from lagmon.groups.rules.words import Reason

BEGAN_MS = 1_790_000_000_000
KEY = encode_commit_key("g", "t", 0)


class Life:
    """The group g on the topic t of one partition; times in seconds from the beginning."""

    def __init__(self):
        self.lag = ClusterLag(wanted=lambda _group, _topic: True)
        self.lag.note_topics({"t": 1})
        self.lag.begin_commits(1)
        self.places = np.array(self.lag.places.of("t"), np.int32)

    def commit(self, offset, at_s, *, made_s=None, live=True):
        """Read a commit as it comes, or one that was made before, by the broker's clock."""
        value = encode_commit_value(offset, ms(at_s if made_s is None else made_s))
        self.lag.intake.take([KEY], [value], read_ms=ms(at_s), live=live)

    def look(self, end, at_s, *, failure=""):
        """Read where the log ends, -1 for no answer, and all commits up to then; what is asked next may fail."""
        ends = np.array([end], np.int64)
        self.lag.note_polled(self.places, ends, ends, ms(at_s))
        self.lag.note_answer(ms(at_s), failure)
        if end >= 0:
            self.lag.heads.note_starts(self.places, np.zeros(1, np.int64))
            self.lag.note_read(0, ms(at_s))

    def row(self, at_s):
        """Return the row of the group's document."""
        rows, _ = partition_rows(self.lag, self.lag.see(ms(at_s)), "g")
        return rows[0]

    def reason(self, at_s):
        return Reason[self.row(at_s)["reason"].upper()]


def ms(at_s):
    return BEGAN_MS + round(at_s * 1000)


@pytest.mark.parametrize("step", [0, 1], ids=["the same offset", "moving on"])
@pytest.mark.parametrize("every_s", [1, 5])
def test_who_commits_past_the_end_more_often_than_ends_are_read_is_not_well(every_s, step):
    life, told = Life(), {}
    for second in range(120):
        if second % every_s == 0:
            life.commit(5_000_000 + step * second, second)
        if second % 10 == 9:
            life.look(12_222, second + 0.5)
            life.commit(5_000_000 + step * second, second + 0.6)  # always younger than the look
            told[second] = life.row(second + 0.7)
    later = [row for second, row in told.items() if second > 20]
    assert {row["reason"] for row in later} == {"beyond_end"}
    assert {row["lag_records"] for row in later} == {None}
    assert "is beyond the log end offset 12222, read later" in later[-1]["sentence"]


def test_who_goes_on_committing_offsets_of_a_topic_that_was_made_anew_is_never_well():
    life, found = Life(), set()
    life.lag.note_id("t", "one", ms(0))
    for second in range(100):
        if second % 10 == 0:
            life.look(9510 if second < 40 else 800 + second // 10, second)
        if second == 50:
            life.lag.note_id("t", "two", ms(second))
        life.commit(9510, second + 0.1)
        if second >= 50:
            found.add(life.reason(second + 0.2))
    assert found == {Reason.NO_HEAD, Reason.BEYOND_END}


@pytest.mark.parametrize("seed", range(5))
def test_who_keeps_up_with_a_fast_log_is_never_beyond_its_end(seed):
    """Whatever is committed while ends are read, wherever a partition does not answer, however late it is read."""
    life, random, at_s = Life(), Random(seed), 0.0
    rate = random.choice([10, 100_000])
    broker_s = random.choice([-300, 0, 300])
    waiting = []
    for _ in range(60):
        look_s = at_s + random.uniform(5, 11)
        while at_s < look_s:
            at_s += random.choice([0.2, 1.0, 3.0])
            waiting.append((int(rate * at_s), at_s))
            if random.random() < 0.7:
                for offset, made_s in waiting:
                    life.commit(offset, at_s + 0.01, made_s=made_s + broker_s)
                waiting.clear()
            if random.random() < 0.05:
                broker_s += random.uniform(-60, 60)  # another broker leads the commits
        began_s, end = at_s, int(rate * (at_s + 0.5))
        life.commit(int(rate * (at_s + 0.9)), at_s + 1, made_s=at_s + 0.9 + broker_s)  # before it is noted
        life.look(end if random.random() < 0.8 else -1, began_s)
        at_s += 1
        assert life.reason(at_s) not in (Reason.BEYOND_END, Reason.REWOUND)
        assert life.reason(at_s + 5) is not Reason.BEYOND_END


def outage(life, *, left_s, back_s, every_s=15):
    """Have looks fail from one instant to another."""
    for at_s in range(left_s + 10, back_s, every_s):
        life.lag.note_answer(ms(at_s), "No broker of A answers.")


def test_a_group_whose_cluster_was_away_has_a_minute_to_come_back():
    life = Life()
    for second in range(300):
        if second % 5 == 0:
            life.commit(10 * second - 5, second)
        if second % 10 == 0:
            life.look(10 * second, second)
    life.look(3010, 300)
    outage(life, left_s=300, back_s=400)
    for second in range(400, 460, 10):
        life.look(3100 + 10 * (second - 400), second)
        assert life.row(second + 1)["status"] == "OK"
    assert life.reason(459) is Reason.CLUSTER_BACK
    assert "No progress for 2 min" in life.row(459)["sentence"]
    life.look(3700, 461)
    assert life.reason(461) is Reason.STOPPED
    life.commit(3690, 462)
    assert life.reason(462) is Reason.MOVING


def test_a_group_that_had_stopped_before_its_cluster_was_away_has_stopped_when_it_is_back():
    life = Life()
    for second in range(0, 300, 10):
        life.look(10 * second, second)
        if second < 100:
            life.commit(10 * second - 5, second + 1)
    since_ms = life.row(291)["since_ms"]
    outage(life, left_s=290, back_s=400)
    life.look(3000, 400)
    assert life.reason(401) is Reason.STOPPED
    assert life.row(401)["since_ms"] == since_ms


def test_a_stall_is_as_long_after_its_cluster_was_away_as_it_was_before():
    """A commit from before it went away is read only when it is back: that makes no offset younger."""
    life = Life()
    for second in range(600):
        if second % 5 == 0:
            life.commit(min(10 * second, 1000), second)
        if second % 10 == 0:
            life.look(10 * second, second)
    assert life.reason(600) is Reason.STALLED
    since_ms = life.row(600)["since_ms"]
    life.look(6000, 600)
    outage(life, left_s=600, back_s=720)
    life.commit(1000, 721, made_s=600.2)
    for second in range(722, 772, 10):
        life.look(6000, second)
        row = life.row(second + 1)
        assert (row["reason"], row["since_ms"]) == ("stalled", since_ms)
    for second in range(775, 900, 5):
        life.commit(1000, second)
        life.look(6000, second + 1)
        row = life.row(second + 1)
        assert (row["reason"], row["since_ms"]) == ("stalled", since_ms)


def test_a_group_that_ended_stops_also_where_its_cluster_flaps():
    """It answers for 50 s, and for 31 s not: the group commits for half a minute, and then nothing more."""
    life, told = Life(), []
    for begun_s in range(0, 3600, 81):
        for second in range(begun_s, begun_s + 60, 10):
            life.look(200, second)
            if second < 30:
                life.commit(100 + second, second + 1)
            told.append((second, life.reason(second + 2)))
        outage(life, left_s=begun_s + 50, back_s=begun_s + 81, every_s=10)
    assert {reason for second, reason in told if 100 < second < 400} == {Reason.CLUSTER_BACK}
    assert {reason for second, reason in told if second > 660} == {Reason.STOPPED}


def test_a_group_stops_where_only_what_is_asked_after_the_ends_has_no_answer():
    life, told = Life(), []
    for second in range(0, 600, 32):
        life.look(200 if second else 0, second, failure="Reading the ids of topics had no answer.")
        if second < 60:
            life.commit(100 + second, second + 1)
        told.append((second, life.reason(second + 2)))
    assert {reason for second, reason in told if second > 60} == {Reason.PAUSING, Reason.STOPPED}
    assert {reason for second, reason in told if second > 130} == {Reason.STOPPED}


def test_a_cluster_that_refuses_us_is_not_away():
    life = Life()
    for second in range(0, 60, 10):
        life.look(200, second)
        life.commit(100 + second, second + 1)
    for second in range(60, 300, 10):
        life.lag.note_answer(ms(second), "The right is missing.", refused=True)
    life.look(200, 300)
    assert life.reason(301) is Reason.STOPPED


def test_the_same_offset_in_a_topic_that_was_made_anew_is_another():
    life = Life()
    life.lag.note_id("t", "one", ms(0))
    for second in range(0, 100, 10):
        life.look(100, second)
        life.commit(min(100, 20 + second), second + 1)
    life.lag.note_id("t", "two", ms(100))
    for second in range(101, 700, 10):
        life.look(500, second)
    assert life.reason(700) is Reason.RECREATED
    life.commit(100, 701)
    life.look(500, 702)
    assert life.reason(703) is Reason.ONE_COMMIT
    life.commit(100, 730)
    life.look(500, 731)
    assert (life.row(732)["reason"], life.row(732)["since_ms"]) == ("pausing", ms(701))
    life.look(500, 790)
    assert (life.row(791)["reason"], life.row(791)["since_ms"]) == ("stopped", ms(701))


@pytest.mark.parametrize("ahead_s", [-600, 0, 500])
def test_a_group_that_pauses_after_a_restart_is_no_stall_whatever_the_brokers_clock(ahead_s):
    life = Life()
    for second in range(0, 400, 10):
        life.look(100 if second < 20 else 1000, second)  # there is something to read for long
    for offset, made_s in ((90, 385), (95, 390), (100, 395)):
        life.commit(offset, 400, made_s=made_s + ahead_s, live=False)
    for second in range(405, 455, 5):
        life.commit(100, second, made_s=second + ahead_s)
        life.look(1000, second + 1)
        assert life.row(second + 2)["status"] == "OK"
        assert life.row(second + 2)["since_ms"] == ms(395)
    life.commit(100, 455, made_s=455 + ahead_s)
    life.look(1000, 457)
    assert life.reason(458) is Reason.STALLED


def test_a_group_whose_topic_was_made_anew_is_told_since_when_and_what_the_new_one_holds():
    life = Life()
    life.lag.note_id("t", "one", ms(0))
    life.look(90, 10)
    life.commit(80, 20)
    life.lag.note_id("t", "two", ms(60))
    life.look(4212, 70)
    row = life.row(71)
    assert (row["reason"], row["since_ms"], row["lag_records"]) == ("recreated", ms(60), None)
    assert row["sentence"] == (
        "Lag unknown: the topic was re-created after the commit of offset 80 (seen at 2026-09-21 14:14:20 UTC). "
        "The offset may belong to the old topic; the next commit settles it. The new topic holds 4,212 records "
        "now."
    )


@pytest.mark.parametrize("every_s", [5, 30])
def test_a_step_back_is_told_until_the_old_offset_is_reached_again(every_s):
    life, told = Life(), {}
    for second in range(900):
        if not second % every_s:
            usual = 1_000_000 + second
            life.commit(usual if second < 300 else min(usual, 2000 * (second - 300)), second)
        if not second % 10:
            life.look(1_000_100 + second, second)
            told[second] = life.reason(second)
    rewound = [second for second, reason in told.items() if reason is Reason.REWOUND]
    assert rewound == list(range(300, 810, 10))
    assert told[890] is Reason.MOVING


def test_a_step_back_from_before_a_restart_is_known_from_the_commits_that_are_read_again():
    life = Life()
    for second, offset in enumerate((900_000, 1_000_000, *range(500, 3000, 100))):
        life.commit(offset, 500, made_s=10 * second, live=False)
    life.commit(3000, 500)
    life.look(1_100_000, 500)
    row = life.row(500)
    assert (row["reason"], row["since_ms"]) == ("rewound", ms(20))
    assert row["sentence"].endswith("It is at offset 3000 now: up to 997,000 records to read again.")


def test_a_step_back_to_a_topic_made_anew_is_none():
    life = Life()
    life.lag.note_id("t", "one", ms(0))
    for second in range(0, 100, 10):
        life.look(5000, second)
        life.commit(5000, second + 1)
    life.lag.note_id("t", "two", ms(100))
    for second in range(101, 400, 10):
        life.look(10 * second, second)
        life.commit(10 * second - 1000, second + 1)
        assert life.reason(second + 2) is not Reason.REWOUND
    life.look(20_000, 401)
    assert life.reason(402) is Reason.MOVING


HOUR_S = 3600


def hourly(life, runs, *, left=True):
    """Run a job each hour: 40 s, a commit every 5 s, to the end; return the reasons in between, by second."""
    found = {}
    for at_s in range(0, runs * HOUR_S, 5):
        run, second = divmod(at_s, HOUR_S)
        if second in range(5, 45, 5):
            life.commit(max(100, 400 * run - 300 + 10 * second), at_s)
        if at_s % 10 == 0:
            life.look(100 + at_s // 9, at_s + 1)  # 400 records an hour
        if second % 600 == 300:
            found[at_s] = life.reason(at_s + 2)
    return found


@pytest.mark.parametrize("left", [False, True], ids=["members unknown", "left"])
def test_a_job_that_commits_often_while_it_runs_may_pause_until_its_next_run(left):
    life = Life()
    if left:
        life.lag.membership.take(GroupDescribed("g", "consumer", 2, None, None, None, ()))
    runs = 5
    found = hourly(life, runs)
    assert {why for at_s, why in found.items() if at_s > 3 * HOUR_S} == {Reason.PAUSING}
    stops_s = next(
        at_s
        for at_s in range(runs * HOUR_S, (runs + 2) * HOUR_S, 10)
        if life.look(100 + at_s // 9, at_s) or life.reason(at_s + 1) is not Reason.PAUSING
    )
    assert life.reason(stops_s + 1) is (Reason.STOPPED_EMPTY if left else Reason.STOPPED)
    assert stops_s - (runs - 1) * HOUR_S == pytest.approx(1.25 * HOUR_S, abs=60)


def test_an_emptied_log_leaves_open_whether_only_a_marker_was_deleted():
    life = Life()
    for at_s in range(0, 100, 10):
        life.commit(50, at_s)
        life.look(51, at_s + 1)
    life.lag.heads.note_starts(life.places, np.array([51]), read_ms=ms(100))
    life.lag.note_read(0, ms(101))
    row = life.row(101)
    assert (row["status"], row["reason"], row["lag_records"]) == ("UNKNOWN", "deleted_or_empty", 0)
    assert (row["lag_s"], row["lag_s_kind"]) == (0.0, "exact")
    assert "up to 1 record, or only transaction markers," in row["sentence"]
