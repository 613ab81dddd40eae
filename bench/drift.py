"""The drift of a flow with 10,000 topics, without the clusters: seconds and memory.

Each side answers 33 settings for a topic, as Kafka 4.3 does. Every tenth topic differs in one setting, every
hundredth is missing, and there are 1,000 ACLs. Both directions are enabled.
"""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

from fleet.topic_acls import TopicAcl, TopicAcls
from fleet.topic_settings import Origin, Setting
from fleet.topology import Cluster as Named
from fleet.topology import Topology
from fleet.verdicts.flow import Flow
from lagmon.drift.differences import drift_counts, grouped
from mirrorwatch.drift.document import drift_document
from mirrorwatch.drift.facts import Cluster, read_flow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from lagmon.drift.differences import FlowDrift

TOPICS = 10_000
_SETTINGS = {f"property.{number}": Setting(f"{number}", Origin.DEFAULT) for number in range(32)}
_ACLS = 1_000


class _Side:
    """Answers like `ClusterAdmin`, at once."""

    def __init__(self, topics: Mapping[str, str], acls: TopicAcls) -> None:
        self._kept = topics
        self._acls = acls

    async def count_partitions(self) -> dict[str, int]:
        return dict.fromkeys(self._kept, 4)

    async def describe_topic_acls(self) -> TopicAcls:
        return self._acls

    async def hidden_topics(self, names: Sequence[str]) -> frozenset[str]:
        return frozenset(names[:0])

    async def oldest_records_ms(self, partitions: Mapping[str, int]) -> dict[str, int]:
        return dict.fromkeys(partitions, 0)

    async def describe_topic_settings(
        self, names: Iterable[str]
    ) -> AsyncIterator[tuple[str, dict[str, Setting]]]:
        for name in names:
            yield name, {**_SETTINGS, "retention.ms": Setting(self._kept[name], Origin.TOPIC)}


def measure() -> dict[str, Any]:
    """Judge such a flow three times; then once more for its memory."""
    runs = []
    for _ in range(3):
        started = time.perf_counter()
        found = asyncio.run(_drift())
        judged_s = time.perf_counter() - started
        kinds = [grouped(one.differences) for one in found.comparisons]
        drift_document([found], now_at=0.0)
        runs.append((judged_s, time.perf_counter() - started))
    tracemalloc.start()
    asyncio.run(_drift())
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    judged_s, with_document_s = min(runs)
    return {
        "topics": TOPICS,
        "differences": sum(count or 0 for count in drift_counts(found).values()),
        "groups": sum(map(len, kinds)),
        "judged_s": round(judged_s, 2),
        "with_document_s": round(with_document_s, 2),
        "most_memory_mb": round(most_bytes / 1e6),
    }


async def _drift() -> FlowDrift:
    names = [f"team-{number % 50}.orders-{number}" for number in range(TOPICS)]
    acls = [TopicAcl(name, False, "User:reader", "*", "Read", True) for name in names[:_ACLS]]
    source = _Side(dict.fromkeys(names, "1"), TopicAcls(tuple(acls)))
    there = {
        f"A.{name}": "2" if number % 10 == 1 else "1" for number, name in enumerate(names) if number % 100
    }
    target = _Side(there, TopicAcls(tuple(one._replace(name=f"A.{one.name}") for one in acls[1:])))
    clusters = {"A": Cluster("A", source), "B": Cluster("B", target)}
    for one in clusters.values():
        await one.read()
    flow, back = Flow("A", "B", mirror_version="4.3"), Flow("B", "A", mirror_version="4.3")
    topology = Topology((Named("A"), Named("B")), (flow, back))
    return await read_flow(flow, topology, clusters, now_ms=1_790_000_000_000)
