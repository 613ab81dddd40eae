"""The rights that `run` needs on each cluster, and the kafka-acls commands that grant just these. Pure.

By Kafka's StandardAuthorizer: Read and Write imply Describe; an idempotent producer needs no right of its
own beside Write (KIP-679, brokers from 3.0 on); partitions that are assigned need no right on a group; and
describing the cluster needs none.
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
class Right:
    """What the principal may do with one topic of one cluster, or with one group, and what for."""

    cluster: str
    name: str  # `*` for all
    operations: tuple[str, ...]
    purpose: str
    resource: str = "topic"  # or group
    pattern: str = "literal"  # or prefixed: `name` is how the names begin


def rights(clusters: Iterable[str], flows: Iterable[CanaryFlow], canary: CanaryConfig) -> tuple[Right, ...]:
    """Return the least rights, by cluster, each topic once; `clusters` are those that flows touch."""
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
        Right(cluster, topic, tuple(name for name in ORDER if name in has), ", ".join(purposes))
        for (cluster, topic), (has, purposes) in sorted(
            found.items(), key=lambda item: (order.index(item[0][0]), item[0][1] == CONTROL_TOPIC, item[0][1])
        )
    )


def wished_rights(flows: Iterable[CanaryFlow], canary: CanaryConfig) -> tuple[Right, ...]:
    """Return what `run` does without where it is not granted: to read which task carries which partitions."""
    return tuple(
        Right(flow.target, flow.tasks_topic, ("Read",), f"tasks of {flow.name}")
        for flow in flows
        if flow.tasks_topic and not flow.off and canary.mode is not CanaryMode.OFF
    )


def joined(found: Iterable[Right]) -> tuple[Right, ...]:
    """Return each right once, in their order, for all that it is wanted for."""
    purposes: dict[Right, dict[str, None]] = {}
    for one in found:
        purposes.setdefault(replace(one, purpose=""), {})[one.purpose] = None
    return tuple(replace(right, purpose=", ".join(names)) for right, names in purposes.items())


def acl_command(
    bootstrap: str, principal: str, right: Right, *, command_config: str = "admin.properties"
) -> tuple[str, ...]:
    """Return the lines of one kafka-acls command, for a POSIX shell."""
    prefixed = f" --resource-pattern-type {right.pattern}" if right.pattern != "literal" else ""
    return (
        f"kafka-acls.sh --bootstrap-server {shlex.quote(bootstrap)} \\",
        f"  --command-config {shlex.quote(command_config)} \\",
        f"  --add --allow-principal {shlex.quote(principal)} \\",
        f"  --{right.resource} {shlex.quote(right.name)}{prefixed} \\",
        " " + "".join(f" --operation {operation}" for operation in right.operations),
    )
