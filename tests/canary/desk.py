"""A bookkeeper at its desk: a real store, a clock, and one flow whose tracker a test feeds."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa

from canary.config import CanaryConfig
from canary.flows import CanaryFlow, WatchedFlow, watch_flow
from canary.persistence import leases
from canary.persistence.bookkeeper import MIGRATIONS, Bookkeeper
from canary.tracker.events import Acked, Scheduled, SeenAtSource, SeenAtTarget, Sent, SourceRead
from canary.tracker.stamp import Intact, Stamp
from canary.watch.watch import Instant
from runtime.process.clock import SystemClock
from runtime.process.identity import this_process
from runtime.store.store import Store
from tests.canary.pretend_link import INSTALLATION, TOPIC, TOPIC_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.persistence.inherited import InheritedState
    from tests.runtime.fake_clock import FakeClock

S = 1_000_000_000
CONFIG = CanaryConfig(threshold="2s", horizon="8s")
DAY_S = 86_400.0


class Desk:
    """One process at work on a store; what its bookkeeper tells is kept in `problems`, `events`, `told`."""

    def __init__(
        self,
        address: sa.URL | str,
        *,
        clock: FakeClock | None,
        replica: str = "here",
        limit_s: float = 10.0,
        minutes_s: float = 400 * DAY_S,
        findings_s: float = 400 * DAY_S,
    ) -> None:
        self.clock: Any = clock or SystemClock()
        self.problems: dict[str, str] = {}
        self.events: list[tuple[str, dict[str, object]]] = []
        self.told: list[tuple[bool, str]] = []
        # The store's own limit is about real disks and locks, so its clock is the real one.
        self.store = Store(address, migrations=MIGRATIONS, limit_s=limit_s)
        self.bookkeeper = Bookkeeper(
            self.store,
            replica=replica,
            minutes_s=minutes_s,
            findings_s=findings_s,
            clock=self.clock,
            reporter=self,
        )
        self.flows: dict[str, WatchedFlow] = {}
        self.offset = 0

    async def __aenter__(self) -> Self:
        await self.store.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.store.close()

    # --- its reporter

    def problem(self, where: str, sentence: str) -> None:
        self.problems[where] = sentence
        if where == "store":
            self.told.append((False, sentence))

    def settled(self, where: str) -> None:
        self.problems.pop(where, None)
        if where == "store":
            self.told.append((True, ""))

    def event(self, sentence: str, **facts: object) -> None:
        self.events.append((sentence, facts))

    # --- what it is told

    @property
    def now(self) -> Instant:
        return Instant(self.clock.monotonic_ns(), self.clock.wall_s())

    async def begin(self, *names: str) -> Mapping[str, InheritedState]:
        """Begin with these flows, `A->B` unless told otherwise, as the service does; return the inherited."""
        names = names or ("A->B",)
        await self.bookkeeper.begin(names)
        inherited = await self.bookkeeper.load()
        for name in names:
            self.watch(name, inherited.get(name))
        return inherited

    def watch(self, name: str, inherited: InheritedState | None = None) -> WatchedFlow:
        source, target = name.split("->")
        flow = CanaryFlow(name, source, target, TOPIC, f"{source}.{TOPIC}", 2.0, 0.0, 1, exactly_once=False)
        held = watch_flow(
            flow,
            CONFIG,
            installation=INSTALLATION,
            incarnation=self.bookkeeper.incarnation,
            carried=[(TOPIC_ID, 0)],
        )
        if inherited is not None:
            held.watch.inherit(inherited, self.now)
        self.flows[name] = held
        self.bookkeeper.watch(held)
        return held

    def stamp(self, sequence: int, incarnation: str = "") -> Stamp:
        due_ms = int(self.clock.wall_s() * 1000)
        name = incarnation or self.bookkeeper.incarnation
        return Stamp(INSTALLATION, name, sequence, TOPIC_ID, TOPIC, 0, due_ms)

    def send(self, sequence: int, flow: str = "A->B") -> None:
        """Send a probe that the source acknowledges at once."""
        at, place = self.clock.monotonic_ns(), (TOPIC_ID, 0, sequence)
        due_ms = int(self.clock.wall_s() * 1000)
        for event in (Scheduled(*place, at, due_ms), Sent(*place, at), Acked(*place, sequence, at)):
            self.flows[flow].watch.handle(event, self.now)

    def arrive(self, sequence: int, flow: str = "A->B") -> None:
        """Let the next copy on the target be of this probe."""
        at, reading = self.clock.monotonic_ns(), Intact(self.stamp(sequence))
        seen = SeenAtTarget(0, self.offset, self.offset + 1, reading, at)
        self.offset += 1
        self.flows[flow].watch.handle(seen, self.now)

    def find_on_source(self, incarnation: str, sequence: int, flow: str = "A->B") -> None:
        reading = Intact(self.stamp(sequence, incarnation))
        seen = SeenAtSource(0, sequence, reading, self.clock.monotonic_ns())
        self.flows[flow].watch.handle(seen, self.now)

    def read_source(self, end: int, flow: str = "A->B") -> None:
        self.flows[flow].watch.handle(SourceRead(0, end, end), self.now)

    def rest(self) -> None:
        for held in self.flows.values():
            held.watch.advance(self.now)

    async def keep(self) -> bool:
        """Write once what has changed, and tidy if due; tell whether the store took it."""
        for held in self.flows.values():
            self.bookkeeper.take(held)
        took = await self.bookkeeper._write()
        if took and self.bookkeeper._tidy_due():
            await self.bookkeeper._tidy()
        return took

    # --- what stands in the store

    async def select(self, text: str) -> list[tuple[Any, ...]]:
        return await self.store.read(
            lambda connection: [tuple(row) for row in connection.execute(sa.text(text))]
        )

    async def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        return await self.select(f"select {', '.join(columns)} from canary_minutes order by minute")  # noqa: S608

    async def leases(self) -> dict[str, leases.Incarnation]:
        """Return every row that is not closed."""
        return {one.incarnation: one for one in await self.store.read(leases.incarnations)}

    async def change_lease(self, incarnation: str, **values: object) -> None:
        """Write into the lease of a process what a process elsewhere would have written."""
        table = leases.INCARNATIONS
        change = sa.update(table).where(table.c.incarnation == incarnation).values(**values)
        await self.store.write(lambda connection: connection.execute(change))


def process(**other: object) -> str:
    """Return what a process like this one writes of itself, other in these points."""
    return json.dumps({**asdict(this_process()), **other}, separators=(",", ":"))


DEAD_HERE = process(began="1")  # its number was given to another since: ours
OTHER_CONTAINER = process(namespace="pid:[1]")
OTHER_MACHINE = process(boot="another", namespace="pid:[1]")
