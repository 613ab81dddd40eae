"""Incidents and history: sampled every second, stored, and read for pages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from alerts import incident_tables
from alerts.incidents import Recorder, bar_of
from alerts.incidents.bars import DAY_COLUMNS, DAY_MINUTES, MONTH_COLUMNS, MONTH_MINUTES
from fleet.errors import UnavailableError
from mirrorwatch.service.view import FlowBars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from alerts.incidents import Batch, Incident, Sample, Span
    from canary.report import Reporter
    from mirrorwatch.service.view import FlowView
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

SAMPLE_S = 1.0
WRITE_S = 5.0  # and at once where an incident begins, changes or is over
BARS_S = 60.0
TIDY_S = 3600.0
RECENT_S = 86_400.0
MOST_RECENT = 500
WHERE = "store: incidents"

Flow = tuple[str, str, str]  # its name, source and target


class IncidentKeeping:
    """Keeps incidents; `open` are those in the store, of every process on it.

    `samples` returns the state of each flow by name, source and target. `observer` names this process.
    """

    def __init__(
        self,
        store: Store,
        *,
        samples: Callable[[], Mapping[Flow, Sample]],
        observer: str,
        incidents_s: float,
        minutes_s: float,
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        self.open: tuple[Incident, ...] = ()
        self.bars: Mapping[str, FlowBars] = {}
        self._store = store
        self._samples = samples
        self._observer = observer
        self._recent: Mapping[str, Sequence[Incident]] = {}  # of the last day, by flow
        self._incidents_s = incidents_s
        self._minutes_s = minutes_s
        self._clock = clock
        self._reporter = reporter
        self._recorders: dict[Flow, Recorder] = {}
        self._left: dict[Flow, Recorder] = {}  # of flows that are watched no more, to be written once more
        self._wrote_ns: int | None = None
        self._drew_ns: int | None = None
        self._tidied_ns: int | None = None
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait

    async def keep(self) -> None:
        """Sample, write and read until cancelled; a hanging store leaves no gap in the samples."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sample_on())
            group.create_task(self._follow_on())

    async def end(self) -> None:
        """Write everything at shutdown."""
        await self._write(ending=True)

    def sample(self) -> None:
        """Sample the state of each flow."""
        samples = self._samples()
        for flow, sample in samples.items():
            self._recorders.setdefault(flow, Recorder(self._observer)).note(sample)
        for flow in self._recorders.keys() - samples.keys():
            self._left[flow] = self._recorders.pop(flow)

    async def follow(self) -> None:
        """Write and read what is due."""
        urgent = any(one.urgent for one in self._recorders.values()) or self._left
        if (urgent or self._is_due(self._wrote_ns, WRITE_S)) and not await self._write():
            return
        if self._is_due(self._drew_ns, BARS_S):
            await self._draw()
        if self._is_due(self._tidied_ns, TIDY_S):
            await self._tidy()

    def open_of(self, flow: str) -> Incident | None:
        """Return the open incident of a flow, or None."""
        return next((one for one in self.open if one.flow == flow), None)

    def recent_of(self, flow: str) -> tuple[Incident, ...]:
        """Return the incidents of a flow in the last day, newest first, including an open one."""
        return tuple(self._recent.get(flow, ()))

    def shown(self, flow: FlowView) -> FlowView:
        """Return a flow's view with its bars and incidents."""
        name = flow.flow
        return replace(
            flow, bars=self.bars.get(name), incident=self.open_of(name), recent=self.recent_of(name)
        )

    async def find(self, incident: str) -> Incident | None:
        """Return an incident; raises UnavailableError."""
        return await self._store.read(partial(incident_tables.incident_of, incident=incident))

    async def newest(
        self, *, flow: str | None = None, open_only: bool = False, offset: int = 0, limit: int = 100
    ) -> tuple[tuple[Incident, ...], int]:
        """Return a page of incidents and their total number; raises UnavailableError."""
        read = partial(
            incident_tables.newest_incidents, flow=flow, open_only=open_only, offset=offset, limit=limit
        )
        return await self._store.read(read)

    def move_instants(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        for one in (*self._recorders.values(), *self._left.values()):
            one.moved(by_s)

    async def _sample_on(self) -> None:
        while True:
            self.sample()
            await self._clock.wait(self._never, timeout_s=SAMPLE_S)

    async def _follow_on(self) -> None:
        while True:
            await self.follow()
            await self._clock.wait(self._never, timeout_s=SAMPLE_S)

    async def _write(self, *, ending: bool = False) -> bool:
        left = dict(self._left)  # more may leave while this is written
        recorders = {**left, **self._recorders}
        batches: dict[Flow, Batch] = {
            flow: one.take(ending=ending or flow in left) for flow, one in recorders.items()
        }
        now_at = self._clock.wall_s()
        self._wrote_ns = self._clock.monotonic_ns()
        keep = partial(incident_tables.keep, batches=batches, observer=self._observer, now_at=now_at)
        try:
            self.open = await self._store.write(keep)
            recent = partial(incident_tables.incidents_between, from_at=now_at - RECENT_S, to_at=now_at + 60)
            self._recent = _by_flow((await self._store.read(recent))[: -MOST_RECENT - 1 : -1])
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
            return False
        self._reporter.settled(WHERE)
        for flow, batch in batches.items():
            recorders[flow].written(batch)
        for flow in left:
            del self._left[flow]
        return True

    async def _draw(self) -> None:
        until = int(self._clock.wall_s() // 60)
        read = partial(incident_tables.history_since, minute=until - MONTH_MINUTES)
        try:
            found = await self._store.read(read)
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
            return
        names = [flow[0] for flow in self._recorders]
        self.bars = await asyncio.to_thread(_drawn, names, found, until)
        self._drew_ns = self._clock.monotonic_ns()

    async def _tidy(self) -> None:
        now_at = self._clock.wall_s()
        delete = partial(
            incident_tables.delete_old,
            incidents_before=now_at - self._incidents_s,
            history_before=int((now_at - self._minutes_s) // 60),
        )
        try:
            await self._store.write(delete)
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
            return
        self._tidied_ns = self._clock.monotonic_ns()

    def _is_due(self, last_ns: int | None, every_s: float) -> bool:
        return last_ns is None or self._clock.monotonic_ns() - last_ns >= every_s * 1e9


def bars_of(spans: Sequence[Span], until_minute: int) -> FlowBars:
    """Return both bars of a flow."""
    return FlowBars(
        *(
            bar_of(spans, until_minute=until_minute, minutes=minutes, columns=columns)
            for minutes, columns in ((DAY_MINUTES, DAY_COLUMNS), (MONTH_MINUTES, MONTH_COLUMNS))
        )
    )


def _by_flow(incidents: Iterable[Incident]) -> dict[str, list[Incident]]:
    found: dict[str, list[Incident]] = {}
    for one in incidents:
        found.setdefault(one.flow, []).append(one)
    return found


def _drawn(flows: Iterable[str], found: Mapping[str, list[Span]], until_minute: int) -> dict[str, FlowBars]:
    return {name: bars_of(found.get(name, ()), until_minute) for name in flows}
