"""The drift of a flow, read from its two clusters."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fleet.errors import MirrorwatchError, RefusedError
from fleet.mm2.replication import NEWEST_KNOWN, major_version
from fleet.topic_acls import TopicAcls
from lagmon.drift.acls import missing_acls
from lagmon.drift.differences import FlowDrift, Inventory, Kind
from lagmon.drift.settings import not_compared, topic_settings
from lagmon.drift.topics import loops, missing_topics, partition_counts
from mirrorwatch.check.mirrored import sort_out
from runtime.kafka.admin import is_unknown_topic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence

    from fleet.topic_settings import Settings
    from fleet.topology import Topology
    from fleet.verdicts.flow import Flow
    from lagmon.drift.differences import Comparison
    from lagmon.drift.settings import Described
    from mirrorwatch.check.mirrored import Mirrored

MOST_AGES = 1_000  # missing topics whose age is read; a mirror that runs leaves few


class Asked(Protocol):
    """Answers for one cluster: `ClusterAdmin`, or a fake in tests."""

    async def count_partitions(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        ...

    async def describe_topic_acls(self) -> TopicAcls:
        """Return the ACLs on topics."""
        ...

    async def hidden_topics(self, names: Sequence[str]) -> frozenset[str]:
        """Return those that the principal may not see."""
        ...

    async def oldest_records_ms(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return since when topics are known to exist."""
        ...

    def describe_topic_settings(
        self, names: Iterable[str]
    ) -> AsyncIterator[tuple[str, Settings | MirrorwatchError]]:
        """Yield the settings of each topic, or why they cannot be read."""
        ...


@dataclass(slots=True)
class Cluster:
    """One cluster with what it has answered for all flows."""

    alias: str
    asked: Asked
    partitions: dict[str, int] = field(default_factory=dict)
    acls: TopicAcls = field(default_factory=TopicAcls)

    async def read(self) -> None:
        """Read its topics and ACLs; raises MirrorwatchError if it does not answer."""
        self.partitions = await self.asked.count_partitions()
        self.acls = await self.asked.describe_topic_acls()

    async def settings(self, topics: Collection[str]) -> dict[str, Described]:
        """Return the settings of these topics, or why there is no permission; deleted ones are left out."""
        found: dict[str, Described] = {}
        refused = f"the principal may not read them on {self.alias}: grant it DescribeConfigs"
        async for name, settings in self.asked.describe_topic_settings(topics):
            if not isinstance(settings, MirrorwatchError):
                found[name] = settings
            elif isinstance(settings, RefusedError):
                found[name] = refused
            elif not is_unknown_topic(settings):
                raise settings
        return found


async def read_flow(
    flow: Flow, topology: Topology, clusters: Mapping[str, Cluster], *, now_ms: int
) -> FlowDrift:
    """Return the drift of a flow; its clusters are read. Raises MirrorwatchError if one does not answer."""
    source, target = clusters[flow.source], clusters[flow.target]
    sorted_out = sort_out(flow, topology, {alias: tuple(one.partitions) for alias, one in clusters.items()})
    pairs = dict(sorted_out.replicated)
    missing = await _missing(flow, sorted_out, source, target, now_ms=now_ms)
    both = {topic: remote for topic, remote in pairs.items() if remote in target.partitions}
    here, there = dict[str, "Described"](), dict[str, "Described"]()
    if not_compared(flow) is None:
        here, there = await asyncio.gather(source.settings(both), target.settings(both.values()))
    return FlowDrift(
        flow,
        _inventory(sorted_out, missing, replicated=len(both)),
        (
            missing,
            partition_counts(flow, both, source.partitions, target.partitions),
            topic_settings(flow, both, here, there),
            missing_acls(flow, pairs, source.acls, target.acls),
            loops(flow, topology, pairs),
        ),
    )


async def _missing(
    flow: Flow, sorted_out: Mirrored, source: Cluster, target: Cluster, *, now_ms: int
) -> Comparison:
    absent = sorted_out.absent or ()
    hidden = await target.asked.hidden_topics([remote for _, remote in absent])
    aged = [topic for topic, remote in absent if remote not in hidden][:MOST_AGES]
    major = NEWEST_KNOWN if flow.mirror_version is None else major_version(flow.mirror_version)
    return missing_topics(
        flow,
        dict(sorted_out.replicated),
        target.partitions,
        never={
            one.topic: one.rule
            for one in sorted_out.traps
            if flow.topic_filter.matches(one.topic, major=major)
        },
        unsure=[one.topic for one in sorted_out.unsure],
        hidden=hidden,
        sees_none=not source.partitions,
        since_ms=await source.asked.oldest_records_ms({topic: source.partitions[topic] for topic in aged}),
        now_ms=now_ms,
    )


def _inventory(sorted_out: Mirrored, missing: Comparison, *, replicated: int) -> Inventory:
    assert missing.kind is Kind.TOPIC_MISSING
    absent, expected = len(missing.differences), len(missing.remarks)
    unknown = sum(len(one.subjects) for one in missing.omissions)
    others = replicated + absent + expected + unknown + sorted_out.own + sorted_out.from_target
    return Inventory(
        replicated=replicated,
        missing=absent,
        expected=expected,
        excluded=sorted_out.topics - others,  # by the filter, or never mirrored as well
        internal=sorted_out.own,
        from_target=sorted_out.from_target,
        unknown=unknown,
    )
