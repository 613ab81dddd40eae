"""A flow as an order to the ingest process: what it replicates, and what shows its mirror's progress. Pure.

The order has the whole flow and not a list of topics: topics appear while the process runs, and the process
that reads the list of topics has to decide.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.mm2.filters import GroupFilter, PatternList, TopicFilter
from fleet.mm2.handling import Handling
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
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
    """What the offsets of a kind of progress mean.

    `commits`: they are written apart from the records; else the target's log end is the offset.
    `resumes`: the mirror continues at them after a restart. `is_mirror_maker`: they are MirrorMaker 2's, stop
    short of a quiet tail, and a target partition holds what the source partition of its number does.
    """

    commits: bool
    resumes: bool
    is_mirror_maker: bool


PROGRESS = {
    CONNECT_OFFSETS: Progress(commits=True, resumes=True, is_mirror_maker=True),
    GROUP: Progress(commits=True, resumes=True, is_mirror_maker=False),
    EQUAL_OFFSETS: Progress(commits=False, resumes=False, is_mirror_maker=False),
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
    "offset_flush_interval_s",
    "exactly_once",
    "isolation_level",
    "offset_reset",
    "status_storage_topic",
    "emit_checkpoints_interval_s",
    "sync_group_offsets",
)


@dataclass(frozen=True, slots=True)
class MirrorOrder:
    """One flow, and from what it is known how far its mirror has come: `lag_from`, one of KINDS.

    `offsets_cluster` and `offsets_topic` are where that stands: for connect-offsets the topic of the Connect
    worker ("" where nothing tells its name), for group the commits of the source, for offset-syncs their
    topic; equal-offsets are no records, so there the topic is "" and the cluster the target. `connector` is
    for connect-offsets, "" where any will do; `group` is for group: names or patterns, as a PatternList.
    `status_topic` and `config_topic` are where on that cluster its worker tells the states of its tasks and
    what these are to carry, for connect-offsets, "" where not known. `tells_topics` is whether its topics are
    as the mirror's own configuration had them, and its offsets those of this one alone: an offset of another
    topic says that the configuration is another one by now.
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
        """Return what its offsets mean."""
        return PROGRESS[self.lag_from]

    @property
    def clusters(self) -> frozenset[str]:
        """Return the aliases of the clusters with its topics, its target topics and its progress."""
        return frozenset((self.flow.source, self.flow.target, self.offsets_cluster))

    @property
    def flush_is_configured(self) -> bool:
        """Tell whether the flow's `offset_flush_interval_s` is how often offsets are written at most.

        It is of a dedicated MirrorMaker whose file was read: that has its worker's settings. No connector
        shows those of its worker, and for exactly once offsets are written with each transaction.
        """
        dedicated = self.lag_from == CONNECT_OFFSETS and self.offsets_topic == _dedicated(self.flow)
        read = self.flow.status_storage_topic is not None  # of a flow by hand nothing of the worker is known
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

    Else they are where the flow's worker has them, which is known for every dedicated MirrorMaker. So are
    `status_topic` and `config_topic`, which are on the same cluster. A worker of Connect may hold the offsets
    of several connectors, so there the name counts. `topics_read` is whether the mirror's configuration says
    which topics it carries, and not an operator.
    """
    if not PROGRESS[lag_from].is_mirror_maker:
        flow = replace(flow, heartbeats_replicated=False)  # which only MirrorMaker 2 copies past its filter
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
    """Return where a dedicated MirrorMaker keeps its offsets, or another kind of data."""
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
        "offsets_cluster": order.offsets_cluster,
        "offsets_topic": order.offsets_topic,
        "connector": order.connector,
        "lag_from": order.lag_from,
        "group": order.group,
        "status_topic": order.status_topic,
        "config_topic": order.config_topic,
        "tells_topics": order.topics_known,
    }


def read_mirror(told: Mapping[str, Any]) -> MirrorOrder:
    """Return the order that `write_mirror` has written."""
    policy = {**told["policy"], "kind": PolicyKind(told["policy"]["kind"])}
    flow = Flow(
        **{name: told[name] for name in _PLAIN},
        policy=ReplicationPolicy(**policy),
        topic_filter=TopicFilter(*told["topics"]),
        group_filter=GroupFilter(*told["groups"]),
        handling=Handling(drops=tuple(told["drops"])),
    )
    return MirrorOrder(
        flow,
        told["offsets_cluster"],
        told["offsets_topic"],
        told["connector"],
        told["lag_from"],
        told["group"],
        told["status_topic"],
        told["config_topic"],
        told["tells_topics"],
    )
