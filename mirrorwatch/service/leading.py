"""Which replica of a group leads: it alone sends canary records, watches and writes; others are standbys.

The leader renews its lease in the store. A standby takes the lease once it has stayed the same
for EXPIRES_S by its own clock, so clocks of machines need not agree. A leader that finds another one ends.
While the store is unavailable no replica can take the lease, and the leader continues.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem, UnavailableError
from runtime.store.leases import fence, read_lease, renew_lease, take_lease

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from canary.report import Reporter
    from mirrorwatch.configuration.configuration import Configuration
    from runtime.process.clock import WaitingClock
    from runtime.store.leases import Lease
    from runtime.store.store import Store

RENEW_S = 1.0
POLL_S = 0.25
EXPIRES_S = 5.0
SKEW_S = 2.0  # beyond how old a beat may be when it is seen
WHERE = "store: group"


class LeadershipLostError(UnavailableError):
    """Another replica of the group leads."""


class Leading:
    """One replica of a group; `store` is a connection of its own, so that a slow write delays no beat.

    `holder` names this process. `facts` returns what others are to know of this replica (`facts_of`).
    """

    def __init__(
        self,
        store: Store,
        *,
        group: str,
        holder: str,
        replica: str,
        facts: Callable[[], Mapping[str, str]],
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        self._store = store
        self.group = group
        self._holder = holder
        self.replica = replica
        self._facts = facts
        self._clock = clock
        self._reporter = reporter
        self.guard = fence(group, holder, self._lost_error)
        """Raises LeadershipLostError in a transaction of the store if this replica does not lead."""
        self.leads = False
        self.leader: Lease | None = None
        """The lease as it was seen last."""

    @property
    def former(self) -> str:
        """Return the process that led before, "" if there is none."""
        return "" if self.leader is None else self.leader.holder

    async def stand_by(self, stopping: asyncio.Event) -> bool:
        """Wait until this replica leads; return False if it is to stop before.

        Raises ConfigurationError if another replica of the group has the same name.
        """
        seen_ns = self._clock.monotonic_ns()
        while not stopping.is_set():
            try:
                lease = await self._store.read(partial(read_lease, name=self.group))
                self._reporter.settled(WHERE)
            except UnavailableError as error:
                self._reporter.problem(WHERE, f"cannot see who leads: {error}")
                seen_ns = self._clock.monotonic_ns()  # it may have been renewed meanwhile
                await self._clock.wait(stopping, timeout_s=RENEW_S)
                continue
            now_ns = self._clock.monotonic_ns()
            if lease != self.leader:
                self._note(lease)
                seen_ns = now_ns
            elif lease is not None and now_ns - seen_ns < EXPIRES_S * 1e9 and not lease.released:
                await self._clock.wait(stopping, timeout_s=POLL_S)
                continue
            expired = lease is None or lease.released or now_ns - seen_ns >= EXPIRES_S * 1e9
            if expired and await self._take(lease):
                return True
            await self._clock.wait(stopping, timeout_s=POLL_S)
        return False

    async def keep(self, stopping: asyncio.Event) -> None:
        """Renew the lease until told to stop; raises LeadershipLostError once another replica leads."""
        while not stopping.is_set():
            await self._clock.wait(stopping, timeout_s=RENEW_S)
            if not stopping.is_set() and not await self._renew():
                raise self._lost_error()

    async def release(self) -> None:
        """Let another replica lead at once."""
        await self._renew(released=True)
        self.leads = False

    async def _take(self, seen: Lease | None) -> bool:
        take = partial(
            take_lease,
            name=self.group,
            holder=self._holder,
            seen=seen,
            facts={"replica": self.replica, **self._facts()},
            now_at=self._clock.wall_s(),
        )
        try:
            self.leads = await self._store.write(take)
        except UnavailableError as error:
            self._reporter.problem(WHERE, f"cannot take the lead: {error}")
        if self.leads:
            former = "" if seen is None else seen.facts.get("replica", "")
            self._reporter.event("this replica leads its group", group=self.group, former_leader=former)
        return self.leads

    async def _renew(self, *, released: bool = False) -> bool:
        """Renew the lease; return False if another replica holds it."""
        renew = partial(
            renew_lease,
            name=self.group,
            holder=self._holder,
            now_at=self._clock.wall_s(),
            released=released,
        )
        try:
            self.leads = await self._store.write(renew)
        except UnavailableError as error:
            self._reporter.problem(WHERE, f"the lead is not renewed: {error}")
            return True
        self._reporter.settled(WHERE)
        return self.leads

    def _lost_error(self) -> LeadershipLostError:
        self.leads = False
        return LeadershipLostError(
            f"another replica leads group {self.group}, because this one did not renew its lease for"
            f" {EXPIRES_S:g} s; start it again as a standby"
        )

    def _note(self, lease: Lease | None) -> None:
        """Note a lease that has changed, and say what does not fit."""
        former, self.leader = self.leader, lease
        if lease is None or lease.released:
            return
        facts = lease.facts
        if former is not None and former.holder == lease.holder and former.beat < lease.beat:
            if facts.get("replica") == self.replica:
                sentence = (
                    f"another process of group {self.group} has the same name '{self.replica}';"
                    " give each replica its own store.replica"
                )
                raise ConfigurationError([Problem("store", "replica", sentence)])
            skew_s = self._clock.wall_s() - lease.renewed_at
            self._say(
                f"{WHERE}: clock",
                f"the clocks of this machine and of {facts.get('replica')} differ by about {skew_s:.0f} s;"
                " synchronize them",
                holds=not -SKEW_S <= skew_s <= RENEW_S + POLL_S + SKEW_S,
            )
        if former is None or former.holder != lease.holder:
            self._reporter.event(
                "on standby: another replica leads the group",
                group=self.group,
                leader=facts.get("replica", ""),
                url=facts.get("url", ""),
            )
            mine = self._facts()
            self._say(
                f"{WHERE}: configuration",
                f"{facts.get('replica')} leads with another configuration: {_difference(facts, mine)};"
                " give both the same file",
                holds=facts.get("configuration") != mine["configuration"],
            )
            if facts.get("version") != mine["version"]:
                self._reporter.event("the leader has another version", version=facts.get("version", ""))

    def _say(self, where: str, sentence: str, *, holds: bool) -> None:
        if holds:
            self._reporter.problem(where, sentence)
        else:
            self._reporter.settled(where)


def _difference(leader: Mapping[str, str], mine: Mapping[str, str]) -> str:
    if leader.get("flows") != mine["flows"]:
        return f"its flows are {leader.get('flows')}, and here {mine['flows']}"
    return "the topic, mode or interval of its canary differs"


def facts_of(config: Configuration, *, url: str, version: str) -> dict[str, str]:
    """Return what other replicas are to know of this one: where it answers, and how it is configured."""
    flows = sorted(flow.name for flow in config.topology.flows)
    told = [flows, config.canary.topic, config.canary.mode.value, config.canary.interval]
    return {
        "url": url,
        "version": version,
        "flows": ", ".join(flows),
        "configuration": hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16],
    }
