"""The lag monitor as the service has it: a process of its own, kept at work, and asked."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from lagmon.orders import write_orders
from runtime.supervision import Phase, State, supervise
from runtime.worker import Worker

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator

    from canary.report import Reporter
    from mirrorwatch.configuration import Configuration
    from runtime.clock import WaitingClock

WHAT = "the lag monitor"


class Lagging:
    """Keeps the ingest process running and passes questions on to it."""

    def __init__(
        self,
        config: Configuration,
        *,
        clock: WaitingClock,
        reporter: Reporter,
        log_format: str,
        log_level: str,
    ) -> None:
        self._clock = clock
        self._reporter = reporter
        orders = write_orders(
            config.clients,
            burrow_names={alias: alias for alias in config.clients},
            groups=config.lag.groups,
            groups_exclude=config.lag.groups_exclude,
            per_partition=config.lag.per_partition,
            max_series=config.lag.max_series,
            log_level=log_level,
            log_format=log_format,
            secrets=config.secrets,
        )
        self._worker = Worker("lagmon", what=WHAT, orders=orders, clock=clock)

    async def keep(self, stopping: asyncio.Event) -> None:
        """Keep the process at work until told to stop."""

        async def work() -> None:
            await self._worker.run(stopping)

        try:
            await supervise(
                WHAT,
                work,
                clock=self._clock,
                random=random.SystemRandom(),
                on_state=self._tell,
                stopping=stopping,
            )
        finally:
            self._worker.close()

    async def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return its answer; raises UnavailableError with a sentence where it gives none."""
        return await self._worker.ask(question, **details)

    async def stream(self, question: str, **details: object) -> tuple[dict[str, Any], AsyncGenerator[bytes]]:
        """Return its answer in pieces."""
        return await self._worker.stream(question, **details)

    def _tell(self, state: State) -> None:
        self._worker.state = state
        if state.phase in (Phase.DOWN, Phase.REFUSED):
            self._reporter.problem(WHAT, state.sentence)
        elif state.phase is Phase.RUNNING and not state.failures:
            self._reporter.settled(WHAT)
