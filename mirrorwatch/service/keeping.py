"""Runs each cluster's site under supervision; clusters are added and removed at runtime."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from runtime.process.supervision import Phase, State, supervise

if TYPE_CHECKING:
    from canary.report import Reporter
    from canary.site.site import Site, SiteListener
    from runtime.process.clock import WaitingClock

CLOSE_S = 20.0


class SiteKeeper:
    """Starts and ends sites within `group`.

    `states` is the last state of each supervisor and its start (epoch s); `tried` are clusters that were
    reached, or failed, at least once.
    """

    def __init__(self, *, clock: WaitingClock, reporter: Reporter) -> None:
        self.states: dict[str, tuple[State, float]] = {}
        self.tried: set[str] = set()
        self._clock = clock
        self._reporter = reporter
        self._work: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}

    def begin(self, site: Site, listener: SiteListener, group: asyncio.TaskGroup) -> None:
        """Run this site until told to end."""
        closing = asyncio.Event()
        task = group.create_task(self._keep(site, listener, closing), name=f"site {site.alias}")
        self._work[site.alias] = (task, closing)

    def note_reached(self, alias: str) -> None:
        """Note that a cluster answers."""
        self.tried.add(alias)
        self._reporter.settled(alias)

    def move_instants(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        self.states = {alias: (state, since_at + by_s) for alias, (state, since_at) in self.states.items()}

    async def end(self, alias: str) -> None:
        """Let a site finish its requests within a limit, then forget it."""
        task, closing = self._work[alias]
        closing.set()
        await _ended(task)
        del self._work[alias]
        self.states.pop(alias, None)
        self.tried.discard(alias)

    def close(self) -> None:
        """Tell every site to end."""
        for _, closing in self._work.values():
            closing.set()

    async def end_all(self) -> None:
        """Wait until all sites have ended, within a limit."""
        self.close()
        await asyncio.gather(*(_ended(task) for task, _ in self._work.values()))

    async def _keep(self, site: Site, listener: SiteListener, closing: asyncio.Event) -> None:
        alias = site.alias

        def tell(state: State) -> None:
            before = self.states.get(alias)
            failed = state.phase in (Phase.DOWN, Phase.REFUSED)
            if before is not None and state.phase is Phase.RUNNING and state.failures:
                return  # one more try: until it succeeds, only the reason of the last failure is known
            known = before is not None and before[0].phase is state.phase
            since_at = before[1] if known and before is not None else self._clock.wall_s()
            self.states[alias] = (state, since_at)
            if failed:
                self.tried.add(alias)
                self._reporter.problem(alias, state.sentence)

        async def work() -> None:
            await site.run(listener, closing)

        await supervise(
            alias, work, clock=self._clock, random=random.SystemRandom(), on_state=tell, stopping=closing
        )


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task], timeout=CLOSE_S)
    task.cancel()
