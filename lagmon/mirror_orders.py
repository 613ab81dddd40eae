"""A flow as the ingest process is told of it: what it carries, and where its mirror keeps its offsets. Pure.

The flow goes over whole and not as a list of topics: topics appear while the process runs, and the one that
reads the list of topics is the one that has to decide.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fleet.filters import TopicFilter
from fleet.flow import Flow
from fleet.replication import PolicyKind, ReplicationPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = (
    "source",
    "target",
    "mirror_version",
    "heartbeats_replicated",
    "refresh_topics_interval_s",
    "offset_flush_interval_s",
    "isolation_level",
)


@dataclass(frozen=True, slots=True)
class MirrorOrder:
    """One flow whose mirror keeps its offsets in a topic of Connect's.

    `offsets_topic` is "" where nothing tells its name; `connector` is "" where any will do.
    """

    flow: Flow
    offsets_cluster: str
    offsets_topic: str
    connector: str = ""

    @property
    def name(self) -> str:
        """Return the flow's name."""
        return self.flow.name


def order_of(flow: Flow, *, cluster: str | None = None, topic: str | None = None) -> MirrorOrder:
    """Return the order for a flow; `cluster` and `topic` are where an operator says its offsets are.

    Else they are where the flow's worker has them, which is known for every dedicated MirrorMaker. A
    worker of Connect may hold the offsets of several connectors, so there the name counts.
    """
    dedicated = "" if flow.on_connect else f"mm2-offsets.{flow.source}.internal"
    return MirrorOrder(
        flow,
        cluster or flow.offset_storage_cluster or flow.target,
        topic or flow.offset_storage_topic or dedicated,
        flow.connector if flow.on_connect else "",
    )


def write_mirror(order: MirrorOrder) -> dict[str, Any]:
    """Return the order as JSON has it."""
    flow = order.flow
    topics = flow.topic_filter
    return {
        **{name: getattr(flow, name) for name in _PLAIN},
        "policy": asdict(flow.policy),
        "topics": [topics.include, topics.exclude, topics.blacklist],
        "offsets_cluster": order.offsets_cluster,
        "offsets_topic": order.offsets_topic,
        "connector": order.connector,
    }


def read_mirror(told: Mapping[str, Any]) -> MirrorOrder:
    """Return the order that `write_mirror` has written."""
    policy = {**told["policy"], "kind": PolicyKind(told["policy"]["kind"])}
    flow = Flow(
        **{name: told[name] for name in _PLAIN},
        policy=ReplicationPolicy(**policy),
        topic_filter=TopicFilter(*told["topics"]),
    )
    return MirrorOrder(flow, told["offsets_cluster"], told["offsets_topic"], told["connector"])
