"""Which replica leads which shard: sends its canary records, watches and writes. Others are on standby.

Each shard has a lease in the store. Its holder renews it. A standby takes a lease once it has stayed the same
for EXPIRES_S by its own clock, so clocks of machines need not agree. A holder that finds another one ends.
While the store is unavailable no replica can take a lease, and the holders continue.

After each read of the leases, problems between replicas are computed anew from those that others renew.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem, UnavailableError
from fleet.shards import Shard
from runtime.store.leases import fence, read_leases, renew_in_group, take_lease

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from canary.config import CanaryConfig
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
    """Another replica of the group has taken the lease of this one."""


class Leading:
    """One replica of a group; `store` is a connection of its own, so that other operations delay no beat.

    Writes of all connections wait for each other: a long one delays the beats of the whole group.
    `holder` names this process. `facts` returns what others are to know of this replica (`facts_of`).
    `flow_shards` returns the number of the shard of each flow.
    """

    def __init__(
        self,
        store: Store,
        *,
        group: str,
        count: int,
        holder: str,
        replica: str,
        facts: Callable[[], Mapping[str, str]],
        flow_shards: Callable[[], Mapping[str, int]],
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        self._store = store
        self.group = group
        self.count = count
        """The number of shards."""
        self._holder = holder
        self.replica = replica
        self._facts = facts
        self._flow_shards = flow_shards
        self._clock = clock
        self._reporter = reporter
        self.shard: Shard | None = None
        """The shard of this replica, also when it has lost it; None on standby."""
        self.leads = False
        """Whether this replica leads its shard."""
        self.former = ""
        """The process that led the shard before, "" if there was none."""
        self.guard: Callable[..., None] | None = None
        """Raises LeadershipLostError in a transaction of the store if another replica has the lease."""
        self._leases: dict[str, Lease] = {}  # of the group, as seen last
        self._seen_ns: dict[str, int] = {}  # since when each has been the same
        self._skews_s: dict[str, float] = {}  # of those that were seen to be renewed: the age of that beat
        self._looked_ns = 0  # when they were read last
        self._reported: frozenset[str] = frozenset()  # places of the problems with other replicas
        self._released = False
        self._waits_for: tuple[str, ...] = ()  # the processes that have all shards, as reported last

    def url(self, number: int) -> str:
        """Return the address of the replica that leads a shard; "" if none does."""
        name = self._name(number)
        return "" if self._has_expired(name) else self._leases[name].facts.get("url", "")

    @property
    def holders(self) -> frozenset[str]:
        """Return the processes that renew a lease of the group, as seen last."""
        return frozenset(
            lease.holder for name, lease in self._leases.items() if not self._has_expired(name)
        ) - {self.former}

    @property
    def sees(self) -> bool:
        """Return whether the store has shown the leases within EXPIRES_S."""
        return self._clock.monotonic_ns() - self._looked_ns <= EXPIRES_S * 1e9

    def number_of(self, flow: str) -> int | None:
        """Return the number of the shard of a flow; None if there is no such flow."""
        return self._flow_shards().get(flow)

    def flows_of(self, number: int) -> tuple[str, ...]:
        """Return the flows of a shard."""
        return tuple(flow for flow, shard in self._flow_shards().items() if shard == number)

    async def stand_by(self, stopping: asyncio.Event) -> bool:
        """Wait until this replica has a shard; return False if it is to stop before.

        Raises ConfigurationError if another replica of the group has the same name.
        """
        while not stopping.is_set():
            try:
                self._note_all(await self._store.read(partial(read_leases, group=self.group)))
            except UnavailableError as error:
                self._reporter.problem(WHERE, f"cannot see who leads: {error}")
                self._seen_ns.clear()  # leases may have been renewed meanwhile
                await self._clock.wait(stopping, timeout_s=RENEW_S)
                continue
            free = self._free()
            if free is None:
                self._reporter.settled(WHERE)
                self._note_standby()
            elif await self._take(free):
                return True
            await self._clock.wait(stopping, timeout_s=POLL_S)
        return False

    async def keep(self, stopping: asyncio.Event) -> None:
        """Renew the lease until told to stop or released.

        Raises LeadershipLostError once another replica has it.
        """
        while not stopping.is_set() and not self._released:
            await self._clock.wait(stopping, timeout_s=RENEW_S)
            if not stopping.is_set() and not self._released and not await self._renew():
                raise self._lost_error()

    async def release(self) -> None:
        """Let another replica take the shard at once."""
        self._released = True  # first, so that `keep` renews it no more
        await self._renew()
        self.leads = False

    def _name(self, number: int) -> str:
        return f"{self.group}/{number}/{self.count}"

    def _free(self) -> int | None:
        """Return a shard without a leader.

        None if there is none, and as long as a replica uses another number of shards or the name of this one.
        """
        names = {self._name(number): number for number in range(1, self.count + 1)}
        held = {name: lease for name, lease in self._leases.items() if not self._has_expired(name)}
        if held.keys() - names or any(_replica(lease) == self.replica for lease in held.values()):
            return None
        return next((number for name, number in names.items() if name not in held), None)

    def _has_expired(self, name: str) -> bool:
        """Return whether a lease was not renewed; one that cannot be read has not expired."""
        lease = self._leases.get(name)
        if lease is None or lease.released:
            return True
        return self._looked_ns - self._seen_ns.get(name, self._looked_ns) >= EXPIRES_S * 1e9

    def _note_standby(self) -> None:
        """Report once who has all shards."""
        found = [lease for _, lease in sorted(self._leases.items()) if not lease.released]
        holders = tuple(lease.holder for lease in found)
        if holders == self._waits_for:
            return
        self._waits_for = holders
        others = "another replica leads" if self.count == 1 else "other replicas lead all shards of"
        self._reporter.event(
            f"on standby: {others} the group",
            group=self.group,
            replicas=", ".join(map(_replica, found)),
            urls=", ".join(lease.facts.get("url", "") for lease in found),
        )

    def _note_all(self, found: Mapping[str, Lease]) -> None:
        """Note the leases of the group, and say what does not fit."""
        former, self._leases = self._leases, dict(found)
        self._looked_ns = now_ns = self._clock.monotonic_ns()
        for name, lease in found.items():
            before = former.get(name)
            if before is None or before.holder != lease.holder:
                self._skews_s.pop(name, None)
                self._note_version(lease)
            elif before.beat < lease.beat and name in self._seen_ns:
                self._skews_s[name] = self._clock.wall_s() - lease.renewed_at
            if lease != before or name not in self._seen_ns:
                self._seen_ns[name] = now_ns
        problems = self._problems()
        for where in self._reported - problems.keys():
            self._reporter.settled(where)
        for where, sentence in problems.items():
            self._reporter.problem(where, sentence)
        self._reported = frozenset(problems)

    def _problems(self) -> dict[str, str]:
        """Return by place what does not fit between this replica and others that renew a lease.

        Raises ConfigurationError if another one has the name of this one, which is on standby.
        """
        found, mine = {}, self._facts()
        for name, skew_s in self._skews_s.items():
            lease = self._leases.get(name)
            if lease is None or lease.holder == self._holder or self._has_expired(name):
                continue
            other = _replica(lease)
            if other == self.replica:
                sentence = (
                    f"another process of group {self.group} has the same name '{other}';"
                    " give each replica its own store.replica"
                )
                if self.shard is None:
                    raise ConfigurationError([Problem("store", "replica", sentence)])
                found[f"{WHERE}: name"] = sentence
            if not -SKEW_S <= skew_s <= RENEW_S + POLL_S + SKEW_S:
                found[f"{WHERE}: clock of {other}"] = (
                    f"the clocks of this machine and of {other} differ by about {skew_s:.0f} s;"
                    " synchronize them"
                )
            if name.rsplit("/", 1)[-1] != str(self.count):
                then = "this one waits until they end" if self.shard is None else "end those"
                found[f"{WHERE}: shards"] = (
                    f"replicas of group {self.group} use another number of shards; {then}"
                )
            elif lease.facts.get("configuration") != mine["configuration"]:
                found[f"{WHERE}: configuration of {other}"] = (
                    f"{other} has another configuration: {_difference(lease.facts, mine)};"
                    " give both the same file"
                )
        return found

    def _note_version(self, lease: Lease) -> None:
        """Log once that a new holder has another version."""
        version = lease.facts.get("version", "")
        if lease.holder != self._holder and not lease.released and version != self._facts()["version"]:
            replica = _replica(lease)
            self._reporter.event("another replica has another version", replica=replica, version=version)

    async def _take(self, number: int) -> bool:
        name = self._name(number)
        seen = self._leases.get(name)
        take = partial(
            take_lease,
            name=name,
            holder=self._holder,
            group=self.group,
            seen=self._leases,
            alive={one for one in self._leases if not self._has_expired(one)},
            facts=self._told(),
            now_at=self._clock.wall_s(),
        )
        try:
            took = await self._store.write(take)
        except UnavailableError as error:
            self._reporter.problem(WHERE, f"cannot take the lead: {error}")
            return False
        self._reporter.settled(WHERE)
        if took:
            self.shard, self.leads = Shard(number, self.count), True
            self.former = "" if seen is None else seen.holder
            self.guard = fence(name, self._holder, self._lost_error)
            former = "" if seen is None else _replica(seen)
            if self.count == 1:
                self._reporter.event("this replica leads its group", group=self.group, former_leader=former)
            else:
                self._reporter.event(
                    "this replica leads a shard of its group",
                    group=self.group,
                    shard=str(self.shard),
                    former_replica=former,
                )
        return took

    def _told(self) -> dict[str, str]:
        return {"replica": self.replica, **self._facts()}

    async def _renew(self) -> bool:
        """Renew the lease, and read those of the others; return False if another replica holds it."""
        assert self.shard is not None
        renew = partial(
            renew_in_group,
            name=self._name(self.shard.number),
            holder=self._holder,
            group=self.group,
            facts=self._told(),
            now_at=self._clock.wall_s(),
            released=self._released,
        )
        try:
            found = await self._store.write(renew)
        except UnavailableError as error:
            self._reporter.problem(WHERE, f"the lead is not renewed: {error}")
            return True
        self._reporter.settled(WHERE)
        if found is not None:
            self._note_all(found)
        return found is not None

    def _lost_error(self) -> LeadershipLostError:
        what = "leads" if self.count == 1 else f"leads shard {self.shard} of"
        self.leads = False
        return LeadershipLostError(
            f"another replica {what} group {self.group}, because this one did not renew its lease for"
            f" {EXPIRES_S:g} s; start it again as a standby"
        )


def _replica(lease: Lease) -> str:
    """Return the name of the replica that holds a lease."""
    return lease.facts.get("replica", "")


def _difference(leader: Mapping[str, str], mine: Mapping[str, str]) -> str:
    if leader.get("flows") != mine["flows"]:
        return f"its flows are {leader.get('flows')}, and here {mine['flows']}"
    return "the topic, mode or interval of its canary differs"


def facts_of(config: Configuration, *, running: CanaryConfig, url: str, version: str) -> dict[str, str]:
    """Return what other replicas are to know of this one: where it answers, and how it is configured.

    Topic and mode of the canary stay as they are `running` until the next start.
    """
    flows = sorted(flow.name for flow in config.whole.topology.flows)
    told = [flows, running.topic, running.mode.value, config.canary.interval]
    return {
        "url": url,
        "version": version,
        "flows": ", ".join(flows),
        "configuration": hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16],
    }
