"""The permissions of `run`, the lag monitor and the checksum, and kafka-acls commands that grant them. Pure.

Kafka's StandardAuthorizer: Read and Write imply Describe. An idempotent producer needs only Write (KIP-679,
brokers since 3.0). Assigned partitions need no permission on a group, and describing the cluster needs none.
Describe on a topic allows to read log start and end offsets, ids and partitions. The Admin API returns group
offsets to principals with Describe on the group and on the topics.

The permissions of the checksum follow from the configuration, not from the visible topics: a principal
without permissions sees none, and topics that are created later need them too. A filter entry becomes a name,
a prefix (`orders.*` becomes `orders`), or every topic if it has no certain prefix.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.site.control import TOPIC as CONTROL_TOPIC
from fleet.mm2.filters import split_list
from lagmon.config import CommitsFrom
from lagmon.mirrors.answers.orders import COMMITS_TOPIC, CONNECT_OFFSETS, PROGRESS
from lagmon.syncs.orders import sync_orders
from mirrorwatch.lag.orders import mirror_orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow
    from fleet.verdicts.flow import Flow
    from mirrorwatch.configuration.configuration import Configuration

EVERY = "*"
CLUSTER = "cluster"
ORDER = ("Describe", "Read", "Write", "Create", "Alter", "DescribeConfigs")
_BEGINNING = re.compile(r"(?:[A-Za-z0-9_.-]|\\[._-])*")
_COMPARED = ("Read", "DescribeConfigs")


@dataclass(frozen=True, slots=True)
class Permission:
    """Operations on one topic or group of a cluster, or on the cluster itself, and their purpose."""

    cluster: str
    name: str  # `*` for all
    operations: tuple[str, ...]
    purpose: str
    resource: str = "topic"  # or group, or cluster
    pattern: str = "literal"  # or prefixed: `name` is how the names begin


def permissions(
    clusters: Iterable[str], flows: Iterable[CanaryFlow], canary: CanaryConfig
) -> tuple[Permission, ...]:
    """Return the least permissions of `run`, by cluster, each topic once; `clusters` are those of flows."""
    found: dict[tuple[str, str], tuple[set[str], list[str]]] = {}

    def need(cluster: str, topic: str, operations: set[str], purpose: str) -> None:
        has, purposes = found.setdefault((cluster, topic), (set(), []))
        has |= operations
        if purpose not in purposes:
            purposes.append(purpose)

    make = set() if canary.mode is CanaryMode.PRECREATED else {"Create"}
    grow = {"Alter"} if canary.grow and make else set()
    settings = {"DescribeConfigs"}  # to say what is wrong with a topic
    for flow in flows:
        if not flow.off:
            need(flow.source, flow.source_topic, {"Read", "Write"} | make | grow | settings, "probes")
            need(flow.target, flow.target_topic, {"Read"} | settings, f"replicated probes of {flow.name}")
        if flow.heartbeats_topic and canary.mode is not CanaryMode.OFF:
            need(flow.target, flow.heartbeats_topic, {"Read"}, f"heartbeats of {flow.name}")
    order = list(clusters)
    for cluster in order if canary.mode is not CanaryMode.OFF else ():
        need(cluster, CONTROL_TOPIC, {"Read", "Write"} | make | settings, "control probes")
    return tuple(
        Permission(cluster, topic, tuple(name for name in ORDER if name in has), ", ".join(purposes))
        for (cluster, topic), (has, purposes) in sorted(
            found.items(), key=lambda item: (order.index(item[0][0]), item[0][1] == CONTROL_TOPIC, item[0][1])
        )
    )


def optional_permissions(flows: Iterable[CanaryFlow], canary: CanaryConfig) -> tuple[Permission, ...]:
    """Return permissions that `run` can do without: to read which task has which partitions."""
    return tuple(
        Permission(flow.target, flow.tasks_topic, ("Read",), f"tasks of {flow.name}")
        for flow in flows
        if flow.tasks_topic and not flow.off and canary.mode is not CanaryMode.OFF
    )


def joined(found: Iterable[Permission]) -> tuple[Permission, ...]:
    """Return each permission once, in order, with all its purposes."""
    purposes: dict[Permission, dict[str, None]] = {}
    for one in found:
        purposes.setdefault(replace(one, purpose=""), {})[one.purpose] = None
    return tuple(replace(permission, purpose=", ".join(names)) for permission, names in purposes.items())


def acl_command(
    bootstrap: str, principal: str, permission: Permission, *, command_config: str = "admin.properties"
) -> tuple[str, ...]:
    """Return the lines of one kafka-acls command, for a POSIX shell."""
    named = "" if permission.resource == CLUSTER else f" {shlex.quote(permission.name)}"
    prefixed = f" --resource-pattern-type {permission.pattern}" if permission.pattern != "literal" else ""
    return (
        f"kafka-acls.sh --bootstrap-server {shlex.quote(bootstrap)} \\",
        f"  --command-config {shlex.quote(command_config)} \\",
        f"  --add --allow-principal {shlex.quote(principal)} \\",
        f"  --{permission.resource}{named}{prefixed} \\",
        " " + "".join(f" --operation {operation}" for operation in permission.operations),
    )


def lag_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the least permissions of the lag monitor, by cluster in the configuration's order."""
    if not config.lag.on:
        return ()
    order = list(config.clients)
    return tuple(sorted(joined(_needed_for_lag(config)), key=lambda one: order.index(one.cluster)))


def optional_lag_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions that the lag monitor can do without."""
    if not config.lag.on:
        return ()
    found = []
    for cluster in config.clients:
        if any(cluster in (flow.source, flow.target) for flow in config.topology.flows):
            found.append(
                Permission(cluster, EVERY, ("DescribeConfigs",), "retention and timestamps of topics")
            )
        found.append(Permission(cluster, EVERY, ("Read",), "transaction markers at log ends"))
        found += [
            Permission(cluster, order.status_topic, ("Read",), f"errors of tasks of {order.name}")
            for order in mirror_orders(config)
            if order.status_topic and order.offsets_cluster == cluster
        ]
    return joined(found)


def optional_task_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return optional permissions on topics that also hold passwords: which task has which partitions."""
    if not config.lag.on:
        return ()
    return joined(
        Permission(order.offsets_cluster, order.config_topic, ("Read",), f"tasks of {order.name}")
        for order in mirror_orders(config)
        if order.config_topic and order.offsets_cluster in config.clients
    )


def _needed_for_lag(config: Configuration) -> Iterator[Permission]:
    for cluster in config.clients:
        yield Permission(cluster, EVERY, ("Describe",), "log start and log end offsets")
        if config.lag.commits is CommitsFrom.TOPIC:
            yield Permission(cluster, COMMITS_TOPIC, ("Read",), "commits of groups")
        else:
            yield Permission(cluster, EVERY, ("Describe",), "commits of groups", "group")
    for order in mirror_orders(config):
        if order.offsets_topic and order.offsets_cluster in config.clients:
            if order.offsets_topic == COMMITS_TOPIC and config.lag.commits is CommitsFrom.ADMIN:
                continue
            yield Permission(
                order.offsets_cluster, order.offsets_topic, ("Read",), f"committed offsets of {order.name}"
            )
    yield from _offset_syncs(config)


def failover_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the least permissions of `failover` and `offsets`; to commit offsets it takes more."""
    order = list(config.clients)
    return tuple(sorted(joined(_needed_for_failover(config)), key=lambda one: order.index(one.cluster)))


def optional_failover_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions that exact counts, and commits of offsets, need in addition."""
    targets = dict.fromkeys(flow.target for flow in config.topology.flows)
    return joined(
        one
        for target in targets
        for one in (
            Permission(target, EVERY, ("DescribeConfigs",), "which topics are compacted"),
            Permission(target, EVERY, ("Read",), "--prove and offsets apply"),
            Permission(target, EVERY, ("Read",), "offsets apply", "group"),
        )
    )


def _needed_for_failover(config: Configuration) -> Iterator[Permission]:
    for flow in config.topology.flows:
        for cluster in (flow.source, flow.target):
            yield Permission(cluster, EVERY, ("Describe",), "log start and log end offsets")
            yield Permission(cluster, EVERY, ("Describe",), "commits of groups", "group")
        if PROGRESS[config.lag_sources[flow.name].lag_from].is_mirror_maker:
            yield Permission(flow.target, flow.checkpoints_topic, ("Read",), f"checkpoints of {flow.name}")
    for order in mirror_orders(config):
        if (
            order.lag_from == CONNECT_OFFSETS
            and order.offsets_topic
            and order.offsets_cluster in config.clients
        ):
            purpose = f"committed offsets of {order.name}"
            yield Permission(order.offsets_cluster, order.offsets_topic, ("Read",), purpose)
    yield from _offset_syncs(config)


def drift_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions of `drift`, by cluster."""
    found = [
        permission
        for alias in config.touched
        for permission in (
            Permission(alias, EVERY, ("Describe", "DescribeConfigs"), "topics and their configuration"),
            Permission(alias, "kafka-cluster", ("Describe", "DescribeConfigs"), "ACLs on topics", CLUSTER),
        )
    ]
    return tuple(found)


def trace_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions of `trace`, by cluster: Read on all topics includes those of the mirror."""
    used = frozenset[str]().union(*(order.clusters for order in mirror_orders(config)))
    return tuple(
        Permission(alias, EVERY, ("Read",), "records, offsets and the topics of the mirror")
        for alias in config.clients
        if alias in used
    )


def migrate_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions of `migrate`, by cluster."""
    return tuple(
        permission
        for topics in trace_permissions(config)
        for permission in (
            topics,
            Permission(topics.cluster, EVERY, ("Describe",), "groups of the mirror", "group"),
        )
    )


def optional_record_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions that `trace` and `migrate` can do without."""
    purpose = "which topics are compacted"
    return tuple(Permission(alias, EVERY, ("DescribeConfigs",), purpose) for alias in config.touched)


def _offset_syncs(config: Configuration) -> Iterator[Permission]:
    kinds = {name: source.lag_from for name, source in config.lag_sources.items()}
    for sync in sync_orders(config.topology.flows, kinds):
        if sync.kafka_cluster in config.clients:
            yield Permission(sync.kafka_cluster, sync.topic, ("Read",), f"offset syncs of {sync.flow}")


def checksum_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the least permissions of a run over `checksum.topics`, by default over all topics."""
    order = list(config.clients)
    return tuple(sorted(joined(_needed_for_checksum(config)), key=lambda one: order.index(one.cluster)))


def names_of(entry: str) -> tuple[str, str]:
    """Return the name or prefix that a filter entry matches, and the pattern type of its ACL."""
    beginning = _BEGINNING.match(entry)
    found = "" if beginning is None or "|" in entry else beginning[0]
    plain = found.replace("\\", "")
    if found == entry and plain:
        return plain, "literal"
    if entry[len(found) : len(found) + 1] in ("*", "?", "+", "{"):  # the letter before it may be missing
        plain = plain[:-1]
    return (plain, "prefixed") if plain else (EVERY, "literal")


def _needed_for_checksum(config: Configuration) -> Iterator[Permission]:
    for flow in config.topology.flows:
        for name, pattern in _compared(config, flow):
            why = f"topics of {flow.name}"
            yield Permission(flow.source, name, _COMPARED, why, pattern=pattern)
            if name != EVERY:
                yield Permission(flow.target, flow.remote_topic(name), _COMPARED, why, pattern=pattern)
            elif prefix := flow.remote_topic(""):
                yield Permission(flow.target, prefix, _COMPARED, why, pattern="prefixed")
            else:
                yield Permission(flow.target, EVERY, _COMPARED, why)
    yield from _offset_syncs(config)


def _compared(config: Configuration, flow: Flow) -> tuple[tuple[str, str], ...]:
    """Return names and patterns, each once; only `*` if one of the entries may match any topic."""
    texts = config.checksum.topics or [flow.topic_filter.include]
    found = dict.fromkeys(names_of(entry) for text in texts for entry in split_list(text))
    return ((EVERY, "literal"),) if (EVERY, "literal") in found else tuple(found)
