"""The runs of the checksum as the service knows them: those of the store, and those that it was told of.

A run on the same store needs to tell nothing: the store is looked at every LOOK_S, so that all services on it
know of it. Of a run no more is kept in memory than what page, verdict and series need.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError
from fleet.verdicts.checksum import HOLD_FOUND_S
from mirrorwatch.audits.series import MOST_SERIES, ChecksumSeries
from mirrorwatch.audits.standing import gist_of, standing_of
from mirrorwatch.audits.told import read_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from canary.report import Reporter
    from checksum.book.book import ChecksumBook, Counted, RunRow
    from checksum.book.entries import PackedRun
    from fleet.verdicts.checksum_evidence import ChecksumEvidence
    from fleet.verdicts.flow import Flow
    from mirrorwatch.audits.series import FlowTopics
    from mirrorwatch.audits.standing import FlowStanding, RunGist
    from mirrorwatch.audits.told import ToldRun
    from runtime.process.clock import WaitingClock

LOOK_S = 30.0
FORGET_S = 3600.0
KEPT_RUNS = 30  # of a flow: a month of nights; and those that were told so late that they hold still
WHERE, WHERE_RUNS, WHERE_SERIES = "store: checksums", "the checksum: runs", "the checksum: /metrics"


class ChecksumFollowing:
    """Knows how the flows of the configuration stand by their checksums."""

    def __init__(
        self,
        book: ChecksumBook,
        flows: Iterable[Flow],
        *,
        keep_s: float,
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        """Make it; `keep_s` is for how long the store keeps runs."""
        self._book = book
        self._flows = {flow.name: flow for flow in flows}
        self._keep_s = keep_s
        self._clock = clock
        self._reporter = reporter
        self._gists: dict[str, dict[str, RunGist]] = {}  # by flow and run
        self._read_as: dict[str, bool] = {}  # whether of exactly-once, by flow
        self._unreadable: dict[str, str] = {}  # why, by run
        self._unsettled: set[str] = set()  # flows of which runs were taken that nothing tells of yet
        self._unwritten = False  # whether a flow stands otherwise than the series tell
        self._turn = asyncio.Lock()
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait
        self.standings: dict[str, FlowStanding] = {}
        self.series: ChecksumSeries | None = None  # None while no run is known

    def use(self, flows: Iterable[Flow]) -> None:
        """Follow these flows from now on.

        What was read of one whose delivery is another now the next look reads anew; until then it stands.
        """
        before, self._flows = self._flows, {flow.name: flow for flow in flows}
        for name in before.keys() - self._flows.keys():
            self._gists.pop(name, None)
            self._stand(name, None)
        if self._unwritten:
            self._tell(ChecksumSeries(self._topics()))

    def knows(self, flow: str) -> bool:
        """Tell whether there is such a flow."""
        return flow in self._flows

    def evidence(self, flow: str) -> ChecksumEvidence | None:
        """Return what runs have found on a flow; None where none has ended."""
        standing = self.standings.get(flow)
        return None if standing is None else standing.evidence

    async def keep(self) -> None:
        """Look at the store again and again, and have it forget what is old, until cancelled."""
        forgot_ns: int | None = None
        while True:
            await self.look()
            now_ns = self._clock.monotonic_ns()
            if forgot_ns is None or now_ns - forgot_ns >= FORGET_S * 1e9:
                forgot_ns = now_ns
                await self._forget()
            await self._clock.wait(self._never, timeout_s=LOOK_S)

    async def look(self) -> None:
        """Take in what ended since, wherever it ran; tells the reporter where the store does not answer."""
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

    async def take(self, told: ToldRun, packed: PackedRun) -> bool:
        """Keep a run that ended elsewhere; False where it was known. Raises UnavailableError.

        Standings and series tell of it once it is `settle`d.
        """
        async with self._turn:
            now_ms = int(self._clock.wall_s() * 1000)
            is_new = await self._book.take(packed, now_ms=now_ms)
            flow, now_at = self._flows.get(told.flow), now_ms / 1000
            if flow is None or not is_new or told.counts_only:
                return is_new
            gist = await asyncio.to_thread(
                gist_of,
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
        """Have standings and series tell of what was taken: once for all runs of a file."""
        async with self._turn:
            for flow in tuple(self._unsettled):
                await self._settle(flow)
            await self._write()

    async def document(self, run: str) -> dict[str, Any] | None:
        """Return the whole document of a run; None where there is none. Raises UnavailableError."""
        found = await self._book.run(run)
        return None if found is None or found.flow not in self._flows else found.document

    async def counts(
        self, flow: str, topic: str, *, since_ms: int, until_ms: int, limit: int
    ) -> list[Counted]:
        """Return what both sides held of a topic in buckets that begin within this time, oldest first.

        Raises UnavailableError.
        """
        return await self._book.counts(flow, topic, since_ms=since_ms, until_ms=until_ms, limit=limit)

    async def _look_at(self, flow: str) -> dict[str, str]:
        """Take in a flow's newest runs, and return those that cannot be read, with why."""
        rows = await self._book.runs(
            flow, limit=KEPT_RUNS, taken_since_ms=int(self._holding_since_at() * 1000)
        )
        exactly_once = self._exactly_once(flow)
        before = self._gists.get(flow, {})
        usable = self._usable(before) if self._read_as.get(flow) is exactly_once else {}
        unreadable = {row.run: self._unreadable[row.run] for row in rows if row.run in self._unreadable}
        kept: dict[str, RunGist] = {}
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

    def _usable(self, gists: Mapping[str, RunGist]) -> dict[str, RunGist]:
        """Return those that do not lie ahead, as where the clock was set back since they were read."""
        now_at = self._clock.wall_s()
        return {run: one for run, one in gists.items() if max(one.ended_at, one.told_at or 0.0) <= now_at}

    async def _read(self, row: RunRow, *, exactly_once: bool) -> RunGist:
        """Return what is kept of a run of the store; raises MalformedError.

        One that ended or was told while a clock was ahead did so now: it must not be the newest until then.
        """
        found = await self._book.run(row.run)
        document = None if found is None else found.document
        now_at = self._clock.wall_s()
        ended_at = min(row.ended_ms / 1000, now_at)
        told_at = None if row.taken_ms is None else min(row.taken_ms / 1000, now_at)
        return await asyncio.to_thread(
            lambda: gist_of(read_run(document), ended_at=ended_at, told_at=told_at, exactly_once=exactly_once)
        )

    async def _settle(self, flow: str) -> None:
        """Have a flow stand as its runs are known; in a thread, as the canary waits for the event loop."""
        gists = self._gists.get(flow, {})
        kept = self._kept(gists)
        standing = await asyncio.to_thread(standing_of, kept)
        if self._gists.get(flow) is gists:  # else it is followed otherwise since
            self._gists[flow] = {one.run: one for one in kept}
            self._stand(flow, standing)
        self._unsettled.discard(flow)

    async def _write(self) -> None:
        """Have the series tell how flows stand, where one stands otherwise."""
        while self._unwritten:
            self._unwritten = False
            series = await asyncio.to_thread(ChecksumSeries, self._topics())
            if not self._unwritten:  # else a flow went meanwhile
                self._tell(series)

    def _kept(self, gists: Mapping[str, RunGist]) -> list[RunGist]:
        """Return the newest runs, and those that were told late, as the book does."""
        since_at = self._holding_since_at()
        runs = sorted(gists.values(), key=lambda one: (one.ended_at, one.run), reverse=True)
        late = [one for one in runs[KEPT_RUNS:] if one.told_at is not None and one.told_at >= since_at]
        return runs[:KEPT_RUNS] + late

    def _holding_since_at(self) -> float:
        return self._clock.wall_s() - HOLD_FOUND_S

    def _stand(self, flow: str, standing: FlowStanding | None) -> None:
        if standing is None and flow not in self.standings:
            return
        self._unwritten = True
        if standing is None:
            del self.standings[flow]
        else:
            self.standings[flow] = standing

    def _topics(self) -> list[FlowTopics]:
        told = {name: self._flows[name] for name in self.standings if name in self._flows}
        return [((name, one.source, one.target), self.standings[name].topics) for name, one in told.items()]

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

    def _exactly_once(self, flow: str) -> bool:
        found = self._flows.get(flow)
        return found is not None and found.exactly_once

    async def _forget(self) -> None:
        try:
            await self._book.forget(int((self._clock.wall_s() - self._keep_s) * 1000))
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
