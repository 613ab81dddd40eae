"""The lag monitor as a process, at clusters that are away: what was known goes from one to the next, unharmed."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest

from fleet.errors import UnavailableError
from lagmon.snapshots import store as snapshot_store
from lagmon.snapshots.frames import seal
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.lag import keeping as lag_keeping
from mirrorwatch.lag import monitor as lag_monitor
from mirrorwatch.lag.keeping import LagKeeping
from mirrorwatch.lag.monitor import LagMonitor
from runtime.process.clock import SystemClock
from runtime.store.store import Store
from tests.eventually import eventually_async
from tests.mirrorwatch.configuration.test_changes import configuration

WITHIN_S = 90
KNOWN = {name: seal({"kind": "of a cluster that is away", "of": name}) for name in ("cluster:A", "flow:A->B")}


class Desk:
    """One service's lag monitor on a store that knows something."""

    def __init__(self, folder, store):
        self.store, self.said, self.events = store, {}, []
        reporter = SimpleNamespace(
            problem=self.said.__setitem__,
            settled=lambda where: self.said.pop(where, None),
            event=lambda sentence, **_: self.events.append(sentence),
        )
        self.keeping = LagKeeping(store, replica=lambda: "one", clock=SystemClock(), reporter=reporter)
        self.lagging = LagMonitor(
            read_configuration(
                configuration(
                    folder, clusters={"A": "127.0.0.1:1", "B": "127.0.0.1:1"}, lag="{commits: topic}"
                ),
                environ={},
            ),
            clock=SystemClock(),
            reporter=reporter,
            log_format="json",
            log_level="error",
            keeping=self.keeping,
        )
        self.stopping = asyncio.Event()
        self.running = asyncio.create_task(self.lagging.keep(self.stopping))

    @property
    def pid(self):
        return self.lagging._worker.pid

    async def up(self, *, but=None):
        """Wait until another process than this one answers."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                with suppress(UnavailableError):
                    head, _ = await self.lagging.ask("snapshot")
                    if self.pid != but:
                        return head["parts"]
                await asyncio.sleep(0.1)

    async def kept(self):
        return await self.store.read(partial(snapshot_store.kept, replica="one"))

    async def forget(self):
        """Have the store know nothing, so that what it knows later comes from the process."""
        await self.store.write(partial(snapshot_store.keep, replica="one", parts={}, now_at=0.0))

    async def end(self):
        self.stopping.set()
        async with asyncio.timeout(WITHIN_S):
            await self.running


@pytest.fixture
async def desk(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/mw.db", migrations=snapshot_store.MIGRATIONS)
    await store.open()
    await store.write(partial(snapshot_store.keep, replica="one", parts=KNOWN, now_at=1.0))
    made = Desk(tmp_path, store)
    yield made
    made.stopping.set()
    made.running.cancel()
    with suppress(asyncio.CancelledError):
        await made.running
    await store.close()


async def test_what_was_known_outlives_an_orderly_end(desk):
    assert await desk.up() == ["cluster:A", "cluster:B", "flow:A->B", "flow:B->A"]
    assert not desk.keeping.path.exists()  # it has taken it away
    await desk.forget()
    assert await desk.kept() == {}
    await desk.end()
    assert await desk.kept() == KNOWN
    assert not desk.keeping.path.parent.exists()


async def test_looks_at_a_cluster_that_is_away_are_counted_and_none_was_ever_well(desk):
    await desk.up()

    def least_failed():
        return min(desk.lagging.collected(alias)["errors"]["positions"] for alias in "AB")

    await eventually_async(lambda: least_failed() >= 2, WITHIN_S, every_s=0.1)
    assert [desk.lagging.collected(alias)["last_success_at"] for alias in "AB"] == [{}, {}]
    told = [desk.lagging.unanswered(alias) for alias in "AB"]
    assert all(one is not None and one.sentence and one.since_at > 0 for one in told)


async def test_what_was_known_outlives_a_process_that_is_killed(desk, monkeypatch):
    monkeypatch.setattr(lag_keeping, "LAST_S", 20.0)
    await desk.up()
    killed = desk.pid
    os.kill(killed, signal.SIGKILL)
    await desk.up(but=killed)
    await desk.forget()
    await desk.end()
    assert await desk.kept() == KNOWN


class Played:
    """A process that answers until it is told to end."""

    def __init__(self, *_names, **_settings):
        self.heard = []
        self.pid = self.state = None

    async def run(self, ending):
        await ending.wait()
        self.heard.append("the end")

    async def ask(self, question, **_details):
        self.heard.append(question)
        return {"parts": []}, b'{"flows": []}'

    def close(self):
        self.heard.append("closed")


async def test_the_process_is_reported_to_end_only_when_it_has_reported_what_it_knows(tmp_path, monkeypatch):
    monkeypatch.setattr(lag_monitor, "Worker", Played)
    store = Store(f"sqlite:///{tmp_path}/mw.db", migrations=snapshot_store.MIGRATIONS)
    await store.open()
    desk = Desk(tmp_path, store)
    await asyncio.sleep(0)
    await desk.end()
    heard = [one for one in desk.lagging._worker.heard if one != "flows"]
    assert heard == ["snapshot", "the end", "closed"]
    await store.close()
