"""The canary's memory on a real store: nothing is lost by a store that fails, nothing is written twice."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from dataclasses import replace

import pytest

from canary.persistence import bookkeeper, saving
from canary.persistence.bookkeeper import AGAIN_S, KEEP_S, TIDY_S, TIDYING, UNWATCHED_S
from canary.persistence.saving import TakenOverError
from canary.tracker.events import TargetRead, TopicReplaced
from canary.watch.findings import MAX_LOSSES
from fleet.errors import UnavailableError
from fleet.verdicts.evidence import FindingKind
from tests.canary.desk import DAY_S, DEAD_HERE
from tests.canary.pretend_link import TOPIC_ID
from tests.eventually import eventually_async

MINUTE = 1_800_000_000 // 60


@contextlib.contextmanager
def away(path):
    """Let the store's file be somewhere else for a while: every write fails, and at once."""
    elsewhere = path.with_suffix(".away")
    path.rename(elsewhere)
    yield
    elsewhere.rename(path)


@contextlib.contextmanager
def held(path):
    """Let another program hold the store for writing."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_what_was_kept_is_what_the_next_process_begins_with(desks):
    one = await desks()
    await one.begin()
    for sequence in range(4):
        one.send(sequence)
    one.arrive(0)
    one.arrive(1)
    one.arrive(1)  # a second time
    one.bookkeeper.note_carried("A->B", TOPIC_ID, 0)
    assert await one.keep()
    assert await one.rows("minute", "expected", "settled", "good") == [(MINUTE, 2, 2, 2)]
    await one.change_lease(one.bookkeeper.incarnation, process=DEAD_HERE)

    two = await desks()
    inherited = (await two.begin())["A->B"]
    (left,) = inherited.left.values()
    ((target_topic_id, coverage),) = left.coverages
    assert inherited.left.keys() == {one.bookkeeper.incarnation}
    assert left.begun_at == desks.clock.began_wall_s
    assert target_topic_id == ""
    assert coverage.covered == ((0, 1),)
    assert coverage.absent == ()
    assert (coverage.source_from, coverage.target_from) == (2, 3)
    assert inherited.carried == {(TOPIC_ID, 0)}
    assert [finding.kind.value for finding in inherited.findings] == ["duplicated"]
    assert two.events == [
        (
            "taking over the probes of an earlier process",
            {"incarnation": one.bookkeeper.incarnation, "replica": "here"},
        )
    ]


async def test_a_restart_in_an_outage_does_not_forget_when_the_last_probe_arrived(desks):
    one = await desks()
    await one.begin()
    one.send(0)
    one.arrive(0)
    arrived_at = desks.clock.wall_s()
    assert await one.keep()
    for _ in range(2):  # two restarts: the first of them sees no arrival
        await one.change_lease(one.bookkeeper.incarnation, process=DEAD_HERE)
        desks.clock.advance(600)
        one = await desks()
        await one.begin()
        assert last_arrival_at(one) is None
        one.send(0)
        desks.clock.advance(1.5)
        assert last_arrival_at(one) is None  # it may be on its way
        desks.clock.advance(1)
        assert last_arrival_at(one) == pytest.approx(arrived_at, abs=1e-3)
        assert await one.keep()
    one.arrive(0)
    assert last_arrival_at(one) == desks.clock.wall_s()


async def test_what_an_earlier_process_saw_does_not_count_while_nothing_waits(desks):
    one = await desks()
    await one.begin()
    one.send(0)
    one.arrive(0)
    assert await one.keep()
    await one.change_lease(one.bookkeeper.incarnation, process=DEAD_HERE)
    two = await desks()
    await two.begin()
    desks.clock.advance(600)  # the source is away: nothing was sent
    assert last_arrival_at(two) is None


def last_arrival_at(desk):
    watch = desk.flows["A->B"].watch
    return watch.last_arrival_at(watch.summary(desk.now.ns), desk.now)


async def test_the_last_losses_are_there_after_a_restart_however_old_they_are(desks):
    one = await desks()
    await one.begin("A->B", "A->C")
    for sequence in range(MAX_LOSSES + 2):
        desks.clock.advance(60)
        one.send(2 * sequence)
        one.send(2 * sequence + 1)
        one.arrive(2 * sequence + 1)  # the one before it is lost
        one.flows["A->B"].watch.handle(TargetRead(0, one.offset, one.offset), one.now)
    one.send(0, "A->C")
    lost = list(one.flows["A->B"].watch.found.losses)
    assert [loss.sequence for loss in lost[:2]] == [2 * MAX_LOSSES + 2, 2 * MAX_LOSSES]
    await one.keep()
    await one.bookkeeper.end(one.flows)
    desks.clock.advance(DAY_S)
    two = await desks()
    inherited = await two.begin("A->B", "A->C")
    assert inherited["A->B"].findings == ()  # they are too old for a verdict
    assert list(two.flows["A->B"].watch.found.losses) == [replace(loss, sequence=None) for loss in lost]
    assert list(two.flows["A->C"].watch.found.losses) == []


async def test_findings_of_before_the_clock_was_set_back_are_no_later_than_now(desks):
    one = await desks()
    await one.begin()
    for sequence in range(3):
        desks.clock.advance(100)
        one.send(2 * sequence)
        one.send(2 * sequence + 1)
        one.arrive(2 * sequence + 1)  # the one before it is lost
        one.flows["A->B"].watch.handle(TargetRead(0, one.offset, one.offset), one.now)
    await one.keep()
    await one.bookkeeper.end(one.flows)
    desks.clock.began_wall_s -= 3600
    desks.clock.advance(10)
    two = await desks()
    inherited = (await two.begin())["A->B"]
    now_at = desks.clock.wall_s()
    for found in (inherited.findings, inherited.losses):
        lost = [finding for finding in found if finding.kind is FindingKind.LOST]
        assert [round(finding.at - now_at) for finding in lost] == [-200, -100, 0]
        assert all(finding.began_at <= finding.at for finding in lost)
    watched = two.flows["A->B"].watch.found
    assert [finding.count for finding in watched.all() if finding.kind is FindingKind.LOST] == [1, 1, 1]


async def test_rows_are_written_whole_and_of_each_writer_apart(desks):
    one = await desks()
    await one.begin()
    one.send(0)
    one.send(1)
    one.arrive(0)
    await one.keep()
    await one.keep()
    await one.change_lease(one.bookkeeper.incarnation, process=DEAD_HERE)
    two = await desks(replica="there")
    await two.begin()
    two.send(0)
    two.arrive(0)
    two.find_on_source(one.bookkeeper.incarnation, 1)
    await two.keep()
    desks.clock.advance(9)
    two.rest()  # its horizon
    await two.keep()
    await two.keep()
    first, second = one.bookkeeper.incarnation, two.bookkeeper.incarnation
    found = await two.rows("replica", "incarnation", "probes_of", "expected", "good", "overdue")
    assert sorted(found) == sorted(
        [
            ("here", first, first, 1, 1, 0),
            ("there", second, second, 1, 1, 0),
            ("there", second, first, 1, 0, 1),
        ]
    )


async def test_a_store_that_fails_keeps_nothing_back_for_ever(file_desks):
    one = await file_desks()
    await one.begin()
    with away(file_desks.path):
        for sequence in range(3):
            one.send(sequence)
            one.arrive(sequence)
            one.arrive(sequence)
            file_desks.clock.advance(60)
            one.bookkeeper.note_carried("A->B", TOPIC_ID, sequence)
            assert not await one.keep()
        assert one.told == [(False, one.told[0][1])] * 3
        assert one.problems == {"store": one.told[0][1]}
        assert str(file_desks.path) in one.told[0][1]
    one.send(3)
    one.arrive(3)
    assert await one.keep()
    assert one.problems == {}
    assert one.told[-1] == (True, "")
    assert await one.rows("minute - 30000000", "good") == [(number, 1) for number in range(4)]
    assert await one.select("select covered from canary_coverage") == [("[[0,3]]",)]
    assert await one.select("select count(*), sum(count) from canary_findings") == [(3, 3)]
    assert await one.select("select partition from canary_carried order by 1") == [(0,), (1,), (2,)]


async def test_findings_that_wait_for_a_store_that_fails_are_not_kept_for_ever(file_desks, monkeypatch):
    monkeypatch.setattr(bookkeeper, "MAX_WAITING_FINDINGS", 3)
    one = await file_desks()
    await one.begin()
    with away(file_desks.path):
        for sequence in range(5):
            one.send(sequence)
            one.arrive(sequence)
            one.arrive(sequence)
            file_desks.clock.advance(60)
            one.bookkeeper.take(one.flows["A->B"])
        given_up = "the store cannot be written for a long time: the oldest findings are dropped (3 wait)"
        assert one.problems == {"store": given_up}
    assert await one.keep()
    began_at = file_desks.clock.began_wall_s
    assert await one.select("select found_at from canary_findings order by 1") == [
        (began_at + 60 * number,)
        for number in (3, 4, 4)  # the fifth twice in a row proves a second writer
    ]


async def test_a_finding_that_grows_is_one_row_with_both_its_instants(desks):
    one = await desks()
    await one.begin()
    one.send(0)
    one.arrive(0)
    for _ in range(6):
        one.arrive(0)
        assert await one.keep()
        desks.clock.advance(4)
    began_at = desks.clock.began_wall_s
    assert await one.select("select found_at, last_found_at, target_offset, count from canary_findings") == [
        (began_at, began_at + 20, 6, 6)
    ]
    two = await desks()
    (found,) = (await two.bookkeeper.load())["A->B"].findings
    assert (found.began_at, found.at, found.target_offset, found.count) == (began_at, began_at + 20, 6, 6)


@pytest.mark.parametrize("written", [True, False], ids=["written", "waiting"])
async def test_a_loop_that_was_called_fixed_comes_back_with_no_start(file_desks, written):
    one = await file_desks()
    await one.begin("A->B", "A->C")
    for flow in one.flows:
        one.send(0, flow)
        for _ in range(2):
            one.arrive(0, flow)
    if written:
        assert await one.keep()
    with away(file_desks.path):
        assert not await one.keep()
    held = one.flows["A->B"]
    one.bookkeeper.take(held)
    held.watch.found.forget_loops()
    one.bookkeeper.forget_loops("A->B")
    with away(file_desks.path):  # the mark waits as well
        assert not await one.keep()
    file_desks.clock.advance(2)
    assert await one.keep()
    assert await one.select("select flow from canary_findings") == [("A->C",)]
    one.arrive(0)  # another probe tells it again
    assert await one.keep()
    assert await one.keep()
    assert await one.select("select flow from canary_findings order by 1") == [("A->B",), ("A->C",)]


async def test_it_continues_every_second_and_less_often_while_the_store_fails(file_desks):
    one = await file_desks()
    await one.begin()
    with away(file_desks.path):
        keeping = asyncio.create_task(one.bookkeeper.keep(one.flows))
        await eventually_async(lambda: len(one.told) >= 2, 20)
        assert set(file_desks.clock.waits_s) == {AGAIN_S}
    await eventually_async(lambda: one.told[-1][0], 20)
    await eventually_async(lambda: file_desks.clock.waits_s[-1] == KEEP_S, 20)
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping


async def test_a_write_that_is_cancelled_loses_nothing(file_desks):
    one = await file_desks(limit_s=60.0)
    await one.begin()
    one.send(0)
    one.arrive(0)
    with held(file_desks.path):
        keeping = asyncio.create_task(one.bookkeeper.keep(one.flows))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        keeping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await keeping
        assert one.told == []
    await one.bookkeeper.end(one.flows)
    assert await one.rows("expected", "good") == [(1, 1)]
    assert await one.select("select covered from canary_coverage") == [("[[0,0]]",)]
    assert await one.select("select ended from canary_incarnations") == [(1,)]


async def test_rows_that_wait_for_a_dead_store_are_bounded_and_the_newest_stay(file_desks, monkeypatch):
    monkeypatch.setattr(bookkeeper, "MAX_ROWS", 3)
    one = await file_desks()
    await one.begin()
    with away(file_desks.path):
        for sequence in range(6):
            one.send(sequence)
            one.arrive(sequence)
            assert not await one.keep()
            file_desks.clock.advance(60)
    one.send(6)
    one.arrive(6)
    assert await one.keep()
    assert await one.rows("minute - 30000000", "good") == [(4, 1), (5, 1), (6, 1)]
    assert await one.select("select covered from canary_coverage") == [("[[0,6]]",)]


async def test_a_process_that_was_taken_over_writes_nothing_more(desks):
    one = await desks()
    await one.begin()
    one.send(0)
    one.arrive(0)
    await one.keep()
    await one.change_lease(one.bookkeeper.incarnation, process=DEAD_HERE)  # as a wrong guess would have it
    two = await desks()
    assert (await two.begin())["A->B"].left
    one.send(1)
    one.arrive(1)
    with pytest.raises(TakenOverError, match=r"took over the probes of this one.*restart mirrorwatch"):
        await one.keep()
    with pytest.raises(TakenOverError):
        await one.bookkeeper.end(one.flows)
    assert await one.rows("incarnation", "good") == [(one.bookkeeper.incarnation, 1)]
    assert await one.select("select covered from canary_coverage") == [("[[0,0]]",)]


async def test_old_minutes_and_findings_are_deleted_and_nothing_else(desks):
    one = await desks(minutes_s=10 * 60, findings_s=5 * 60)
    await one.begin()
    await one.keep()  # the first write tidies
    for sequence in range(20):
        one.send(sequence)
        one.arrive(sequence)
        one.arrive(sequence)
        await one.keep()
        desks.clock.advance(60)
    assert len(await one.rows("minute")) == 20  # the next time is in an hour
    desks.clock.advance(TIDY_S - 20 * 60)
    await one.keep()
    assert len(await one.rows("minute")) == 20
    desks.clock.now_ns -= int((TIDY_S - 21 * 60) * 1e9)
    two = await desks(minutes_s=10 * 60, findings_s=5 * 60)
    await two.begin()
    await two.keep()
    now = int(desks.clock.wall_s())
    assert await one.rows("minute") == [(minute,) for minute in range(now // 60 - 10, MINUTE + 20)]
    oldest = await one.select("select min(found_at), count(*) from canary_findings")
    assert oldest == [(now - 5 * 60, 8)]  # each minute a duplicate, and that a second writer sends them
    assert await one.select("select covered from canary_coverage") == [("[[0,19]]",)]
    assert len(await one.leases()) == 2


async def test_old_rows_are_deleted_flow_by_flow_and_a_day_at_a_time(desks):
    one = await desks(minutes_s=DAY_S, findings_s=DAY_S)
    await one.begin("A->B", "A->C")
    await one.keep()
    for sequence in range(4):
        for flow in one.flows:
            one.send(sequence, flow)
            one.arrive(sequence, flow)
            one.arrive(sequence, flow)
            one.bookkeeper.take(one.flows[flow])
        await one.bookkeeper._write()
        desks.clock.advance(DAY_S)

    async def left():
        rows = await one.rows("flow", f"minute - {MINUTE}")
        return [[minute // 1440 for flow, minute in rows if flow == name] for name in ("A->B", "A->C")]

    assert await left() == [[0, 1, 2, 3], [0, 1, 2, 3]]
    found = []
    while one.bookkeeper._tidy_due():
        await one.keep()
        found.append(await left())
    assert found[:3] == [[list(range(first, 4)), [0, 1, 2, 3]] for first in (1, 2, 3)]
    assert found[-1] == [[3], [3]]
    assert await one.select("select flow, count(*) from canary_findings group by flow order by flow") == [
        ("A->B", 1),
        ("A->C", 1),
    ]
    assert not one.bookkeeper._tidied_to


async def test_a_clean_up_that_fails_holds_up_no_changes_and_is_tried_again_later(desks, monkeypatch):
    one = await desks()
    await one.begin()

    def fail(_connection, **_):
        raise UnavailableError("it takes too long")

    tidy = saving.tidy
    monkeypatch.setattr(saving, "tidy", fail)
    one.send(0)
    one.arrive(0)
    assert await one.keep()
    assert one.problems == {TIDYING: "it takes too long"}
    assert await one.rows("expected", "good") == [(1, 1)]
    assert not one.bookkeeper._tidy_due()
    monkeypatch.setattr(saving, "tidy", tidy)
    desks.clock.advance(TIDY_S + 1)
    assert await one.keep()
    assert one.problems == {}


async def test_what_was_taken_over_is_closed_once_every_flow_has_finished_with_it(desks):
    one = await desks()
    await one.begin("A->B", "A->C")
    for flow in one.flows:
        one.send(0, flow)
    await one.keep()
    await one.bookkeeper.end(one.flows)
    two = await desks()
    assert set(await two.begin("A->B", "A->C")) == {"A->B", "A->C"}
    for flow in two.flows:
        two.find_on_source(one.bookkeeper.incarnation, 0, flow)
    desks.clock.advance(700)
    two.rest()
    two.read_source(1, "A->B")
    await two.keep()
    await two.keep()
    assert one.bookkeeper.incarnation in await two.leases()  # A->C has not read the source to its end
    two.read_source(1, "A->C")
    two.flows["A->B"].watch.handle(TopicReplaced(TOPIC_ID, desks.clock.monotonic_ns()), two.now)
    await two.keep()
    await two.keep()
    assert (await two.leases())[one.bookkeeper.incarnation].flows == {"A->C"}
    two.flows["A->C"].watch.handle(TopicReplaced(TOPIC_ID, desks.clock.monotonic_ns()), two.now)
    await two.keep()
    await two.keep()
    assert await two.select("select sum(overdue), sum(closed) from canary_minutes") == [(2, 2)]
    assert one.bookkeeper.incarnation not in await two.leases()
    assert (await (await desks()).begin()) == {}


async def test_the_next_process_takes_over_what_is_left_for_the_flows_that_have_not_finished_and_no_others(
    desks,
):
    one = await desks()
    await one.begin("A->B", "A->C")
    await one.keep()
    await one.bookkeeper.end(one.flows)
    two = await desks()
    await two.begin("A->B", "A->C")
    desks.clock.advance(9)
    two.rest()
    two.read_source(0, "A->B")
    await two.keep()
    await two.keep()
    await two.bookkeeper.end(two.flows)
    inherited = await (await desks()).begin("A->B", "A->C")
    names = one.bookkeeper.incarnation, two.bookkeeper.incarnation
    assert {flow: set(left.left) for flow, left in inherited.items()} == {
        "A->B": {names[1]},
        "A->C": set(names),
    }


@pytest.mark.parametrize(("watched", "closed"), [("A->B", False), ("A->C", True)])
async def test_what_no_flow_that_is_watched_could_finish_is_closed_after_a_week(desks, watched, closed):
    one = await desks()
    await one.begin("A->B")
    await one.keep()
    await one.bookkeeper.end(one.flows)
    desks.clock.advance(UNWATCHED_S - TIDY_S)
    two = await desks()
    await two.begin(watched)
    await two.keep()
    assert one.bookkeeper.incarnation in await two.leases()
    desks.clock.advance(TIDY_S + 1)
    await two.keep()
    await two.keep()
    assert (one.bookkeeper.incarnation not in await two.leases()) is closed
    assert two.bookkeeper.incarnation in await two.leases()


async def test_a_process_that_watched_no_flow_is_closed_by_the_next(desks):
    one = await desks()
    await one.bookkeeper.begin(["A->B"])  # whose canary is off
    await one.keep()
    await one.bookkeeper.end(one.flows)
    two = await desks()
    await two.begin("A->B")
    await two.keep()
    await two.keep()
    assert set(await two.leases()) == {two.bookkeeper.incarnation}


async def test_a_flow_that_is_dropped_leaves_what_it_had_not_finished_to_the_next_process(desks):
    one = await desks()
    await one.begin()
    await one.keep()
    await one.bookkeeper.end(one.flows)
    two = await desks()
    await two.begin()
    two.bookkeeper.forget(two.flows.pop("A->B"))
    await two.keep()
    await two.bookkeeper.end(two.flows)
    inherited = await (await desks()).begin()
    assert one.bookkeeper.incarnation in inherited["A->B"].left
