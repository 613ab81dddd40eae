"""Follow a mirror whose progress is in what the watches of its clusters read anyway."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lagmon.mirrors.facts import FlowFacts
    from runtime.process.clock import WaitingClock

EVERY_S = 1.0


class MirrorFollowing:
    """Follows one flow's progress; `locks` guard what it is read from, taken in their order."""

    def __init__(
        self,
        flow: FlowFacts,
        follow: Callable[[int], None],
        *,
        locks: Sequence[threading.Lock],
        clock: WaitingClock,
    ) -> None:
        self.cluster, self.topic = flow.order.offsets_cluster, flow.order.offsets_topic
        self.turn = threading.Lock()  # guards the windows
        self._flow = flow
        self._follow = follow
        self._locks = list(locks)
        self._clock = clock

    @property
    def name(self) -> str:
        """Return its name in states and logs."""
        return f"{self._flow.order.name}: {self._flow.order.lag_from}"

    async def run(self, stopping: asyncio.Event) -> None:
        """Follow until stopped."""
        while not stopping.is_set():
            await asyncio.to_thread(self._follow_once)
            await self._clock.wait(stopping, timeout_s=EVERY_S)

    def tell(self, problem: str) -> None:
        """Set why the flow's progress is not read; an empty text if it is."""
        self._flow.problem = problem

    def _follow_once(self) -> None:
        with ExitStack() as held:
            for lock in (*self._locks, self.turn):
                held.enter_context(lock)
            self._follow(int(self._clock.wall_s() * 1000))
