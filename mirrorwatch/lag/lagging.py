"""The lag monitor as the service has it: a process of its own, kept at work, and asked.

Where another configuration changes what it works by, the process ends, which tells what it knows, and the
next begins with the new orders from there. That happens beside the reload: however the process ends, the
orders that were given last are those that run.
"""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError
from fleet.verdicts.offset_findings import lost_records
from fleet.verdicts.offsets import says_something
from fleet.verdicts.words import ended
from mirrorwatch.lag.book import LagBook
from mirrorwatch.lag.collected import CollectedCounts
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
    from mirrorwatch.service.connect_looks import ConnectLook
    from mirrorwatch.service.view import EventView
    from runtime.process.clock import WaitingClock

WHAT = "the lag monitor"
OFF = f"{WHAT} is off (lag.commits)"
WELL_AFTER_S = BackOff().well_after_s  # a process that has run for so long: what ended the one before is over
ASK_S = 1.0  # between two looks at what it says of flows


class Lagging:
    """Keeps the ingest process running, while it is not off, and passes questions on to it."""

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
        self._keeping = keeping
        self._logs = log_level, log_format
        self._orders = self._orders_of(config)  # by which it is to run; None: it is off
        self._told = self._orders  # to the process that runs, or that ran last
        self._worker = Worker("lagmon", what=WHAT, orders={}, clock=clock)
        self._book = LagBook(self._watched)
        self._canary_topic = config.canary.topic
        self._collected = CollectedCounts()
        self._has_failed = False
        self._running_ns: int | None = None  # since when a process runs
        self._on_offsets = on_offsets
        self._changed = asyncio.Event()
        self._event_log = EventLog(clock.wall_s())
        self._connect: ConnectLook | None = None
        self._connect_told: tuple[int, ConnectLook] | None = None  # to which process, by its number

    @property
    def on(self) -> bool:
        """Tell whether there is a lag monitor at all."""
        return self._orders is not None

    @property
    def synced(self) -> tuple[str, ...]:
        """Return the flows whose offset syncs the process reads."""
        return () if self._orders is None or self._told is None else self._told.synced

    def use(self, config: Configuration) -> None:
        """Work by another configuration from now on; where nothing changes by that, nothing is touched."""
        new, before = self._orders_of(config), self._orders
        if new == before:
            return
        self._orders = new
        if new is None:
            self._collected.forget_standing()
        if before is not None:
            changed = [name for name in self._watched if not before.same(name, new)]
            self._book.watch(self._watched, anew=changed)
        else:
            self._book = LagBook(self._watched)
        self._reporter.event(f"{WHAT} stopped" if new is None else f"{WHAT} restarts with new settings")
        self._changed.set()

    def note_states(self, look: ConnectLook) -> None:
        """Have the process know what Kafka Connect says of the mirrors' tasks."""
        self._connect = look

    async def keep(self, stopping: asyncio.Event) -> None:
        """Keep the process at work, by the newest orders, until told to stop."""
        following = asyncio.create_task(self._follow(stopping))
        try:
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
        finally:
            following.cancel()
            self._worker.close()
            self._keeping.close()

    async def _work(self, orders: LagOrders, stopping: asyncio.Event) -> None:
        """Keep a process at work by these orders until told to stop."""
        ending = asyncio.Event()  # later than `stopping` by what it takes to tell what it knows
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
                await keeping  # what went wrong there is our bug
        finally:
            keeping.cancel()

    def evidence(self, flow: str) -> LagEvidence | None:
        """Return what offsets say of a flow right now; None of one that is not watched by them."""
        return self._book.evidence(flow, now_ns=self._clock.monotonic_ns())

    def collected(self, alias: str) -> dict[str, dict[str, float]]:
        """Return when it last read what of a cluster (epoch s), and how often not; {} where it is off."""
        return self._collected.document(alias) if self.on else {}

    def unanswered(self, alias: str) -> Unanswered | None:
        """Return since when a cluster does not answer it, and why; None of one that does, or is not asked."""
        return self._collected.unanswered(alias) if self.on else None

    def standing(self, alias: str) -> Standing | None:
        """Return how a cluster is by what it answers; None where that is not known, not yet or no more."""
        return self._collected.standing(alias, now_ns=self._clock.monotonic_ns()) if self.on else None

    def untried(self, aliases: Iterable[str]) -> set[str]:
        """Return which of these clusters it neither reached nor failed at; none once it failed itself."""
        return set() if self._has_failed else set(aliases) - self._collected.tried

    def recovery_points(self) -> dict[str, RecoveryPoint]:
        """Return how far behind the worst partition of each flow is, of those of which it is known."""
        found = {name: self.evidence(name) for name in self._watched}
        return {
            name: RecoveryPoint(one.lag_s, one.lag_s_kind)
            for name, one in found.items()
            if one is not None and one.lag_s is not None
        }

    def lost(self) -> dict[str, Bounds]:
        """Return how many records offsets show to be lost, of each flow of which they say anything.

        The canary counts those of its own topic.
        """
        told = {name: self.evidence(name) for name in self._watched}
        now_at, own = self._clock.wall_s(), self._canary_topic
        return {
            name: lost_records(one, now_at, without=own)
            for name, one in told.items()
            if one is not None and (says_something(one) or one.findings)
        }

    def lag_records(self, flow: str) -> int | None:
        """Return how many records of a flow wait by its mirror's offsets; None where that is not known."""
        return self._book.lag_records(flow, now_ns=self._clock.monotonic_ns())

    def events(self) -> dict[str, tuple[EventView, ...]]:
        """Return what happened to each flow within a day, newest first."""
        return {name: self._book.events(name) for name in self._watched}

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
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
        except (KeyError, MalformedError, TypeError, ValueError) as error:  # the canary goes on without it
            sentence = f"its answer about flows: invalid ({error!r}); please report this"
            self._book.fall_silent(f"No verdict from the lag monitor: {sentence}.")
            self._reporter.problem(f"{WHAT}: flows", sentence)
        else:
            self._reporter.settled(f"{WHAT}: flows")
            if self._runs_well():
                self._reporter.settled(WHAT)

    def _runs_well(self) -> bool:
        """Tell whether a process has run for so long that the end of the one before needs nobody any more."""
        if self._running_ns is None:
            return False
        return self._clock.monotonic_ns() - self._running_ns >= WELL_AFTER_S * 1e9

    async def _look_at_flows(self) -> None:
        by = self._told
        head, body = await self.ask("flows", canary_topic=self._canary_topic)
        if not self.on:
            return  # it was switched off meanwhile
        incarnation = self._worker.starts
        now_ns = self._clock.monotonic_ns()
        self._collected.take(head.get("collected", {}), incarnation=incarnation, now_ns=now_ns)
        for document in json.loads(body)["flows"]:
            if by is None or not by.same(document["flow"], self._orders):
                continue  # the process that answers works by orders that hold no more
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
        """Tell the process what Connect says, once, and each process that takes the place of another."""
        if self._connect is None:
            return
        telling = self._worker.starts, self._connect
        if telling != self._connect_told:
            with suppress(UnavailableError):  # it says less of causes then, and no less of the flows
                await self.ask("connect_states", **telling[1].document())
                self._connect_told = telling

    async def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return its answer; raises UnavailableError with a sentence where it gives none."""
        return await self._worker.ask(question, **details)

    async def stream(self, question: str, **details: object) -> tuple[dict[str, Any], AsyncGenerator[bytes]]:
        """Return its answer in pieces; none by orders that hold no more, so that series of them go."""
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
            state = replace(state, sentence=told)  # heard by whoever asks while there is no process
        self._worker.state = state
        self._running_ns = self._clock.monotonic_ns() if state.phase is Phase.RUNNING else None
        if state.phase in (Phase.DOWN, Phase.REFUSED):
            self._has_failed = True
            self._reporter.problem(WHAT, state.sentence)
        elif state.phase is Phase.RUNNING and not state.failures:
            self._reporter.settled(WHAT)


async def _set_by_either(event: asyncio.Event, one: asyncio.Event, other: asyncio.Event) -> None:
    """Set an event as soon as one of two others is."""
    waiting = [asyncio.create_task(each.wait()) for each in (one, other)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        event.set()
    finally:
        for each in waiting:
            each.cancel()
