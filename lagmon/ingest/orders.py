"""Settings of the ingest process: one JSON object, written by the service."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fleet.mm2.filters import EVERYTHING, PatternList
from fleet.shards import WHOLE, Shard
from lagmon.cluster.group_share import GroupShare
from lagmon.logs.transaction_limit import LONGEST_MS
from lagmon.mirrors.answers.orders import GROUP, MirrorOrder, order_of, read_mirror, write_mirror
from lagmon.syncs.orders import SyncOrder, read_sync, write_sync
from runtime.kafka.properties.client_settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.verdicts.flow import Flow


@dataclass(frozen=True, slots=True)
class Orders:
    """Clusters with their clients, and the groups and topics to keep; `secrets` are never logged.

    `shard` is the part of the groups to keep. `flows_elsewhere` are flows of other shards, whose mirrors may
    sync offsets of these groups.
    """

    socket: Path
    clients: Mapping[str, ClientSettings] = field(repr=False)
    burrow_names: Mapping[str, str]  # by alias
    groups: PatternList
    groups_exclude: PatternList
    per_partition: bool
    max_series: int
    log_level: str
    log_format: Literal["text", "json"]
    mirrors: tuple[MirrorOrder, ...] = ()
    syncs: tuple[SyncOrder, ...] = ()
    commits: Literal["topic", "admin"] = "topic"
    secrets: tuple[str, ...] = field(default=(), repr=False)
    snapshot: Path | None = None  # state of an earlier process, to be restored and deleted
    topics: PatternList = field(default_factory=lambda: PatternList(EVERYTHING))
    topics_exclude: PatternList = field(default_factory=lambda: PatternList(""))
    longest_transaction_ms: int = LONGEST_MS
    shard: Shard = WHOLE
    flows_elsewhere: tuple[Flow, ...] = ()

    def share(self, alias: str) -> GroupShare:
        """Return which groups of a cluster belong to this process."""
        followed = any(one.flow.source == alias and one.lag_from == GROUP for one in self.mirrors)
        return GroupShare(self.shard, reads_all=followed)

    def flows_to(self, alias: str) -> list[Flow]:
        """Return all flows to a cluster whose mirrors may sync offsets of its groups."""
        flows = (*(one.flow for one in self.mirrors), *self.flows_elsewhere)
        return [one for one in flows if one.target == alias]

    def wanted(self, alias: str, group: str, topic: str | None, *, share: GroupShare | None = None) -> bool:
        """Return whether to keep a group's offset on a topic (None: any), for itself or for a mirror.

        `share` is that of the cluster; without one every group belongs to this process.
        """
        return not self.hidden(group, topic, share=share) or any(
            one.flow.source == alias and one.follows(group) for one in self.mirrors
        )

    def hidden(self, group: str, topic: str | None, *, share: GroupShare | None = None) -> bool:
        """Return whether a group's offset on a topic is not shown here."""
        if share is not None and not share.has(group):
            return True
        if not lets_through(self.groups, group) or self.groups_exclude.matches(group):
            return True
        return topic is not None and (
            not lets_through(self.topics, topic) or self.topics_exclude.matches(topic)
        )


def lets_through(patterns: PatternList, name: str) -> bool:
    """Return whether a list matches this name; the default also matches names with line breaks."""
    return patterns.entries == (EVERYTHING,) or patterns.matches(name)


def write_orders(
    clients: Mapping[str, ClientSettings],
    *,
    burrow_names: Mapping[str, str],
    groups: str,
    groups_exclude: str,
    per_partition: bool,
    max_series: int,
    log_level: str,
    log_format: str,
    secrets: frozenset[str],
    mirrors: Iterable[MirrorOrder] = (),
    syncs: Iterable[SyncOrder] = (),
    snapshot: str = "",
    commits: str = "topic",
    topics: str = EVERYTHING,
    topics_exclude: str = "",
    longest_transaction_ms: int = LONGEST_MS,
    shard: Shard = WHOLE,
    flows_elsewhere: Iterable[Flow] = (),
) -> dict[str, Any]:
    """Return the orders as a JSON object; the worker adds its socket."""
    return {
        "clients": {alias: dict(one.librdkafka) for alias, one in clients.items()},
        "burrow_names": dict(burrow_names),
        "groups": groups,
        "groups_exclude": groups_exclude,
        "topics": topics,
        "topics_exclude": topics_exclude,
        "per_partition": per_partition,
        "max_series": max_series,
        "longest_transaction_ms": longest_transaction_ms,
        "log_level": log_level,
        "log_format": log_format,
        "mirrors": [write_mirror(one) for one in mirrors],
        "syncs": [write_sync(one) for one in syncs],
        "commits": commits,
        "secrets": sorted(secrets),
        "snapshot": snapshot,
        "shard": [shard.number, shard.count],
        "flows_elsewhere": [write_mirror(order_of(one)) for one in flows_elsewhere],
    }


def read_orders(told: Mapping[str, Any]) -> Orders:
    """Return the orders from the JSON object of `write_orders`."""
    return Orders(
        socket=Path(told["socket"]),
        clients={alias: ClientSettings(one) for alias, one in told["clients"].items()},
        burrow_names=told["burrow_names"],
        groups=PatternList(told["groups"]),
        groups_exclude=PatternList(told["groups_exclude"]),
        topics=PatternList(told["topics"]),
        topics_exclude=PatternList(told["topics_exclude"]),
        per_partition=told["per_partition"],
        max_series=told["max_series"],
        longest_transaction_ms=told.get("longest_transaction_ms", LONGEST_MS),
        log_level=told["log_level"],
        log_format=told["log_format"],
        mirrors=tuple(read_mirror(one) for one in told.get("mirrors", ())),
        syncs=tuple(read_sync(one) for one in told.get("syncs", ())),
        commits=told.get("commits", "topic"),
        secrets=tuple(told["secrets"]),
        snapshot=Path(told["snapshot"]) if told.get("snapshot") else None,
        shard=Shard(*told.get("shard", (WHOLE.number, WHOLE.count))),
        flows_elsewhere=tuple(read_mirror(one).flow for one in told.get("flows_elsewhere", ())),
    )
