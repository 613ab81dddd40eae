"""The canary topics beyond the first hop, and the cost for each link and cluster. Pure.

A replicated probe has the size of the probe: a record batch has no topic name. A mirror may put several
probes into one batch, so these are upper bounds.
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
    """A replicated canary topic on one link: its name at the end, and its whole path."""

    source: str
    link: str
    cluster: str
    topic: str
    path: tuple[str, ...]

    @property
    def way(self) -> str:
        """Return the clusters of the path, such as A->B->C."""
        return "->".join(self.path)


@dataclass(frozen=True, slots=True)
class LinkCost:
    """What one link replicates of all sources, and the rate of records that came over another link."""

    link: str
    records_per_s: float
    forwarded_per_s: float
    bytes_per_day: float


@dataclass(frozen=True, slots=True)
class ClusterCost:
    """What one cluster writes of probes and replicated probes per day, and keeps on one replica."""

    cluster: str
    bytes_per_day: float
    kept_bytes: float
    most_kept_bytes: float


def hops(topology: Topology, source: str, topic: str) -> tuple[Hop, ...] | None:
    """Return every hop of a source's topic; None if there are too many paths."""
    try:
        arrivals = topology.reach(source, topic)
    except ValueError:
        return None
    return tuple(
        Hop(source, f"{one.path[-2]}->{one.path[-1]}", one.cluster, one.topic, one.path) for one in arrivals
    )


def link_costs(costs: Iterable[SourceCost], all_hops: Iterable[Hop]) -> tuple[LinkCost, ...]:
    """Return the cost of each link, in the order of the hops."""
    by_source = {cost.source: cost for cost in costs}
    found: dict[str, LinkCost] = {}
    for hop in all_hops:
        cost = by_source[hop.source]
        before = found.get(hop.link, LinkCost(hop.link, 0.0, 0.0, 0.0))
        further = cost.records_per_s if len(hop.path) > 2 else 0.0
        found[hop.link] = LinkCost(
            hop.link,
            before.records_per_s + cost.records_per_s,
            before.forwarded_per_s + further,
            before.bytes_per_day + cost.bytes_per_day,
        )
    return tuple(found.values())


def cluster_costs(costs: Iterable[SourceCost], all_hops: Iterable[Hop]) -> tuple[ClusterCost, ...]:
    """Return what each cluster writes and keeps: its own probes and replicated ones."""
    by_source = {cost.source: cost for cost in costs}
    found: dict[str, ClusterCost] = {}
    written = [(cost.source, cost) for cost in by_source.values()]
    written += [(hop.cluster, by_source[hop.source]) for hop in all_hops]
    for cluster, cost in written:
        before = found.get(cluster, ClusterCost(cluster, 0.0, 0.0, 0.0))
        found[cluster] = ClusterCost(
            cluster,
            before.bytes_per_day + cost.bytes_per_day,
            before.kept_bytes + cost.kept_bytes(longest=False),
            before.most_kept_bytes + cost.kept_bytes(longest=True),
        )
    return tuple(found.values())
