"""One group on one cluster, second by second: commits, looks every ten seconds, absences, and verdicts."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from fleet.wire_commits import encode_commit_key, encode_commit_value
from lagmon.cluster import ClusterLag
from lagmon.group_rows import partition_rows
from lagmon.words import Reason

BEGAN_MS = 1_790_000_000_000
KEY = encode_commit_key("g", "t", 0)


class Life:
    """The group g on the topic t of one partition; times in seconds from the beginning."""

    def __init__(self):
        self.lag = ClusterLag(wanted=lambda _group, _topic: True)
        self.lag.note_topics({"t": 1})
        self.lag.begin_commits(1)
        self.places = np.array(self.lag.places.of("t"), np.int32)

    def commit(self, offset, at_s, *, made_s=None):
        """Read a commit as it comes, or one that was made before."""
        value = encode_commit_value(offset, ms(at_s if made_s is None else made_s))
        self.lag.intake.take([KEY], [value], read_ms=ms(at_s), live=True)

    def look(self, end, at_s):
        """Read where the log ends, -1 for no answer, and all commits up to then."""
        ends = np.array([end], np.int64)
        self.lag.note_looked(self.places, ends, ends, ms(at_s))
        self.lag.note_answer(ms(at_s))
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
    assert "and the log ended at 12222 when it was read afterwards" in later[-1]["sentence"]


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


def outage(life, *, left_s, back_s):
    """Have looks fail from one instant to another."""
    for at_s in range(left_s + 10, back_s, 15):
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
    assert "where the group has stood for 2 min" in life.row(459)["sentence"]
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
        "The topic was seen to be made anew at 2026-09-21 14:14:20 UTC, after the commit of offset 80, and "
        "perhaps that belongs to the old one: the next commit tells. The new one holds 4,212 records now."
    )
