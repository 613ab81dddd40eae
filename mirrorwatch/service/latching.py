"""Keeps the latches of the prober and of the store equal, across the processes on the store."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from canary.persistence.latches import Latch, exchange_latches, latches_of, lift_latch
from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from canary.prober import Prober
    from canary.report import Reporter
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

LOOK_S = 5.0  # between two polls of the latches in the store
WHERE = "store: latches"


class Latching:
    """Stores new latches at once, takes over those of other processes, and lifts latches on request."""

    def __init__(self, store: Store, *, clock: WaitingClock, reporter: Reporter) -> None:
        self._store = store
        self._clock = clock
        self._reporter = reporter
        self._unwritten: dict[tuple[str, str], Latch] = {}
        self._fallen = asyncio.Event()
        self._turn = asyncio.Lock()

    async def read(self) -> dict[tuple[str, str], Latch]:
        """Return the latches of the store; raises UnavailableError."""
        return await self._store.read(latches_of)

    def note(self, latch: Latch) -> None:
        """Queue this latch for writing."""
        self._unwritten[latch.key] = latch
        self._fallen.set()

    async def keep(self, prober: Prober) -> None:
        """Keep prober and store equal, until cancelled."""
        while True:
            self._fallen.clear()
            await self.look(prober)
            await self._clock.wait(self._fallen, timeout_s=LOOK_S)

    async def look(self, prober: Prober) -> None:
        """Write new latches, then load those of the store into the prober."""
        async with self._turn:
            writing = dict(self._unwritten)
            try:
                if writing:
                    found = await self._store.write(partial(exchange_latches, latches=writing))
                else:
                    found = await self._store.read(latches_of)
            except UnavailableError as error:
                self._reporter.problem(WHERE, str(error))
                return
            self._reporter.settled(WHERE)
            for key in writing:
                del self._unwritten[key]
            prober.roster.hold_latches(found | self._unwritten)

    async def lift(self, prober: Prober, source: str, topic: str) -> Latch | None:
        """Lift a latch and return it; None if there is none.

        Raises UnavailableError if the store fails; the latch stays.
        """
        async with self._turn:
            latch = prober.roster.latches.get((source, topic))
            if latch is None:
                return None
            flows = [name for name, held in prober.roster.flows.items() if held.flow.source == source]
            await self._store.write(
                partial(lift_latch, source=source, topic=topic, flows=flows, now_at=self._clock.wall_s())
            )
            self._unwritten.pop((source, topic), None)
            latches = prober.roster.latches
            prober.roster.hold_latches({key: one for key, one in latches.items() if key != latch.key})
            return latch
