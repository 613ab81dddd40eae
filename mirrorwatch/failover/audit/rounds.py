"""Audits every flow again and again, and keeps the last result of each."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError
from fleet.topology import Cluster, Topology
from lagmon.drift.differences import drift_counts
from mirrorwatch.drift.asking import read_drift
from mirrorwatch.failover.cluster import ClusterReader
from mirrorwatch.failover.facts import read_flow
from mirrorwatch.failover.mirror_topics import MirrorTopics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.verdicts.flow import Flow
    from lagmon.drift.differences import Kind
    from mirrorwatch.failover.audit.orders import AuditOrders
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.failover.facts import FlowFailover, Waiting
    from runtime.process.clock import WaitingClock

DRIFT_S = 600.0  # between two comparisons of clusters


@dataclass(frozen=True, slots=True)
class FlowAudit:
    """The last successful audit of a flow and its time (epoch s), and why a later one failed.

    `drain_s` is how long the mirror would take for what is on the source, by its progress since the audit
    before; None if it is unknown. `drift` are the differences by kind, None if not compared, {} before the
    first comparison.
    """

    flow: Flow
    found: FlowFailover | None = None
    at: float | None = None
    problem: str = ""
    drain_s: float | None = None
    drift: Mapping[Kind, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class Audits:
    """The audits of all flows; `number` grows with each round."""

    flows: dict[str, FlowAudit] = field(default_factory=dict)
    number: int = 0


class Rounds:
    """Audits the flows one after the other, at intervals, with clients that stay open."""

    def __init__(self, orders: AuditOrders, *, clock: WaitingClock) -> None:
        self._orders = orders
        self._clock = clock
        self._mirrors = {one.name: MirrorTopics(one) for one in orders.mirrors}
        self._topology = Topology(
            tuple(map(Cluster, orders.clients)), tuple(one.flow for one in orders.mirrors)
        )
        self._compared_ns: int | None = None  # when drift was last compared
        self.audits = Audits({one.name: FlowAudit(one.flow) for one in orders.mirrors})

    async def run(self, stopping: asyncio.Event) -> None:
        """Audit until told to stop; raises MirrorwatchError if a client refuses its settings."""
        with ExitStack() as opened:
            readers = {
                alias: opened.enter_context(ClusterReader(alias, settings, self._clock, apart=False))
                for alias, settings in self._orders.clients.items()
            }
            while not stopping.is_set():
                started_ns = self._clock.monotonic_ns()
                for name in self.audits.flows:
                    if not stopping.is_set():
                        self.audits.flows[name] = await asyncio.to_thread(self._audit, name, readers)
                        self.audits.number += 1
                if self._compared_ns is None or started_ns - self._compared_ns >= DRIFT_S * 1e9:
                    await self._compare(stopping)
                    self._compared_ns = started_ns
                took_s = (self._clock.monotonic_ns() - started_ns) / 1e9
                await self._clock.wait(stopping, timeout_s=max(1.0, self._orders.interval_s - took_s))

    async def _compare(self, stopping: asyncio.Event) -> None:
        """Compare the clusters of each flow; without an answer its last comparison stays."""
        for name, audit in self.audits.flows.items():
            if stopping.is_set():
                return
            with suppress(MirrorwatchError):  # the audit reports a cluster that is away
                (found,) = await read_drift(self._topology, [audit.flow], self._orders.clients, self._clock)
                self.audits.flows[name] = replace(audit, drift=drift_counts(found))
                self.audits.number += 1

    def _audit(self, name: str, readers: Mapping[str, ClusterReader]) -> FlowAudit:
        mirror = self._mirrors[name]
        try:
            now_ms = round(self._clock.wall_s() * 1000)
            found = read_flow(readers, mirror, wanted=self._orders.wanted, now_ms=now_ms)
        except MirrorwatchError as error:
            return replace(self.audits.flows[name], problem=str(error))
        before, at = self.audits.flows[name], self._clock.wall_s()
        drain_s = None
        if before.found is not None and before.at is not None:
            drain_s = _drain_s(before.found.waiting, found.waiting, took_s=at - before.at)
        return FlowAudit(mirror.order.flow, found, at, drain_s=drain_s, drift=before.drift)


def _drain_s(
    before: Mapping[Place, Waiting], after: Mapping[Place, Waiting], *, took_s: float
) -> float | None:
    """Return the time that the slowest partition takes for what waits; None if one makes no progress."""
    longest_s = 0.0 if after else None
    for place, now in after.items():
        if now.left == 0:
            continue
        earlier = before[place].replicated if place in before else None
        if now.left is None or now.replicated is None or earlier is None or longest_s is None:
            return None
        moved = now.replicated - earlier
        if moved <= 0 or took_s <= 0:
            return None
        longest_s = max(longest_s, now.left * took_s / moved)
    return longest_s
