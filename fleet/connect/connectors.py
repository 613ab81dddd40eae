"""Connectors on a Kafka Connect worker as a topology: MirrorMaker 2 in Connect mode.

A connector's configuration consists of plain properties. They may come from a REST answer, a JSON file or a
Kubernetes resource; the caller passes the key of each as it is written there. The worker's properties show
where offsets are stored and how often they are flushed. The REST API does not show them.

Source: MirrorConnectorConfig, MirrorSourceConfig and MirrorCheckpointConfig of Kafka 4.3, whose plugins list
required keys and defaults at /connector-plugins/{class}/config.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.connect.clients import clients_of
from fleet.connect.config_states import state_problems
from fleet.connect.flows import ConnectorFlows
from fleet.connect.kinds import CHECKPOINT, HEARTBEAT, SOURCE, Connector, Worker, version_of_worker
from fleet.errors import ConfigurationError, Problem
from fleet.mm2.properties import FlowOverrides, Mm2
from fleet.topology import Cluster, Topology, override_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Connector", "Overrides", "Worker", "read_connectors", "version_of_worker"]

MOST_CONNECTORS = 10_000


@dataclass(frozen=True, slots=True)
class Overrides:
    """Mirrorwatch's own configuration, which overrides the connectors: clusters by key, flows by name.

    `where` describes the place of that configuration.
    """

    mirror_version: str | None = None
    clusters: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    flow_overrides: Mapping[str, FlowOverrides] = field(default_factory=dict)
    where: str = "in Mirrorwatch's own configuration"


def read_connectors(connectors: Sequence[Connector], worker: Worker, *, file: str, said: Overrides) -> Mm2:
    """Return the topology of the mirror's connectors; other connectors are skipped.

    `file` is the name of their source in sentences. Raises ConfigurationError with all problems at
    once.
    """
    mirror = [each for each in connectors if each.kind is not None]
    sources = [each for each in mirror if each.kind == SOURCE]
    if len(mirror) > MOST_CONNECTORS:
        raise ConfigurationError([Problem(file, "", f"has more than {MOST_CONNECTORS} connectors.")])
    if not sources:
        raise ConfigurationError([Problem(file, "", _no_source(connectors))])
    problems = _unaliased(file, mirror)
    sources = [each for each in sources if each.source not in ("", each.target)]
    problems += _twice(file, [each for each in sources if each.enabled])
    version = said.mirror_version or worker.version
    reader = ConnectorFlows(file, version, problems, connectors=tuple(mirror), worker=worker)
    enabled = [each for each in sources if each.enabled]
    if not enabled and not problems:
        sentence = "has only source connectors that are disabled; enable one."
        problems.append(Problem(file, sources[0].key("enabled"), sentence))
    flows = tuple(
        reader.flow(each.source, each.target, said.flow_overrides.get(each.flow, FlowOverrides()))
        for each in enabled
    )
    served = {each.flow for each in enabled}
    used = [each for each in mirror if each.flow in served]
    found, missing, replaced = clients_of(
        used, worker, file=file, own_clients=said.clusters, where=said.where
    )
    problems += missing
    if problems:  # with what would be a warning otherwise, so that all that is missing is said at once
        raise ConfigurationError(list(dict.fromkeys([*problems, *replaced])))
    clusters = tuple(Cluster(alias, client) for alias, client in found.items())
    return Mm2(
        Topology(override_clusters(clusters, said.clusters), flows), (*_warnings(file, mirror), *replaced)
    )


def _no_source(connectors: Sequence[Connector]) -> str:
    if not connectors:
        return "has no connector; a flow requires a MirrorSourceConnector."
    found = sorted({each.config.get("connector.class", "no class").rsplit(".", 1)[-1] for each in connectors})
    there = ", ".join(found[:5]) + (", and others" if len(found) > 5 else "")
    return f"has no MirrorSourceConnector, and a flow requires one (found: {there})."


def _unaliased(file: str, mirror: Sequence[Connector]) -> list[Problem]:
    sentence = "is missing; MirrorMaker does not start this connector without the alias of its source."
    found = [Problem(file, each.key("source.cluster.alias"), sentence) for each in mirror if not each.source]
    for each in mirror:
        if each.source and each.source == each.target:
            same = f"is {each.source}, as is target.cluster.alias; a flow leads to another cluster."
            found.append(Problem(file, each.key("source.cluster.alias"), same))
    return found


def _twice(file: str, sources: Sequence[Connector]) -> list[Problem]:
    """Return a problem for each connector that replicates the flow of an earlier one."""
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for each in sources:
        if each.flow in first:
            sentence = (
                f"{each.name} replicates {each.flow}, as does {first[each.flow]}; keep one of them in the "
                "file, or name one in connect.connectors. Watch the other with a separate Mirrorwatch."
            )
            problems.append(Problem(file, each.key("connector.class"), sentence))
        first.setdefault(each.flow, each.name)
    return problems


def _warnings(file: str, mirror: Sequence[Connector]) -> tuple[Problem, ...]:
    """Return warnings: connectors that are disabled, or belong to no flow."""
    flows = {each.flow for each in mirror if each.kind == SOURCE and each.enabled}
    found = []
    for each in mirror:
        if each.kind == SOURCE and not each.enabled:
            sentence = f"is not true, so this connector replicates nothing; {each.flow} is not a flow."
            found.append(Problem(file, each.key("enabled"), sentence))
        elif each.kind == SOURCE and not each.named:
            sentence = (
                "is missing; write the connector's name there. Otherwise offsets of all connectors that "
                f"replicate {each.source} and share an offsets topic count as this one's."
            )
            found.append(Problem(file, each.key("name"), sentence))
        elif each.kind in (CHECKPOINT, HEARTBEAT) and each.flow not in flows:
            sentence = f"serves {each.flow}, which no source connector here replicates; skipped."
            found.append(Problem(file, each.key("connector.class"), sentence))
        found += [Problem(file, each.name, sentence) for sentence in state_problems(each)]
    return tuple(found)
