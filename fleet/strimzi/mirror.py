"""A KafkaMirrorMaker2 of Strimzi as connectors and their worker, as its operator creates them.

It reads `kafka.strimzi.io/v1beta2` (spec.clusters, spec.connectCluster, mirrors with sourceCluster and
targetCluster) and `v1` (spec.target, mirrors with a source). Secrets are only named in a resource, so each
becomes a client property that has to be written elsewhere.

Source: the API reference of Strimzi 0.45 to 0.49, and its operator's KafkaMirrorMaker2Connectors and
KafkaMirrorMaker2Configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.connect.connectors import Connector, Worker, version_of_worker
from fleet.connect.kinds import CHECKPOINT, HEARTBEAT, SOURCE
from fleet.errors import ConfigurationError, Problem
from fleet.strimzi.clusters import StrimziCluster, cluster_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.connect.kinds import Written

KIND = "KafkaMirrorMaker2"
_GROUP = "kafka.strimzi.io/"
_PACKAGE = "org.apache.kafka.connect.mirror."
_CONNECTORS = (
    ("sourceConnector", SOURCE), ("checkpointConnector", CHECKPOINT), ("heartbeatConnector", HEARTBEAT),
)  # fmt: skip
# Fields of a mirror that override the configuration of its connectors; the older names are of 0.21.
_PATTERNS = (
    ("topicsPattern", "topics"), ("topicsBlacklistPattern", "topics.exclude"),
    ("topicsExcludePattern", "topics.exclude"), ("groupsPattern", "groups"),
    ("groupsBlacklistPattern", "groups.exclude"), ("groupsExcludePattern", "groups.exclude"),
)  # fmt: skip
_V1_WORKER = {
    "groupId": "group.id",
    "offsetStorageTopic": "offset.storage.topic",
    "configStorageTopic": "config.storage.topic",
    "statusStorageTopic": "status.storage.topic",
}


def worker_defaults(cluster: str) -> dict[str, str]:
    """Return the operator's defaults for a worker without group and topics."""
    topics = {"offset": "offsets", "config": "configs", "status": "status"}
    found = {f"{name}.storage.topic": f"{cluster}-{end}" for name, end in topics.items()}
    return {"group.id": cluster, **found}


def worker_fields(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the worker's properties that are separate fields in v1."""
    return {key: text_of(spec[name]) for name, key in _V1_WORKER.items() if text_of(spec.get(name))}


def read_resource(data: Mapping[str, Any], *, file: str) -> tuple[tuple[Connector, ...], Worker]:
    """Return the connectors that the operator creates, and their worker.

    Every scalar of `data` is text, as strict YAML has it. Raises ConfigurationError with all problems at
    once, by the path of the key.
    """
    reading = _Resource(data)
    if reading.problems:
        raise ConfigurationError([Problem(file, key, sentence) for key, sentence in reading.problems])
    return tuple(reading.connectors), reading.worker


@dataclass(slots=True)
class _Resource:
    data: Mapping[str, Any]
    problems: list[tuple[str, str]] = field(default_factory=list)
    connectors: list[Connector] = field(default_factory=list)
    worker: Worker = field(default_factory=Worker)

    def __post_init__(self) -> None:
        version = text_of(self.data.get("apiVersion"))
        if not version.startswith(_GROUP):
            sentence = f"is '{version[:60]}'; a mirror of Strimzi has {_GROUP}v1beta2 or {_GROUP}v1."
            self.problems.append(("apiVersion", sentence))
            return
        spec = self.data.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        mirrors = spec.get("mirrors")
        if not isinstance(mirrors, list) or not mirrors:
            self.problems.append(("spec.mirrors", "is missing; it lists what is replicated where."))
            return
        target = spec.get("target")
        newer = isinstance(target, dict)
        clusters = self._clusters(spec, mirrors, newer=newer)
        for number, mirror in enumerate(mirrors):
            if isinstance(mirror, dict):
                own = text_of(target.get("alias")) if isinstance(target, dict) else None
                self._mirror(number, mirror, clusters, own)
            else:
                self.problems.append(
                    (f"spec.mirrors.{number}", "is not a mapping of keys; write sourceConnector.")
                )
        self.worker = self._worker(spec, clusters, newer=newer)

    def _clusters(
        self, spec: Mapping[str, Any], mirrors: list[Any], *, newer: bool
    ) -> dict[str, StrimziCluster]:
        """Return the clusters by alias, from their place in this version of the resource."""
        if newer:
            places = [("spec.target", spec["target"])]
            sources = [each.get("source") if isinstance(each, dict) else None for each in mirrors]
            places += [(f"spec.mirrors.{number}.source", each) for number, each in enumerate(sources)]
        else:
            listed = spec.get("clusters")
            if not isinstance(listed, list) or not listed:
                self.problems.append(("spec.clusters", "is missing; it gives the address of each cluster."))
                return {}
            places = [(f"spec.clusters.{number}", each) for number, each in enumerate(listed)]
        found: dict[str, StrimziCluster] = {}
        for place, each in places:
            alias = text_of(each.get("alias")) if isinstance(each, dict) else ""
            if not alias:
                self.problems.append((f"{place}.alias", "is missing; every cluster has an alias."))
            elif alias in found and not newer:
                self.problems.append((f"{place}.alias", f"repeats {alias}; keep one of the two."))
            elif alias in found and text_of(each.get("bootstrapServers")) != found[alias].bootstrap:
                sentence = (
                    f"gives {alias} another address than {found[alias].keys['bootstrap.servers']}; "
                    "one alias is one cluster: use two aliases."
                )
                self.problems.append((f"{place}.bootstrapServers", sentence))
            else:
                found.setdefault(alias, cluster_of(each, place))
        return found

    def _mirror(
        self,
        number: int,
        mirror: Mapping[str, Any],
        clusters: Mapping[str, StrimziCluster],
        target: str | None,
    ) -> None:
        place = f"spec.mirrors.{number}"
        own = mirror.get("source")
        if target is None:
            ends = [("sourceCluster", text_of(mirror.get("sourceCluster")))]
            ends.append(("targetCluster", text_of(mirror.get("targetCluster"))))
        else:
            ends = [("source.alias", text_of(own.get("alias")) if isinstance(own, dict) else "")]
            ends.append(("targetCluster", target))
        before = len(self.problems)
        for key, alias in ends:
            if clusters and alias not in clusters and not (target is not None and not alias):
                known = ", ".join(clusters)
                sentence = f"names '{alias}', and no cluster has that alias (known: {known})."
                self.problems.append((f"{place}.{key}", sentence))
        if len(self.problems) == before and clusters and all(alias for _key, alias in ends):
            (_, source_alias), (_, target_alias) = ends
            for name, kind in _CONNECTORS:
                if mirror.get(name) is not None:
                    ends_of = (clusters[source_alias], clusters[target_alias])
                    self.connectors.append(_connector(place, name, kind, mirror, ends_of))

    def _worker(
        self, spec: Mapping[str, Any], clusters: Mapping[str, StrimziCluster], *, newer: bool
    ) -> Worker:
        if newer:
            home = text_of(spec["target"].get("alias"))
            named = worker_fields(spec["target"])
        else:
            home = text_of(spec.get("connectCluster"))
            named = {}
            if home and clusters and home not in clusters:
                known = ", ".join(clusters)
                sentence = f"names '{home}', and no cluster has that alias (known: {known})."
                self.problems.append(("spec.connectCluster", sentence))
        config = worker_defaults("mirrormaker2-cluster")
        config |= (dict(clusters[home].config) if home in clusters else {}) | named
        secrets: dict[str, tuple[Written, ...]] = {alias: each.secrets for alias, each in clusters.items()}
        return Worker(config, version_of_worker(text_of(spec.get("version"))), home, secrets)


def _connector(
    above: str, name: str, kind: str, mirror: Mapping[str, Any], ends: tuple[StrimziCluster, StrimziCluster]
) -> Connector:
    """Return one connector of the mirror at path `above`, between these two clusters."""
    place, spec = f"{above}.{name}", mirror[name] if isinstance(mirror[name], dict) else {}
    config: dict[str, str] = {"connector.class": f"{_PACKAGE}{kind}"}
    written: dict[str, str] = {"connector.class": place}
    source, target = ends
    for side, cluster in (("target", target), ("source", source)):
        for key, value in cluster.client.items():
            config[f"{side}.cluster.{key}"] = value
            written[f"{side}.cluster.{key}"] = cluster.keys[key]
    own = spec.get("config")
    for key, value in own.items() if isinstance(own, dict) else ():
        config[key] = text_of(value)
        written[key] = f"{place}.config.{key}"
    if "tasksMax" in spec:
        config["tasks.max"], written["tasks.max"] = text_of(spec["tasksMax"]), f"{place}.tasksMax"
    for field_name, key in _PATTERNS:
        if key not in config:  # where it would be written
            written[key] = f"{above}.{field_name}"
        if field_name in mirror:
            config[key], written[key] = text_of(mirror[field_name]), f"{above}.{field_name}"
    return Connector(f"{source.alias}->{target.alias}.{kind}", config, written, state_of(spec))


def state_of(spec: Mapping[str, Any]) -> str:
    """Return the requested state in Connect's terms; empty for running."""
    state = "paused" if text_of(spec.get("pause")).lower() == "true" else text_of(spec.get("state"))
    return {"paused": "PAUSED", "stopped": "STOPPED"}.get(state.lower(), "")
