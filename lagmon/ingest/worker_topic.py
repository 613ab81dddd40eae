"""Read an internal topic of Connect workers, on a thread: all that it holds, then new records.

Without such a topic a flow lacks only an explanation. If the topic has changed, reading ends with
UnavailableError, so that it is opened again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from fleet.errors import MalformedError
from lagmon.cluster.handed_over import HandedOver
from lagmon.ingest.malformed import MalformedNotice, sample_of
from lagmon.ingest.thread_reading import read_on_thread
from lagmon.ingest.topic_identity import TopicIdentity
from lagmon.logs.writer_clocks import WriterClocks
from runtime.kafka.bulk import Bulk
from runtime.process import logs

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from lagmon.cluster.state import ClusterLag
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

WAIT_S = 0.5
AWAY_S = 10.0  # between two checks for a missing topic


class Told(Protocol):
    """The receiver of the records of such a topic."""

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Add a record that was written at this time by our clock; raises MalformedError."""
        ...

    def caught_up(self) -> None:
        """Record that all initial records of the topic are read."""
        ...

    def ended(self) -> None:
        """Record that the topic is not read any longer, at least for now."""
        ...

    def forget(self) -> None:
        """Forget everything: the topic is read again."""
        ...


class WorkerTopic:
    """Reads one topic on a cluster, whose `lock` guards `host`.

    A worker's clock may be wrong, so records that are read live have the time at which they are read.
    """

    def __init__(
        self,
        settings: ClientSettings,
        told: Told,
        *,
        cluster: str,
        topic: str,
        host: ClusterLag,
        lock: threading.Lock,
        clock: WaitingClock,
    ) -> None:
        self.cluster, self.topic = cluster, topic
        self.turn = threading.Lock()  # guards the receiver
        self._settings = settings
        self._told = told
        self._host = host
        self._lock = lock
        self._clock = clock
        self._backlog: set[int] = set()  # partitions that are not read to their end yet
        self._clocks = WriterClocks()
        self._malformed, self._sample = 0, ""
        self._notice = MalformedNotice("Kafka Connect")
        self._log = logs.get("ingest")
        self._ending = threading.Event()
        self._identity = TopicIdentity(host, cluster, topic)
        self._handed_over = HandedOver(cluster, topic)

    @property
    def name(self) -> str:
        """Return its name in states and logs."""
        return f"{self.cluster}: {self.topic}"

    def tell(self, problem: str) -> None:
        """Do nothing: a flow is judged without it."""

    async def run(self, stopping: asyncio.Event) -> None:
        """Read until stopped; raises RefusedError or UnavailableError from the cluster."""
        self._ending.clear()
        partitions = await self._find(stopping)
        if not partitions:
            return
        with self.turn:
            self._told.forget()
        try:
            await read_on_thread(self._read, partitions, stopping=stopping, ending=self._ending)
        finally:
            with self.turn:
                self._told.ended()

    async def _find(self, stopping: asyncio.Event) -> int:
        """Return the number of partitions once the topic exists, 0 if stopped before."""
        while not stopping.is_set():
            with self._lock:
                known, found = bool(self._host.topics), self._host.topics.get(self.topic, 0)
            if found:
                return found
            await self._clock.wait(stopping, timeout_s=AWAY_S if known else WAIT_S)
        return 0

    def _read(self, partitions: int) -> None:
        bulk = Bulk(
            self._settings, cluster=self.cluster, topic=self.topic, name=f"{self.cluster}-worker", timed=True
        )
        with self._lock:
            self._identity.begin(partitions)
        self._handed_over.begin()
        bulk.open(range(partitions))
        self._backlog = set(range(partitions))
        try:
            while not self._ending.is_set():
                batch = bulk.take(wait_s=WAIT_S)
                if batch.faults:
                    raise batch.faults[0]
                self._handed_over.check(bulk.positions())
                with self._lock:
                    self._identity.check()
                with self.turn:
                    for key, value, told_ms in zip(batch.keys, batch.values, batch.times_ms, strict=True):
                        self._take(key, value, told_ms)
                    self._catch_up(batch.ends)
                self._tell_malformed()
        finally:
            bulk.close()

    def _catch_up(self, ends: Iterable[int]) -> None:
        if self._backlog:
            self._backlog.difference_update(ends)
            if not self._backlog:
                self._told.caught_up()

    def _take(self, key: bytes | None, value: bytes | None, told_ms: int) -> None:
        try:
            self._told.take(key, value, self._when(key, told_ms))
        except MalformedError as error:
            self._malformed += 1
            # Without the value, which may be confidential.
            self._sample = self._sample or sample_of(str(error), key)

    def _when(self, key: bytes | None, told_ms: int) -> int:
        """Return by our clock when a record with this time was written, -1 if unknown."""
        now_ms = int(self._clock.wall_s() * 1000)
        if told_ms < 0:
            return now_ms
        if self._backlog:
            return min(told_ms + self._clocks.difference_ms(key), now_ms)
        self._clocks.note(key, told_ms, now_ms)
        return now_ms

    def _tell_malformed(self) -> None:
        due = self._notice.due(self._malformed, int(self._clock.wall_s() * 1000))
        if due:
            self._log.warning(due, kafka_cluster=self.cluster, topic=self.topic, sample=self._sample)
