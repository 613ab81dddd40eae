"""The lag monitor as the service has it: a process of its own, kept at work, and asked."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet.errors import UnavailableError
from lagmon.mirror_orders import order_of
from lagmon.orders import write_orders
from runtime.supervision import Phase, State, supervise
from runtime.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from canary.report import Reporter
    from fleet.vocabulary import FlowVerdict
    from lagmon.mirror_orders import MirrorOrder
    from mirrorwatch.configuration import Configuration
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
    ) -> None:
        self._clock = clock
        self._reporter = reporter
        mirrors = _mirrors(config)
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
            mirrors=mirrors,
        )
        self._watched = {one.name for one in mirrors}
        self._worker = Worker("lagmon", what=WHAT, orders=orders, clock=clock)
        self.flows: dict[str, dict[str, Any]] = {}  # what it last said of each flow, by name
        self._silence = "The lag monitor has not answered yet."  # why there is nothing to tell, "" else

    async def keep(self, stopping: asyncio.Event) -> None:
        """Keep the process at work until told to stop."""

        async def work() -> None:
            await self._worker.run(stopping)

        following = asyncio.create_task(self._follow(stopping))
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
            following.cancel()
            self._worker.close()

    def with_parts(self, verdicts: Mapping[str, FlowVerdict]) -> dict[str, FlowVerdict]:
        """Return the verdicts with what offsets say as one more part of each that is watched by them."""
        return {
            name: replace(verdict, parts=(*verdict.parts, ("lag", self._sentence(name))))
            if name in self._watched
            else verdict
            for name, verdict in verdicts.items()
        }

    def _sentence(self, flow: str) -> str:
        told = self.flows.get(flow)
        return str(told["sentence"]) if told is not None and not self._silence else self._silence

    async def _follow(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            try:
                _, body = await self.ask("flows")
                self.flows = {one["flow"]: one for one in json.loads(body)["flows"]}
                self._silence = ""
            except UnavailableError as error:
                self._silence = f"{str(error)[:1].upper()}{str(error)[1:]}."
            await self._clock.wait(stopping, timeout_s=ASK_S)

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


def _mirrors(config: Configuration) -> list[MirrorOrder]:
    """Return an order for each flow that is followed by its worker's offsets."""
    found = []
    for flow in config.topology.flows:
        source = config.lag_sources.get(flow.name)
        if source is None or source.lag_from == "connect-offsets":
            told = (None, None) if source is None else (source.kafka_cluster, source.topic)
            found.append(order_of(flow, cluster=told[0], topic=told[1]))
    return found
