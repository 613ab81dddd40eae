"""A KafkaMirrorMaker2 of Strimzi as connectors and their worker: what its operator makes of the resource.

Read are `kafka.strimzi.io/v1beta2` (spec.clusters, spec.connectCluster, mirrors with sourceCluster and
targetCluster) and `v1` (spec.target, mirrors with a source). Secrets are only named in a resource, so each
becomes a client property that has to be written elsewhere.

Source: the API reference of Strimzi 0.45 to 0.49, and what its operator is seen to give the connectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.connect_config import Connector, Worker, version_of_worker
from fleet.connect_config_kinds import CHECKPOINT, HEARTBEAT, SOURCE
from fleet.errors import ConfigurationError, Problem
from fleet.strimzi_clusters import StrimziCluster, cluster_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.connect_config_kinds import Written

KIND = "KafkaMirrorMaker2"
_GROUP = "kafka.strimzi.io/"
_PACKAGE = "org.apache.kafka.connect.mirror."
_CONNECTORS = (
    ("sourceConnector", SOURCE), ("checkpointConnector", CHECKPOINT), ("heartbeatConnector", HEARTBEAT),
)  # fmt: skip
# Fields of a mirror that go over the configuration of its connectors; the older names are those of 0.21.
_PATTERNS = (
    ("topicsPattern", "topics"), ("topicsBlacklistPattern", "topics.exclude"),
    ("topicsExcludePattern", "topics.exclude"), ("groupsPattern", "groups"),
    ("groupsBlacklistPattern", "groups.exclude"), ("groupsExcludePattern", "groups.exclude"),
)  # fmt: skip
# What the operator calls the worker's topics where v1beta2 leaves them open.
_DEFAULT_TOPICS = {
    f"{name}.storage.topic": f"mirrormaker2-cluster-{end}"
    for name, end in (("offset", "offsets"), ("config", "configs"), ("status", "status"))
}
_V1_TOPICS = {
    "offsetStorageTopic": "offset.storage.topic",
    "configStorageTopic": "config.storage.topic",
    "statusStorageTopic": "status.storage.topic",
}


def is_mirror(data: Any) -> bool:
    """Tell whether a document is a KafkaMirrorMaker2."""
    return isinstance(data, dict) and data.get("kind") == KIND and "spec" in data


def read_resource(data: Mapping[str, Any], *, file: str) -> tuple[tuple[Connector, ...], Worker]:
    """Return the connectors that the operator makes, and their worker.

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
        spec = self.data["spec"]
        mirrors = spec.get("mirrors") if isinstance(spec, dict) else None
        if not isinstance(mirrors, list) or not mirrors:
            self.problems.append(("spec.mirrors", "is missing; it lists what is mirrored where."))
            return
        target = spec.get("target")
        newer = isinstance(target, dict)
        clusters = self._clusters(spec, mirrors, newer=newer)
        for number, mirror in enumerate(mirrors):
            if isinstance(mirror, dict):
                self._mirror(number, mirror, clusters, text_of(target.get("alias")) if newer else None)
            else:
                self.problems.append(
                    (f"spec.mirrors.{number}", "is no mapping of keys; write sourceConnector.")
                )
        self.worker = self._worker(spec, clusters, newer=newer)

    def _clusters(
        self, spec: Mapping[str, Any], mirrors: list[Any], *, newer: bool
    ) -> dict[str, StrimziCluster]:
        """Return the clusters by alias, wherever this version of the resource has them."""
        if newer:
            places = [("spec.target", spec["target"])]
            sources = [each.get("source") if isinstance(each, dict) else None for each in mirrors]
            places += [(f"spec.mirrors.{number}.source", each) for number, each in enumerate(sources)]
        else:
            listed = spec.get("clusters")
            if not isinstance(listed, list) or not listed:
                self.problems.append(("spec.clusters", "is missing; it says where each cluster is."))
                return {}
            places = [(f"spec.clusters.{number}", each) for number, each in enumerate(listed)]
        found: dict[str, StrimziCluster] = {}
        for place, each in places:
            alias = text_of(each.get("alias")) if isinstance(each, dict) else ""
            if not alias:
                self.problems.append((f"{place}.alias", "is missing; every cluster has an alias."))
            elif alias in found and not newer:
                self.problems.append((f"{place}.alias", f"is {alias} a second time; keep one of the two."))
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
            target = spec["target"]
            home = text_of(target.get("alias"))
            named = {key: text_of(target[name]) for name, key in _V1_TOPICS.items() if target.get(name)}
        else:
            home = text_of(spec.get("connectCluster"))
            named = {}
            if home and clusters and home not in clusters:
                known = ", ".join(clusters)
                sentence = f"names '{home}', and no cluster has that alias (known: {known})."
                self.problems.append(("spec.connectCluster", sentence))
        config = dict(_DEFAULT_TOPICS) | (dict(clusters[home].config) if home in clusters else {}) | named
        secrets: dict[str, tuple[Written, ...]] = {alias: each.secrets for alias, each in clusters.items()}
        return Worker(config, version_of_worker(text_of(spec.get("version"))), home, secrets)


def _connector(
    above: str, name: str, kind: str, mirror: Mapping[str, Any], ends: tuple[StrimziCluster, StrimziCluster]
) -> Connector:
    """Return one connector of the mirror that stands at `above`, between these two clusters."""
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
        if field_name in mirror:
            config[key], written[key] = text_of(mirror[field_name]), f"{above}.{field_name}"
    state = "paused" if text_of(spec.get("pause")).lower() == "true" else text_of(spec.get("state"))
    known = {"paused": "PAUSED", "stopped": "STOPPED"}
    return Connector(f"{source.alias}->{target.alias}.{kind}", config, written, known.get(state.lower(), ""))
