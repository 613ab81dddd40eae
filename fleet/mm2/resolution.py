"""Properties of each part of a dedicated MirrorMaker: clients, workers and connectors.

Source: MirrorMakerConfig of Kafka 3.9 and 4.3, with which tests/fleet/golden compares every map built here.
Values are as written in the file, unless a docstring says resolved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.mm2.config_providers import Lookup, Provider, Resolved, providers_of, resolve
from fleet.mm2.filters import split_list
from fleet.mm2.names import WORKER_PREFIXES, client_names, connector_names

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE, HEARTBEAT, CHECKPOINT = (f"Mirror{name}Connector" for name in ("Source", "Heartbeat", "Checkpoint"))
_PACKAGE = "org.apache.kafka.connect.mirror."
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_OF_A_CLIENT = re.compile(r"consumer.*|producer.*|admin.*")


@dataclass(frozen=True, slots=True)
class Mm2Properties:
    """The keys and values of one mm2.properties, read by MirrorMaker of version `major` (None: unknown)."""

    raw: Mapping[str, str] = field(repr=False)
    major: int | None
    lookup: Lookup
    resolved: Mapping[str, str] = field(init=False, repr=False)
    early: Mapping[str, Provider] = field(init=False, repr=False)  # those of the first read of the file
    providers: Mapping[str, Provider] = field(init=False, repr=False)
    clusters: tuple[str, ...] = field(init=False)  # the aliases, in the order of the file
    pairs: tuple[tuple[str, str], ...] = field(init=False)  # source and target of every herder

    def __post_init__(self) -> None:
        early = providers_of(self.raw, trimmed=False)
        object.__setattr__(self, "early", early)
        object.__setattr__(self, "resolved", _resolved(self.raw, early, self.lookup))
        object.__setattr__(self, "providers", providers_of(self.resolved))
        aliases = dict.fromkeys(split_list(self.resolved.get("clusters", "")))
        object.__setattr__(self, "clusters", tuple(aliases))
        object.__setattr__(self, "pairs", self._pairs())

    def _pairs(self) -> tuple[tuple[str, str], ...]:
        """Return source and target of every herder that MirrorMaker starts.

        That is every pair that is enabled or emits heartbeats: by default all of them.
        """
        everywhere = _java_boolean(self.resolved.get("emit.heartbeats.enabled", "true"))
        found = []
        for source in self.clusters:
            for target in self.clusters:
                prefix = f"{source}->{target}."
                own = self.resolved.get(f"{prefix}emit.heartbeats.enabled")
                heartbeats = everywhere if own is None else _java_boolean(own)
                enabled = _java_boolean(self.resolved.get(f"{prefix}enabled", "false"))
                if source != target and (enabled or heartbeats):
                    found.append((source, target))
        return tuple(found)

    def cluster_properties(self, alias: str) -> dict[str, str]:
        """Return the properties of `alias.`, with the client keys repeated for producer, consumer and admin.

        Top-level client keys fill in keys that the alias does not set.
        """
        found = _stripped(self.raw, f"{alias}.")
        names = client_names(self.major)
        for origin, itself in ((dict(found), False), (self.raw, True)):
            for name in names:
                if (value := origin.get(name)) is None:
                    continue
                for role in ("producer.", "consumer.", "admin."):
                    found.setdefault(role + name, value)
                if itself:
                    found.setdefault(name, value)
        return found

    def client_config(self, alias: str) -> dict[str, str]:
        """Return the resolved properties of MirrorMaker's own client library for a cluster."""
        properties = {**self.resolved, **self.cluster_properties(alias)}
        return {key: self.read(value).value for key, value in properties.items()}

    def worker_config(self, source: str, target: str) -> dict[str, str]:
        """Return the resolved properties of the worker of the herder source->target."""
        found = self.cluster_properties(target)
        for prefix in WORKER_PREFIXES:
            found |= _starting(self.raw, prefix)
        found = self.resolve_all(found) | _starting(self.raw, "config.providers")
        return {
            "client.id": f"{source}->{target}",
            "group.id": f"{source}-mm2",
            "offset.storage.topic": f"mm2-offsets.{source}.internal",
            "status.storage.topic": f"mm2-status.{source}.internal",
            "config.storage.topic": f"mm2-configs.{source}.internal",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
            "header.converter": _BYTES,
            **found,
        }

    def connector_config(self, source: str, target: str, connector: str = SOURCE) -> dict[str, str]:
        """Return the unresolved properties of one of the three connectors of a herder."""
        names = connector_names(self.major)
        found = {key: value for key, value in self.raw.items() if key in names}
        found |= _starting(self.raw, "config.providers")
        found |= _starting(self.raw, "replication.policy")
        for role, alias in (("source", source), ("target", target)):
            for key, value in self.cluster_properties(alias).items():
                of_client = _OF_A_CLIENT.fullmatch(key) is not None
                found[f"{role}.{key}" if of_client else f"{role}.cluster.{key}"] = value
        found = {
            "name": connector,
            "connector.class": _PACKAGE + connector,
            "source.cluster.alias": source,
            "target.cluster.alias": target,
            **found,
            **_stripped(self.raw, f"{source}->{target}."),
        }
        return {"enabled": "false", **found}

    def resolve_all(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return the properties with resolved variables."""
        return {key: self.resolve(value).value for key, value in properties.items()}

    def resolve(self, value: str) -> Resolved:
        """Return one resolved value, with its problems."""
        return resolve(value, self.providers, self.lookup)

    def read(self, value: str) -> Resolved:
        """Return one value as a client, worker or connector reads it: each resolves it once more."""
        found = self.resolve(value)
        if found.troubles or found.left:
            return found
        return Resolved(resolve(found.value, self.early, self.lookup).value)


def _resolved(raw: Mapping[str, str], providers: Mapping[str, Provider], lookup: Lookup) -> dict[str, str]:
    if not providers:
        return dict(raw)
    return {key: resolve(value, providers, lookup).value for key, value in raw.items()}


def _java_boolean(text: str) -> bool:
    """Read a boolean as Java's Boolean.parseBoolean: anything that is not `true` is false, `true ` too."""
    return text.lower() == "true"


def _stripped(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key[len(prefix) :]: value
        for key, value in properties.items()
        if key.startswith(prefix) and len(key) > len(prefix)
    }


def _starting(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key.startswith(prefix)}
