"""The lag monitor in the service: runs its process and polls its answers.

If a new configuration changes its settings, the process ends, returns its state, and the next process starts
with the new settings. This happens in parallel with the reload; the last settings always win.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError
from fleet.verdicts.offset_findings import lost_by_time, lost_records
from fleet.verdicts.offsets import says_something
from fleet.verdicts.words import ended
from mirrorwatch.lag.collected import CollectedCounts
from mirrorwatch.lag.flow_answers import FlowAnswers
from mirrorwatch.lag.keeping import WHERE as KEEPING
from mirrorwatch.lag.orders import lag_orders
from mirrorwatch.service.event_log import EventLog
from mirrorwatch.service.recovery_point import RecoveryPoint
from runtime.process.supervision import BackOff, Phase, State, supervise
from runtime.process.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from canary.report import Reporter
    from fleet.quantity import Bounds
    from fleet.verdicts.evidence import LagEvidence
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.lag.collected import Standing, Unanswered
    from mirrorwatch.lag.keeping import LagKeeping
    from mirrorwatch.lag.orders import LagOrders
    from mirrorwatch.service.connect_states import ConnectStates
    from mirrorwatch.service.view import EventView
    from runtime.process.clock import WaitingClock

WHAT = "the lag monitor"
OFF = f"{WHAT} is off (lag.commits)"
WELL_AFTER_S = BackOff().well_after_s  # after this, the end of the process before is no longer a problem
ASK_S = 1.0  # between two polls


class LagMonitor:
    """Runs the ingest process, unless it is off, and forwards requests to it."""

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
        """Create it; `keep` starts the process.

        After each answer, `on_offsets` gets for each flow: the id of the canary topic, the mirror's committed
        offsets of its partitions, and the time within which such an offset settles (s).
        """
        self._clock = clock
        self._reporter = reporter
        self._keeping = keeping
        self._logs = log_level, log_format
        self._orders = self._orders_of(config)  # the settings it should run with; None: it is off
        self._told = self._orders  # the settings of the running or last process
        self._worker = Worker("lagmon", what=WHAT, orders={}, clock=clock)
        self._book = FlowAnswers(self._watched)
        self._canary_topic = config.canary.topic
        self._collected = CollectedCounts()
        self._has_failed = False
        self._running_ns: int | None = None  # start of the running process
        self._on_offsets = on_offsets
        self._changed = asyncio.Event()
        self._event_log = EventLog(clock.wall_s())
        self._connect: ConnectStates | None = None
        self._connect_told: tuple[int, ConnectStates] | None = None  # last states sent, and to which process

    @property
    def on(self) -> bool:
        """Return whether the lag monitor is on."""
        return self._orders is not None

    @property
    def synced(self) -> tuple[str, ...]:
        """Return the flows whose offset syncs the process reads."""
        return () if self._orders is None or self._told is None else self._told.synced

    def use(self, config: Configuration) -> None:
        """Use another configuration from now on; without relevant changes nothing happens."""
        new, before = self._orders_of(config), self._orders
        if new == before:
            return
        self._orders = new
        if new is None:
            self._collected.forget_clusters()
        if before is not None:
            changed = [name for name in self._watched if not before.same(name, new)]
            self._book.watch(self._watched, anew=changed)
        else:
            self._book = FlowAnswers(self._watched)
        if self._worker.starts:
            self._reporter.event(f"{WHAT} stopped" if new is None else f"{WHAT} restarts with new settings")
        self._changed.set()

    def note_states(self, look: ConnectStates) -> None:
        """Send the states of connectors and tasks to the process."""
        self._connect = look

    async def keep(self, stopping: asyncio.Event) -> None:
        """Run the process with the newest settings, until told to stop."""
        try:
            async with asyncio.TaskGroup() as group:
                following = group.create_task(self._follow(stopping))
                await self._run(stopping)
                following.cancel()
        finally:
            self._worker.close()
            self._keeping.close()

    async def _run(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            self._changed.clear()
            orders, over = self._orders, asyncio.Event()
            watching = asyncio.create_task(_set_by_either(over, stopping, self._changed))
            try:
                if orders is None:
                    for where in (WHAT, f"{WHAT}: flows", KEEPING):
                        self._reporter.settled(where)
                    await over.wait()
                else:
                    await self._work(orders, over)
            finally:
                watching.cancel()

    async def _work(self, orders: LagOrders, stopping: asyncio.Event) -> None:
        """Run a process with these settings until told to stop."""
        ending = asyncio.Event()  # set after `stopping`, when the process has returned its state
        self._told = orders

        async def work() -> None:
            self._worker.orders = {**orders.told, "snapshot": await self._keeping.hand_over()}
            await self._worker.run(ending)

        async def keep_it() -> None:
            try:
                await self._keeping.keep(self.ask, stopping)
            finally:
                ending.set()

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
                await keeping  # an exception in it is a bug
        finally:
            keeping.cancel()

    def evidence(self, flow: str) -> LagEvidence | None:
        """Return the evidence of a flow by offsets; None if its offsets are not watched."""
        return self._book.evidence(flow, now_ns=self._clock.monotonic_ns())

    def collected(self, alias: str) -> dict[str, dict[str, float]]:
        """Return last success (epoch s) and errors of its collectors on a cluster; {} if it is off."""
        return self._collected.document(alias) if self.on else {}

    def unanswered(self, alias: str) -> Unanswered | None:
        """Return since when a cluster has not answered it, and why; None if it answers or is not read."""
        return self._collected.unanswered(alias) if self.on else None

    def standing(self, alias: str) -> Standing | None:
        """Return the state of a cluster by its answers; None if unknown."""
        return self._collected.standing(alias, now_ns=self._clock.monotonic_ns()) if self.on else None

    def untried(self, aliases: Iterable[str]) -> set[str]:
        """Return the clusters that it neither reached nor failed at; none after it failed itself."""
        return set() if self._has_failed else set(aliases) - self._collected.tried

    def recovery_points(self) -> dict[str, RecoveryPoint]:
        """Return the recovery point by offsets of each flow that has one."""
        found = {name: self.evidence(name) for name in self._watched}
        return {
            name: RecoveryPoint(one.lag_s, one.lag_s_kind)
            for name, one in found.items()
            if one is not None and one.lag_s is not None
        }

    def lost(self) -> dict[str, Bounds]:
        """Return the number of lost records by offsets, for flows where it is known.

        The canary counts those of its own topic.
        """
        told = {name: self.evidence(name) for name in self._watched}
        now_at, own = self._clock.wall_s(), self._canary_topic
        return {
            name: lost_records(one, now_at, without=own)
            for name, one in told.items()
            if one is not None and (says_something(one) or one.findings)
        }

    def lost_by_time(self, flow: str) -> tuple[tuple[float, Bounds], ...]:
        """Return the parts of `lost` of a flow, each with when its evidence was last seen (epoch s)."""
        told = self.evidence(flow)
        return () if told is None else lost_by_time(told, self._clock.wall_s(), without=self._canary_topic)

    def lag_records(self, flow: str) -> int | None:
        """Return the lag of a flow in records; None if unknown."""
        return self._book.lag_records(flow, now_ns=self._clock.monotonic_ns())

    def events(self) -> dict[str, tuple[EventView, ...]]:
        """Return the events of each flow in the last day, newest first."""
        return {name: self._book.events(name) for name in self._watched}

    def move_instants(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        self._book.move_instants(by_s)

    async def _follow(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            if self._orders is not None:
                await self._look()
            await self._clock.wait(stopping, timeout_s=ASK_S)

    async def _look(self) -> None:
        try:
            await self._hand_over_states()
            await self._look_at_flows()
        except UnavailableError as error:
            self._book.fall_silent(ended(f"{str(error)[:1].upper()}{str(error)[1:]}"))
        except (KeyError, MalformedError, TypeError, ValueError) as error:  # the canary continues without it
            sentence = f"its answer about flows: invalid ({error!r}); please report this"
            self._book.fall_silent(f"No verdict from the lag monitor: {sentence}.")
            self._reporter.problem(f"{WHAT}: flows", sentence)
        else:
            self._reporter.settled(f"{WHAT}: flows")
            if self._runs_well():
                self._reporter.settled(WHAT)

    def _runs_well(self) -> bool:
        """Return whether a process has run long enough to clear the problem of the one before."""
        if self._running_ns is None:
            return False
        return self._clock.monotonic_ns() - self._running_ns >= WELL_AFTER_S * 1e9

    async def _look_at_flows(self) -> None:
        by = self._told
        head, body = await self.ask("flows", canary_topic=self._canary_topic)
        if not self.on:
            return  # it was turned off meanwhile
        incarnation = self._worker.starts
        now_ns = self._clock.monotonic_ns()
        self._collected.take(head.get("collected", {}), incarnation=incarnation, now_ns=now_ns)
        for document in json.loads(body)["flows"]:
            if by is None or not by.same(document["flow"], self._orders):
                continue  # the process still has old settings
            now_at, now_ns = self._clock.wall_s(), self._clock.monotonic_ns()
            self._book.take([document], incarnation=incarnation, now_at=now_at, now_ns=now_ns)
            for one in self._event_log.due(document["flow"], self._book.events(document["flow"])):
                self._reporter.event(one.sentence, flow=document["flow"], kind=one.kind)
            await asyncio.sleep(0)  # a flow with many findings takes milliseconds, and the taps wait
        for name in self._watched:
            told = self._book.canary_offsets(name)
            if told is not None:
                self._on_offsets(name, *told)

    async def _hand_over_states(self) -> None:
        """Send the states of Connect once to each process."""
        if self._connect is None:
            return
        telling = self._worker.starts, self._connect
        if telling != self._connect_told:
            with suppress(UnavailableError):  # without them it knows fewer causes
                await self.ask("connect_states", **telling[1].document())
                self._connect_told = telling

    async def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return its answer; raises UnavailableError with the reason."""
        return await self._worker.ask(question, **details)

    async def stream(self, question: str, **details: object) -> tuple[dict[str, Any], AsyncGenerator[bytes]]:
        """Return its answer in pieces; raises UnavailableError while the process has old settings."""
        if self._told is not self._orders:
            raise UnavailableError(f"{WHAT} restarts with new settings")
        return await self._worker.stream(question, **details)

    @property
    def _watched(self) -> tuple[str, ...]:
        return () if self._orders is None else tuple(self._orders.flows)

    def _orders_of(self, config: Configuration) -> LagOrders | None:
        level, form = self._logs
        return lag_orders(config, log_level=level, log_format=form)

    def _tell(self, state: State) -> None:
        if not state.sentence:
            ended = state.phase is Phase.ENDED
            told = f"{WHAT} has stopped" if ended else f"{WHAT} is starting"
            state = replace(state, sentence=told)  # the reason for requests without a process
        self._worker.state = state
        self._running_ns = self._clock.monotonic_ns() if state.phase is Phase.RUNNING else None
        if state.phase in (Phase.DOWN, Phase.REFUSED):
            self._has_failed = True
            self._reporter.problem(WHAT, state.sentence)
        elif state.phase is Phase.RUNNING and not state.failures:
            self._reporter.settled(WHAT)


async def _set_by_either(event: asyncio.Event, one: asyncio.Event, other: asyncio.Event) -> None:
    """Set an event as soon as one of two others is set."""
    waiting = [asyncio.create_task(each.wait()) for each in (one, other)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        event.set()
    finally:
        for each in waiting:
            each.cancel()
