"""Minutes of measured ages: samples in, rows in the store, each minute once, and days in one row."""

from __future__ import annotations

from functools import partial

import pytest

from alerts.minutes import SAMPLE_S, MinuteRecorder, Sample, tables
from alerts.objectives import Exclusion
from fleet.probe_history import DAY_MINUTES, ValueRun, without
from runtime.store.store import Store
from tests.databases import DATABASES, address_of

FLOW = "A->B"
DAY = 20_000
START = DAY * DAY_MINUTES
SPAN = [(START, START + DAY_MINUTES)]


@pytest.fixture(params=DATABASES)
async def store(request, tmp_path):
    found = Store(address_of(request, tmp_path), migrations=tables.MIGRATIONS)
    await found.open()
    yield found
    await found.close()


def test_a_minute_is_reported_once_with_its_worst_when_it_is_over():
    recorder = MinuteRecorder()
    for second, lag_s in ((0, 1.0), (5, 9.0), (10, None), (55, 2.0)):
        sample = Sample(lag_s=lag_s, recovery_point_s=3.0 if second else None, audited_at=100.0 - second)
        assert recorder.take(START * 60 + second, {FLOW: sample}) == {}
    told = recorder.take((START + 1) * 60, {FLOW: Sample()})
    assert told == {FLOW: ValueRun(START, 1, 4 * SAMPLE_S, 9.0, 3.0, 45.0)}
    assert recorder.end() == {FLOW: ValueRun(START + 1, 1, SAMPLE_S, None, None, None)}
    assert recorder.end() == {}


def test_a_clock_that_is_set_back_repeats_no_minute():
    recorder = MinuteRecorder()
    recorder.take(START * 60 + 5, {FLOW: Sample()})
    assert recorder.take(START * 60 - 30, {FLOW: Sample(lag_s=5.0)}) == {}
    assert recorder.end() == {FLOW: ValueRun(START, 1, SAMPLE_S, None, None, None)}


def test_after_the_end_of_a_minute_an_earlier_one_counts():
    recorder = MinuteRecorder()
    recorder.take(START * 60 + 5, {FLOW: Sample()})
    recorder.end()
    recorder.take(START * 60 - 30, {FLOW: Sample(lag_s=5.0)})
    assert recorder.end() == {FLOW: ValueRun(START - 1, 1, SAMPLE_S, 5.0, None, None)}


def run(minute, *, observed_s=60, lag_s=None, point_s=None, audited_at=None):
    return ValueRun(START + minute, 1, observed_s, lag_s, point_s, audited_at)


async def keep(store, *rows, replica="r1", incarnation="a1"):
    flows = [(FLOW, row) for row in rows]
    await store.write(partial(tables.keep_minutes, rows=flows, replica=replica, incarnation=incarnation))


async def read(store, *, spans=SPAN, exact=True):
    return await store.read(partial(tables.read_days, flow=FLOW, spans=spans, exact=exact))


async def test_incarnations_add_up_and_of_two_replicas_the_one_counts_that_saw_most(store):
    await keep(store, run(0, observed_s=20, lag_s=1.0, audited_at=9.0))
    await keep(store, run(0, observed_s=30, lag_s=7.0, audited_at=5.0), incarnation="a2")
    await keep(store, run(0, observed_s=45, lag_s=99.0), replica="r2", incarnation="b1")
    await keep(store, run(1, observed_s=45, lag_s=2.0), replica="r2", incarnation="b1")
    merged = [run(0, observed_s=50, lag_s=7.0, audited_at=5.0), run(1, observed_s=45, lag_s=2.0)]
    assert await read(store) == [(DAY, merged)]


async def test_a_day_in_one_row_joins_what_is_alike_until_a_minute_is_written_again(store):
    ages = [(1.0, 2.0), (3.0, 29.0), (31.0, 2.0), (31.0, 4.0), (None, 4.0)]
    rows = [run(n, lag_s=lag, point_s=point, audited_at=7.0) for n, (lag, point) in enumerate(ages)]
    await keep(store, *rows)
    tidy = partial(tables.tidy, flows=[FLOW], before=DAY + 1, at_most=5)
    assert [await store.write(tidy), await store.write(tidy)] == [1, 0]
    assert await read(store) == [(DAY, rows)]
    floor_s = tables.FLOOR_S
    assert await read(store, exact=False) == [
        (
            DAY,
            [
                ValueRun(START, 2, 60, floor_s, floor_s, 7.0),
                ValueRun(START + 2, 2, 60, 31.0, floor_s, 7.0),
                ValueRun(START + 4, 1, 60, None, floor_s, 7.0),
            ],
        )
    ]
    part = [(START + 1, START + 2)]
    assert await read(store, spans=part, exact=False) == [(DAY, rows[1:2])]
    await keep(store, rows[0])
    assert await read(store, exact=False) == [(DAY, rows)]
    await store.write(partial(tables.delete_old, minutes_before=START + 4))
    assert await read(store) == [(DAY, rows[4:])]


async def test_exclusions_are_numbered_listed_and_removed(store):
    one = Exclusion(0, FLOW, START, START + 5, "Ann", "maintenance")
    numbers = [await store.write(partial(tables.exclude, one=one, made_at=1.0)) for _ in range(2)]
    assert numbers == [1, 2]
    remove = partial(tables.include, number=1)
    assert [await store.write(remove), await store.write(remove)] == [True, False]
    (left,) = await store.read(tables.exclusions)
    assert (left.number, left.author, left.until) == (2, "Ann", START + 5)


@pytest.mark.parametrize(
    ("left_out", "left"),
    [
        ([], [(10, 20)]),
        ([(0, 10), (20, 30)], [(10, 20)]),
        ([(12, 14), (13, 16)], [(10, 12), (16, 20)]),
        ([(0, 12), (19, 25)], [(12, 19)]),
        ([(12, 18), (13, 14)], [(10, 12), (18, 20)]),
        ([(0, 30)], []),
    ],
)
def test_what_is_left_of_a_span(left_out, left):
    assert without((10, 20), left_out) == left


async def test_tidying_ends_where_the_first_minutes_of_a_day_are_deleted(store):
    await keep(store, run(5), run(9), run(DAY_MINUTES))
    await store.write(partial(tables.delete_old, minutes_before=START + 7))
    tidy = partial(tables.tidy, flows=[FLOW], before=DAY + 2, at_most=9)
    assert [await store.write(tidy) for _ in range(2)] == [1, 0]
    assert [run.first for _, runs in await read(store, exact=False) for run in runs] == [START + 9]
