"""Saves changes to the store every second, and loads them at the start.

Rows, coverages and findings of one instant are written in one transaction, together with this process's
lease. After a kill at any moment the store holds a consistent state, and the next process takes over.
Transactions of their own delete old rows: a failure there does not hold up changes.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from canary.persistence import leases, saving, tables
from canary.persistence.inherited import InheritedState, Unfinished
from canary.persistence.saving import TakenOverError, Waiting
from canary.watch.findings import MAX_LOSSES, row_of
from canary.watch.watch import Instant
from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from canary.flows import WatchedFlow
    from canary.report import Reporter
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

KEEP_S = 1.0
AGAIN_S = 5.0  # after the store has failed
TIDY_S = 3600.0
TIDYING = "store: old rows"
POLL_S = 0.5
# After this the source has no probes of a process any more: the topic that Mirrorwatch creates keeps them for
# a day and six hours (plan.PROBES_SETTINGS); older probes in a precreated topic are not counted.
UNWATCHED_S = 7 * 86_400.0
MAX_ROWS = 200_000  # that wait for a store which cannot be written
MAX_WAITING_FINDINGS = 20_000
MAX_CARRIED = 100_000
MIGRATIONS = (*tables.MIGRATIONS, *leases.MIGRATIONS)


class Bookkeeper:
    """Saves the counters of one process, under its `incarnation`.

    While the store cannot be written, changes wait in memory: nothing depends on what is written.
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
    ) -> None:
        self._incarnation = secrets.token_hex(8)
        self._store = store
        self._replica = replica
        self._minutes_s = minutes_s
        self._findings_s = findings_s
        self._clock = clock
        self._reporter = reporter
        self._watched: set[str] = set()  # all flows ever watched
        self._watching: set[str] = set()  # current flows
        self._taken: dict[str, leases.Incarnation] = {}  # by name: taken over and not closed
        self._unfinished: dict[str, set[str]] = {}  # of each, the flows that have not finished with it
        self._waiting = Waiting()
        self._tidied_ns: int | None = None
        self._tidied_to = ""  # the last flow whose old rows are deleted, "" between two rounds
        self._never = asyncio.Event()  # never set: for waits that only end by time

    @property
    def incarnation(self) -> str:
        """Return the name of this process, as its probes carry it."""
        return self._incarnation

    # --- at the start

    async def begin(
        self, flows: Iterable[str], *, dead: str = "", alive: Collection[str] = (), others: Iterable[str] = ()
    ) -> None:
        """Write this process's lease, and take over dead processes; `dead` is known to be one.

        Processes that are `alive` are not waited for. `others` are flows of other shards.
        """
        wanted = set(flows)
        left = frozenset(others)
        silent = await self._wait_for_others(dead, frozenset(alive), left)
        start = partial(
            saving.start,
            incarnation=self.incarnation,
            replica=self._replica,
            flows=sorted(wanted),
            silent=silent,
            others=left,
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

    async def load(self) -> dict[str, InheritedState]:
        """Return by flow the state to start with, including partitions that are not written yet.

        Findings are the written ones: the roster passes on those of a flow that it removed and adds again.
        """
        now_at = self._clock.wall_s()
        carried, coverages, findings, losses, arrivals = await self._store.read(
            lambda connection: (
                tables.carried_of(connection),
                tables.coverages_of(connection, self._taken),
                tables.findings_since(connection, now_at - tables.FINDINGS_S, now_at=now_at),
                tables.last_losses(connection, at_most=MAX_LOSSES, now_at=now_at),
                tables.arrivals_of(connection),
            )
        )
        for flow, topic_id, partition in self._waiting.carried:
            carried.setdefault(flow, set()).add((topic_id, partition))
        watched = {name for one in self._taken.values() for name in one.flows}
        # A flow that was watched here before has taken over everything once; its unfinished state
        # is newer in the roster.
        return {
            flow: InheritedState(
                frozenset(carried.get(flow, ())),
                {
                    one.incarnation: Unfinished(
                        one.begun_at, tuple(coverages.get((flow, one.incarnation), ()))
                    )
                    for one in self._taken.values()
                    if flow in self._unfinished[one.incarnation] and flow not in self._watched
                },
                tuple(findings.get(flow, ())),
                tuple(losses.get(flow, ())),
                (arrivals | self._waiting.arrivals).get(flow),
            )
            for flow in carried.keys() | findings.keys() | losses.keys() | arrivals.keys() | watched
        }

    def watch(self, watched: WatchedFlow) -> None:
        """Save this flow's counters from now on."""
        self._watched.add(watched.flow.name)
        self._watching.add(watched.flow.name)

    def note_carried(self, flow: str, topic_id: str, partition: int) -> None:
        """Save that a flow replicates this partition."""
        if len(self._waiting.carried) < MAX_CARRIED:
            self._waiting.carried.add((flow, topic_id, partition))

    # --- while it runs

    async def keep(self, flows: Mapping[str, WatchedFlow]) -> None:
        """Save changes every second, until cancelled; raises only TakenOverError."""
        while True:
            for watched in flows.values():
                self.take(watched)
            took = await self._write()
            if took and self._tidy_due():
                await self._tidy()
            await self._clock.wait(self._never, timeout_s=KEEP_S if took else AGAIN_S)

    def take(self, watched: WatchedFlow) -> None:
        """Collect the changes of one flow for the next write."""
        if watched.flow.off:
            return
        name, now = watched.flow.name, Instant(self._clock.monotonic_ns(), self._clock.wall_s())
        shot = watched.watch.snapshot(now)
        for (of, minute), numbers in shot.rows.items():
            self._waiting.rows[name, of, minute] = numbers
        for one in shot.coverages:
            key = (name, one.incarnation, one.topic_id, one.partition)
            self._waiting.coverages[key] = (name, watched.watch.target_topic_id, one)
        for finding in watched.watch.found.take():
            self._waiting.findings[name, row_of(finding)] = (name, finding)
        arrival_ns = watched.watch.last_arrival_ns
        if arrival_ns is not None:
            self._waiting.arrivals[name] = now.wall_of(arrival_ns)
        for incarnation in shot.finished:
            self._finish(incarnation, name)
        self._give_up_oldest()

    def forget_loops(self, flow: str) -> None:
        """Delete the loops found so far for this flow, so that none returns after a restart."""
        self._waiting.forget_loops(flow)

    def forget(self, watched: WatchedFlow) -> None:
        """Save the last state of a flow that is removed."""
        self.take(watched)
        self._watching.discard(watched.flow.name)

    async def end(self, flows: Mapping[str, WatchedFlow]) -> None:
        """Write all remaining changes, and release the lease."""
        for watched in flows.values():
            self.take(watched)
        await self._write(ended=True)

    def _finish(self, incarnation: str, flow: str) -> None:
        unfinished = self._unfinished.get(incarnation, set())
        if flow in unfinished:
            self._leave_open(incarnation, unfinished - {flow})

    def _leave_open(self, incarnation: str, flows: set[str]) -> None:
        """Save the flows that have not finished with an incarnation; without any it is closed."""
        self._waiting.flows_of[incarnation] = frozenset(flows)
        self._unfinished[incarnation] = flows
        if not flows:
            del self._unfinished[incarnation], self._taken[incarnation]

    def _give_up_unwatched(self) -> None:
        """Close incarnations that no watched flow can finish, once their probes are deleted."""
        before = self._clock.wall_s() - UNWATCHED_S
        for name, one in list(self._taken.items()):
            unfinished = self._unfinished[name]
            if not unfinished or (one.renewed_at < before and not unfinished & self._watching):
                self._leave_open(name, set())

    async def _write(self, *, ended: bool = False) -> bool:
        """Write the waiting changes; if that fails they wait, unless newer ones replace them."""
        waiting, self._waiting = self._waiting, Waiting()
        save = partial(
            saving.save,
            waiting=waiting,
            incarnation=self.incarnation,
            replica=self._replica,
            flows=sorted(self._watched),
            now_at=self._clock.wall_s(),
            ended=ended,
        )
        try:
            await self._store.write(save)
        except BaseException as error:
            # Written or not: every value is whole, so writing it twice is harmless.
            self._waiting = waiting.followed_by(self._waiting)
            if isinstance(error, TakenOverError) or not isinstance(error, UnavailableError):
                raise
            self._reporter.problem("store", str(error))
            return False
        self._reporter.settled("store")
        return True

    async def _tidy(self) -> None:
        """Delete old rows of one flow, so that each transaction is short; after a failure again in TIDY_S."""
        if not self._tidied_to:
            self._give_up_unwatched()
        tidy = partial(
            saving.tidy,
            after=self._tidied_to,
            minutes_s=self._minutes_s,
            findings_s=self._findings_s,
            now_at=self._clock.wall_s(),
        )
        try:
            after = await self._store.write(tidy)
        except UnavailableError as error:
            after = None
            self._reporter.problem(TIDYING, str(error))
        else:
            self._reporter.settled(TIDYING)
        self._tidied_to = after or ""
        if after is None:
            self._tidied_ns = self._clock.monotonic_ns()

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

    async def _wait_for_others(
        self, dead: str, alive: Collection[str], others: frozenset[str]
    ) -> dict[str, float]:
        """Wait until every other process is known to be alive or dead; return the silent ones.

        A process of another host or container counts as dead if it does not renew its lease for LEASE_S. One
        with flows of `others` only is not waited for, as nothing is taken over from it.
        """
        seen: dict[str, float] = {}
        began_ns, told = self._clock.monotonic_ns(), False
        while True:
            now_at = self._clock.wall_s()
            rows = await self._store.read(leases.incarnations)
            known = {row.incarnation: row.renewed_at for row in rows if row.incarnation == dead}
            doubtful = {
                row.incarnation: row.renewed_at
                for row in rows
                if row.incarnation != dead
                and row.incarnation not in alive
                and not row.left_to(others)
                and not row.gone(now_at)
                and not row.at_work()
                and row.renewed_at <= seen.setdefault(row.incarnation, row.renewed_at)
            }
            if not doubtful or self._clock.monotonic_ns() - began_ns > leases.LEASE_S * 1e9:
                return doubtful | known
            if not told:
                told = True
                self._reporter.event(
                    "waiting to see whether other processes on this store are alive",
                    replicas=", ".join(sorted({row.replica for row in rows if row.incarnation in doubtful})),
                    at_most_s=leases.LEASE_S,
                )
            await self._clock.wait(self._never, timeout_s=POLL_S)
