"""Groups that fall behind with all of their partitions together, whatever their lags swing by; and who holds."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.arrays.java_hash import partition_of
from lagmon.groups.growth import AWAY_MS, BLOCK_MS, Falling, GroupGrowth, GroupPart
from lagmon.groups.rules.words import Status
from tests.lagmon.turns import BEGAN_MS, Seen, Turns

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
LEARNT_S = 360  # by then it is told who falls behind


def some_groups(seed, share, **others):
    """Return groups that read so much of what is written, in turns of half a second to twenty."""
    random = Random(seed)
    return [
        Turns(
            share,
            turn_s,
            commit_s=random.choice((1.0, 2.0, 5.0)),
            backlog_s=random.choice((0.0, 20.0, 300.0) if share > 1 else (0.0, 20.0)),
            again=random.random() < 0.5,
            burst_s=random.choice((0.0, 3.0)),
            seed=random.randrange(2**32),
            **others,
        )
        for turn_s in (0.5, 2.0, 5.0, 10.0, 20.0)
    ]


@given(st.integers(0, 2**32))
@example(1)
@settings(deadline=None, max_examples=1, phases=WITHOUT_SHRINKING)
def test_who_reads_in_turns_is_warn_while_it_falls_behind_and_never_else(seed):
    shares = (0.7, 0.95, 1.0, 1.3)
    seen = Seen([one for share in shares for one in some_groups(seed, share)])
    for at_s, view in seen.run(700):
        for reader, status in zip(seen.readers, seen.statuses(view), strict=True):
            if reader.how.share >= 1:
                assert status in {Status.OK, Status.UNKNOWN}, (at_s, reader.how)
                assert at_s < 60 or status is Status.OK, (at_s, reader.how)
            elif at_s > LEARNT_S:
                assert status is Status.WARN, (at_s, reader.how)


@pytest.mark.parametrize(("before", "after"), [(0.7, 1.0), (0.7, 1.3), (1.3, 0.7), (1.0, 0.7)])
def test_a_change_is_told_within_minutes_and_once(before, after):
    seen = Seen(some_groups(3, before, changes_at_s=400.0, share_after=after))
    told = {number: [] for number in range(len(seen.readers))}
    for at_s, view in seen.run(720):
        for number, status in enumerate(seen.statuses(view)):
            if at_s > 240 and (not told[number] or told[number][-1] is not status):
                told[number].append(status)
    expected = [Status.WARN, Status.OK] if before < 1 else [Status.OK, Status.WARN]
    assert Counter(map(tuple, told.values())) == {tuple(expected): len(told)}


def test_a_group_says_how_it_falls_behind():
    seen = Seen(some_groups(5, 0.7)[-1:])
    *_, (_, view) = seen.run(400)
    row = view.groups.row(0)
    assert (row.status, row.falls, row.partitions[Status.OK]) == (Status.WARN, True, 3)
    falling = view.falling[0]
    assert falling.after > falling.before
    assert falling.written - falling.read == pytest.approx(falling.after - falling.before, rel=0.2)
    assert falling.read / falling.written == pytest.approx(0.7, abs=0.1)
    assert Falling(BEGAN_MS, 1000, 4000, 10_000, 7000).sentence == (
        "Group falls behind on all partitions together: lag rose from 1,000 at 2026-09-21 14:13:20 UTC to 4,000. "
        "Written since: 10,000 records; read: 7,000."
    )


@pytest.mark.parametrize("anew", [True, False])
def test_who_was_given_the_number_of_a_group_that_fell_behind_does_not_fall_behind_for_that(anew):
    seen = Seen(some_groups(5, 0.7)[-1:])
    *_, (_, view) = seen.run(400)
    assert view.groups.row(0).falls
    lag, now_ms = seen.lag, BEGAN_MS + 401_000
    if anew:  # topics are back, or the reading failed
        lag.begin_commits(1)
    else:  # it was deleted, and another began before the next look
        keys = [encode_commit_key("g0", "t0", number) for number in range(3)]
        lag.intake.take(keys, [None] * 3, read_ms=now_ms, live=True)
    end = int(lag.heads.end[lag.places.of("t0")[0]])
    keys = [encode_commit_key("new", "t0", 0)] * 2
    values = [encode_commit_value(end - left, now_ms - 4000 * left) for left in (10, 5)]
    lag.intake.take(keys, values, read_ms=now_ms, live=not anew)
    lag.note_read(0, now_ms)
    view = lag.see(now_ms)
    assert lag.slots.number("new") == 0
    assert (view.groups.row(0).status, view.falling) == (Status.OK, {})


def test_a_group_is_judged_as_soon_as_its_own_commits_are_known():
    seen = Seen(some_groups(5, 0.7))
    seen.lag.begin_commits(2)  # of which the second has no leader, and is not read
    *_, (_, view) = seen.run(400)
    homes = {number: partition_of(name, 2) for number, name in seen.lag.slots.groups()}
    found = {number: view.groups.row(number) for number in homes}
    assert {number: row.status for number, row in found.items()} == {
        number: Status.UNKNOWN if home else Status.WARN for number, home in homes.items()
    }
    assert any(row.falls for row in found.values())
    assert set(homes.values()) == {0, 1}


class Sums:
    """A growth, and what it is told at each look, ten seconds apart: 100 records a second, of three slots."""

    def __init__(self):
        self.growth, self.at_s = GroupGrowth(), 0

    def look(self, lag, *, begun=1, **others):
        """Add a poll of a group that lags by so much in all, when so many had begun."""
        end = np.full(3, 1_000_000 + 100 * self.at_s)
        known = {
            "group": np.zeros(3, np.int32),
            "generations": np.ones(3, np.int32),
            "seen": np.ones(3, np.bool_),
            "end": end,
            "offset": end - np.array([lag, 0, 0]),
        }
        now_ms = BEGAN_MS + 1000 * self.at_s
        self.growth.note([GroupPart(0, **(known | others))], count=1, begun=begun, now_ms=now_ms)
        self.at_s += 10
        return bool(self.growth.falls[0])

    def fall(self, looks=60, **others):
        """Add a poll of one that falls behind by a tenth of what is written."""
        return [self.look(30 * self.at_s + 500, **others) for _ in range(looks)]


def test_a_lag_that_grows_is_told_after_four_minutes_and_until_it_does_not():
    sums = Sums()
    told = sums.fall()
    assert told.index(True) * 10 in range(180, 260)
    assert all(told[told.index(True) :])
    held = [sums.look(18_500) for _ in range(30)]
    assert held[:6] == [True] * 6
    assert not any(held[-6:])


def test_a_batch_that_is_worked_off_is_no_growth():
    sums = Sums()
    for _ in range(6):
        found = [sums.look(10) for _ in range(40)]
        found += [sums.look(50_000 - 2_000 * number) for number in range(25)]
        assert not any(found)


@pytest.mark.parametrize("look", ["a slot is another's", "an end is not known", "an offset is not known"])
def test_what_is_not_the_same_sum_begins_anew(look):
    sums = Sums()
    assert sums.fall()[-1]
    changed = {
        "a slot is another's": {"generations": np.array([1, 1, 3])},
        "an end is not known": {"end": np.array([-1, 5, 5])},
        "an offset is not known": {"offset": np.array([-1, 5, 5])},
    }[look]
    assert not sums.look(40_000, **changed)
    assert not any(sums.fall(12))


def test_a_log_that_one_look_could_not_read_changes_nothing():
    sums = Sums()
    assert sums.fall()[-1]
    missed = np.array([True, False, True])
    assert all(sums.fall(4, seen=missed, end=np.full(3, 2_000), offset=np.full(3, 1_000)))
    assert all(sums.fall(30))


def test_looks_long_apart_tell_nothing_of_what_was_between():
    sums = Sums()
    assert sums.fall()[-1]
    sums.at_s += AWAY_MS // 1000
    assert not any(sums.fall(12))


def test_who_commits_once_in_minutes_is_not_judged_by_sums():
    sums = Sums()
    offset = np.full(3, 1_000_000)
    for number in range(90):
        if number % 20 == 0:
            offset = np.full(3, 1_000_000 + 1000 * number)
        assert not sums.look(0, offset=offset)


def test_blocks_hold_several_looks():
    assert BLOCK_MS >= 25_000
