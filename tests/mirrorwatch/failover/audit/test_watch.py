"""The audit in the service: its process at clusters that are away, its answers, and other settings."""

from __future__ import annotations

import asyncio
import os
import signal
from types import SimpleNamespace

import pytest

from fleet.quantity import Bounds
from lagmon.exposition.format import Form
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.failover.audit import watch as audit_watch
from mirrorwatch.failover.audit.watch import WHAT, FailoverAudit
from runtime.process.clock import SystemClock
from tests.eventually import eventually_async
from tests.mirrorwatch.configuration.test_changes import configuration
from tests.mirrorwatch.failover.audit.audited import AT, Process

WITHIN_S = 60


class Desk:
    """A service's audit, and what it reports."""

    def __init__(self, folder):
        self.folder, self.said, self.events = folder, {}, []
        reporter = SimpleNamespace(
            problem=self.said.__setitem__,
            settled=lambda where: self.said.pop(where, None),
            event=lambda sentence, **_: self.events.append(sentence),
        )
        self.audit = FailoverAudit(
            self.config(), clock=SystemClock(), reporter=reporter, log_format="json", log_level="error"
        )

    def config(self, **sections):
        away = {"A": "127.0.0.1:1", "B": "127.0.0.1:1"}
        return read_configuration(configuration(self.folder, clusters=away, **sections), environ={})


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_watch, "ASK_S", 0.05)
    return Desk(tmp_path)


@pytest.fixture
async def running(desk):
    stopping = asyncio.Event()
    task = asyncio.create_task(desk.audit.keep(stopping))
    yield desk
    stopping.set()
    async with asyncio.timeout(WITHIN_S):
        await task


async def test_answers_become_views(desk):
    desk.audit._worker = Process()
    desk.audit._worker.starts = 1
    await desk.audit._look()
    flow = desk.audit.flows["A->B"]
    assert (flow.at, flow.sentence("B")) == (AT, "2 of 5 groups ready to fail over to B.")
    assert [one.group for one in flow.worst] == ["reports", "audit", "moved"]
    assert flow.worst[0].skipped_records == Bounds(10, 10)
    assert flow.worst[1].skipped_records is None
    assert flow.drift_text == "2 missing topics"
    assert desk.audit.flows["B->A"].sentence("A") == "Cluster A: no answer."
    assert b"mirrorwatch_failover_groups" in await desk.audit.series(Form.PLAIN)


async def test_a_scrape_asks_once_for_each_audit_and_waits_for_no_process_that_hangs(desk, monkeypatch):
    asked = []

    class Hanging(Process):
        starts, hangs = 1, False

        async def ask(self, question, **details):
            asked.append(question)
            if self.hangs:
                await asyncio.Event().wait()
            return await super().ask(question, **details)

    monkeypatch.setattr(audit_watch, "SERIES_WITHIN_S", 0.01)
    process = desk.audit._worker = Hanging()
    await desk.audit._look()
    first = await desk.audit.series(Form.PLAIN)
    assert await desk.audit.series(Form.PLAIN) == first != b""
    assert asked == ["flows", "metrics"]
    process.audits.flows.clear()
    process.audits.number += 1
    await desk.audit._look()
    process.hangs = True
    assert await desk.audit.series(Form.PLAIN) == first
    process.hangs = False
    assert await desk.audit.series(Form.PLAIN) == b""


@pytest.mark.parametrize("part", ["_look", "_work"])
async def test_a_bug_ends_it(desk, monkeypatch, part):
    async def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(desk.audit, "_work", lambda over: over.wait())
    monkeypatch.setattr(desk.audit, part, broken)
    with pytest.RaisesGroup(RuntimeError, flatten_subgroups=True):
        await desk.audit.keep(asyncio.Event())


async def test_a_cluster_that_is_away_is_reported_and_a_killed_process_started_again(running):
    await eventually_async(
        lambda: "cluster B" in getattr(running.audit.flows.get("A->B"), "problem", ""),
        WITHIN_S,
        what="an audit",
    )
    pid = running.audit._worker.pid
    os.kill(pid, signal.SIGKILL)
    await eventually_async(lambda: WHAT in running.said, WITHIN_S, what="the problem")
    await eventually_async(lambda: WHAT not in running.said, WITHIN_S, what="the next process")
    assert running.audit._worker.pid not in (pid, None)


async def test_another_configuration_restarts_it_or_turns_it_off(running):
    await eventually_async(lambda: running.audit.flows, WITHIN_S, what="an audit")
    pid = running.audit._worker.pid
    running.audit.use(running.config())
    assert running.events == []
    running.audit.use(running.config(failover="{interval: 10s}"))
    await eventually_async(
        lambda: running.audit._worker.pid not in (pid, None), WITHIN_S, what="the next process"
    )
    running.audit.use(running.config(failover="{audit: false}"))
    await eventually_async(lambda: running.audit._worker.pid is None, WITHIN_S, what="its end")
    assert (running.audit.on, running.audit.flows) == (False, {})
    assert await running.audit.series(Form.PLAIN) == b""
    assert running.events == [f"{WHAT} restarts with new settings", f"{WHAT} stopped"]
