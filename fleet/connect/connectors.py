"""Connectors on a Kafka Connect worker as a topology: MirrorMaker 2 in Connect mode.

What a connector is given are plain properties; where they stand (a REST answer, a file of JSON, a resource of
Kubernetes) is known to whoever read them, who hands in the key of each as it is written there. Beside the
connectors there is their worker: its properties tell where offsets are kept and how often they are flushed,
and the REST address does not show them.

Source: MirrorConnectorConfig, MirrorSourceConfig and MirrorCheckpointConfig of Kafka 4.3, whose plugins say
of themselves at /connector-plugins/{class}/config what is required and what is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.connect.clients import clients_of
from fleet.connect.config_states import doubts
from fleet.connect.flows import ConnectorFlows
from fleet.connect.kinds import CHECKPOINT, HEARTBEAT, SOURCE, Connector, Worker, version_of_worker
from fleet.errors import ConfigurationError, Problem
from fleet.mm2.properties import ByHand, Mm2
from fleet.topology import Cluster, Topology, lay_over

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Connector", "Said", "Worker", "read_connectors", "version_of_worker"]

MOST_CONNECTORS = 10_000


@dataclass(frozen=True, slots=True)
class Said:
    """What Mirrorwatch's own configuration says over the connectors: clusters key by key, flows by name.

    `where` is where a person writes more of it, in words.
    """

    mirror_version: str | None = None
    clusters: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    by_hand: Mapping[str, ByHand] = field(default_factory=dict)
    where: str = "in Mirrorwatch's own configuration"


def read_connectors(connectors: Sequence[Connector], worker: Worker, *, file: str, said: Said) -> Mm2:
    """Return what the mirror's connectors come to; connectors of other kinds are skipped.

    `file` is what holds them, as it is called in sentences. Raises ConfigurationError with all problems at
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
        sentence = "has only source connectors that are not enabled; none of them mirrors anything."
        problems.append(Problem(file, sources[0].key("enabled"), sentence))
    flows = tuple(
        reader.flow(each.source, each.target, said.by_hand.get(each.flow, ByHand())) for each in enabled
    )
    served = {each.flow for each in enabled}
    used = [each for each in mirror if each.flow in served]
    found, missing, replaced = clients_of(used, worker, file=file, ours=said.clusters, where=said.where)
    problems += missing
    if problems:  # with what would be a warning otherwise, so that all that is missing is said at once
        raise ConfigurationError(list(dict.fromkeys([*problems, *replaced])))
    clusters = tuple(Cluster(alias, client) for alias, client in found.items())
    return Mm2(Topology(lay_over(clusters, said.clusters), flows), (*_warnings(file, mirror), *replaced))


def _no_source(connectors: Sequence[Connector]) -> str:
    if not connectors:
        return "has no connector; MirrorMaker's MirrorSourceConnector is what makes a flow."
    found = sorted({each.config.get("connector.class", "no class").rsplit(".", 1)[-1] for each in connectors})
    there = ", ".join(found[:5]) + (", and others" if len(found) > 5 else "")
    return f"has no MirrorSourceConnector, and that is what makes a flow (there: {there})."


def _unaliased(file: str, mirror: Sequence[Connector]) -> list[Problem]:
    sentence = "is missing; MirrorMaker does not start this connector without the alias of its source."
    found = [Problem(file, each.key("source.cluster.alias"), sentence) for each in mirror if not each.source]
    for each in mirror:
        if each.source and each.source == each.target:
            same = f"is {each.source}, as is target.cluster.alias; a flow leads to another cluster."
            found.append(Problem(file, each.key("source.cluster.alias"), same))
    return found


def _twice(file: str, sources: Sequence[Connector]) -> list[Problem]:
    """Return a problem for each connector that mirrors what an earlier one does: a flow is one of them."""
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for each in sources:
        if each.flow in first:
            sentence = (
                f"{each.name} mirrors {each.flow}, and so does {first[each.flow]}; one flow is one source "
                "connector here: keep one of the two in the file, or name one in connect.connectors, and "
                "watch the other with a Mirrorwatch of its own."
            )
            problems.append(Problem(file, each.key("connector.class"), sentence))
        first.setdefault(each.flow, each.name)
    return problems


def _warnings(file: str, mirror: Sequence[Connector]) -> tuple[Problem, ...]:
    """Return what does not hinder: connectors that are switched off, or belong to no flow."""
    flows = {each.flow for each in mirror if each.kind == SOURCE and each.enabled}
    found = []
    for each in mirror:
        if each.kind == SOURCE and not each.enabled:
            sentence = f"is not true, so this connector mirrors nothing and {each.flow} is no flow."
            found.append(Problem(file, each.key("enabled"), sentence))
        elif each.kind == SOURCE and not each.named:
            sentence = (
                "is missing: where several connectors keep their offsets in one topic, those of all that "
                f"mirror {each.source} are taken for this one's; write the connector's name there."
            )
            found.append(Problem(file, each.key("name"), sentence))
        elif each.kind in (CHECKPOINT, HEARTBEAT) and each.flow not in flows:
            sentence = f"serves {each.flow}, which no source connector here mirrors; it is skipped."
            found.append(Problem(file, each.key("connector.class"), sentence))
        found += [Problem(file, each.name, sentence) for sentence in doubts(each)]
    return tuple(found)
