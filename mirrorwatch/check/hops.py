"""Where the canary's topics travel beyond the first hop, and what each link and cluster pays for it. Pure.

A copy weighs what the probe weighs: a record batch holds no topic's name. A mirror may put several probes
into one batch, so these are upper bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.topology import Topology
    from mirrorwatch.check.cost import SourceCost


@dataclass(frozen=True, slots=True)
class Hop:
    """The copy of one source's topic that one link carries: its name at the end, and the whole way."""

    source: str
    link: str
    cluster: str
    topic: str
    path: tuple[str, ...]

    @property
    def way(self) -> str:
        """Return the clusters on the way, such as A->B->C."""
        return "->".join(self.path)


@dataclass(frozen=True, slots=True)
class LinkCost:
    """What one link carries of all sources, and how many records a second of it came over another link."""

    link: str
    records_per_s: float
    carried_on_per_s: float
    bytes_per_day: float


@dataclass(frozen=True, slots=True)
class ClusterCost:
    """What one cluster writes of probes and copies a day, and keeps of them on one replica of each topic."""

    cluster: str
    bytes_per_day: float
    kept_bytes: float
    most_kept_bytes: float


def hops(topology: Topology, source: str, topic: str) -> tuple[Hop, ...] | None:
    """Return every hop of a source's topic, in the order of the hops; None where there are too many ways."""
    try:
        arrivals = topology.reach(source, topic)
    except ValueError:
        return None
    return tuple(
        Hop(source, f"{one.path[-2]}->{one.path[-1]}", one.cluster, one.topic, one.path) for one in arrivals
    )


def link_costs(costs: Iterable[SourceCost], carried: Iterable[Hop]) -> tuple[LinkCost, ...]:
    """Return the cost of each link that carries anything, in the order in which the hops name them."""
    by_source = {cost.source: cost for cost in costs}
    found: dict[str, LinkCost] = {}
    for hop in carried:
        cost = by_source[hop.source]
        before = found.get(hop.link, LinkCost(hop.link, 0.0, 0.0, 0.0))
        further = cost.records_per_s if len(hop.path) > 2 else 0.0
        found[hop.link] = LinkCost(
            hop.link,
            before.records_per_s + cost.records_per_s,
            before.carried_on_per_s + further,
            before.bytes_per_day + cost.bytes_per_day,
        )
    return tuple(found.values())


def cluster_costs(costs: Iterable[SourceCost], carried: Iterable[Hop]) -> tuple[ClusterCost, ...]:
    """Return what is written and kept on each cluster: its own probes, and every copy that arrives there."""
    by_source = {cost.source: cost for cost in costs}
    found: dict[str, ClusterCost] = {}
    written = [(cost.source, cost) for cost in by_source.values()]
    written += [(hop.cluster, by_source[hop.source]) for hop in carried]
    for cluster, cost in written:
        before = found.get(cluster, ClusterCost(cluster, 0.0, 0.0, 0.0))
        found[cluster] = ClusterCost(
            cluster,
            before.bytes_per_day + cost.bytes_per_day,
            before.kept_bytes + cost.kept_bytes(longest=False),
            before.most_kept_bytes + cost.kept_bytes(longest=True),
        )
    return tuple(found.values())
