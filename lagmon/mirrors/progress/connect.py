"""Read a Connect offsets topic on a thread: all that it holds, then new records.

The topic's end comes from the polls of its cluster: once that end is read, everything written until the poll
is known, even if the last records are transaction markers. If the topic was re-created by then, reading ends
with a MirrorwatchError, and the caller opens the topic again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fleet.errors import UnavailableError
from fleet.verdicts.words import ended
from lagmon.cluster.handed_over import HandedOver
from lagmon.ingest.thread_reading import read_on_thread
from lagmon.ingest.topic_identity import TopicIdentity
from lagmon.mirrors import sentences as mirror_sentences
from lagmon.mirrors.progress.intake import OffsetsIntake
from runtime.kafka.bulk import Bulk
from runtime.process import logs

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from lagmon.cluster.state import ClusterLag
    from lagmon.mirrors.facts import FlowFacts
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

WAIT_S = 0.5
FIRST_POLL_S = 60.0  # how long the first poll of a cluster may take


class MirrorOffsets:
    """Reads one offsets topic for the flows whose offsets it holds; `lock` is that of its cluster."""

    def __init__(
        self,
        settings: ClientSettings,
        flows: Sequence[FlowFacts],
        *,
        host: ClusterLag,
        lock: threading.Lock,
        clock: WaitingClock,
    ) -> None:
        order = flows[0].order
        self.cluster, self.topic = order.offsets_cluster, order.offsets_topic
        self.intake = OffsetsIntake([(flow.order, flow.windows) for flow in flows])
        self.turn = threading.Lock()  # guards the windows
        self.read_records = 0
        self.on_flush: Callable[[], object] | None = None  # called on the thread when offsets are read
        self._settings = settings
        self._flows = list(flows)
        self._host = host
        self._lock = lock
        self._clock = clock
        self._log = logs.get("ingest")
        self._ending = threading.Event()
        self._identity = TopicIdentity(host, self.cluster, self.topic)
        self._handed_over = HandedOver(self.cluster, self.topic)
        self._position: dict[int, int] = {}
        self._read_to: dict[int, int] = {}
        self._first_ends: dict[int, int] | None = None

    @property
    def targets(self) -> frozenset[str]:
        """Return the aliases of its mirrors' target clusters."""
        return frozenset(flow.order.flow.target for flow in self._flows)

    @property
    def name(self) -> str:
        """Return its name in states and logs."""
        return f"{self.cluster}: {self.topic}"

    async def run(self, stopping: asyncio.Event) -> None:
        """Read until stopped; raises a MirrorwatchError if the topic is unavailable or refused."""
        self._ending.clear()
        partitions = await self._find(stopping)
        if not partitions:
            return
        self._start(partitions)
        await read_on_thread(self._read, partitions, stopping=stopping, ending=self._ending)

    def tell(self, problem: str) -> None:
        """Set why the flows' offsets are not read; an empty text if they are."""
        for flow in self._flows:
            flow.problem = problem

    async def _find(self, stopping: asyncio.Event) -> int:
        """Return how many partitions the topic has, 0 if stopped meanwhile."""
        started_ns = self._clock.monotonic_ns()
        while not stopping.is_set():
            with self._lock:
                found = self._host.topics.get(self.topic, 0)
                listed, lacks = self._host.listed, "" if found else self._lacks()
            if found:
                return found
            waited_s = (self._clock.monotonic_ns() - started_ns) / 1e9
            if listed or waited_s > FIRST_POLL_S:
                raise UnavailableError(lacks)
            await self._clock.wait(stopping, timeout_s=WAIT_S)
        return 0

    def _lacks(self) -> str:
        """Return why there is nothing to read; under the lock of the cluster."""
        what = f"topic {self.topic} with the mirror's offsets"
        if not self._host.topics:
            why = mirror_sentences.unlisted(self.cluster, self._host).rstrip(".")
            return f"cluster {self.cluster}: it is not known whether it has the {what}. {why}"
        keys = " and ".join(f"flows.{flow.order.name}.offsets" for flow in self._flows)
        return (
            f"cluster {self.cluster}: it has no {what}: that was never started, or it keeps them"
            f" elsewhere (set {keys})"
        )

    def _start(self, partitions: int) -> None:
        with self._lock:
            self._identity.begin(partitions)
        self._handed_over.begin()
        self._position = dict.fromkeys(range(partitions), 0)
        self._read_to = dict.fromkeys(range(partitions), -1)
        self._first_ends = None

    def _read(self, partitions: int) -> None:
        bulk = Bulk(
            self._settings, cluster=self.cluster, topic=self.topic, name=f"{self.cluster}-offsets", timed=True
        )
        bulk.open(range(partitions))
        try:
            while not self._ending.is_set():
                self._take(bulk)
        finally:
            bulk.close()

    def _take(self, bulk: Bulk) -> None:
        batch = bulk.take(wait_s=WAIT_S)
        positions = bulk.positions()
        self._handed_over.check(positions)
        live = self._is_live()
        if batch.keys:
            now_ms = int(self._clock.wall_s() * 1000)
            before = self.intake.taken.offsets  # heartbeats and checkpoints do not count
            with self.turn:
                self.intake.take(batch.keys, batch.values, batch.times_ms, read_ms=now_ms, live=live)
            self._log_malformed(now_ms)
            self.read_records += len(batch.keys)
            self.tell("")
            if live and self.on_flush is not None and self.intake.taken.offsets > before:
                self.on_flush()
        for partition, offset in (*positions.items(), *batch.ends.items()):
            self._position[partition] = max(offset, self._position.get(partition, 0))
        for fault in batch.faults:
            self.tell(ended(str(fault)))
        self._advance()

    def _log_malformed(self, now_ms: int) -> None:
        taken = self.intake.taken
        due = self.intake.notice.due(taken.malformed, now_ms)
        if due:
            self._log.warning(due, kafka_cluster=self.cluster, topic=self.topic, sample=taken.sample)

    def _is_live(self) -> bool:
        ends = self._first_ends
        return ends is not None and all(self._position[one] >= end for one, end in ends.items())

    def _advance(self) -> None:
        """Find out up to when every written offset is read."""
        with self._lock:
            self._identity.check()
            heads, places = self._host.heads, self._host.places.of(self.topic)
            polls = [
                (partition, int(heads.stable[place]), int(heads.end[place]), int(sampled))
                for partition, place, sampled in zip(
                    range(len(places)), places, heads.sampled_ms[places].tolist(), strict=True
                )
                if partition in self._position
            ]
        for partition, stable, end, sampled_ms in polls:
            to = stable if stable >= 0 else end
            if to >= 0 and self._position[partition] >= to:
                self._read_to[partition] = sampled_ms
        if self._first_ends is None and all(end >= 0 for _, _, end, _ in polls):
            self._first_ends = {partition: max(0, stable) for partition, stable, _, _ in polls}
        read_to_ms = min(self._read_to.values())
        for flow in self._flows:
            flow.read_to_ms = read_to_ms
