"""Stores the state of each flow for each minute; finished days become one row each."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from alerts.minutes import SAMPLE_S, MinuteRecorder, Sample, tables
from canary.persistence import history
from fleet.errors import UnavailableError
from fleet.probe_history import DAY_MINUTES, MINUTE_S
from mirrorwatch.audits.series import audited_at
from mirrorwatch.service.recovery_point import NO_POINT, older

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from canary.prober import Prober
    from canary.report import Reporter
    from canary.watch.watch import Instant
    from fleet.probe_history import ValueRun
    from mirrorwatch.audits.flow_audit import FlowAudit
    from mirrorwatch.service.recovery_point import RecoveryPoint
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

WHERE = "minutes of reports"
TIDY_S = 3600.0
FINAL_MINUTES = 6 * 60  # after a day: what is written about it later costs its row
DAYS_AT_ONCE = 10
MAX_PENDING = 50_000  # rows that wait for a store which cannot be written


class MinuteKeeping:
    """Samples every flow, and writes each finished minute; the store keeps minutes for `keep_s`."""

    def __init__(
        self,
        store: Store,
        *,
        replica: str,
        incarnation: str,
        keep_s: float,
        clock: WaitingClock,
        reporter: Reporter,
        samples: Callable[[], Mapping[str, Sample]],
    ) -> None:
        self._store = store
        self._replica, self._incarnation = replica, incarnation
        self._keep_s = keep_s
        self._clock = clock
        self._reporter = reporter
        self._samples = samples
        self._recorder = MinuteRecorder()
        self._pending: list[tuple[str, ValueRun]] = []
        self._tidied_ns: int | None = None
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait

    async def keep(self) -> None:
        """Sample, write and tidy up until cancelled."""
        while True:
            await self.go_round()
            # To the next multiple, so that each minute has as many samples however long a round takes.
            await self._clock.wait(self._never, timeout_s=SAMPLE_S - self._clock.wall_s() % SAMPLE_S)

    async def go_round(self) -> None:
        """Sample each flow once; write finished minutes, and tidy up if due."""
        samples = self._samples()
        over = self._recorder.take(self._clock.wall_s(), samples)
        if over:
            self._pending += over.items()
            await self._write()
        now_ns = self._clock.monotonic_ns()
        due = self._tidied_ns is None or now_ns - self._tidied_ns >= TIDY_S * 1e9
        if due and not await self._tidy(list(samples)):
            self._tidied_ns = now_ns

    async def end(self) -> None:
        """Write the unfinished minute."""
        self._pending += self._recorder.end().items()
        await self._write()

    def move_instants(self, _by_s: float) -> None:
        """End the current minute after the wall clock was set: the next sample may be of an earlier one."""
        self._pending += self._recorder.end().items()

    async def _write(self) -> None:
        rows, self._pending = self._pending[-MAX_PENDING:], []
        try:
            await self._store.write(
                partial(tables.keep_minutes, rows=rows, replica=self._replica, incarnation=self._incarnation)
            )
        except UnavailableError as error:
            self._pending = rows
            self._reporter.problem(WHERE, str(error))
        else:
            self._reporter.settled(WHERE)

    async def _tidy(self, flows: list[str]) -> bool:
        """Turn finished days into rows and delete old data; return whether there is more to do."""
        now_minute = int(self._clock.wall_s() // MINUTE_S)
        until = (now_minute - FINAL_MINUTES) // DAY_MINUTES
        oldest = now_minute - int(self._keep_s // MINUTE_S)
        try:
            await self._store.write(partial(tables.delete_old, minutes_before=oldest))
            how = {"flows": flows, "before": until, "at_most": DAYS_AT_ONCE}
            done = [await self._store.write(partial(part.tidy, **how)) for part in (history, tables)]
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
            return False
        return any(done)


def measured_of(
    prober: Prober,
    by_offsets: Mapping[str, RecoveryPoint],
    audits: Mapping[str, FlowAudit],
    *,
    now: Instant,
) -> dict[str, Sample]:
    """Return the current state of each flow."""
    found = {}
    for name, held in prober.flows.items():
        point = by_offsets.get(name, NO_POINT)
        found[name] = Sample(
            lag_s=point.age_s,
            recovery_point_s=older(held.watch.summary(now.ns).recovery_point_age_s, point).age_s,
            audited_at=audited_at(audits.get(name)),
        )
    return found
