"""mm2.properties as a topology: what a dedicated MirrorMaker makes of its file, and what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet import java_properties
from fleet.config_providers import Lookup
from fleet.errors import ConfigurationError, Problem
from fleet.mm2_flows import ByHand, FlowReader
from fleet.mm2_names import client_names
from fleet.mm2_resolution import Mm2Properties
from fleet.mm2_warnings import ignored_flows, warnings_of
from fleet.replication import major_version
from fleet.topology import Cluster, Topology, lay_over

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ByHand", "Mm2", "read_mm2"]

LONGEST_CHARS = 1_000_000
MOST_CLUSTERS = 200


@dataclass(frozen=True, slots=True)
class Mm2:
    """What was read: the topology, and our warnings."""

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
    by_hand: Mapping[str, ByHand] | None = None,
) -> Mm2:
    """Return what MirrorMaker of this version makes of the text of its mm2.properties.

    `text` is the file's bytes decoded as ISO-8859-1, as MirrorMaker takes them; `file` is its name in
    sentences. `read_file` gives the text of a file that the configuration provider names and raises OSError.
    `clusters` is laid over the clusters of the file key by key, and `by_hand` (by flow, `A->B`) stands in
    for the topics and the policy of a flow. Raises ConfigurationError with all problems at once.
    """
    problems: list[Problem] = []
    raw, entries = _entries(text, file)
    major = _major(mirror_version)
    mm2 = Mm2Properties(raw, major, Lookup(environ, read_file))
    aliases = mm2.clusters
    if not aliases:
        sentence = "names no cluster; write the aliases, for example clusters = A, B."
        raise ConfigurationError([Problem(file, "clusters", sentence)])
    if len(aliases) > MOST_CLUSTERS:
        raise ConfigurationError([Problem(file, "clusters", f"names more than {MOST_CLUSTERS} clusters.")])
    reader = FlowReader(file, mm2, mirror_version, problems)
    flows = tuple(
        reader.flow(source, target, (by_hand or {}).get(f"{source}->{target}", ByHand()))
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
    overrides = clusters or {}
    found = tuple(
        _cluster(alias, mm2, file, overrides.get(alias, {}), problems if alias in used else [])
        for alias in aliases
    )
    if problems:
        raise ConfigurationError(problems)
    topology = Topology(lay_over(found, overrides), flows)
    return Mm2(topology, warnings_of(file, entries, mm2, topology))


def _entries(text: str, file: str) -> tuple[dict[str, str], tuple[java_properties.Entry, ...]]:
    if len(text) > LONGEST_CHARS:
        raise ConfigurationError(
            [Problem(file, "", f"is longer than {LONGEST_CHARS} characters; it is no mm2.properties.")]
        )
    try:
        entries = java_properties.parse(text)
    except ValueError as error:
        raise ConfigurationError([Problem(file, "", f"{error}; mend that line.")]) from error
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


def _cluster(
    alias: str, mm2: Mm2Properties, file: str, override: Mapping[str, str], problems: list[Problem]
) -> Cluster:
    """Return a cluster with the properties that MirrorMaker's clients of it have: where it is, and security.

    A key that stands only under admin, consumer or producer is taken from there, in this order, since
    Mirrorwatch's clients do the work of all three.
    """
    written = mm2.cluster_properties(alias)
    client: dict[str, str] = {}
    for name in sorted(client_names(mm2.major)):
        places = (name, *(f"{role}.{name}" for role in ("admin", "consumer", "producer")))
        place = next((each for each in places if each in written), None)
        if place is None:
            continue
        resolved = mm2.resolve(written[place])
        client[name] = resolved.value
        if name not in override:
            key = f"{alias}.{place}" if f"{alias}.{place}" in mm2.raw else name
            problems += [Problem(file, key, f"{each}.") for each in resolved.troubles]
    if not client.get("bootstrap.servers", "").strip() and not override.get("bootstrap.servers"):
        sentence = (
            f"is missing; write where the cluster is, for example {alias}.bootstrap.servers = host:9092."
        )
        problems.append(Problem(file, f"{alias}.bootstrap.servers", sentence))
    return Cluster(alias, client)
