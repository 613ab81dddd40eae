"""Checksum runs known to the service: those in the store and those posted to it.

Runs on the same store need not be posted: every service on it polls the store each LOOK_S. The service keeps
of a run only what pages, verdicts and series need.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from checksum.compare.verdicts import FINDING
from fleet.errors import MalformedError, UnavailableError
from fleet.verdicts.checksum import HOLD_FOUND_S
from mirrorwatch.audits.flow_audit import flow_audit, run_summary
from mirrorwatch.audits.run_document import read_run
from mirrorwatch.audits.series import MOST_SERIES, ChecksumSeries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.report import Reporter
    from checksum.history.entries import PackedRun
    from checksum.history.history import ChecksumHistory, Counted, RunRow
    from fleet.verdicts.checksum_evidence import ChecksumEvidence
    from fleet.verdicts.flow import Flow
    from mirrorwatch.audits.flow_audit import FlowAudit, RunSummary
    from mirrorwatch.audits.run_document import RunDocument
    from mirrorwatch.audits.series import FlowTopics
    from runtime.process.clock import WaitingClock

LOOK_S = 30.0
FORGET_S = 3600.0
KEPT_RUNS = 30  # of a flow: a month of nights; and those whose findings still hold
WHERE, WHERE_RUNS, WHERE_SERIES = "store: checksums", "the checksum: runs", "the checksum: /metrics"


class ChecksumFollowing:
    """Knows the checksum state of each flow of the configuration."""

    def __init__(
        self,
        history: ChecksumHistory,
        flows: Iterable[Flow],
        *,
        keep_s: float,
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        """Create it; the store keeps runs for `keep_s`."""
        self._history = history
        self._flows = {flow.name: flow for flow in flows}
        self._keep_s = keep_s
        self._clock = clock
        self._reporter = reporter
        self._gists: dict[str, dict[str, RunSummary]] = {}  # by flow and run
        self._read_as: dict[str, bool] = {}  # whether of exactly-once, by flow
        self._unreadable: dict[str, str] = {}  # why, by run
        self._unsettled: set[str] = set()  # flows of which runs were taken that nothing tells of yet
        self._unwritten = False  # whether a flow stands otherwise than the series tell
        self._turn = asyncio.Lock()
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait
        self.audits: dict[str, FlowAudit] = {}
        self.series: ChecksumSeries | None = None  # None while no run is known

    def use(self, flows: Iterable[Flow]) -> None:
        """Follow these flows from now on.

        If the delivery of a flow changed, the next poll reads its runs again; until then they stay. It also
        drops topics that a changed flow no longer replicates.
        """
        before, self._flows = self._flows, {flow.name: flow for flow in flows}
        self._unsettled |= {name for name, flow in self._flows.items() if before.get(name, flow) != flow}
        for name in before.keys() - self._flows.keys():
            self._gists.pop(name, None)
            self._stand(name, None)
        if self._unwritten:
            self._tell(ChecksumSeries(self._topics()))

    def knows(self, flow: str) -> bool:
        """Return whether this flow is followed."""
        return flow in self._flows

    def evidence(self, flow: str) -> ChecksumEvidence | None:
        """Return the evidence of a flow's runs; None if no run has ended."""
        standing = self.audits.get(flow)
        return None if standing is None else standing.evidence

    async def keep(self) -> None:
        """Poll the store and delete old runs, until cancelled."""
        forgot_ns: int | None = None
        while True:
            await self.look()
            now_ns = self._clock.monotonic_ns()
            if forgot_ns is None or now_ns - forgot_ns >= FORGET_S * 1e9:
                forgot_ns = now_ns
                await self._forget()
            await self._clock.wait(self._never, timeout_s=LOOK_S)

    async def look(self) -> None:
        """Read runs that ended since the last poll; reports a store that does not answer."""
        async with self._turn:
            unreadable: dict[str, str] = {}
            try:
                for flow in tuple(self._flows):
                    unreadable |= await self._look_at(flow)
            except UnavailableError as error:
                self._reporter.problem(WHERE, str(error))
                return
            self._unreadable = unreadable
            await self._write()
        self._reporter.settled(WHERE)
        if unreadable:
            run, why = next(iter(unreadable.items()))
            several = "one run" if len(unreadable) == 1 else f"{len(unreadable)} runs"
            sentence = f"{several} in the store cannot be read, for example {run}: {why}"
            self._reporter.problem(WHERE_RUNS, sentence)
        else:
            self._reporter.settled(WHERE_RUNS)

    async def take(self, told: RunDocument, packed: PackedRun) -> bool:
        """Store a run that ended elsewhere; False if it was stored before. Raises UnavailableError.

        Audits and series show it after `settle`.
        """
        async with self._turn:
            now_ms = int(self._clock.wall_s() * 1000)
            is_new = await self._history.take(packed, now_ms=now_ms)
            flow, now_at = self._flows.get(told.flow), now_ms / 1000
            if flow is None or not is_new or told.counts_only:
                return is_new
            gist = await asyncio.to_thread(
                run_summary,
                told,
                ended_at=min(told.ended_at, now_at),
                told_at=now_at,
                exactly_once=flow.exactly_once,
            )
            if self._flows.get(told.flow) == flow:  # else the next look reads it anew
                self._gists.setdefault(told.flow, {})[told.run] = gist
                self._unsettled.add(told.flow)
            return is_new

    async def settle(self) -> None:
        """Update audits and series with the stored runs, once for all runs of a file."""
        async with self._turn:
            for flow in tuple(self._unsettled):
                await self._settle(flow)
            await self._write()

    async def document(self, run: str) -> dict[str, Any] | None:
        """Return the whole document of a run; None if there is none. Raises UnavailableError."""
        found = await self._history.run(run)
        return None if found is None or found.flow not in self._flows else found.document

    async def counts(
        self, flow: str, topic: str, *, since_ms: int, until_ms: int, limit: int
    ) -> list[Counted]:
        """Return what both sides held of a topic, by buckets that start within this time, oldest first.

        Raises UnavailableError.
        """
        return await self._history.counts(flow, topic, since_ms=since_ms, until_ms=until_ms, limit=limit)

    async def _look_at(self, flow: str) -> dict[str, str]:
        """Read a flow's newest runs; return the reasons of unreadable ones by run."""
        rows = await self._history.runs(
            flow, limit=KEPT_RUNS, holding_since_ms=int(self._holding_since_at() * 1000)
        )
        exactly_once = self._exactly_once(flow)
        before = self._gists.get(flow, {})
        usable = self._usable(before) if self._read_as.get(flow) is exactly_once else {}
        unreadable = {row.run: self._unreadable[row.run] for row in rows if row.run in self._unreadable}
        kept: dict[str, RunSummary] = {}
        for row in rows:
            if row.run in usable:
                kept[row.run] = usable[row.run]
            elif row.run not in unreadable:
                try:
                    kept[row.run] = await self._read(row, exactly_once=exactly_once)
                except MalformedError as error:
                    unreadable[row.run] = str(error)
        same = kept.keys() == before.keys() and all(kept[run] is before[run] for run in kept)
        if (not same or flow in self._unsettled) and flow in self._flows:
            self._gists[flow] = kept
            await self._settle(flow)
        self._read_as[flow] = exactly_once
        return unreadable

    def _usable(self, summaries: Mapping[str, RunSummary]) -> dict[str, RunSummary]:
        """Return runs that are not in the future, which happens if the clock was set back."""
        now_at = self._clock.wall_s()
        return {run: one for run, one in summaries.items() if max(one.ended_at, one.told_at or 0.0) <= now_at}

    async def _read(self, row: RunRow, *, exactly_once: bool) -> RunSummary:
        """Return the summary of a stored run; raises MalformedError.

        A run that ended or was received while a clock was ahead counts as of now, or it would stay the
        newest.
        """
        found = await self._history.run(row.run)
        document = None if found is None else found.document
        now_at = self._clock.wall_s()
        ended_at = min(row.ended_ms / 1000, now_at)
        told_at = None if row.taken_ms is None else min(row.taken_ms / 1000, now_at)
        return await asyncio.to_thread(
            lambda: run_summary(
                read_run(document), ended_at=ended_at, told_at=told_at, exactly_once=exactly_once
            )
        )

    async def _settle(self, flow: str) -> None:
        """Compute a flow's state from its runs, in a thread because the canary needs the event loop."""
        summaries = self._gists.get(flow, {})
        kept = self._kept(summaries)
        standing = await asyncio.to_thread(flow_audit, kept, replicates=self._replicates(flow))
        if self._gists.get(flow) is summaries:  # else it is followed otherwise since
            self._gists[flow] = {one.run: one for one in kept}
            self._stand(flow, standing)
        self._unsettled.discard(flow)

    async def _write(self) -> None:
        """Update the series if a flow's state changed."""
        while self._unwritten:
            self._unwritten = False
            series = await asyncio.to_thread(ChecksumSeries, self._topics())
            if not self._unwritten:  # else a flow went meanwhile
                self._tell(series)

    def _kept(self, summaries: Mapping[str, RunSummary]) -> list[RunSummary]:
        """Return the newest runs, those received late and those whose findings hold, as the store does."""
        since_at = self._holding_since_at()
        runs = sorted(summaries.values(), key=lambda one: (one.ended_at, one.run), reverse=True)
        recent = [one for one in runs if one.ended_at >= since_at]
        plans = {one.plan for one in recent if one.findings or one.status == FINDING}
        held = {one.run for one in recent if one.plan in plans}
        late = {one.run for one in runs if one.told_at is not None and one.told_at >= since_at}
        return runs[:KEPT_RUNS] + [one for one in runs[KEPT_RUNS:] if one.run in held | late]

    def _holding_since_at(self) -> float:
        return self._clock.wall_s() - HOLD_FOUND_S

    def _stand(self, flow: str, standing: FlowAudit | None) -> None:
        if standing is None and flow not in self.audits:
            return
        self._unwritten = True
        if standing is None:
            del self.audits[flow]
        else:
            self.audits[flow] = standing

    def _topics(self) -> list[FlowTopics]:
        told = {name: self._flows[name] for name in self.audits if name in self._flows}
        return [((name, one.source, one.target), self.audits[name].topics) for name, one in told.items()]

    def _tell(self, series: ChecksumSeries) -> None:
        self.series = series
        if series.left_out:
            sentence = (
                f"/metrics omits the checksums of {series.left_out:,} topics; it has at most"
                f" {MOST_SERIES:,} series of one name"
            )
            self._reporter.problem(WHERE_SERIES, sentence)
        else:
            self._reporter.settled(WHERE_SERIES)

    def _replicates(self, flow: str) -> Callable[[str], bool]:
        found = self._flows.get(flow)
        return lambda topic: found is None or found.decide(topic).replicated

    def _exactly_once(self, flow: str) -> bool:
        found = self._flows.get(flow)
        return found is not None and found.exactly_once

    async def _forget(self) -> None:
        try:
            await self._history.forget(int((self._clock.wall_s() - self._keep_s) * 1000))
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
