"""Stores the offset syncs of the present flows."""

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
        """The lag monitor; its settings may change."""

        @property
        def on(self) -> bool:
            """Return whether it is on."""
            ...

        @property
        def synced(self) -> tuple[str, ...]:
            """Return the flows whose offset syncs it reads."""
            ...


async def follow_syncs(
    store: Store, monitor: Monitor, *, keep_s: float, clock: WaitingClock, reporter: Reporter
) -> None:
    """Request, write and thin until cancelled; the store keeps syncs for `keep_s`.

    If the flows change, it starts again from the store, between two rounds.
    """
    never = asyncio.Event()  # for waits that end only by timeout
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
