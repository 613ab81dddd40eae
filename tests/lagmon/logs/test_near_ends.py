"""Ends as distances: every answer is that of the ends themselves, but of what lies too far back to be kept."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lagmon.logs.head_history import POINTS
from lagmon.logs.heads import Heads
from lagmon.logs.heads_snapshot import restore, snapshot
from lagmon.logs.near_ends import FARTHEST
from tests.lagmon.every_poll import EveryPoll
from tests.lagmon.logs.test_heads import GREATEST, S, T, longs, looked, passed, places

STEPS = st.sampled_from(
    [
        *(0, 1, 50, 10**6, FARTHEST - 1, FARTHEST, FARTHEST + 1, 2**32 - 2, 2**32, 10**15),
        *(-1, -30, -(10**6), 1 - FARTHEST, -FARTHEST, -FARTHEST - 1, -(2**33), -(10**15)),
    ]
)
LOOKS = st.lists(
    st.tuples(st.integers(1, 30 * S), st.lists(STEPS, min_size=3, max_size=3)), min_size=1, max_size=POINTS
)


class EveryNearLook(EveryPoll):
    """Every look, but of those that lie too far before an anchor, as long as it stands."""

    def __init__(self):
        super().__init__()
        self.anchor = self.highest = 0

    def note(self, end, at_ms):
        super().note(end, at_ms)
        self.highest = max(self.highest, end)
        if abs(end - self.anchor) > FARTHEST:
            self.anchor = end
            self.points = [(old, ms) for old, ms in self.points if old >= end - FARTHEST]

    def end_at(self, at_ms):
        before = [(end, ms) for end, ms in self.points if ms <= at_ms]
        after = [(end, ms) for end, ms in self.points if ms > at_ms]
        if not before or (not after and before[-1][1] < at_ms):
            return -1
        (end, ms), (to, then_ms) = before[-1], (after or before[-1:])[0]
        return end + int(np.floor((to - end) * ((at_ms - ms) / max(then_ms - ms, 1))))


def played(looks, order=(0, 1, 2)):
    """Look at three places so; return heads, of each place all looks and those that can be kept, and now."""
    heads, every, near = Heads(), [EveryPoll() for _ in order], [EveryNearLook() for _ in order]
    heads.claim(3)
    at_ms, ends = T, [10, 2**31, 2**40]
    for pause_ms, steps in looks:
        at_ms += pause_ms
        ends = [min(max(0, end + step), GREATEST) for end, step in zip(ends, steps, strict=True)]
        heads.note(places(*order), longs(*(ends[place] for place in order)), at_ms)
        for place, end in enumerate(ends):
            every[place].note(end, at_ms)
            near[place].note(end, at_ms)
    return heads, every, near, at_ms


def around(points):
    """Return offsets at the ends, next to them and between them."""
    ends = sorted({end for end, _ in points})
    middles = [(low + high) // 2 for low, high in pairwise(ends)]
    offsets = {-(2**63), -1, 0, GREATEST, *middles, *(end + by for end in ends for by in (-1, 0, 1))}
    return sorted(offset for offset in offsets if offset <= GREATEST)


def asked(heads, place, offsets):
    times, exact = heads.passed_ms(np.full(len(offsets), place, np.int32), longs(*offsets))
    return list(zip(times.tolist(), exact.tolist(), strict=True))


@given(LOOKS, st.permutations([0, 1, 2]))
@settings(deadline=None, max_examples=200)
def test_all_answers_are_those_of_the_ends_that_can_be_kept(looks, order):
    heads, every, near, now_ms = played(looks, order)
    for place, kept in enumerate(near):
        offsets = around(every[place].points)
        assert asked(heads, place, offsets) == [kept.passed(offset) or (-1, False) for offset in offsets]
        instants = sorted({ms + by for _, ms in every[place].points for by in (-S, -1, 0, 1)})
        found = heads.end_at(np.full(len(instants), place, np.int32), longs(*instants))
        assert found.tolist() == [kept.end_at(at_ms) for at_ms in instants]
        ends = [end for end, _ in kept.points]
        assert heads.recent(places(place)).tolist() == [([-1] * 10 + ends)[-10:]]
        assert heads.oldest_recent(places(place))[0] == ([-1] * 10 + ends)[-10]
        assert heads.end[place] == ends[-1]
        assert [int(one[0]) for one in heads.oldest_ms(places(place))] == list(kept.points[0])
        assert heads.look_until(place, now_ms) == kept.points[-1]
        assert heads.stood(3)[place] == (len(ends) >= 3 and ends[-3] == ends[-1])


@given(LOOKS)
@settings(deadline=None)
def test_no_time_is_wrong_and_the_looks_of_the_last_two_thousand_million_records_are_kept(looks):
    heads, every, near, _ = played(looks)
    for place, all_looks in enumerate(every):
        offsets = around(all_looks.points)
        for offset, (ms, sure) in zip(offsets, asked(heads, place, offsets), strict=True):
            true_ms, bracketed = all_looks.passed(offset) or (-1, False)
            if sure or true_ms < 0:
                assert (ms, sure) == (true_ms, bracketed)
                continue
            assert ms >= true_ms  # a bound: it was written then or before
            if bracketed:
                look_before = max(end for end, _ in all_looks.points if end <= offset)
                assert look_before < near[place].highest - FARTHEST


@given(LOOKS, LOOKS)
@settings(deadline=None)
def test_a_restart_keeps_what_it_finds_and_goes_on_from_it(looks, more):
    heads, _, _, at_ms = played(looks[:-3])  # as long as there is room
    again = restore(snapshot(heads, places(0, 1, 2)), 3)
    assert snapshot(again, places(2, 0)) == snapshot(heads, places(2, 0))
    for pause_ms, steps in more[:3]:
        at_ms += pause_ms
        ends = np.maximum(heads.end, 0) + np.abs(longs(*steps))
        for each in (heads, again):
            each.note(places(0, 1, 2), ends, at_ms)
    # They have other anchors, of which either may reach further back than it has to.
    kept, found = heads.state(places(0, 1, 2)).ends, again.state(places(0, 1, 2)).ends
    differ = kept != found
    assert (np.minimum(kept, found)[differ] == -1).all()
    assert (np.maximum(kept, found) < heads.end - FARTHEST)[differ].all()


@given(
    st.lists(st.tuples(st.sampled_from([1, 10, 600, 20_000]), st.integers(-50, 10**6)), max_size=90),
    st.sampled_from([2**31 - 51, 2**31, 2**40, GREATEST - 10**9]),
)
@example([(10, 10**6)] * 60, 2**31 - 51)
@settings(deadline=None)
def test_where_a_log_stands_changes_nothing_of_what_is_thinned_out(looks, further):
    rows = []
    for first in (1000, 1000 + further):
        heads, at_ms, end = Heads(), T, first
        heads.claim(1)
        for pause_s, step in looks:
            at_ms, end = at_ms + pause_s * S, max(first - 1000, end + step)
            heads.note(places(0), longs(end), at_ms)
        rows.append(heads.state(places(0)))
    near, far = rows
    assert (far.ends == np.where(near.ends < 0, -1, near.ends + further)).all()
    assert (far.times == near.times).all()


@pytest.mark.parametrize(("step", "fits"), [(FARTHEST, True), (FARTHEST + 1, False)])
def test_the_anchor_moves_to_an_end_that_does_not_fit_and_lets_go_what_is_too_far_before_it(step, fits):
    end = FARTHEST + 1 + step
    heads = looked((FARTHEST, 0), (FARTHEST + 1, 10 * S), (end, 20 * S))  # it moves at the second look
    kept = [(5 * S, True), (10 * S, True)]
    assert passed(heads, FARTHEST, FARTHEST + 1) == (kept if fits else [(20 * S, False)] * 2)
    heads.note(places(0), longs(end + 1), T + 30 * S)
    assert passed(heads, FARTHEST, FARTHEST + 1, end) == [(20 * S, False)] * 2 + [(25 * S, True)]


def test_written_to_all_day_at_any_rate_no_time_is_wrong():
    rates = np.array([24_000, 30_000, 10**6, 10**9])  # a second
    heads, rows = Heads(), np.arange(4, dtype=np.int32)
    heads.claim(4)
    looks = 24 * 120
    for look in range(looks + 1):
        heads.note(rows, rates * look * 30, T + look * 30 * S)
    oldest, oldest_ms = heads.oldest_ms(rows)
    assert (oldest == rates * (oldest_ms - T) // 1000).all()
    now_ms = T + looks * 30 * S
    for row, rate in enumerate(rates.tolist()):
        reaches_s = min(24 * 3600, FARTHEST // rate)
        ages_s = np.linspace(1, 24 * 3600 - 40, 300).astype(np.int64)
        times, exact = heads.passed_ms(np.full(300, row, np.int32), heads.end[row] - ages_s * rate)
        errors = np.abs(times - (now_ms - ages_s * S))
        assert (errors[exact] <= 2).all()
        # What is left of a gap that spacing made is lost with its older end.
        assert exact[ages_s * 3.15 + 300 < reaches_s].all()
        assert (times[~exact] == oldest_ms[row]).all()
        assert (times >= now_ms - ages_s * S - 2).all()
