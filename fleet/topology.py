"""Clusters, the flows between them, and the path of a topic over hops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.topic_name import LONGEST_TOPIC
from fleet.verdicts.flow import Decision, Flow

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Arrival", "Cluster", "Decision", "Flow", "Topology", "override_clusters"]

MOST_PATHS = 10_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka cluster: its alias and client properties (Java's or librdkafka's names).

    The properties may hold secrets, so repr() omits them.
    """

    alias: str
    client: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A place that a topic reaches: the cluster, its name there, and its path."""

    cluster: str
    topic: str
    path: tuple[str, ...]
    loops: bool = False  # the topic returns to a cluster where it was before, under the same name


@dataclass(frozen=True, slots=True)
class Topology:
    """All clusters and flows of a configuration.

    Raises ValueError with a sentence for equal clusters or flows, a flow from a cluster
    to itself, and a flow of an unknown cluster: the configuration reports these first.
    """

    clusters: tuple[Cluster, ...]
    flows: tuple[Flow, ...]

    def __post_init__(self) -> None:
        aliases = [cluster.alias for cluster in self.clusters]
        names = [flow.name for flow in self.flows]
        for what, found in (("cluster", aliases), ("flow", names)):
            if twice := sorted({name for name in found if found.count(name) > 1}):
                raise ValueError(f"the {what} {twice[0]} is there twice")
        for flow in self.flows:
            if flow.source == flow.target:
                raise ValueError(f"the flow {flow.name} leads from a cluster to itself")
            for alias in (flow.source, flow.target):
                if alias not in aliases:
                    raise ValueError(f"the flow {flow.name} names the cluster {alias}, which is not there")

    def cluster(self, alias: str) -> Cluster:
        """Return the cluster of this alias; raises KeyError."""
        for cluster in self.clusters:
            if cluster.alias == alias:
                return cluster
        raise KeyError(alias)

    def flow(self, name: str) -> Flow:
        """Return the flow of this name, such as `A->B`; raises KeyError."""
        for flow in self.flows:
            if flow.name == name:
                return flow
        raise KeyError(name)

    @property
    def touched(self) -> frozenset[str]:
        """Return the aliases of the clusters that are source or target of a flow."""
        return frozenset(alias for flow in self.flows for alias in (flow.source, flow.target))

    def out_of(self, alias: str) -> tuple[Flow, ...]:
        """Return the flows out of the cluster; several are a fan-out."""
        return tuple(flow for flow in self.flows if flow.source == alias)

    def into(self, alias: str) -> tuple[Flow, ...]:
        """Return the flows into the cluster; several are a fan-in."""
        return tuple(flow for flow in self.flows if flow.target == alias)

    def reverse_of(self, flow: Flow) -> Flow | None:
        """Return the flow in the other direction, if there is one."""
        return next((each for each in self.out_of(flow.target) if each.target == flow.source), None)

    def reach(self, alias: str, topic: str) -> tuple[Arrival, ...]:
        """Return where a topic of this cluster is replicated to, over all hops, in order.

        A topic that would return to a cluster under a name that it has there already is marked as looping
        and not followed further: the mirror would replicate it for ever. One that gets a longer name in each
        round is followed until Kafka would refuse the name. Raises ValueError for more than MOST_PATHS.
        """
        seen = {(alias, topic)}
        waiting = [Arrival(alias, topic, (alias,))]
        found: list[Arrival] = []
        while waiting:
            here = waiting.pop(0)
            for flow in self.out_of(here.cluster):
                remote = flow.decide(here.topic).remote_topic
                if remote is None or len(remote) > LONGEST_TOPIC:
                    continue
                path = (*here.path, flow.target)
                loops = flow.target in here.path and (flow.target, remote) in seen
                arrival = Arrival(flow.target, remote, path, loops=loops)
                found.append(arrival)
                if len(found) > MOST_PATHS:
                    raise ValueError(f"{topic} of {alias} is replicated on more than {MOST_PATHS} ways")
                if not loops and (flow.target, remote) not in seen:
                    seen.add((flow.target, remote))
                    waiting.append(arrival)
        return tuple(found)


def override_clusters(
    clusters: tuple[Cluster, ...], overrides: Mapping[str, Mapping[str, str]]
) -> tuple[Cluster, ...]:
    """Return the clusters with properties replaced by those of `overrides`, key by key.

    An unknown alias is added. A key is replaced, never removed, so None is not a value.
    """
    known = {cluster.alias: cluster.client for cluster in clusters}
    order = list(known) + [alias for alias in overrides if alias not in known]
    return tuple(Cluster(alias, {**known.get(alias, {}), **overrides.get(alias, {})}) for alias in order)
