"""The permissions that the lag monitor needs, and those that it can do without. Pure.

Describe on a topic allows to read log start and end offsets, ids and partitions; Read implies it. The Admin
API returns group offsets to principals with Describe on the group and on the topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.config import CommitsFrom
from lagmon.mirrors.answers.orders import COMMITS_TOPIC
from lagmon.syncs.orders import sync_orders
from mirrorwatch.check.permissions import Permission, joined
from mirrorwatch.lag.orders import mirror_orders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mirrorwatch.configuration.configuration import Configuration

EVERY = "*"


def lag_permissions(config: Configuration) -> tuple[Permission, ...]:
    """Return the least permissions, by cluster in the configuration's order."""
    if not config.lag.on:
        return ()
    order = list(config.clients)
    return tuple(sorted(joined(_needed(config)), key=lambda one: order.index(one.cluster)))


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


def _needed(config: Configuration) -> Iterator[Permission]:
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
    kinds = {name: source.lag_from for name, source in config.lag_sources.items()}
    for sync in sync_orders(config.topology.flows, kinds):
        if sync.kafka_cluster in config.clients:
            yield Permission(sync.kafka_cluster, sync.topic, ("Read",), f"offset syncs of {sync.flow}")
