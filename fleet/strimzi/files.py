"""Mirrors in the resources of one file: KafkaMirrorMaker2, and KafkaConnectors by their worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet.connect.kinds import Connector, Worker
from fleet.connect.several import Described
from fleet.errors import ConfigurationError, Problem
from fleet.strimzi.connectors import CONNECTOR_KIND, WORKER_KIND, WORKER_LABEL, connector_of, worker_of
from fleet.strimzi.kubernetes import title_of
from fleet.strimzi.mirror import KIND, read_resource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fleet.strimzi.kubernetes import Resource

KINDS = (KIND, CONNECTOR_KIND, WORKER_KIND)


@dataclass(frozen=True, slots=True)
class Placed:
    """A resource, and the prefix of its keys in sentences."""

    resource: Resource
    prefix: str


def placed(resources: Sequence[Resource]) -> tuple[Placed, ...]:
    """Return the resources about mirrors; keys name the resource if there are several."""
    known = [each for each in resources if each.kind in KINDS]
    if len(known) == 1:
        return (Placed(known[0], ""),)
    names = [each.title for each in known]
    numbered = [
        f"{name} (number {number})" if names.count(name) > 1 else name
        for number, name in enumerate(names, start=1)
    ]
    return tuple(Placed(each, f"{name}: ") for each, name in zip(known, numbered, strict=True))


def described(found: Sequence[Placed], *, file: str) -> tuple[Described, ...]:
    """Return the mirrors; ConfigurationError with every problem of every resource, by its key."""
    problems: list[Problem] = []
    mirrors = []
    for each in found:
        if each.resource.kind == KIND:
            try:
                connectors, worker = read_resource(each.resource.data, file=file)
            except ConfigurationError as error:
                problems += [replace(problem, key=each.prefix + problem.key) for problem in error.problems]
                continue
            mirrors.append(_described(each.resource.title, each, connectors, worker))
    mirrors += _of_connectors(found)
    if problems:
        raise ConfigurationError(problems)
    return tuple(mirrors)


def idle_workers(found: Sequence[Placed]) -> tuple[Placed, ...]:
    """Return the mirrors without a worker: spec.replicas is 0."""
    return tuple(
        each
        for each in found
        if each.resource.kind in (KIND, WORKER_KIND) and each.resource.spec.get("replicas") == "0"
    )


def _of_connectors(found: Sequence[Placed]) -> Iterator[Described]:
    """Yield the connectors of each KafkaConnect, by namespace and name."""
    workers = {
        (each.resource.namespace, each.resource.name): each
        for each in found
        if each.resource.kind == WORKER_KIND
    }
    grouped: dict[tuple[str, str], list[Placed]] = {}
    for each in found:
        if each.resource.kind == CONNECTOR_KIND:
            at = (each.resource.namespace, each.resource.label(WORKER_LABEL))
            grouped.setdefault(at, []).append(each)
    for at, group in grouped.items():
        connectors = tuple(_prefixed(connector_of(each.resource), each.prefix) for each in group)
        worker = workers.get(at)
        yield Described(
            f"{WORKER_KIND} {'/'.join(filter(None, at))}" if at[1] else title_of(CONNECTOR_KIND, *at),
            connectors,
            Worker() if worker is None else worker_of(worker.resource, connectors),
            at[0],
        )


def _described(name: str, at: Placed, connectors: Sequence[Connector], worker: Worker) -> Described:
    secrets = {
        alias: tuple(replace(one, key=at.prefix + one.key) for one in needed)
        for alias, needed in worker.secrets.items()
    }
    named = tuple(_prefixed(each, at.prefix) for each in connectors)
    return Described(name, named, replace(worker, secrets=secrets), at.resource.namespace)


def _prefixed(connector: Connector, prefix: str) -> Connector:
    return replace(connector, written={name: prefix + key for name, key in connector.written.items()})
