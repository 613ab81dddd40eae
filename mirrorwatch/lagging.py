"""The lag monitor as the service has it: a process of its own, kept at work, and asked."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

from fleet.errors import UnavailableError
from lagmon.orders import write_orders
from lagmon.sync_orders import sync_orders
from mirrorwatch.lag_book import LagBook
from mirrorwatch.lag_orders import mirror_orders
from runtime.supervision import Phase, State, supervise
from runtime.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from canary.report import Reporter
    from fleet.evidence import LagEvidence
    from mirrorwatch.configuration import Configuration
    from mirrorwatch.lag_keeping import LagKeeping
    from runtime.clock import WaitingClock

WHAT = "the lag monitor"
ASK_S = 1.0  # between two looks at what it says of flows


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
        keeping: LagKeeping,
        on_offsets: Callable[[str, str, Mapping[int, int], float], None] = lambda *_told: None,
    ) -> None:
        """Make it; nothing runs before `keep`.

        `on_offsets` is told with each answer, for each flow whose mirror has any, the id of the canary's
        topic, its next offset of each partition there, and within what time such an offset settles (s).
        """
        self._clock = clock
        self._reporter = reporter
        mirrors = mirror_orders(config)
        syncs = sync_orders(
            config.topology.flows, {name: one.lag_from for name, one in config.lag_sources.items()}
        )
        orders = write_orders(
            config.clients,
            burrow_names=config.burrow_names,
            groups=config.lag.groups,
            groups_exclude=config.lag.groups_exclude,
            per_partition=config.lag.per_partition,
            max_series=config.lag.max_series,
            log_level=log_level,
            log_format=log_format,
            secrets=config.secrets,
            mirrors=mirrors,
            snapshot=str(keeping.path),
            syncs=syncs,
            commits=config.lag.commits.value,
        )
        self._keeping = keeping
        self._watched = [one.name for one in mirrors]
        self.synced = tuple(one.flow for one in syncs)  # flows whose offset syncs are read
        self._worker = Worker("lagmon", what=WHAT, orders=orders, clock=clock)
        self._book = LagBook(self._watched)
        self._canary_topic = config.canary.topic
        self._on_offsets = on_offsets

    async def keep(self, stopping: asyncio.Event) -> None:
        """Keep the process at work until told to stop."""
        ending = asyncio.Event()  # later than `stopping` by what it takes to tell what it knows

        async def work() -> None:
            await self._keeping.hand_over()
            await self._worker.run(ending)

        async def keep_it() -> None:
            try:
                await self._keeping.keep(self.ask, stopping)
            finally:
                ending.set()

        following = asyncio.create_task(self._follow(stopping))
        keeping = asyncio.create_task(keep_it())
        try:
            await supervise(
                WHAT,
                work,
                clock=self._clock,
                random=random.SystemRandom(),
                on_state=self._tell,
                stopping=stopping,
            )
            if keeping.done():
                await keeping  # what went wrong there is our bug
        finally:
            following.cancel()
            keeping.cancel()
            self._worker.close()
            self._keeping.close()

    def evidence(self, flow: str) -> LagEvidence | None:
        """Return what offsets say of a flow right now; None of one that is not watched by them."""
        return self._book.evidence(flow, now_ns=self._clock.monotonic_ns())

    def lag_s(self) -> dict[str, float]:
        """Return how far behind (s) the worst partition of each flow is, of those of which it is known."""
        found = {name: self.evidence(name) for name in self._watched}
        return {name: one.lag_s for name, one in found.items() if one is not None and one.lag_s is not None}

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
        self._book.move_instants(by_s)

    async def _follow(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                await self._look()
            except UnavailableError as error:
                self._book.fall_silent(f"{str(error)[:1].upper()}{str(error)[1:]}.")
            except (KeyError, TypeError, ValueError) as error:  # the canary goes on without it
                sentence = f"its answer about flows cannot be read ({error!r}); please report that"
                self._book.fall_silent(f"The lag monitor says nothing: {sentence}.")
                self._reporter.problem(f"{WHAT}: flows", sentence)
            else:
                self._reporter.settled(f"{WHAT}: flows")
            await self._clock.wait(stopping, timeout_s=ASK_S)

    async def _look(self) -> None:
        _, body = await self.ask("flows", canary_topic=self._canary_topic)
        incarnation = self._worker.starts
        for document in json.loads(body)["flows"]:
            now_at, now_ns = self._clock.wall_s(), self._clock.monotonic_ns()
            self._book.take([document], incarnation=incarnation, now_at=now_at, now_ns=now_ns)
            await asyncio.sleep(0)  # a flow with many findings takes milliseconds, and the taps wait
        for name in self._watched:
            told = self._book.canary_offsets(name)
            if told is not None:
                self._on_offsets(name, *told)

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
