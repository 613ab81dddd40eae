"""Records that a restart repeats, by offset syncs: a fact; if often, or far back, the verdict is repeating."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.syncs.progress import SyncProgress
from lagmon.syncs.queue import WaitingSync
from tests.lagmon.mirror_flows import Mirrored, S, told

AGAIN = (Cause.DUPLICATING, True)
LAG_MAX = 100


class Synced:
    """A mirror with a sync each 100 records and at each flush of its worker, once a minute."""

    def __init__(self, rate=50, **settings):
        self.one = Mirrored({"orders": 1}, flush_s=60.0, lag_from="offset-syncs", **settings)
        self.progress = SyncProgress(self.one.flow.windows, self.one.flow.estimated)
        self.rate, self.second, self.numbers, self.seen = rate, 0, 0, set()
        self.at = self.flushed = self.synced = 0
        self.fresh = self.runs = True
        self.one.poll()

    def sync(self, upstream, downstream):
        self.numbers, self.synced, self.fresh = self.numbers + 1, downstream, False
        one = WaitingSync(self.numbers, "orders", 0, upstream, downstream, self.one.now)
        self.progress.note(one, live=True)

    def copy(self):
        one = self.one
        while self.at < one.ends["orders", 0]:
            downstream = one.target_ends["A.orders", 0]
            if self.fresh or downstream > self.synced + LAG_MAX:
                self.sync(self.at, downstream)
            self.at += 1
            one.target_ends["A.orders", 0] += 1
        if self.second % 60 == 0:
            self.flushed = self.at
            self.sync(self.at - 1, one.target_ends["A.orders", 0] - 1)

    def go(self, seconds):
        one = self.one
        for _ in range(seconds):
            self.second, one.now = self.second + 1, one.now + S
            one.ends["orders", 0] += self.rate
            if self.runs:
                self.copy()
            if self.second % 10 == 0:
                one.poll()
                at = [int(lag.heads.end[0]) for lag in (one.a, one.b)]
                self.progress.estimate(
                    "orders", 0, target_end=at[1], at_ms=one.now, source_end=at[0], source_at_ms=one.now
                )
                self.seen.add(told(one)[0])
                self.seen.update((each.code, each.proved) for each in one.snapshot().findings)
        return self

    def kill(self, *, to=None, down_s=15):
        """End it without a flush, and have it go on where its offsets were written last, or at `to`."""
        self.runs = False
        self.go(down_s)
        self.runs = self.fresh = True
        self.at = self.flushed if to is None else to
        return self


@pytest.mark.parametrize("rate", [5, 50, 200])
@pytest.mark.parametrize("after_s", [30, 57])
def test_what_a_mirror_that_was_killed_replicates_again_is_a_fact_and_no_verdict(rate, after_s):
    one = Synced(rate).go(300 + after_s).kill().go(60)
    assert AGAIN not in one.seen
    assert Verdict.REPEATING not in one.seen
    assert told(one.one) == (Verdict.HEALTHY, None)
    assert " of orders-0 reached B again: the mirror went back from " in one.one.verdict().sentence
    assert "reached B again" not in one.go(960).one.verdict().sentence


def test_with_exactly_once_nothing_may_come_twice():
    assert AGAIN in Synced(exactly_once=True).go(330).kill().go(60).seen


def test_a_mirror_that_goes_far_back_repeats():
    one = Synced().go(900)
    assert AGAIN in one.kill(to=one.flushed - 300 * 50).go(60).seen


def test_a_mirror_that_is_killed_again_and_again_repeats():
    one = Synced().go(330)
    for _ in range(2):
        assert AGAIN not in one.kill().go(105).seen
    assert AGAIN in one.kill().go(60).seen
