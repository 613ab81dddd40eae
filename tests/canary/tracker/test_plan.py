"""How many partitions are probed, and when: an open loop that no late asker moves."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.plan import (
    MAX_TICKS_AT_ONCE,
    Schedule,
    Tick,
    even_interval_s,
    first_tick_ns,
    partitions_for,
)
from canary.watch.unreached import Side, UnreachedBroker, unreached_brokers

S = 1_000_000_000
MS = 1_000_000


@pytest.mark.parametrize(
    ("source", "target", "tasks", "at_most", "wanted"),
    [
        (3, 5, 1, 64, 5),
        (3, 1, 1, 64, 3),
        (3, 3, 12, 64, 12),
        (100, 3, 1, 64, 64),
        (0, 0, 0, 64, 1),
        (3, 3, 8, 2, 2),
    ],
)
def test_as_many_partitions_as_reach_every_broker_and_task(source, target, tasks, at_most, wanted):
    found = partitions_for(source_brokers=source, target_brokers=target, tasks_max=tasks, at_most=at_most)
    assert found == wanted


@given(
    st.integers(1, 20),
    st.integers(S // 10, 10 * S),
    st.lists(st.integers(0, 20 * S), min_size=1, max_size=20),
)
@settings(deadline=None)
def test_the_instants_are_the_same_however_late_somebody_asks(partitions, interval_ns, delays):
    start = 7 * S
    late = Schedule(start_ns=start, interval_ns=interval_ns, partitions=partitions)
    told, now = [], start
    for delay in delays:
        now += delay
        told += late.due(now)
        assert late.next_ns > now
    expected = []
    for number in range(len(told) + 1):
        at = start + number * interval_ns // partitions
        expected.append(Tick(number % partitions, at))
    assert told == expected[:-1]
    assert expected[-1].at_ns == late.next_ns > now


def test_ticks_are_spread_evenly_over_the_interval():
    schedule = Schedule(start_ns=0, interval_ns=S, partitions=4)
    assert schedule.due(-1) == []
    assert [(tick.partition, tick.at_ns / S) for tick in schedule.due(S)] == [
        (0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75), (0, 1.0),
    ]  # fmt: skip


@given(st.integers(1, 64), st.integers(10 * MS, S))
@settings(deadline=None)
def test_every_partition_keeps_its_interval_and_no_two_share_an_instant(partitions, interval_ns):
    ticks = Schedule(start_ns=0, interval_ns=interval_ns, partitions=partitions).due(2 * interval_ns - 1)
    assert [tick.partition for tick in ticks] == 2 * list(range(partitions))
    assert all(b.at_ns - a.at_ns == interval_ns for a, b in zip(ticks, ticks[partitions:], strict=False))
    assert {b.at_ns - a.at_ns - interval_ns // partitions for a, b in pairwise(ticks)} <= {0, 1}


def test_an_hour_of_ticks_comes_in_portions_and_none_is_left_out():
    schedule = Schedule(start_ns=0, interval_ns=S, partitions=64)
    portions = []
    while schedule.next_ns <= 3600 * S:
        portions.append(schedule.due(3600 * S))
    assert [len(portion) for portion in portions[:-1]] == [MAX_TICKS_AT_ONCE] * (len(portions) - 1)
    assert sum(map(len, portions)) == 3600 * 64 + 1


@pytest.mark.parametrize(
    ("interval_s", "partitions", "max_rate", "used_s"),
    [
        (1.0, 64, 1000, 1.0),
        (1.0, 1000, 1000, 1.0),  # exactly as many as may be
        (1.0, 1001, 1000, 1.1),  # in steps of a tenth, upwards
        (1.0, 1100, 1000, 1.1),
        (0.1, 300, 1000, 0.3),
        (0.01, 7, 1000, 0.01),
        (1.0, 64_000, 1000, 64.0),
        (2.0, 3, 1, 3.0),
        (1.0, 0, 1000, 1.0),
    ],
)
def test_no_more_probes_than_the_greatest_rate(interval_s, partitions, max_rate, used_s):
    found = even_interval_s(interval_s, partitions=partitions, max_rate=max_rate)
    assert found == pytest.approx(used_s)


@given(st.floats(0.01, 3600), st.integers(0, 64_000), st.integers(1, 100_000))
def test_the_rate_holds_and_is_not_missed_by_much(interval_s, partitions, max_rate):
    used_s = even_interval_s(interval_s, partitions=partitions, max_rate=max_rate)
    assert used_s >= interval_s
    assert partitions / used_s <= max_rate * (1 + 1e-6)
    if used_s > interval_s:
        assert partitions / max_rate > used_s - interval_s / 10 - 1e-6 * interval_s


@given(st.integers(0, 10**18), st.integers(S // 100, 3600 * S), st.integers(1, 1000), st.text(max_size=20))
def test_a_source_has_its_place_whenever_it_begins(now_ns, interval_ns, partitions, source):
    def begin(at_ns):
        return first_tick_ns(at_ns, source=source, interval_ns=interval_ns, partitions=partitions)

    grain_ns = min(interval_ns // partitions, S)
    assert 0 <= begin(now_ns) - now_ns < min(S, interval_ns)
    assert begin(begin(now_ns)) == begin(now_ns)
    assert (begin(now_ns + 7 * S // 3) - begin(now_ns)) % grain_ns == 0


def test_sources_that_begin_together_do_not_send_together():
    begun = {first_tick_ns(0, source=name, interval_ns=S, partitions=4) for name in "ABCDEFGH"}
    assert len(begun) == 8
    assert all(0 <= at < S // 4 for at in begun)


def test_brokers_without_a_leader_of_ours_are_not_reached():
    found = unreached_brokers("B", (3, 1, 2), (1, None, 1, 9), side=Side.TARGET)
    assert found == (UnreachedBroker("B", 2, Side.TARGET), UnreachedBroker("B", 3, Side.TARGET))
    assert unreached_brokers("B", (1,), (1, 1), side=Side.SOURCE) == ()
    assert f"{found[0].side}" == "target"
