"""Several mirrors in one file: each is read separately, then all are joined unless two contradict.

An alias is one cluster, and a flow is one source connector. A second address of an alias and a second
connector of a flow are problems that name both places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.connect.connectors import Overrides, read_connectors
from fleet.connect.kinds import SOURCE, Connector, Worker, hosts_in, some_of
from fleet.errors import ConfigurationError, Problem
from fleet.mm2.properties import Mm2
from fleet.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ADDRESS = re.compile(r"[\d.]+|\[.*\]|localhost", re.IGNORECASE)
_BOOTSTRAP = "bootstrap.servers"


@dataclass(frozen=True, slots=True)
class Described:
    """The connectors of one mirror and their worker, from one resource or file.

    `name` is the mirror's name in sentences. Short host names belong to `namespace`, empty if
    there is none.
    """

    name: str
    connectors: tuple[Connector, ...]
    worker: Worker
    namespace: str = ""

    @property
    def sources(self) -> tuple[Connector, ...]:
        """Return the source connectors that replicate something."""
        return tuple(each for each in self.connectors if each.kind == SOURCE and each.enabled)


def read_described(mirrors: Sequence[Described], *, file: str, said: Overrides) -> Mm2:
    """Return the topology of all mirrors of a file; raises ConfigurationError with all problems.

    A mirror without a source connector has no flow, which is a warning if another mirror has one.
    """
    skipped = _skipped(mirrors, file)
    if len(mirrors) == 1:
        found = read_connectors(mirrors[0].connectors, mirrors[0].worker, file=file, said=said)
        return Mm2(found.topology, (*found.warnings, *skipped))
    flowing = [each for each in mirrors if each.sources] or list(mirrors)
    problems = [*_same_flows(flowing, file), *_same_aliases(flowing, file, said)]
    read = []
    for each in flowing:
        try:
            read.append(read_connectors(each.connectors, each.worker, file=file, said=said))
        except ConfigurationError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    clusters = {cluster.alias: cluster for one in reversed(read) for cluster in one.topology.clusters}
    in_order = dict.fromkeys(cluster.alias for one in read for cluster in one.topology.clusters)
    flows = tuple(flow for one in read for flow in one.topology.flows)
    warnings = [warning for one in read for warning in one.warnings]
    warnings += [Problem(file, "", _without_flow(each)) for each in mirrors if each not in flowing]
    warnings += [*_same_groups(flowing, file), *skipped]
    topology = Topology(tuple(clusters[alias] for alias in in_order), flows)
    return Mm2(topology, tuple(dict.fromkeys(warnings)))


def _skipped(mirrors: Sequence[Described], file: str) -> list[Problem]:
    """Return a warning that names the connectors that are not MirrorMaker's."""
    names = [each.name for mirror in mirrors for each in mirror.connectors if each.kind is None]
    if not names:
        return []
    verb = "is not a connector" if len(names) == 1 else "are not connectors"
    return [Problem(file, "", f"{some_of(names)} {verb} of MirrorMaker: skipped.")]


def _without_flow(mirror: Described) -> str:
    return f"{mirror.name} has no MirrorSourceConnector that is enabled, so it makes no flow."


def _same_flows(mirrors: Sequence[Described], file: str) -> Iterator[Problem]:
    first: dict[str, Described] = {}
    for mirror in mirrors:
        for each in mirror.sources:
            other = first.setdefault(each.flow, mirror)
            if other is not mirror:
                sentence = (
                    f"replicates {each.flow}, as does {other.name}; watch each mirror with a separate "
                    "Mirrorwatch, from a separate file."
                )
                yield Problem(file, each.key("connector.class"), sentence)


def _same_aliases(mirrors: Sequence[Described], file: str, said: Overrides) -> Iterator[Problem]:
    first: dict[str, tuple[Described, frozenset[str]]] = {}
    reported: set[tuple[str, str]] = set()
    for mirror in mirrors:
        for alias, key, written in _addresses(mirror):
            if _BOOTSTRAP in said.clusters.get(alias, {}):
                continue
            hosts = _hosts(written, mirror.namespace)
            other, theirs = first.setdefault(alias, (mirror, hosts))
            if other is mirror or hosts & theirs or (alias, mirror.name) in reported:
                continue
            reported.add((alias, mirror.name))
            sentence = (
                f"alias {alias} is {_shown(hosts)} here, but {_shown(theirs)} in {other.name}; if both are "
                f"the same cluster, write clusters.{alias}.{_BOOTSTRAP} {said.where}. Otherwise watch each "
                "mirror with a separate Mirrorwatch, from a separate file."
            )
            yield Problem(file, key, sentence)


def _shown(hosts: frozenset[str]) -> str:
    return some_of(sorted(hosts), 3)


def _addresses(mirror: Described) -> Iterator[tuple[str, str, str]]:
    """Yield alias, key and addresses of each cluster of the mirror's enabled flows."""
    for each in mirror.sources:
        for side, alias in (("source", each.source), ("target", each.target)):
            written = each.address(side)
            if written:
                yield alias, each.key(f"{side}.cluster.{_BOOTSTRAP}"), written


def _hosts(text: str, namespace: str) -> frozenset[str]:
    """Return the addresses in the form that is valid everywhere in a Kubernetes cluster."""
    return frozenset(_full(each, namespace) for each in hosts_in(text))


def _full(address: str, namespace: str) -> str:
    host, colon, port = address.lower().rpartition(":")
    if namespace and "." not in host and not _ADDRESS.fullmatch(host):
        host = f"{host}.{namespace}"
    host = host.removesuffix(".").removesuffix(".cluster.local").removesuffix(".svc")
    return f"{host}{colon}{port}"


def _same_groups(mirrors: Sequence[Described], file: str) -> Iterator[Problem]:
    """Yield a warning for each worker that joins the Connect group of another."""
    first: dict[tuple[str, str], Described] = {}
    for mirror in mirrors:
        group, homes = mirror.worker.config.get("group.id", ""), _homes(mirror)
        for home in homes if group else ():
            other = first.setdefault((group, home), mirror)
            if other is not mirror:
                sentence = (
                    f"{mirror.name} and {other.name} share the group.id {group} at {home}; give each its own "
                    "group.id and storage topics. Otherwise each may run or delete the other's connectors."
                )
                yield Problem(file, "", sentence)
                break


def _homes(mirror: Described) -> tuple[str, ...]:
    """Return the addresses of the cluster with the worker's topics."""
    found: set[str] = set()
    for each in mirror.sources:
        home = mirror.worker.cluster or each.target
        side = "source" if home == each.source else "target"
        found |= _hosts(each.address(side), mirror.namespace)
    return tuple(sorted(found))
