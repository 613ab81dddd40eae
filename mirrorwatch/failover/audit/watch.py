"""The audit in the service: runs its process with the newest settings and polls its answers."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fleet.errors import UnavailableError
from fleet.quantity import Bounds
from mirrorwatch.failover.audit.orders import write_orders
from mirrorwatch.service.view import FailoverGroupView, FailoverView
from runtime.process.supervision import Phase, State, supervise
from runtime.process.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.report import Reporter
    from lagmon.exposition.format import Form
    from mirrorwatch.configuration.configuration import Configuration
    from runtime.process.clock import WaitingClock

WHAT = "the failover audit"
OFF = f"{WHAT} is off (failover.audit)"
ASK_S = 2.0  # between two polls
SERIES_WITHIN_S = 1.0  # a process that hangs must not hold up a scrape


class FailoverAudit:
    """Runs the audit's process, unless it is off, and forwards requests to it."""

    def __init__(
        self,
        config: Configuration,
        *,
        clock: WaitingClock,
        reporter: Reporter,
        log_format: str,
        log_level: str,
    ) -> None:
        """Create it; `keep` starts the process."""
        self._clock = clock
        self._reporter = reporter
        self._logs = log_level, log_format
        self._orders = self._orders_of(config)  # the settings it should run with; None: it is off
        self._worker = Worker("mirrorwatch.failover.audit", what=WHAT, orders={}, clock=clock)
        self._changed = asyncio.Event()
        self._seen = -1, 0  # number of the last audit that was taken over, and of its process
        self._texts: dict[Form, tuple[tuple[int, int], bytes]] = {}  # series, with their audit as `_seen`
        self.flows: Mapping[str, FailoverView] = {}
        """The last audit of each flow."""

    @property
    def on(self) -> bool:
        """Return whether the audit is on."""
        return self._orders is not None

    def use(self, config: Configuration) -> None:
        """Use another configuration from now on; without relevant changes nothing happens."""
        new, before = self._orders_of(config), self._orders
        if new == before:
            return
        self._orders = new
        self.flows, self._texts = {}, {}
        if self._worker.starts:
            self._reporter.event(f"{WHAT} stopped" if new is None else f"{WHAT} restarts with new settings")
        self._changed.set()

    async def keep(self, stopping: asyncio.Event) -> None:
        """Run the process with the newest settings, until told to stop."""
        try:
            async with asyncio.TaskGroup() as group:
                following = group.create_task(self._follow(stopping))
                await self._run(stopping)
                following.cancel()
        finally:
            self._worker.close()

    async def _run(self, stopping: asyncio.Event) -> None:
        stop = asyncio.create_task(stopping.wait())
        try:
            while not stopping.is_set():
                self._changed.clear()
                over = asyncio.Event()
                change = asyncio.create_task(self._changed.wait())
                try:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(self._work(over))
                        await asyncio.wait((stop, change), return_when=asyncio.FIRST_COMPLETED)
                        over.set()
                finally:
                    change.cancel()
        finally:
            stop.cancel()

    async def _work(self, over: asyncio.Event) -> None:
        """Run a process with the present settings until `over`; nothing if it is off."""
        if self._orders is None:
            self._reporter.settled(WHAT)
            return
        self._worker.orders = dict(self._orders)
        await supervise(
            WHAT,
            lambda: self._worker.run(over),
            clock=self._clock,
            random=random.SystemRandom(),
            on_state=self._tell,
            stopping=over,
        )

    async def _follow(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            if self.on:
                with suppress(UnavailableError):  # its supervisor reports that
                    await self._look()
            await self._clock.wait(stopping, timeout_s=ASK_S)

    async def _look(self) -> None:
        process = self._worker.starts
        since = self._seen[0] if self._seen[1] == process else -1
        head, body = await self._worker.ask("flows", since=since)
        if self.on and body:
            self.flows = {one["flow"]: _view(one) for one in json.loads(body)["flows"]}
            self._seen = head["number"], process
            self._reporter.settled(WHAT)

    async def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return its answer; raises UnavailableError with the reason."""
        return await self._worker.ask(question, **details)

    async def series(self, form: Form) -> bytes:
        """Return the series of the last audit as text; nothing if it is off or has never answered.

        The process is asked once for each audit, and a scrape does not wait long for it.
        """
        if not self.on:
            return b""
        audit, text = self._texts.get(form, (None, b""))
        if audit != self._seen:
            with suppress(UnavailableError, TimeoutError):
                async with asyncio.timeout(SERIES_WITHIN_S):
                    _, text = await self._worker.ask("metrics", form=form.value)
                self._texts[form] = self._seen, text
        return text

    def _orders_of(self, config: Configuration) -> dict[str, Any] | None:
        level, form = self._logs
        return write_orders(config, log_level=level, log_format=form)

    def _tell(self, state: State) -> None:
        self._worker.state = state
        if state.phase in (Phase.DOWN, Phase.REFUSED):
            self._reporter.problem(WHAT, state.sentence)


def _view(one: Mapping[str, Any]) -> FailoverView:
    return FailoverView(
        at=one["at"],
        drain_s=one["drain_s"],
        drift=one["drift"],
        problem=one["problem"],
        group_count=one["group_count"],
        ready_count=one["ready_count"],
        by_status=one["by_status"],
        worst=tuple(
            FailoverGroupView(
                group=each["group"],
                status=each["status"],
                sentence=each["sentence"],
                **{f"{name}_records": _bounds(each[name]) for name in ("read_again", "skipped", "at_risk")},
            )
            for each in one["worst"]
        ),
    )


def _bounds(told: tuple[int, int | None] | None) -> Bounds | None:
    return None if told is None else Bounds(*told)
