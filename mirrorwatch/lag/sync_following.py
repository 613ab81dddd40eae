"""Offset syncs kept of the flows of which they are read, whichever these are at the moment."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from mirrorwatch.lag.sync_keeping import ASK_S, WHERE, SyncKeeper

if TYPE_CHECKING:
    from canary.report import Reporter
    from mirrorwatch.lag.sync_id_keeping import Asked
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

    class Monitor(Asked, Protocol):
        """The lag monitor, which may be told to read others."""

        @property
        def on(self) -> bool:
            """Tell whether there is one at all."""
            ...

        @property
        def synced(self) -> tuple[str, ...]:
            """Return the flows whose offset syncs it reads."""
            ...


async def follow_syncs(
    store: Store, monitor: Monitor, *, keep_s: float, clock: WaitingClock, reporter: Reporter
) -> None:
    """Ask, write and thin until cancelled; `keep_s` is for how long syncs stay.

    Where other flows are to be kept that begins anew, from what the store holds, between two rounds.
    """
    never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait
    flows: tuple[str, ...] = ()
    keeper: SyncKeeper | None = None
    while True:
        if keeper is None or monitor.synced != flows:
            for gone in set(flows) - set(monitor.synced):
                reporter.settled(f"offset syncs of {gone}")
            flows = monitor.synced
            keeper = SyncKeeper(store, monitor, flows, keep_s=keep_s, clock=clock, reporter=reporter)
        if monitor.on:
            await keeper.go_round()
        else:
            reporter.settled(WHERE)
        await clock.wait(never, timeout_s=ASK_S)
