"""The lag monitor in the service, without its process."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.lag.keeping import LagKeeping
from mirrorwatch.lag.monitor import LagMonitor
from tests.mirrorwatch.configuration.test_changes import configuration
from tests.runtime.fake_clock import FakeClock


async def test_a_bug_in_polling_ends_it(tmp_path, monkeypatch):
    clock, reporter = FakeClock(), SimpleNamespace()
    monitor = LagMonitor(
        read_configuration(configuration(tmp_path, lag="{commits: topic}"), environ={}),
        clock=clock,
        reporter=reporter,
        log_format="json",
        log_level="error",
        keeping=LagKeeping(None, replica=lambda: "one", clock=clock, reporter=reporter),
    )

    async def broken():
        raise RuntimeError("a bug")

    monkeypatch.setattr(monitor, "_look", broken)
    monkeypatch.setattr(monitor, "_run", lambda stopping: stopping.wait())
    with pytest.RaisesGroup(RuntimeError):
        await monitor.keep(asyncio.Event())
