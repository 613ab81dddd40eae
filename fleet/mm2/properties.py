"""mm2.properties as a topology: how a dedicated MirrorMaker reads its file, and what it ignores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem
from fleet.java import properties as java_properties
from fleet.mm2.config_providers import Lookup
from fleet.mm2.filters import split_list
from fleet.mm2.flows import FlowOverrides, FlowReader
from fleet.mm2.ignored import instead_of_clusters
from fleet.mm2.names import TOP_LEVEL_NAMES, TOP_LEVEL_REST_NAMES, client_names
from fleet.mm2.replication import NEWEST_KNOWN, major_version
from fleet.mm2.resolution import Mm2Properties
from fleet.mm2.value_rules import fault_of
from fleet.mm2.warnings import byte_order_mark, ignored_flows, warnings_of
from fleet.secret_keys import is_secret
from fleet.topology import Cluster, Topology, override_clusters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FlowOverrides", "Mm2", "read_mm2"]

LONGEST_CHARS = 1_000_000
MOST_CLUSTERS = 200


@dataclass(frozen=True, slots=True)
class Mm2:
    """The topology, and warnings."""

    topology: Topology
    warnings: tuple[Problem, ...]


def read_mm2(
    text: str,
    *,
    file: str,
    mirror_version: str | None,
    environ: Mapping[str, str],
    read_file: Callable[[str], str],
    clusters: Mapping[str, Mapping[str, str]] | None = None,
    flow_overrides: Mapping[str, FlowOverrides] | None = None,
) -> Mm2:
    """Return the topology of an mm2.properties, as MirrorMaker of this version reads it.

    `text` is the file's bytes decoded as ISO-8859-1, as MirrorMaker does; `file` is its name in
    sentences. `read_file` returns the text of a file that a provider names, or raises OSError.
    `clusters` overrides the clusters of the file key by key, and `flow_overrides` (by flow, `A->B`) replaces
    the topics and the policy of a flow. Raises ConfigurationError with all problems at once.
    """
    problems: list[Problem] = []
    raw, entries = _entries(text, file)
    major = _major(mirror_version)
    mm2 = Mm2Properties(raw, major, Lookup(environ, read_file))
    aliases = mm2.clusters
    marked = byte_order_mark(file, raw)
    if not aliases:
        raise ConfigurationError(list(marked) or [_no_clusters(file, mm2)])
    if len(aliases) > MOST_CLUSTERS:
        raise ConfigurationError([Problem(file, "clusters", f"names more than {MOST_CLUSTERS} clusters.")])
    reader = FlowReader(file, mm2, mirror_version, problems)
    problems += _at_top(file, mm2, mirror_version)
    for target, source in {target: source for source, target in mm2.pairs}.items():
        reader.check_worker(source, target)  # those of one target differ only in names
    flows = tuple(
        reader.flow(source, target, (flow_overrides or {}).get(f"{source}->{target}", FlowOverrides()))
        for source, target in mm2.pairs
        if reader.is_enabled(source, target)
    )
    if not flows and not problems:
        example = f"{aliases[0]}->{aliases[1]}.enabled" if len(aliases) > 1 else "A->B.enabled"
        problems += ignored_flows(file, mm2)
        problems.append(
            Problem(file, example, "no flow is enabled; write for example " + example + " = true.")
        )
    used = {alias for flow in flows for alias in (flow.source, flow.target)}
    if mm2.major == NEWEST_KNOWN:
        used.update(target for _, target in mm2.pairs)  # otherwise none of its workers starts
    overrides = clusters or {}
    found = tuple(
        _cluster(alias, mm2, file, overrides.get(alias, {}), problems if alias in used else [])
        for alias in aliases
    )
    if problems:
        raise ConfigurationError([*marked, *problems])
    topology = Topology(override_clusters(found, overrides), flows)
    return Mm2(topology, (*marked, *warnings_of(file, entries, mm2, topology)))


def _no_clusters(file: str, mm2: Mm2Properties) -> Problem:
    if (key := instead_of_clusters(mm2)) is not None:
        return Problem(file, key, "is not a key of MirrorMaker; did you mean clusters?")
    sentence = "is missing or empty; write the aliases of the clusters, for example clusters = A, B."
    return Problem(file, "clusters", sentence)


def _entries(text: str, file: str) -> tuple[dict[str, str], tuple[java_properties.Entry, ...]]:
    if len(text) > LONGEST_CHARS:
        raise ConfigurationError(
            [Problem(file, "", f"is longer than {LONGEST_CHARS} characters; not an mm2.properties file.")]
        )
    try:
        entries = java_properties.parse(text)
    except ValueError as error:
        raise ConfigurationError([Problem(file, "", f"{error}; fix that line.")]) from error
    if not entries:
        raise ConfigurationError(
            [Problem(file, "", "is empty; give the mm2.properties of your MirrorMaker.")]
        )
    return java_properties.as_mapping(entries), entries


def _major(mirror_version: str | None) -> int | None:
    if mirror_version is None:
        return None
    try:
        return major_version(mirror_version)
    except ValueError as error:
        raise ConfigurationError([Problem("", "mirror_version", f"{error}.")]) from error


def _at_top(file: str, mm2: Mm2Properties, mirror_version: str | None) -> list[Problem]:
    """Return a problem for each value with which MirrorMaker cannot read its file."""
    found = []
    clients = client_names(mm2.major) - {"bootstrap.servers"}
    for name in sorted(TOP_LEVEL_NAMES | TOP_LEVEL_REST_NAMES | clients):
        value = mm2.resolved.get(name)
        if value is not None and (fault := fault_of(name, value, mirror_version)) is not None:
            found.append(Problem(file, name, f"{fault}."))
    for provider in {**mm2.early, **mm2.providers}.values():
        if not re.fullmatch(r"[\w.$]+", provider.class_name):
            sentence = "must be the name of a class; a space or comment after it becomes part of the name."
            found.append(Problem(file, f"config.providers.{provider.name}.class", sentence))
    return found


def _cluster(
    alias: str, mm2: Mm2Properties, file: str, override: Mapping[str, str], problems: list[Problem]
) -> Cluster:
    """Return a cluster with the properties of MirrorMaker's clients: addresses and security.

    A key that is only set under admin, consumer or producer is read from there, in this order, since
    Mirrorwatch's clients do the work of all three.
    """
    written = mm2.cluster_properties(alias)
    client: dict[str, str] = {}
    for name in sorted(client_names(mm2.major)):
        places = (name, *(f"{role}.{name}" for role in ("admin", "consumer", "producer")))
        place = next((each for each in places if each in written), None)
        if place is None:
            continue
        resolved = mm2.read(written[place])
        client[name] = resolved.value
        if name not in override:
            key = f"{alias}.{place}" if f"{alias}.{place}" in mm2.raw else name
            left = () if is_secret(name) else resolved.left  # it may be part of a password
            problems += [Problem(file, key, f"{each}.") for each in (*resolved.troubles, *left)]
    if not any(split_list(client.get("bootstrap.servers", ""))) and not override.get("bootstrap.servers"):
        sentence = (
            f"is missing; write where the cluster is, for example {alias}.bootstrap.servers = host:9092."
        )
        problems.append(Problem(file, f"{alias}.bootstrap.servers", sentence))
    return Cluster(alias, client)
