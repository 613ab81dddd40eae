"""The permissions that `run` needs on each cluster, and kafka-acls commands that grant only these. Pure.

Kafka's StandardAuthorizer: Read and Write imply Describe. An idempotent producer needs only Write (KIP-679,
brokers since 3.0). Assigned partitions need no permission on a group, and describing the cluster needs none.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.site.control import TOPIC as CONTROL_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow

ORDER = ("Describe", "Read", "Write", "Create", "Alter", "DescribeConfigs")


@dataclass(frozen=True, slots=True)
class Permission:
    """Operations on one topic or group of one cluster, and their purpose."""

    cluster: str
    name: str  # `*` for all
    operations: tuple[str, ...]
    purpose: str
    resource: str = "topic"  # or group
    pattern: str = "literal"  # or prefixed: `name` is how the names begin


def permissions(
    clusters: Iterable[str], flows: Iterable[CanaryFlow], canary: CanaryConfig
) -> tuple[Permission, ...]:
    """Return the least permissions, by cluster, each topic once; `clusters` are those of flows."""
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
    prefixed = f" --resource-pattern-type {permission.pattern}" if permission.pattern != "literal" else ""
    return (
        f"kafka-acls.sh --bootstrap-server {shlex.quote(bootstrap)} \\",
        f"  --command-config {shlex.quote(command_config)} \\",
        f"  --add --allow-principal {shlex.quote(principal)} \\",
        f"  --{permission.resource} {shlex.quote(permission.name)}{prefixed} \\",
        " " + "".join(f" --operation {operation}" for operation in permission.operations),
    )
