"""The minutes in the store, each once: over replicas, incarnations and adoption, and by whole days."""

from __future__ import annotations

from functools import partial

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from canary.persistence import history, leases, tables
from canary.persistence.bookkeeper import MIGRATIONS
from canary.tracker.minutes import COLUMNS
from fleet.probe_history import DAY_MINUTES, ProbeDay, ProbeMinute
from runtime.store.store import Store
from tests.databases import DATABASES, address_of

FLOW = "A->B"
DAY = 20_000
START = DAY * DAY_MINUTES


@pytest.fixture(params=DATABASES)
async def store(request, tmp_path):
    found = Store(address_of(request, tmp_path), migrations=MIGRATIONS)
    await found.open()
    yield found
    await found.close()


def row(**counts):
    return tuple(counts.get(name, 0) for name in COLUMNS)


def good(count):
    return row(expected=count, settled=count, good=count)


def write(connection, minute, counts, *, of="a1", by=None, replica="r1", flow=FLOW):
    tables.keep_minutes(connection, {(flow, of, minute): counts}, replica=replica, incarnation=by or of)


def begin(connection, incarnation, replica):
    leases.begin(connection, incarnation, replica=replica, process="{}", flows=[FLOW], now_at=0.0)


def days(connection, *spans):
    return list(history.probe_days(connection, FLOW, spans or [(START, START + DAY_MINUTES)]))


async def written(store, *writes):
    def all_of(connection):
        for one in writes:
            one(connection)

    await store.write(all_of)


async def test_minutes_with_anything_bad_are_kept_apart(store):
    bad = row(expected=60, settled=59, good=50, late=4, overdue=3, lost=2, unknown=1, confirmed=1)
    await written(
        store,
        lambda c: write(c, START, good(60)),
        lambda c: write(c, START + 1, bad),
        lambda c: write(c, START + 2, row(expected=2, skipped=1, warmup=1)),
        lambda c: write(c, START, good(7), flow="B->A"),
    )
    uneven = (
        ProbeMinute(START + 1, 59, 50, 4, 3, 2, 1, 1, 0),
        ProbeMinute(START + 2, 0, 0, 0, 0, 0, 0, 0, 2),
    )
    assert await store.read(days) == [ProbeDay(DAY, 1, 60, uneven)]


async def test_incarnations_of_one_replica_add_up_and_replicas_do_not(store):
    await written(
        store,
        lambda c: begin(c, "a1", "r1"),
        lambda c: begin(c, "a2", "r1"),
        lambda c: begin(c, "b1", "r2"),
        lambda c: write(c, START, good(20), of="a1"),
        lambda c: write(c, START, good(35), of="a2"),
        lambda c: write(c, START, good(50), of="b1", replica="r2"),
        lambda c: write(c, START + 1, good(30), of="a2"),
        lambda c: write(c, START + 1, good(60), of="b1", replica="r2"),
    )
    assert await store.read(days) == [ProbeDay(DAY, 2, 55 + 60, ())]


async def test_what_another_replica_took_over_belongs_to_the_one_that_sent_it(store):
    await written(
        store,
        lambda c: begin(c, "a1", "r1"),
        lambda c: begin(c, "b1", "r2"),
        lambda c: write(c, START, good(40), of="a1"),
        lambda c: write(c, START, row(expected=20, settled=20, overdue=20), of="a1", by="b1", replica="r2"),
        lambda c: write(c, START, good(50), of="b1", replica="r2"),
    )
    assert await store.read(days) == [ProbeDay(DAY, 0, 0, (ProbeMinute(START, 60, 40, 0, 20, 0, 0, 0, 0),))]


async def test_spans_leave_out_what_is_between_them(store):
    await written(store, *(partial(write, minute=START + n, counts=good(1)) for n in range(10)))
    spans = [(START + 1, START + 3), (START + 6, START + 7), (START + DAY_MINUTES, START + DAY_MINUTES + 5)]
    found = await store.read(lambda c: days(c, *spans))
    assert found == [ProbeDay(DAY, 3, 3, ()), ProbeDay(DAY + 1, 0, 0, ())]


def roll_up(connection, day):
    history.tidy(connection, [FLOW], before=day + 1, at_most=1)


async def test_a_day_in_one_row_reads_as_its_minutes_until_one_is_written_again(store):
    await written(
        store,
        lambda c: write(c, START, good(60)),
        lambda c: write(c, START + 5, row(expected=3, settled=3, good=1, lost=2)),
        lambda c: write(c, START + 2 * DAY_MINUTES, good(60)),
    )
    plain = await store.read(days)
    due = partial(tables.DAY_ROWS.missing, flows=[FLOW], before=DAY + 2, at_most=10)
    assert await store.read(due) == [(FLOW, DAY + 1), (FLOW, DAY)]
    await written(store, *(partial(roll_up, day=day) for day in (DAY, DAY + 1)))
    assert await store.read(due) == []
    assert await store.read(days) == plain
    await written(store, lambda c: write(c, START + 5, good(3)))
    assert await store.read(due) == [(FLOW, DAY)]
    assert await store.read(days) == [ProbeDay(DAY, 2, 63, ())]


async def test_a_part_of_a_day_is_read_by_the_minute(store):
    await written(store, *(partial(write, minute=START + n, counts=good(1)) for n in range(10)))
    await written(store, lambda c: roll_up(c, DAY))
    found = await store.read(lambda c: days(c, (START, START + 4), (START + 5, START + DAY_MINUTES)))
    assert found == [ProbeDay(DAY, 9, 9, ())]


async def test_old_days_go_with_their_minutes(store):
    await written(store, lambda c: write(c, START, good(1)), lambda c: roll_up(c, DAY))
    await written(store, lambda c: tables.DAY_ROWS.delete_old(c, before=START + 1))
    assert await store.read(days) == [ProbeDay(DAY, 0, 0, ())]


async def test_old_minutes_are_deleted_a_day_at_a_time_and_of_all_flows(store):
    flows = ("A->B", "B->A", "a->b")
    minutes = [START + day * DAY_MINUTES + 7 for day in range(3)]

    def add(connection):
        for flow in flows:
            rows = {(flow, "a1", minute): row(good=1) for minute in minutes}
            tables.keep_minutes(connection, rows, replica="r", incarnation="a1")
            history.tidy(connection, [flow], before=DAY + 4, at_most=9)

    def left(connection):
        columns = tables.MINUTES.c.flow, tables.MINUTES.c.minute
        found = connection.execute(sa.select(*columns)).all()
        days = connection.execute(sa.select(tables.DAYS.c.day)).scalars().all()
        return {flow: [minute for one, minute in found if one == flow] for flow in flows}, sorted(set(days))

    await written(store, add)
    delete = partial(tables.DAY_ROWS.delete_oldest, flow="A->B", before=minutes[2])
    assert [await store.write(delete), await store.write(delete)] == [True, False]
    found, _ = await store.read(left)
    assert found == {"A->B": minutes[2:], "B->A": minutes, "a->b": minutes}
    await store.write(partial(tables.DAY_ROWS.delete_old, before=minutes[2]))
    assert await store.read(left) == (dict.fromkeys(flows, minutes[2:]), [DAY + 3])
    await store.write(partial(tables.DAY_ROWS.delete_old, before=minutes[2] + 1))
    assert await store.read(left) == ({flow: [] for flow in flows}, [DAY + 3])
    await store.write(partial(tables.DAY_ROWS.delete_old, before=minutes[2] + DAY_MINUTES))
    assert await store.read(left) == ({flow: [] for flow in flows}, [])


REPLICAS = {"a1": "r1", "a2": "r1", "b1": "r2"}
PARTS = st.dictionaries(
    st.tuples(st.sampled_from(sorted(REPLICAS)), st.integers(0, 2)),
    st.lists(st.integers(0, 3), min_size=len(COLUMNS), max_size=len(COLUMNS)),
    max_size=9,
)


@given(PARTS)
def test_days_equal_a_plain_count(parts):
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        for table in (tables.MINUTES, tables.DAYS, leases.INCARNATIONS):
            table.create(connection)
        for incarnation, replica in REPLICAS.items():
            begin(connection, incarnation, replica)
        for (of, minute), counts in parts.items():
            write(connection, START + minute, tuple(counts), of=of, replica=REPLICAS[of])
        found = days(connection)
        roll_up(connection, DAY)
        assert days(connection) == (found or [ProbeDay(DAY, 0, 0, ())])
    engine.dispose()
    settled = 0
    for minute in range(3):
        by_replica = dict.fromkeys(REPLICAS.values(), 0)
        for (of, at), counts in parts.items():
            if at == minute:
                by_replica[REPLICAS[of]] += dict(zip(COLUMNS, counts, strict=True))["settled"]
        settled += max(by_replica.values())
    assert sum(one.even_probes + sum(each.settled for each in one.uneven) for one in found) == settled
