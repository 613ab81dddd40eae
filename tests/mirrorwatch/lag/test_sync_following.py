"""Offset syncs kept of whichever flows they are read of at the moment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from mirrorwatch.lag import sync_following
from mirrorwatch.lag.sync_following import follow_syncs


class Keeper:
    """Notes its rounds."""

    def __init__(self, _store, monitor, flows, **_more):
        self._monitor, self._flows = monitor, flows

    async def go_round(self):
        self._monitor.rounds.append(self._flows)


class Monitor:
    """Has in each round the next of `steps`: whether it is on, and the flows that it reads."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.rounds = []
        self.on, self.synced = self.steps.pop(0)

    def go_on(self):
        if not self.steps:
            raise asyncio.CancelledError
        self.on, self.synced = self.steps.pop(0)


class Turning:
    """A clock by which the next step follows each wait."""

    def __init__(self, monitor):
        self._monitor = monitor

    async def wait(self, _event, *, timeout_s):
        self._monitor.rounds.append(f"{timeout_s:g} s")
        self._monitor.go_on()


async def test_the_flows_that_are_read_are_kept_and_what_was_shown_of_others_is_taken_back(monkeypatch):
    monkeypatch.setattr(sync_following, "SyncKeeper", Keeper)
    settled = []
    monitor = Monitor((True, ()), (True, ("a", "b")), (True, ("a", "b")), (False, ()), (True, ("b",)))
    with pytest.raises(asyncio.CancelledError):
        await follow_syncs(
            None,
            monitor,
            keep_s=1.0,
            clock=Turning(monitor),
            reporter=SimpleNamespace(settled=settled.append),
        )
    assert monitor.rounds == [
        *((), "5 s", ("a", "b"), "5 s", ("a", "b"), "5 s"),
        *("5 s", ("b",), "5 s"),
    ]
    # While it is off nothing is written, so nothing is wrong with where it would be.
    assert sorted(settled) == ["offset syncs of a", "offset syncs of b", "store: offset syncs"]
