"""How far a mirror is by its offset syncs and the target's end: exact at each, an estimate between two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.groups.rules.words import Reason, Status
from lagmon.mirrors.partitions.window import MirrorWindows
from lagmon.syncs.progress import MOST_OFFSET, STEADY, SyncProgress
from lagmon.syncs.queue import WaitingSync
from tests.lagmon.mirror_flows import Mirrored
from tests.lagmon.sync_records import NOW, S


class Followed:
    """A partition that is followed by its syncs, a second after the other; `at` is where it is known to be."""

    def __init__(self, *rows):
        self.windows = MirrorWindows()
        self.progress = SyncProgress(self.windows, set())
        self.now = NOW
        for row in rows:
            self.sync(*row)

    def sync(self, upstream, downstream):
        self.now += S
        self.progress.note(WaitingSync(0, "orders", 0, upstream, downstream, self.now), live=True)
        return self

    def look(self, target_end, *, source_end=1 << 40, after_ms=S, source_after_ms=2 * S):
        at_ms, source_at_ms = self.now + after_ms, self.now + source_after_ms
        self.now += max(after_ms, 0)
        self.progress.estimate(
            "orders",
            0,
            target_end=target_end,
            at_ms=at_ms,
            source_end=source_end,
            source_at_ms=source_at_ms,
        )
        return self

    @property
    def at(self):
        slot = self.windows.slot("orders", 0)
        return None if slot is None else int(self.windows.next_offset[slot])

    @property
    def offsets(self):
        slot = self.windows.slot("orders", 0)
        return [int(one) for one in self.windows.rings.offset[slot] if one >= 0]


def test_a_sync_is_exact_and_the_targets_end_tells_what_came_since():
    followed = Followed((100, 107))
    assert followed.at == 101
    assert followed.look(108).at == 101  # nothing came behind the copy of 100
    assert not followed.progress.estimated
    assert followed.look(138).at == 131  # 30 records more
    assert followed.progress.estimated == {("orders", 0)}
    assert followed.sync(200, 207).at == 201
    assert not followed.progress.estimated


@pytest.mark.parametrize(
    ("target_end", "look"),
    [
        (-1, {}),  # not known
        (MOST_OFFSET, {}),  # absurd
        (50, {}),  # the target was made anew
        (200, {"after_ms": 0}),  # a look from before the sync was written
        (200, {"source_after_ms": 0}),  # the source was not looked at since
        (200, {"source_end": 101}),  # there is no more on the source: somebody else wrote to the copy
    ],
)
def test_nothing_is_estimated_from(target_end, look):
    assert Followed((100, 107)).look(target_end, **look).at == 101


def test_an_estimate_never_passes_the_end_of_the_source():
    assert Followed((100, 107)).look(500, source_end=120).at == 120


def test_gaps_of_the_source_make_the_estimate_the_least_that_was_copied():
    assert Followed((100, 107), (201, 207), (302, 307)).look(358).at == 353


def test_where_copies_are_more_than_records_only_syncs_count_for_a_while():
    followed = Followed((100, 107), (200, 212))
    assert followed.look(300).at == 201
    for number in range(1, STEADY + 1):
        followed.sync(200 + 100 * number, 212 + 100 * number)
    assert followed.look(512 + 31).at == 500 + 31


def test_an_estimate_that_was_too_high_is_not_told_as_a_step_back():
    followed = Followed((100, 107)).look(208)
    assert followed.at == 201
    followed.sync(150, 207)  # somebody else had written the rest
    assert followed.at == 201
    assert followed.sync(250, 307).at == 251
    assert followed.offsets == sorted(followed.offsets)


@pytest.mark.parametrize("back", [(100, 207), (40, 208)])
def test_a_sync_that_is_not_past_the_one_before_is_a_step_back(back):
    followed = Followed((50, 57), (100, 107)).sync(*back)
    assert followed.at == back[0] + 1


def test_one_that_is_read_twice_is_none():
    followed = Followed((100, 107)).look(138)
    assert followed.sync(100, 107).at == 131


@pytest.mark.parametrize("row", [(MOST_OFFSET, 5), (5, MOST_OFFSET), ((1 << 63) - 1, (1 << 63) - 1)])
def test_an_absurd_sync_is_left_out(row):
    assert Followed(row).at is None


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 5), st.integers(0, 60)), min_size=1))
def test_of_a_mirror_that_loses_nothing_it_is_never_too_high(steps):
    # Gaps of the source, no record but its copies on the target: what is told was copied, at every instant.
    source, target = 1000, 500
    followed = Followed()
    for copied, gap, more in steps:
        source, target = source + copied + gap, target + copied
        followed.sync(source - 1, target - 1)
        assert followed.at == source
        source, target = source + more + gap, target + more
        followed.look(target, source_end=source)
        assert followed.at <= source
        assert followed.at == source - gap or more == 0


def play(mirrored, seconds, *, copying=True):
    """Let a hundred records a second be written, and a sync of the mirror every second where it copies."""
    flow = mirrored.flow

    def each():
        before = mirrored.ends["orders", 0]
        mirrored.write(100, copied=copying)
        if copying:
            at = mirrored.target_ends["A.orders", 0] - 1
            sync = WaitingSync(0, "orders", 0, before + 99, at, mirrored.now)
            mirrored.progress.note(sync, live=True)

    mirrored.go(seconds, each=each)
    return flow


def test_a_mirror_that_copies_is_ok_and_one_that_stands_is_stopped():
    mirrored = Mirrored({"orders": 1})
    mirrored.progress = SyncProgress(mirrored.flow.windows, mirrored.flow.estimated)
    play(mirrored, 60)
    assert mirrored.verdict().status is Status.OK
    play(mirrored, 90, copying=False)
    slot = mirrored.slot()
    assert Reason(int(mirrored.snapshot().partitions.rows.reason[slot])) is Reason.STOPPED
    assert mirrored.verdict().status is Status.STOP
    assert mirrored.verdict().lag >= 80 * 100


class Slow:
    """MirrorMaker by its defaults and a record a second: a sync comes with a flush a minute, or is not sent."""

    def __init__(self, *, estimates=True):
        self.mirrored = Mirrored({"orders": 1}, flush_s=60.0)
        flow = self.mirrored.flow
        self.progress = SyncProgress(flow.windows, flow.estimated)
        self.copying, self.estimates, self.second, self.said = True, estimates, 0, set()

    def play(self, seconds):
        self.mirrored.go(seconds, each=self.each)
        return self.mirrored.verdict()

    def each(self):
        mirrored = self.mirrored
        self.second += 1
        mirrored.write(1, copied=self.copying)
        if self.copying and self.second % 60 == 1:
            at = mirrored.target_ends["A.orders", 0] - 1
            sync = WaitingSync(0, "orders", 0, mirrored.ends["orders", 0] - 1, at, mirrored.now)
            self.progress.note(sync, live=True)
        (target_end, at_ms), (source_end, source_at_ms) = (
            (int(lag.heads.end[place]), int(lag.heads.sampled_ms[place]))
            for lag, place in (
                (mirrored.b, mirrored.b.places.of("A.orders")[0]),
                (mirrored.a, mirrored.a.places.of("orders")[0]),
            )
        )
        if self.estimates:
            self.progress.estimate(
                "orders",
                0,
                target_end=target_end,
                at_ms=at_ms,
                source_end=source_end,
                source_at_ms=source_at_ms,
            )
        if self.second > 60 and self.second % 7 == 0:
            self.said.add(mirrored.verdict().status)


@pytest.mark.parametrize("estimates", [True, False])
def test_a_mirror_by_its_defaults_is_ok_for_as_long_as_it_copies(estimates):
    slow = Slow(estimates=estimates)
    assert slow.play(500).status is Status.OK
    assert slow.said == {Status.OK}
    slow.copying = False
    slow.play(60)
    slow.mirrored.go(300, each=slow.each)
    assert slow.mirrored.verdict().status is Status.STOP
    assert slow.mirrored.verdict().lag >= 300
    slow.copying = True
    slow.mirrored.write(0)
    slow.mirrored.target_ends["A.orders", 0] = slow.mirrored.ends["orders", 0]
    assert slow.play(180).status is Status.OK


def test_between_two_syncs_of_a_slow_mirror_the_lag_is_small_by_the_estimate():
    slow = Slow()
    slow.play(300)
    slow.play(55)  # far from the last sync
    assert slow.mirrored.verdict().lag <= 20
    assert slow.mirrored.flow.estimated == {("orders", 0)}


def test_beyond_where_the_next_sync_is_due_a_target_that_grows_has_foreign_records():
    followed = Followed((100, 107))
    assert followed.look(107 + 5000).at == 101 + 101  # offset.lag.max + 1
    assert followed.look(107 + 9000).at == 101 + 101
    followed = Followed((100, 107), (500, 507))  # its syncs are further apart than is configured
    assert followed.look(507 + 9000).at == 501 + 2 * 400
    followed = Followed((100, 107), (5000, 200))  # a gap of the source: not so many records
    assert followed.look(200 + 9000).at == 5001 + 2 * 93


def test_records_that_arrive_between_two_polls_may_be_replicated_before_their_syncs_are_read():
    followed = Followed((100, 107)).look(108, source_end=1000).look(108, source_end=6000)
    assert followed.look(107 + 5000, source_end=6000).at == 101 + 101  # nothing arrived since the last poll
    followed = Followed((100, 107)).look(108, source_end=1000)
    assert followed.look(107 + 5000, source_end=6000).at == 101 + 5000 - 1


def busy_mirror(*, apart, rate=1000, lag_max=100):
    """Give a mirror that replicates at once and writes a sync each `apart` seconds, as with many in flight."""
    one = Mirrored({"orders": 1}, lag_from="offset-syncs", offset_lag_max=lag_max)
    one.progress = SyncProgress(one.flow.windows, one.flow.estimated, lag_max=lag_max)
    one.seconds, one.runs, one.foreign, one.seen = 0, True, 0, set()

    def each():
        one.seconds += 1
        one.write(rate, copied=one.runs)
        one.target_ends["A.orders", 0] += one.foreign
        if one.runs and one.seconds % apart == 0:
            ends = one.ends["orders", 0] - 1, one.target_ends["A.orders", 0] - 1
            one.progress.note(WaitingSync(one.seconds, "orders", 0, *ends, one.now), live=True)
        if one.seconds % 10 == 5:
            one.poll()
            target_end, source_end = one.target_ends["A.orders", 0], one.ends["orders", 0]
            one.progress.estimate(
                "orders",
                0,
                target_end=target_end,
                at_ms=one.now,
                source_end=source_end,
                source_at_ms=one.now,
            )
            verdict = one.verdict()
            one.seen.add((str(verdict.verdict), verdict.status.name))

    one.play = lambda seconds: one.go(seconds, each=each, poll=1 << 30)
    return one


@pytest.mark.parametrize("apart", [1, 7, 30, 60])
def test_a_busy_mirror_with_few_syncs_is_healthy_for_as_long_as_it_replicates(apart):
    one = busy_mirror(apart=apart)
    one.play(300)
    one.seen.clear()
    one.play(900)
    assert one.seen == {("healthy", "OK")}


@pytest.mark.parametrize("foreign", [0, 200])
def test_a_mirror_that_hangs_is_stalled_though_others_write_to_its_target(foreign):
    one = busy_mirror(apart=1)
    one.play(300)
    one.runs, one.foreign = False, foreign
    one.play(600)
    verdict = one.verdict()
    assert (str(verdict.verdict), str(verdict.cause)) == ("stalled", "mirror_down")
    assert verdict.lag > 580_000
