"""The history of checksums over a real SQLite file and a real PostgreSQL: one run at a time, all at its end or nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from checksum.history import rows as history_rows
from checksum.history.documents import packed_run
from checksum.history.history import LEASE_S, ChecksumHistory, Counted, VerifiedTo
from checksum.history.tables import MIGRATIONS
from fleet.errors import MalformedError, UnavailableError
from runtime.process.identity import FOREIGN_LEASE_S, this_process
from runtime.store.store import Store
from tests.checksum.pretend_runs import BEGUN_MS, document
from tests.databases import DATABASES, address_of

HERE = this_process()
NEXT_DOOR = replace(HERE, namespace="pid:[1]").text()  # in another container of this machine
ELSEWHERE = '{"boot":"b","namespace":"n","pid":1,"began":"1"}'  # on another machine: not seen from here
MARK = VerifiedTo("id-a", "id-b", 100, 90, BEGUN_MS)


@pytest.fixture(params=DATABASES)
def address(request, tmp_path):
    return address_of(request, tmp_path)


@pytest.fixture
async def store(address):
    found = Store(address, migrations=MIGRATIONS)
    await found.open()
    yield found
    await found.close()


@pytest.fixture
def history(store):
    return ChecksumHistory(store)


def an_ended_process():
    said = "from runtime.process.identity import FOREIGN_LEASE_S, this_process; print(this_process().text())"
    ended = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    return ended.stdout.strip()


async def begun(history, *, flow="A->B", now_ms=BEGUN_MS, process=ELSEWHERE, dead=()):
    details = {"counts_only": False, "process": process, "dead": dead}
    return await history.begin(flow, who="host-1, process 7", now_ms=now_ms, **details)


async def opened(store, flow="A->B"):
    return await store.read(partial(history_rows.open_runs, flow=flow))


async def finished(history, run, *, counts=(), verified=None, unposted=False, **details):
    told = document(run, **details)
    ended_ms = BEGUN_MS + 60_000
    await history.finish(
        run,
        now_ms=ended_ms,
        status=told["status"],
        document=told,
        verified={} if verified is None else verified,
        counts=counts,
        unposted=unposted,
    )


async def test_a_second_run_of_a_flow_is_refused_with_who_is_on_and_since_when(history, store):
    run = await begun(history)
    assert await history.send_heartbeat(run, BEGUN_MS, plan="5ca1ab1e5ca1ab1e")
    with pytest.raises(UnavailableError) as refused:
        await begun(history, now_ms=BEGUN_MS + 30_000)
    assert str(refused.value) == (
        "flow A->B: another checksum run is active since 2026-09-21T14:13:20.000Z on host-1, process 7"
        f" (run {run[:12]}, plan 5ca1ab1e5ca1); wait for it, or stop it there. Without a heartbeat for 60 s"
        " it counts as ended"
    )
    await begun(history, flow="B->A")  # another flow is none of its business
    assert [one.run for one in await opened(store)] == [run]


@pytest.mark.parametrize(
    ("beaten_at_s", "asked_at_s", "on"),
    [(0, LEASE_S - 0.001, True), (0, LEASE_S, False), (50, LEASE_S + 49, True), (50, LEASE_S + 50, False)],
)
async def test_a_run_that_is_not_seen_is_on_for_as_long_as_it_gives_signs(
    history, beaten_at_s, asked_at_s, on
):
    run = await begun(history, process=NEXT_DOOR)
    assert await history.send_heartbeat(run, BEGUN_MS + beaten_at_s * 1000)
    now_ms = BEGUN_MS + round(asked_at_s * 1000)
    if on:
        with pytest.raises(UnavailableError):
            await begun(history, now_ms=now_ms)
        return
    taken = await begun(history, now_ms=now_ms)
    assert not await history.send_heartbeat(run, now_ms)  # the first one is told so
    with pytest.raises(UnavailableError, match="sent no heartbeat, and another one took its place"):
        await finished(history, run, verified={("t", 0): MARK})
    assert (await history.runs("A->B", limit=9), await history.verified("A->B")) == ([], {})
    await finished(history, taken)


@pytest.mark.parametrize(
    ("process", "lease_s"),
    [(NEXT_DOOR, LEASE_S), (ELSEWHERE, FOREIGN_LEASE_S), ("", FOREIGN_LEASE_S)],
    ids=["next-door", "elsewhere", "unknown"],
)
@pytest.mark.parametrize("ahead", [-1, 1])
async def test_a_sign_that_lies_ahead_is_as_good_as_one_that_is_as_old(history, process, lease_s, ahead):
    await begun(history, process=process)
    with pytest.raises(UnavailableError):
        await begun(history, now_ms=BEGUN_MS + ahead * round(lease_s * 1000 - 1))
    await begun(history, now_ms=BEGUN_MS + ahead * round(lease_s * 1000))


async def test_a_run_elsewhere_whose_clock_may_differ_is_doubtful_and_gone_where_no_sign_comes(history):
    for process in (NEXT_DOOR, HERE.text(), an_ended_process()):
        run = await begun(history, process=process)
        assert await history.maybe_dead("A->B", now_ms=BEGUN_MS + round(LEASE_S * 1000)) == []
        await history.give_up(run)
    run = await begun(history)
    now_ms = BEGUN_MS + round(LEASE_S * 1000)
    assert await history.maybe_dead("A->B", now_ms=now_ms - 1) == []
    assert await history.maybe_dead("B->A", now_ms=now_ms) == []
    dead = await history.maybe_dead("A->B", now_ms=now_ms)
    assert [one.run for one in dead] == [run]
    await history.send_heartbeat(run, BEGUN_MS + 1)  # its clock is behind
    with pytest.raises(UnavailableError, match="another checksum run is active"):
        await begun(history, now_ms=now_ms, dead=dead)
    dead = await history.maybe_dead("A->B", now_ms=now_ms + 1)
    await begun(history, now_ms=now_ms + 1, dead=dead)
    assert not await history.send_heartbeat(run, now_ms)


async def test_a_run_here_is_on_while_its_process_is_and_gone_with_it(history):
    await begun(history, process=this_process().text())
    with pytest.raises(UnavailableError):  # it may be stopped, and go on
        await begun(history, now_ms=BEGUN_MS + 3_600_000)
    await begun(history, flow="B->A", process=an_ended_process())
    await begun(history, flow="B->A", now_ms=BEGUN_MS + 1)  # no need to wait: it is seen to be gone


async def test_flows_that_are_on_are_known(history):
    await begun(history, process=this_process().text())
    await begun(history, flow="B->A")
    await begun(history, flow="gone", process=an_ended_process())
    assert await history.active_flows(BEGUN_MS + 1) == {"A->B", "B->A"}
    assert await history.active_flows(BEGUN_MS + 3_600_000) == {"A->B"}


async def test_of_two_that_begin_at_once_one_does(address, history):
    other = Store(address, migrations=MIGRATIONS)
    await other.open()
    histories = [history, ChecksumHistory(other)]
    for number in range(20):
        answers = await asyncio.gather(
            *(begun(one, flow=f"A->{number}") for one in histories), return_exceptions=True
        )
        assert sorted(isinstance(one, UnavailableError) for one in answers) == [False, True]
    await other.close()


async def test_a_run_that_ends_with_nothing_to_tell_lets_others_begin(history, store):
    run = await begun(history)
    await history.give_up(run)
    assert await opened(store) == []
    await begun(history)


async def test_all_that_a_run_comes_to_is_there_after_it(history, store):
    run = await begun(history)
    assert await history.send_heartbeat(run, BEGUN_MS + 1, plan="5ca1ab1e")
    assert (await opened(store))[0].plan == "5ca1ab1e"
    told = document(run, status=1, findings={"count": 2, "shown": []}, coverage=0.75, who="host-1")
    await history.finish(
        run,
        now_ms=BEGUN_MS + 60_000,
        status=1,
        document=told,
        verified={("t", 0): MARK, ("t", 1): replace(MARK, source_topic_id=None, held=2)},
        counts=[Counted("t", 0, 900_000, 6, 5)],
    )
    assert await opened(store) == []
    row = await history.run(run)
    assert (row.document, row.status, row.findings, row.coverage) == (told, 1, 2, 0.75)
    assert (row.begun_ms, row.ended_ms, row.who) == (BEGUN_MS, BEGUN_MS + 60_000, "host-1")
    assert await history.runs("A->B", limit=9) == [replace(row, document=None)]
    assert await history.verified("A->B") == {
        ("t", 0): MARK,
        ("t", 1): replace(MARK, source_topic_id=None, held=2),
    }
    assert await history.verified("B->A") == {}
    assert await history.counts("A->B", "t", since_ms=0, until_ms=10**9, limit=9) == [
        Counted("t", 0, 900_000, 6, 5)
    ]
    assert await history.run("another") is None


async def test_a_run_that_fails_at_its_end_leaves_its_open_row_alone(history, store):
    run = await begun(history)
    broken = replace(MARK, source_offset=None)
    with pytest.raises(Exception, match=r"(?i)not.null"):
        await finished(history, run, verified={("t", 0): broken}, counts=[Counted("t", 0, 0, 1, 1)])
    assert (await history.runs("A->B", limit=9), await history.verified("A->B")) == ([], {})
    assert await history.counts("A->B", None, since_ms=0, until_ms=10, limit=9) == []
    assert [one.run for one in await opened(store)] == [run]
    await finished(history, run)
    assert [one.run for one in await history.runs("A->B", limit=9)] == [run]


async def test_the_newest_runs_of_a_flow_come_first(history):
    for number, flow in enumerate(["A->B", "A->B", "B->A", "A->B"]):
        ended_ms = BEGUN_MS + 1000 * (number + 1)
        assert await history.take(
            packed_run(document(f"r{number}", flow=flow, ended_ms=ended_ms)), now_ms=ended_ms
        )
    assert [one.run for one in await history.runs("A->B", limit=2)] == ["r3", "r1"]


async def test_what_is_told_twice_is_taken_once(history):
    assert await history.take(packed_run(document("r1")), now_ms=BEGUN_MS + 60_000)
    assert not await history.take(packed_run(document("r1", status=1)), now_ms=BEGUN_MS + 60_000)
    assert [one.status for one in await history.runs("A->B", limit=9)] == [0]


async def test_a_clock_that_is_ahead_elsewhere_makes_no_run_the_newest_for_good(history):
    ahead = document("ahead", begun_ms=BEGUN_MS + 10**9, ended_ms=BEGUN_MS + 2 * 10**9)
    assert await history.take(packed_run(ahead), now_ms=BEGUN_MS)
    assert await history.take(packed_run(document("later", ended_ms=BEGUN_MS + 1)), now_ms=BEGUN_MS + 1)
    assert [one.run for one in await history.runs("A->B", limit=1)] == ["later"]


async def test_old_runs_and_counts_go_and_what_is_verified_stays(history):
    run = await begun(history)
    await finished(history, run, verified={("t", 0): MARK}, counts=[Counted("t", 0, 0, 1, 1)])
    await history.take(packed_run(document("new", ended_ms=BEGUN_MS + 60_001)), now_ms=BEGUN_MS + 60_001)
    await history.forget(BEGUN_MS + 60_000)
    assert len(await history.runs("A->B", limit=9)) == 2
    await history.forget(BEGUN_MS + 60_001)
    assert [one.run for one in await history.runs("A->B", limit=9)] == ["new"]
    assert await history.counts("A->B", None, since_ms=0, until_ms=10, limit=9) == []
    assert await history.verified("A->B") == {("t", 0): MARK}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"run": ""}, "A run's run must be a string of 1 to 64 characters."),
        ({"run": "r" * 65}, "A run's run must be a string of 1 to 64 characters."),
        ({"flow": 7}, "A run's flow must be a string of 1 to 300 characters."),
        ({"flow": "A\n->B"}, "A run's flow must be a string of 1 to 300 characters."),
        ({"plan": None}, "A run's plan must be a string of 1 to 64 characters."),
        ({"status": 5}, "A run's status must be an integer from 0 to 4."),
        ({"status": True}, "A run's status must be an integer from 0 to 4."),
        ({"begun_at": "yesterday"}, "A run's begun_at must be a time such as 2026-01-31T23:00:00.000Z."),
        (
            {"ended_at": "2026-09-21T14:13:20"},
            "A run's ended_at must be a time such as 2026-01-31T23:00:00.000Z.",
        ),
        ({"ended_at": "2020-09-21T14:13:20Z"}, "A run must end after it started."),
        ({"coverage": "all"}, "A run's coverage must be a number from 0 to 1."),
        ({"coverage": float("nan")}, "A run's coverage must be a number from 0 to 1."),
        ({"anything": float("inf")}, "A run's document contains a number that JSON does not allow."),
        ({"findings": {"count": -1}}, f"A run's findings must be an integer from 0 to {1 << 62}."),
        ({"source_records": 1.5}, f"A run's source_records must be an integer from 0 to {1 << 62}."),
    ],
)
async def test_what_no_run_tells_is_refused_with_a_sentence(history, changed, sentence):
    with pytest.raises(MalformedError) as refused:
        await history.take(packed_run(document() | changed), now_ms=BEGUN_MS)
    assert str(refused.value) == sentence
    assert await history.runs("A->B", limit=9) == []


async def test_a_finished_run_is_untold_until_it_is_told(history):
    run = await begun(history, process=an_ended_process())
    assert await history.unreported("A->B") == []  # it is not finished
    await finished(history, run)
    (found,) = await history.unreported("A->B")
    assert (found.run, found.document) == (run, document(run))
    assert await history.unreported("B->A") == []
    await history.mark_reported([run])
    assert await history.unreported("A->B") == []
    assert [one.run for one in await history.runs("A->B", limit=9)] == [run]


async def test_what_a_running_process_has_to_tell_is_its_own_and_of_one_elsewhere_it_is_told_twice(history):
    here = await begun(history, process=this_process().text())
    await finished(history, here)
    assert await history.unreported("A->B") == []
    there = await begun(history, process=ELSEWHERE)
    await finished(history, there)
    assert [one.run for one in await history.unreported("A->B")] == [there]


async def test_untold_are_neither_counts_nor_runs_of_others_nor_what_is_forgotten(history):
    counting = await history.begin("A->B", who="w", now_ms=BEGUN_MS, counts_only=True, process=ELSEWHERE)
    await finished(history, counting, counts_only=True)
    await history.take(packed_run(document("told")), now_ms=BEGUN_MS + 60_000)
    assert await history.unreported("A->B") == []
    old = await begun(history)
    await finished(history, old)
    assert [one.run for one in await history.unreported("A->B")] == [old]
    await history.forget(1 << 60)
    assert await history.unreported("A->B") == []


async def test_what_a_service_did_not_hear_is_owed_until_it_has(history):
    runs = []
    for second in range(3):
        runs.append(await begun(history))
        await finished(history, runs[-1], ended_at=f"2026-09-21T15:00:0{second}.000Z")
    await history.queue_for_posting([*runs[:2], "kept nowhere"])
    await history.queue_for_posting(runs[:2])
    assert await history.unposted("A->B") == []  # whoever tells them tells the service too
    await history.mark_reported(runs)
    assert await history.unreported("A->B") == []
    assert (await history.unposted("A->B"), await history.unposted("B->A")) == (runs[:2], [])
    assert [(await history.run_to_report(run)).document["run"] for run in runs[:2]] == runs[:2]
    await history.mark_posted(runs[:1])
    assert await history.unposted("A->B") == runs[1:2]
    await history.forget(1 << 60)
    assert await history.unposted("A->B") == []


@pytest.mark.parametrize("counts_only", [False, True])
async def test_what_a_service_is_to_be_told_of_is_owed_from_the_end_of_the_run_on(history, counts_only):
    run = await history.begin("A->B", who="w", now_ms=BEGUN_MS, counts_only=counts_only, process=ELSEWHERE)
    await finished(history, run, unposted=True, counts_only=counts_only)
    await history.mark_reported([run])  # by a command that tells no service
    assert await history.unposted("A->B") == [run]
    await history.mark_posted([run])
    assert await history.unposted("A->B") == []


async def test_runs_whose_findings_hold_stand_behind_the_newest_with_those_of_their_plans(history):
    names = {}
    for hour, plan in enumerate(("gone", "lossy", "clean", "lossy", "clean", "clean")):
        run = await begun(history)
        ended_at = f"2026-09-25T1{hour}:00:00.000Z"
        await finished(history, run, ended_at=ended_at, plan=plan, status=1 if hour < 2 else 0)
        names[run] = hour
    rows = {names[one.run]: one for one in await history.runs("A->B", limit=9)}
    for since_ms, hours in ((rows[1].ended_ms, [5, 3, 1]), (rows[1].ended_ms + 1, [5]), (None, [5])):
        found = await history.runs("A->B", limit=1, holding_since_ms=since_ms)
        assert [names[one.run] for one in found] == hours


async def test_runs_that_were_told_late_stand_beside_the_newest_with_when_they_were(history):
    for day in range(1, 5):
        ended_at = f"2026-09-2{day}T15:00:00.000Z"
        taken_ms = (1 << 50) + (100 if day == 1 else 0)  # the oldest was told last
        await history.take(packed_run(document(f"r{day}", ended_at=ended_at)), now_ms=taken_ms)
    here = await begun(history)
    await finished(history, here, ended_at="2026-09-25T15:00:00.000Z")
    late = await history.runs("A->B", limit=2, holding_since_ms=(1 << 50) + 100)
    assert [(one.run, one.taken_ms) for one in late] == [
        (here, None),
        ("r4", 1 << 50),
        ("r1", (1 << 50) + 100),
    ]
    assert [one.run for one in await history.runs("A->B", limit=2)] == [here, "r4"]
    assert not await history.take(packed_run(document("r1")), now_ms=1 << 51)  # told again it is no later
    assert (await history.runs("A->B", limit=9))[-1].taken_ms == (1 << 50) + 100
    await history.forget(1 << 60)
    assert await history.runs("A->B", limit=2, holding_since_ms=0) == []
    assert await history.take(packed_run(document("r1")), now_ms=1 << 51)  # nothing of it was left


def has_file(address):
    return address.get_backend_name() == "sqlite" and Path(address.database).exists()


async def test_what_nobody_made_is_not_made_where_it_is_only_looked_at(address):
    looking = Store(address, migrations=MIGRATIONS)
    assert not await looking.open_if_made()
    assert not await looking.open_if_made()
    assert not has_file(address)
    made = Store(address, migrations=MIGRATIONS)
    await made.open()
    await made.close()
    assert await looking.open_if_made()
    assert await ChecksumHistory(looking).runs("A->B", limit=1) == []
    await looking.close()


async def test_the_oldest_untold_come_first_and_no_more_than_are_told_at_once(history, monkeypatch):
    monkeypatch.setattr("checksum.history.history.MOST_UNREPORTED", 2)
    runs = []
    for _ in range(3):
        runs.append(await begun(history))
        await finished(history, runs[-1], ended_at=f"2026-09-21T15:00:0{len(runs)}.000Z")
    assert [one.run for one in await history.unreported("A->B")] == runs[:2]


async def test_runs_are_not_crowded_out_by_those_that_merely_counted(history):
    await history.take(packed_run(document("whole")), now_ms=1 << 50)
    for number in range(5):
        counted = document(f"count{number}", counts_only=True, ended_at="2026-09-22T15:00:00.000Z")
        await history.take(packed_run(counted), now_ms=1 << 50)
    assert [one.run for one in await history.runs("A->B", limit=1)] == ["whole"]
    assert await history.run("count4") is not None
