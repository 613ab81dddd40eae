"""Who goes on with the probes of whom: leases of this machine, of other containers, of other machines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from canary.persistence.leases import LEASE_S, incarnations
from runtime.process.identity import FOREIGN_LEASE_S
from tests.canary.desk import DEAD_HERE, OTHER_CONTAINER, OTHER_MACHINE
from tests.eventually import eventually

ROOT = Path(__file__).parents[3]


async def left_to(desk):
    """Begin, and return whose probes were taken over, and how long that was waited for."""
    before = len(desk.clock.waits_s)
    inherited = await desk.begin()
    left = set(inherited["A->B"].left) if "A->B" in inherited else set()
    return left, sum(desk.clock.waits_s[before:])


def name(desk):
    return desk.bookkeeper.incarnation


@pytest.mark.parametrize(
    ("lease", "silent_s", "taken", "at_most_s"),
    [
        pytest.param({"process": DEAD_HERE}, 0, True, 0, id="its process is seen to be gone"),
        pytest.param({}, 0, False, 0, id="its process is seen to run"),
        pytest.param({}, 3600, False, 0, id="its process runs, and has not written for an hour"),
        pytest.param({"ended": True}, 0, True, 0, id="it ended in an orderly way"),
        pytest.param({"process": OTHER_CONTAINER, "ended": True}, 0, True, 0, id="elsewhere, and ended"),
        pytest.param({"process": OTHER_CONTAINER}, 0, True, LEASE_S, id="another container, silent"),
        pytest.param({"process": OTHER_CONTAINER}, 11, True, 0, id="another container, silent long enough"),
        pytest.param({"process": OTHER_MACHINE}, 0, True, LEASE_S, id="another machine, silent"),
        pytest.param({"process": OTHER_MACHINE}, 300, True, LEASE_S, id="its clock may be minutes behind"),
        pytest.param({"process": OTHER_MACHINE}, -300, True, LEASE_S, id="or ahead"),
        pytest.param({"process": OTHER_MACHINE}, FOREIGN_LEASE_S + 1, True, 0, id="no clock is so wrong"),
        pytest.param({"process": ""}, 0, True, LEASE_S, id="a system that does not tell its processes"),
        pytest.param({"process": "{"}, 0, True, LEASE_S, id="what nobody can read"),
        pytest.param({"process": DEAD_HERE, "closed": True}, 0, False, 0, id="nothing of it is open"),
    ],
)
async def test_who_is_taken_over(desks, lease, silent_s, taken, at_most_s):
    one, two = await desks(), await desks()
    await one.begin()
    await one.keep()
    at = desks.clock.wall_s() - silent_s
    await one.change_lease(name(one), renewed_at=at, **lease)
    left, waited_s = await left_to(two)
    assert left == ({name(one)} if taken else set())
    assert (waited_s > 0) is (at_most_s > 0)
    assert waited_s <= at_most_s + 1
    assert any("waiting to see" in sentence for sentence, _ in two.events) is (at_most_s > 0)


@pytest.mark.parametrize(
    ("elsewhere", "clock_off_s"),
    [(OTHER_CONTAINER, 0.0), *((OTHER_MACHINE, off_s) for off_s in (-300.0, 0.0, 300.0))],
    ids=["another container", "clock behind", "clock right", "clock ahead"],
)
async def test_a_process_elsewhere_that_renews_its_lease_is_alive_whatever_its_clock_says(
    desks, elsewhere, clock_off_s
):
    one, two = await desks(), await desks()
    await one.begin()
    at = desks.clock.wall_s() + clock_off_s
    await one.change_lease(name(one), renewed_at=at, process=elsewhere)
    wait = desks.clock.wait

    async def wait_and_renew(event, *, timeout_s):
        await one.change_lease(name(one), renewed_at=at + desks.clock.monotonic_ns() / 1e9 + timeout_s)
        return await wait(event, timeout_s=timeout_s)

    desks.clock.wait = wait_and_renew
    left, waited_s = await left_to(two)
    assert left == set()
    assert 0 < waited_s < 2


async def test_what_took_over_is_taken_over_with_all_it_had(desks):
    one, two, three, four = [await desks() for _ in range(4)]
    await one.begin()
    await one.change_lease(name(one), process=DEAD_HERE)
    assert await left_to(two) == ({name(one)}, 0)
    assert await left_to(three) == (set(), 0)  # the second is at work, and the first is its business
    await two.change_lease(name(two), process=DEAD_HERE)
    assert await left_to(four) == ({name(one), name(two)}, 0)
    by = {key: row.taken_over_by for key, row in (await one.leases()).items()}
    assert by == {name(one): name(four), name(two): name(four), name(three): "", name(four): ""}


async def test_of_several_that_begin_at_once_one_gets_each(desks):
    gone = [await desks() for _ in range(3)]
    for desk in gone:
        await desk.begin()
    for desk in gone:
        await desk.change_lease(name(desk), process=DEAD_HERE)
    heirs = [await desks() for _ in range(4)]
    found = [left for left, _ in await asyncio.gather(*map(left_to, heirs))]
    assert sum(map(len, found)) == 3
    assert set().union(*found) == set(map(name, gone))


async def test_a_lease_that_is_renewed_after_it_was_looked_at_is_not_taken(desks):
    one, two = await desks(), await desks()
    await one.begin()
    await one.change_lease(name(one), process=OTHER_MACHINE)
    submit = two.store.write

    async def renew_first(function):
        await one.keep()
        return await submit(function)

    two.store.write = renew_first
    left, waited_s = await left_to(two)
    assert left == set()
    assert waited_s > LEASE_S
    assert await one.keep()


# --- as processes of their own


def begun(path, replica):
    command = [sys.executable, "-m", "tests.canary.bookkeeper_process", str(path), replica]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_that_begin_at_once_on_a_new_store_leave_each_other_alone(tmp_path):
    path = tmp_path / "mw.db"
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(begun(path, f"r{number}")) for number in range(3)]
        told = [json.loads(one.stdout.readline()) for one in running]
        assert [one["left"] for one in told] == [[], [], []]
        assert len({one["incarnation"] for one in told}) == 3
        running[0].kill()
        running[0].wait(timeout=20)
        heir = stack.enter_context(begun(path, "r0"))
        assert json.loads(heir.stdout.readline())["left"] == [told[0]["incarnation"]]
        for one in (*running, heir):
            one.stdin.close()
    with contextlib.closing(sqlite3.connect(path)) as store:
        rows = store.execute("select replica, taken_over_by != '' from canary_incarnations").fetchall()
    assert sorted(rows) == [("r0", 0), ("r0", 1), ("r1", 0), ("r2", 0)]


def test_a_service_that_was_taken_over_ends_with_a_sentence_and_status_4(tmp_path):
    config = tmp_path / "mirrorwatch.yaml"
    document = {
        "mirror_version": "4.3",
        "clusters": {alias: {"bootstrap.servers": "127.0.0.1:1"} for alias in "AB"},
        "flows": {"A->B": {}},
        "http": {"listen": "127.0.0.1:0"},
    }
    config.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    command = [sys.executable, "-m", "mirrorwatch", "run", str(config)]
    log = tmp_path / "log"
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out, env={**os.environ}) as service,
    ):
        try:
            eventually(lambda: "is up" in log.read_text(), 60, what="the service")
            with contextlib.closing(sqlite3.connect(tmp_path / "mirrorwatch.db")) as store, store:
                store.execute("update canary_incarnations set taken_over_by = 'somebodys'")
            status = service.wait(timeout=60)
        finally:
            service.send_signal(signal.SIGKILL)
    said = log.read_text()
    assert status == 4, said
    assert "another process on this store took over the probes of this one" in said
    assert "restart mirrorwatch" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("others", "taken"),
    [
        pytest.param((), True, id="it watches everything"),
        pytest.param(("A->C",), True, id="another shard watches other flows"),
        pytest.param(("A->B",), False, id="another shard watches its flows"),
    ],
)
async def test_a_shard_leaves_what_belongs_to_others(desks, others, taken):
    one, two = await desks(), await desks()
    await one.begin()
    await one.keep()
    await one.change_lease(name(one), process=DEAD_HERE)
    await two.bookkeeper.begin(("A->C",), others=others)
    rows = {row.incarnation: row for row in await two.store.read(incarnations)}
    assert rows[name(one)].taken_over_by == (name(two) if taken else "")


async def test_a_process_that_is_known_to_live_is_not_waited_for(desks):
    one, two = await desks(), await desks()
    await one.begin()
    await one.change_lease(name(one), process=OTHER_MACHINE)
    await two.bookkeeper.begin(("A->C",), alive={name(one)})
    assert desks.clock.waits_s == []


async def test_a_process_with_flows_of_other_shards_alone_is_not_waited_for(desks):
    one, two = await desks(), await desks()
    await one.begin()
    await one.change_lease(name(one), process=OTHER_MACHINE)
    await two.bookkeeper.begin(("A->C",), others=("A->B",))
    assert desks.clock.waits_s == []
