"""How many partitions are probed, and when: an open loop that no late asker moves."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.plan import MAX_TICKS_AT_ONCE, Schedule, Tick, partitions_for

S = 1_000_000_000


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


def test_an_hour_of_ticks_comes_in_portions_and_none_is_left_out():
    schedule = Schedule(start_ns=0, interval_ns=S, partitions=64)
    portions = []
    while schedule.next_ns <= 3600 * S:
        portions.append(schedule.due(3600 * S))
    assert [len(portion) for portion in portions[:-1]] == [MAX_TICKS_AT_ONCE] * (len(portions) - 1)
    assert sum(map(len, portions)) == 3600 * 64 + 1
