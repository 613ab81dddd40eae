"""A flow as an order to the ingest process: what it replicates, and where its progress is read. Pure.

The order has the flow's filters, not a list of topics: topics are created while the process runs, and the
process that reads the list of topics has to decide.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.mm2.filters import GroupFilter, PatternList, TopicFilter
from fleet.mm2.handling import Handling
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.mm2.topic_sync import TopicSync
from fleet.verdicts.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_OFFSETS, GROUP, EQUAL_OFFSETS, OFFSET_SYNCS = KINDS = (
    "connect-offsets",
    "group",
    "equal-offsets",
    "offset-syncs",
)


@dataclass(frozen=True, slots=True)
class Progress:
    """The meaning of the offsets of one kind of progress.

    `commits`: they are written apart from the records. If not, the target's log end is the offset. `resumes`:
    the mirror continues at them after a restart. `is_mirror_maker`: MirrorMaker 2 writes them, and a target
    partition has the records of the source partition with its number. `tails`: they may stop before an idle
    tail, as they follow the last record.
    """

    commits: bool
    resumes: bool
    is_mirror_maker: bool
    tails: bool = True


PROGRESS = {
    CONNECT_OFFSETS: Progress(commits=True, resumes=True, is_mirror_maker=True),
    GROUP: Progress(commits=True, resumes=True, is_mirror_maker=False),
    EQUAL_OFFSETS: Progress(commits=False, resumes=False, is_mirror_maker=False, tails=False),
    OFFSET_SYNCS: Progress(commits=True, resumes=False, is_mirror_maker=True),
}
COMMITS_TOPIC = "__consumer_offsets"
_PLAIN = (
    "source",
    "target",
    "source_alias",
    "target_alias",
    "mirror_version",
    "heartbeats_replicated",
    "refresh_topics_interval_s",
    "offset_lag_max",
    "offset_flush_interval_s",
    "exactly_once",
    "isolation_level",
    "offset_reset",
    "status_storage_topic",
    "emit_checkpoints_interval_s",
    "sync_group_offsets",
    "offset_syncs_location",
)
_SYNCED = ("configs_interval_s", "acls_interval_s", "exclude", "defaults_from", "unknown")


@dataclass(frozen=True, slots=True)
class MirrorOrder:
    """One flow, and where its progress is read: `lag_from`, one of KINDS.

    - `offsets_cluster`, `offsets_topic`: for connect-offsets the topic of the Connect worker, "" if unknown.
      For group the commits of the source. For offset-syncs their topic. For equal-offsets there is no topic
      (""), and the cluster is the target.
    - `connector`: for connect-offsets; "" for any connector.
    - `group`: for group; names or patterns, as a PatternList.
    - `status_topic`, `config_topic`: for connect-offsets, on the same cluster; "" if unknown. The worker
      writes the states of its tasks and their assignments there.
    - `topics_known`: whether the topics are from the mirror's own configuration, and the offsets are those of
      this mirror alone. Then an offset of another topic shows that the configuration has changed.
    """

    flow: Flow
    offsets_cluster: str
    offsets_topic: str
    connector: str = ""
    lag_from: str = CONNECT_OFFSETS
    group: str = ""
    status_topic: str = ""
    config_topic: str = ""
    topics_known: bool = False
    _groups: PatternList = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_groups", PatternList(self.group))

    @property
    def name(self) -> str:
        """Return the flow's name."""
        return self.flow.name

    @property
    def progress(self) -> Progress:
        """Return the meaning of its offsets."""
        return PROGRESS[self.lag_from]

    @property
    def clusters(self) -> frozenset[str]:
        """Return the aliases of the clusters with its topics, its target topics and its progress."""
        return frozenset((self.flow.source, self.flow.target, self.offsets_cluster))

    @property
    def flush_is_configured(self) -> bool:
        """Return whether `offset_flush_interval_s` is the longest time between two writes of offsets.

        It is for a dedicated MirrorMaker whose file was read: that file has its worker's settings. A
        connector does not show those of its worker. With exactly once, offsets are written with each
        transaction.
        """
        dedicated = self.lag_from == CONNECT_OFFSETS and self.offsets_topic == _dedicated(self.flow)
        read = self.flow.status_storage_topic is not None  # unknown for a flow without its worker's file
        return dedicated and read and not self.connector and not self.flow.exactly_once

    def follows(self, group: str) -> bool:
        """Return whether the commits of a group, by its name, show the mirror's progress."""
        return self._groups.matches(group)


def order_of(
    flow: Flow,
    *,
    cluster: str | None = None,
    topic: str | None = None,
    lag_from: str = CONNECT_OFFSETS,
    group: str | None = None,
    status_topic: str | None = None,
    config_topic: str | None = None,
    topics_read: bool = False,
) -> MirrorOrder:
    """Return the order for a flow; `cluster` and `topic` are where an operator says its offsets are.

    If they are None, the worker of the flow decides; it is known for every dedicated MirrorMaker. The same
    holds for `status_topic` and `config_topic`, which are on the same cluster. A Connect worker may have the
    offsets of several connectors, so the name of the connector counts. `topics_read` is whether the mirror's
    configuration was read for its topics.
    """
    if not PROGRESS[lag_from].is_mirror_maker:
        flow = replace(
            flow, heartbeats_replicated=False
        )  # only MirrorMaker 2 replicates them past its filter
    match lag_from:
        case "group":
            return MirrorOrder(flow, flow.source, COMMITS_TOPIC, lag_from=GROUP, group=group or "")
        case "equal-offsets":
            return MirrorOrder(flow, flow.target, "", lag_from=EQUAL_OFFSETS)
        case "offset-syncs":
            there = flow.source if flow.offset_syncs_location == "source" else flow.target
            return MirrorOrder(flow, there, flow.offset_syncs_topic, lag_from=OFFSET_SYNCS)
    kept = topic or flow.offset_storage_topic or ("" if flow.on_connect else _dedicated(flow))
    read = flow.status_storage_topic is not None  # the settings of its worker
    dedicated = not flow.on_connect and (read or kept == _dedicated(flow))
    defaults = {kind: _dedicated(flow, kind) if dedicated else "" for kind in ("status", "configs")}
    known = flow.config_storage_topic if flow.connector else None  # several connectors may have tasks there
    return MirrorOrder(
        flow,
        cluster or flow.offset_storage_cluster or flow.target,
        kept,
        flow.connector if flow.on_connect else "",
        status_topic=status_topic or flow.status_storage_topic or defaults["status"],
        config_topic=config_topic or known or defaults["configs"],
        topics_known=topics_read and (bool(flow.connector) or not flow.on_connect),
    )


def _dedicated(flow: Flow, kind: str = "offsets") -> str:
    """Return the topic in which a dedicated MirrorMaker stores its offsets, or another kind of data."""
    return f"mm2-{kind}.{flow.source}.internal"


def write_mirror(order: MirrorOrder) -> dict[str, Any]:
    """Return the order as JSON."""
    flow = order.flow
    topics, groups = flow.topic_filter, flow.group_filter
    return {
        **{name: getattr(flow, name) for name in _PLAIN},
        "policy": asdict(flow.policy),
        "topics": [topics.include, topics.exclude, topics.blacklist],
        "groups": [groups.include, groups.exclude, groups.blacklist],
        "drops": list(flow.handling.drops),
        "source_connector": flow.connector,
        "topic_sync": {name: getattr(flow.topic_sync, name) for name in _SYNCED},
        "offsets_cluster": order.offsets_cluster,
        "offsets_topic": order.offsets_topic,
        "connector": order.connector,
        "lag_from": order.lag_from,
        "group": order.group,
        "status_topic": order.status_topic,
        "config_topic": order.config_topic,
        "tells_topics": order.topics_known,
    }


def read_mirror(document: Mapping[str, Any]) -> MirrorOrder:
    """Return the order that `write_mirror` returned."""
    policy = {**document["policy"], "kind": PolicyKind(document["policy"]["kind"])}
    flow = Flow(
        **{name: document[name] for name in _PLAIN},
        policy=ReplicationPolicy(**policy),
        topic_filter=TopicFilter(*document["topics"]),
        group_filter=GroupFilter(*document["groups"]),
        handling=Handling(drops=tuple(document["drops"])),
        connector=document["source_connector"],
        topic_sync=TopicSync(**document["topic_sync"]),
    )
    return MirrorOrder(
        flow,
        document["offsets_cluster"],
        document["offsets_topic"],
        document["connector"],
        document["lag_from"],
        document["group"],
        document["status_topic"],
        document["config_topic"],
        document["tells_topics"],
    )
