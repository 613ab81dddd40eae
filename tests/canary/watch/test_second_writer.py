"""A second writer is proved within ten probes; no restarts of one mirror, however many, look like it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.events import TwoWriters
from canary.tracker.stamp import Intact
from canary.watch.second_writer import LINKS, Chain
from tests.canary.played import Played
from tests.canary.pretend_link import stamp

S = 1_000_000_000
MS = 1_000_000


@dataclass
class Log:
    """What stands in one partition of the target: which probe, and when it was read there."""

    interval_ns: int = S
    records: list[tuple[int, int]] = field(default_factory=list)

    def proved_after(self) -> int | None:
        """Return the probe by which a second writer is proved, None where none is."""
        chain, seen = Chain(), set()
        for at_ns, sequence in sorted(self.records):
            if sequence in seen:
                if chain.repeat(sequence, at_ns):
                    return sequence
            else:
                seen.add(sequence)
                chain.arrive(sequence, sequence * self.interval_ns, at_ns)
        return None


def copies(log: Log, first: int, last: int, lag_ns: int, *, not_before_ns: int = 0) -> None:
    """Have a writer copy these probes, each as it is sent, those from before in one burst."""
    for number in range(first, last + 1):
        at_ns = max(number * log.interval_ns + lag_ns, not_before_ns)
        log.records.append((at_ns + number % 7, number))


@given(
    interval_ms=st.sampled_from([100, 250, 1000, 2000, 10_000]),
    lags_ms=st.lists(st.integers(1, 900), min_size=40, max_size=40),
    joined=st.integers(0, 10),
)
def test_a_second_writer_is_proved_within_ten_probes_or_three_seconds(interval_ms, lags_ms, joined):
    log = Log(interval_ms * MS)
    copies(log, 0, 100, 5 * MS)
    for number in range(joined, 101):
        log.records.append((number * log.interval_ns + lags_ms[number % 40] * MS, number))
    proved = log.proved_after()
    assert proved is not None
    # A probe is sent up to 0.9 s and one interval after the second copy of the one before.
    a_link_takes_s = 0.9 + interval_ms / 1000
    assert proved - joined <= max(10, math.ceil(LINKS * a_link_takes_s * 1000 / interval_ms))


def test_at_the_default_interval_five_probes_do():
    log = Log()
    copies(log, 0, 100, 50 * MS)
    copies(log, 20, 100, 250 * MS)
    assert log.proved_after() == 24


@settings(max_examples=300)
@given(
    restarts=st.lists(st.tuples(st.integers(1, 40_000), st.integers(2_001, 30_000)), max_size=30),
    interval_ms=st.sampled_from([100, 250, 1000, 10_000]),
    flush_ms=st.sampled_from([1, 1000, 5000, 60_000]),
    lag_ms=st.integers(1, 900),
)
def test_no_restarts_of_one_mirror_prove_a_second_writer(restarts, interval_ms, flush_ms, lag_ms):
    """Each restart: so long it ran, so long it was away; then it goes on at the offset that it wrote last."""
    log, now_ms, committed = Log(interval_ms * MS), 0, 0
    for ran_ms, away_ms in [*restarts, (5_000, 0)]:
        stops_ms = now_ms + ran_ms
        newest = (stops_ms - lag_ms) // interval_ms
        if newest >= committed:
            copies(log, committed, newest, lag_ms * MS, not_before_ns=now_ms * MS)
        flushed_ms = stops_ms - stops_ms % flush_ms
        if flushed_ms > now_ms:
            committed = max(committed, (flushed_ms - lag_ms) // interval_ms + 1)
        now_ms = stops_ms + away_ms
    assert log.proved_after() is None


@given(slept_s=st.integers(11, 120), overlap_ms=st.integers(0, 2900), lag_ms=st.integers(1, 500))
def test_a_worker_that_wakes_after_another_took_over_is_no_second_mirror(slept_s, overlap_ms, lag_ms):
    log, frozen = Log(), 50
    copies(log, 0, frozen, lag_ms * MS)
    taken_over_ns = (frozen + 10) * S
    copies(log, frozen - 3, frozen + slept_s + 60, (lag_ms + 20) * MS, not_before_ns=taken_over_ns)
    wakes_ns = (frozen + slept_s) * S
    last = frozen + slept_s + overlap_ms // 1000
    copies(log, frozen + 1, last, lag_ms * MS, not_before_ns=wakes_ns)
    assert log.proved_after() is None


def test_all_copied_again_from_the_beginning_is_no_second_mirror():
    log = Log()
    copies(log, 0, 600, 5 * MS)
    copies(log, 0, 900, 5 * MS, not_before_ns=610 * S)
    assert log.proved_after() is None


def test_a_probe_that_comes_once_breaks_the_chain():
    log = Log()
    copies(log, 0, 100, 5 * MS)
    for number in range(101):
        if number % 4:
            log.records.append((number * S + 200 * MS, number))
    assert log.proved_after() is None


@pytest.mark.parametrize("copied_again", [True, False])
def test_the_tracker_tells_of_it_and_of_each_further_probe(copied_again):
    play = Played()
    for number in range(9):
        play.send(number, float(number))
        play.record(Intact(stamp(number)), number + 0.1)
        if copied_again:
            play.record(Intact(stamp(number)), number + 0.3)
    told = [
        (one.partition, one.probes, one.target_offset) for one in play.said if isinstance(one, TwoWriters)
    ]
    assert told == ([(0, 5, 9), (0, 1, 11), (0, 1, 13), (0, 1, 15), (0, 1, 17)] if copied_again else [])


def test_a_record_that_is_read_again_by_us_is_no_second_copy():
    play = Played()
    for number in range(9):
        play.send(number, float(number))
        play.record(Intact(stamp(number)), number + 0.1)
        play.target_offset -= 1
        play.record(Intact(stamp(number)), number + 0.3)
    assert not [one for one in play.said if isinstance(one, TwoWriters)]
