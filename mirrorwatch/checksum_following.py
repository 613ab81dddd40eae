"""The runs of the checksum as the service knows them: those of the store, and those that it was told of.

A run on the same store needs to tell nothing: the store is looked at every LOOK_S, so that all services on it
know of it. Of a run no more is kept in memory than what page, verdict and series need.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError
from mirrorwatch.checksum_series import MOST_SERIES, ChecksumSeries
from mirrorwatch.checksum_standing import gist_of, standing_of
from mirrorwatch.checksum_told import read_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from canary.report import Reporter
    from checksum.book import ChecksumBook, Counted, RunRow
    from fleet.checksum_evidence import ChecksumEvidence
    from fleet.flow import Flow
    from mirrorwatch.checksum_standing import FlowStanding, RunGist
    from mirrorwatch.checksum_told import ToldRun
    from runtime.clock import WaitingClock

LOOK_S = 30.0
FORGET_S = 3600.0
KEPT_RUNS = 30  # of a flow: a month of nights
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
        self._unreadable: dict[str, str] = {}  # why, by run
        self._turn = asyncio.Lock()
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait
        self.standings: dict[str, FlowStanding] = {}
        self.series: ChecksumSeries | None = None  # None while no run is known

    def use(self, flows: Iterable[Flow]) -> None:
        """Follow these flows from now on; what is known of one that has changed is read anew."""
        before, self._flows = self._flows, {flow.name: flow for flow in flows}
        for name, flow in before.items():
            if self._flows.get(name) != flow:
                self._gists.pop(name, None)
                self._tell(name, None)

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
        self._reporter.settled(WHERE)
        if unreadable:
            run, why = next(iter(unreadable.items()))
            several = "one run" if len(unreadable) == 1 else f"{len(unreadable)} runs"
            sentence = f"{several} in the store cannot be read, {run} for one: {why}"
            self._reporter.problem(WHERE_RUNS, sentence)
        else:
            self._reporter.settled(WHERE_RUNS)

    async def take(self, told: ToldRun, document: Mapping[str, Any]) -> bool:
        """Keep a run that ended elsewhere; False where it was known. Raises UnavailableError."""
        async with self._turn:
            now_at = self._clock.wall_s()
            is_new = await self._book.take(document, now_ms=int(now_at * 1000))
            known = self._gists.setdefault(told.flow, {})
            if told.run not in known and is_new and not told.counts_only:
                once = self._exactly_once(told.flow)
                known[told.run] = gist_of(told, ended_at=min(told.ended_at, now_at), exactly_once=once)
                self._settle(told.flow)
            return is_new

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
        rows = await self._book.runs(flow, limit=KEPT_RUNS)
        before = self._gists.get(flow, {})
        unreadable = {row.run: self._unreadable[row.run] for row in rows if row.run in self._unreadable}
        kept: dict[str, RunGist] = {}
        for row in rows:
            if row.run in before:
                kept[row.run] = before[row.run]
            elif row.run not in unreadable:
                try:
                    kept[row.run] = await self._read(row)
                except MalformedError as error:
                    unreadable[row.run] = str(error)
        if kept.keys() != before.keys() and flow in self._flows:
            self._gists[flow] = kept
            self._settle(flow)
        return unreadable

    async def _read(self, row: RunRow) -> RunGist:
        """Return what is kept of a run of the store; raises MalformedError."""
        found = await self._book.run(row.run)
        document = None if found is None else found.document
        once = self._exactly_once(row.flow)
        # Ten thousand findings take a tenth of a second, and the canary waits for the event loop.
        return await asyncio.to_thread(
            lambda: gist_of(read_run(document), ended_at=row.ended_ms / 1000, exactly_once=once)
        )

    def _settle(self, flow: str) -> None:
        newest = sorted(self._gists[flow].values(), key=lambda one: (one.ended_at, one.run))[-KEPT_RUNS:]
        self._gists[flow] = {one.run: one for one in newest}
        self._tell(flow, standing_of(newest))

    def _tell(self, flow: str, standing: FlowStanding | None) -> None:
        if standing is not None:
            self.standings[flow] = standing
        elif self.standings.pop(flow, None) is None:
            return
        told = {name: self._flows[name] for name in self.standings if name in self._flows}
        self.series = ChecksumSeries(
            [((name, one.source, one.target), self.standings[name].topics) for name, one in told.items()]
        )
        if self.series.left_out:
            sentence = (
                f"/metrics leaves out the checksums of {self.series.left_out:,} topics, as it tells at most"
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
