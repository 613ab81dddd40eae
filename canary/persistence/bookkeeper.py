"""The canary's memory: what has changed goes into the store every second, and comes back at a start.

Rows, coverages and findings of one instant are written in one transaction, together with this process's
lease: after a kill at any moment the store holds the books of some instant, and the next process goes on.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from canary.persistence import leases, saving, tables
from canary.persistence.heritage import FlowHeritage, Left
from canary.persistence.saving import TakenOverError, Waiting
from canary.watch.findings import MAX_LOSSES, row_of
from canary.watch.watch import Instant
from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.flows import WatchedFlow
    from canary.report import Reporter
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

KEEP_S = 1.0
AGAIN_S = 5.0  # after the store has failed
TIDY_S = 3600.0
LOOK_S = 0.5
# After this nothing of a process stands on the source any more: the topic that we make keeps probes for a day
# and six hours (plan.PROBES_SETTINGS), and what one that others made keeps for longer is in nobody's books.
UNWATCHED_S = 7 * 86_400.0
MAX_ROWS = 200_000  # that wait for a store which cannot be written
MAX_WAITING_FINDINGS = 20_000
MAX_CARRIED = 100_000
MIGRATIONS = (*tables.MIGRATIONS, *leases.MIGRATIONS)


class Bookkeeper:
    """Keeps the books of one process, under its `incarnation`.

    `written` is told after each try whether the store took it, and what it said if not.
    """

    def __init__(
        self,
        store: Store,
        *,
        replica: str,
        minutes_s: float,
        findings_s: float,
        clock: WaitingClock,
        reporter: Reporter,
        written: Callable[[bool, str], None],
    ) -> None:
        self._incarnation = secrets.token_hex(8)
        self._store = store
        self._replica = replica
        self._minutes_s = minutes_s
        self._findings_s = findings_s
        self._clock = clock
        self._reporter = reporter
        self._written = written
        self._watched: set[str] = set()  # flows that were ever watched
        self._watching: set[str] = set()  # and those that are
        self._taken: dict[str, leases.Incarnation] = {}  # by name: taken over and not closed
        self._unfinished: dict[str, set[str]] = {}  # of each, the flows that have not finished with it
        self._waiting = Waiting()
        self._tidied_ns: int | None = None
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait

    @property
    def incarnation(self) -> str:
        """Return the name of this process's probes."""
        return self._incarnation

    # --- at the start

    async def begin(self, flows: Iterable[str]) -> None:
        """Write this process's lease, and take over what those that are gone have left."""
        wanted = set(flows)
        silent = await self._wait_for_others()
        start = partial(
            saving.start,
            incarnation=self.incarnation,
            replica=self._replica,
            flows=sorted(wanted),
            silent=silent,
            now_at=self._clock.wall_s(),
        )
        self._taken = {one.incarnation: one for one in await self._store.write(start)}
        for one in self._taken.values():
            self._unfinished[one.incarnation] = set(one.flows)
            if not one.flows & wanted:
                continue
            self._reporter.event(
                "taking over the probes of an earlier process",
                incarnation=one.incarnation,
                replica=one.replica,
            )

    async def load(self) -> dict[str, FlowHeritage]:
        """Return by flow what it begins with; what it carries, even where that waits to be written.

        Findings are those that were written: who drops a flow and begins it again hands on what it found.
        """
        since_at = self._clock.wall_s() - tables.FINDINGS_S
        carried, coverages, findings, losses = await self._store.read(
            lambda connection: (
                tables.carried_of(connection),
                tables.coverages_of(connection, self._taken),
                tables.findings_since(connection, since_at),
                tables.last_losses(connection, at_most=MAX_LOSSES),
            )
        )
        for flow, topic_id, partition in self._waiting.carried:
            carried.setdefault(flow, set()).add((topic_id, partition))
        watched = {name for one in self._taken.values() for name in one.flows}
        # Of a flow that was watched here before, everything was taken over once; what it had not finished
        # with is known better by who dropped it.
        return {
            flow: FlowHeritage(
                frozenset(carried.get(flow, ())),
                {
                    one.incarnation: Left(one.begun_at, tuple(coverages.get((flow, one.incarnation), ())))
                    for one in self._taken.values()
                    if flow in self._unfinished[one.incarnation] and flow not in self._watched
                },
                tuple(findings.get(flow, ())),
                tuple(losses.get(flow, ())),
            )
            for flow in carried.keys() | findings.keys() | losses.keys() | watched
        }

    def watch(self, held: WatchedFlow) -> None:
        """Keep this flow's books from now on."""
        self._watched.add(held.flow.name)
        self._watching.add(held.flow.name)

    def note_carried(self, flow: str, topic_id: str, partition: int) -> None:
        """Have it kept that a flow carries this partition."""
        if len(self._waiting.carried) < MAX_CARRIED:
            self._waiting.carried.add((flow, topic_id, partition))

    # --- while it runs

    async def keep(self, flows: Mapping[str, WatchedFlow]) -> None:
        """Write what has changed every second, until cancelled; raises only TakenOverError."""
        while True:
            for held in flows.values():
                self.take(held)
            took = await self._write()
            await self._clock.wait(self._never, timeout_s=KEEP_S if took else AGAIN_S)

    def take(self, held: WatchedFlow) -> None:
        """Note what has changed of one flow; nothing of it is written before the next write."""
        if held.flow.off:
            return
        name, now = held.flow.name, Instant(self._clock.monotonic_ns(), self._clock.wall_s())
        shot = held.watch.snapshot(now)
        for (of, minute), numbers in shot.rows.items():
            self._waiting.rows[name, of, minute] = numbers
        for one in shot.coverages:
            key = (name, one.incarnation, one.topic_id, one.partition)
            self._waiting.coverages[key] = (name, held.watch.target_topic_id, one)
        for finding in held.watch.found.take():
            self._waiting.findings[name, row_of(finding)] = (name, finding)
        for incarnation in shot.finished:
            self._finish(incarnation, name)
        self._give_up_oldest()

    def forget_loops(self, flow: str) -> None:
        """Have no loop of this flow come back at a start or a reload, of those that were found until now."""
        self._waiting.forget_loops(flow)

    def forget(self, held: WatchedFlow) -> None:
        """Note the last of a flow that is watched no more."""
        self.take(held)
        self._watching.discard(held.flow.name)

    async def end(self, flows: Mapping[str, WatchedFlow]) -> None:
        """Write the last of everything, and give the lease back."""
        for held in flows.values():
            self.take(held)
        await self._write(ended=True)

    def _finish(self, incarnation: str, flow: str) -> None:
        unfinished = self._unfinished.get(incarnation, set())
        if flow in unfinished:
            self._leave_open(incarnation, unfinished - {flow})

    def _leave_open(self, incarnation: str, flows: set[str]) -> None:
        """Have it kept which flows have not finished with an incarnation; without any it is closed."""
        self._waiting.flows_of[incarnation] = frozenset(flows)
        self._unfinished[incarnation] = flows
        if not flows:
            del self._unfinished[incarnation], self._taken[incarnation]

    def _give_up_unwatched(self) -> None:
        """Close what no flow that is watched could find out more about, once none of it can be left."""
        before = self._clock.wall_s() - UNWATCHED_S
        for name, one in list(self._taken.items()):
            unfinished = self._unfinished[name]
            if not unfinished or (one.renewed_at < before and not unfinished & self._watching):
                self._leave_open(name, set())

    async def _write(self, *, ended: bool = False) -> bool:
        """Write what waits; what could not be written waits on, but for what is newer in its place."""
        now_at, tidy = self._clock.wall_s(), self._tidy_due()
        if tidy:
            self._give_up_unwatched()
        waiting, self._waiting = self._waiting, Waiting()
        save = partial(
            saving.save,
            waiting=waiting,
            incarnation=self.incarnation,
            replica=self._replica,
            flows=sorted(self._watched),
            now_at=now_at,
            ended=ended,
            kept=(self._minutes_s, self._findings_s) if tidy else None,
        )
        try:
            await self._store.write(save)
        except BaseException as error:
            # Whether it was written or not: every value is whole, so writing it twice does no harm.
            self._waiting = waiting.followed_by(self._waiting)
            if isinstance(error, TakenOverError) or not isinstance(error, UnavailableError):
                raise
            self._reporter.problem("store", str(error))
            self._written(False, str(error))
            return False
        if tidy:
            self._tidied_ns = self._clock.monotonic_ns()
        self._reporter.settled("store")
        self._written(True, "")
        return True

    def _tidy_due(self) -> bool:
        return self._tidied_ns is None or self._clock.monotonic_ns() - self._tidied_ns > TIDY_S * 1e9

    def _give_up_oldest(self) -> None:
        rows, findings = self._waiting.rows, self._waiting.findings
        given_up = []
        if len(rows) > MAX_ROWS:
            for key in sorted(rows, key=lambda one: one[2])[: len(rows) - MAX_ROWS]:
                del rows[key]
            given_up.append(f"the counters of the oldest minutes are dropped ({MAX_ROWS} rows wait)")
        if len(findings) > MAX_WAITING_FINDINGS:
            for name in list(islice(findings, len(findings) - MAX_WAITING_FINDINGS)):
                del findings[name]
            given_up.append(f"the oldest findings are dropped ({MAX_WAITING_FINDINGS} wait)")
        if given_up:
            self._reporter.problem(
                "store", f"the store cannot be written for a long time: {' and '.join(given_up)}"
            )

    async def _wait_for_others(self) -> dict[str, float]:
        """Wait until it is known of every lease whether its process is alive; return those that were silent.

        Of a process of another machine or container only its renewing tells, or its not doing so for LEASE_S.
        """
        seen: dict[str, float] = {}
        began_ns, told = self._clock.monotonic_ns(), False
        while True:
            now_at = self._clock.wall_s()
            rows = await self._store.read(leases.incarnations)
            doubtful = {
                row.incarnation: row.renewed_at
                for row in rows
                if not row.gone(now_at)
                and not row.at_work()
                and row.renewed_at <= seen.setdefault(row.incarnation, row.renewed_at)
            }
            if not doubtful or self._clock.monotonic_ns() - began_ns > leases.LEASE_S * 1e9:
                return doubtful
            if not told:
                told = True
                self._reporter.event(
                    "waiting to see whether other processes on this store are alive",
                    replicas=", ".join(sorted({row.replica for row in rows if row.incarnation in doubtful})),
                    at_most_s=leases.LEASE_S,
                )
            await self._clock.wait(self._never, timeout_s=LOOK_S)
