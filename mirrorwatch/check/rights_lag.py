"""The rights that the lag monitor needs, and those that it does without. Pure.

Describe on a topic lets ends, log starts, ids and partitions be read; Read brings it. The Admin API tells of
a group and of its offsets who may describe the group, and of an offset only on topics that may be described.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.config import CommitsFrom
from lagmon.mirrors.answers.orders import COMMITS_TOPIC
from lagmon.syncs.orders import sync_orders
from mirrorwatch.check.rights import Right, joined
from mirrorwatch.lag.orders import mirror_orders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mirrorwatch.configuration.configuration import Configuration

EVERY = "*"


def lag_rights(config: Configuration) -> tuple[Right, ...]:
    """Return the least rights, by cluster in the configuration's order."""
    if not config.lag.on:
        return ()
    order = list(config.clients)
    return tuple(sorted(joined(_needed(config)), key=lambda one: order.index(one.cluster)))


def wished_lag_rights(config: Configuration) -> tuple[Right, ...]:
    """Return what the lag monitor does without where it is not granted."""
    if not config.lag.on:
        return ()
    found = []
    for cluster in config.clients:
        if any(cluster in (flow.source, flow.target) for flow in config.topology.flows):
            found.append(Right(cluster, EVERY, ("DescribeConfigs",), "retention and timestamps of topics"))
        found.append(Right(cluster, EVERY, ("Read",), "transaction markers at log ends"))
        found += [
            Right(cluster, order.status_topic, ("Read",), f"errors of tasks of {order.name}")
            for order in mirror_orders(config)
            if order.status_topic and order.offsets_cluster == cluster
        ]
    return joined(found)


def wished_task_rights(config: Configuration) -> tuple[Right, ...]:
    """Return what it does without as well, on topics that hold passwords too: which task carries what."""
    if not config.lag.on:
        return ()
    return joined(
        Right(order.offsets_cluster, order.config_topic, ("Read",), f"tasks of {order.name}")
        for order in mirror_orders(config)
        if order.config_topic and order.offsets_cluster in config.clients
    )


def _needed(config: Configuration) -> Iterator[Right]:
    for cluster in config.clients:
        yield Right(cluster, EVERY, ("Describe",), "log start and log end offsets")
        if config.lag.commits is CommitsFrom.TOPIC:
            yield Right(cluster, COMMITS_TOPIC, ("Read",), "commits of groups")
        else:
            yield Right(cluster, EVERY, ("Describe",), "commits of groups", "group")
    for order in mirror_orders(config):
        if order.offsets_topic and order.offsets_cluster in config.clients:
            if order.offsets_topic == COMMITS_TOPIC and config.lag.commits is CommitsFrom.ADMIN:
                continue
            yield Right(
                order.offsets_cluster, order.offsets_topic, ("Read",), f"committed offsets of {order.name}"
            )
    kinds = {name: source.lag_from for name, source in config.lag_sources.items()}
    for sync in sync_orders(config.topology.flows, kinds):
        if sync.kafka_cluster in config.clients:
            yield Right(sync.kafka_cluster, sync.topic, ("Read",), f"offset syncs of {sync.flow}")
