"""Read a flow's topic of offset syncs, on a thread: all that it holds, then new records.

MirrorMaker writes only to partition 0. The topic id is polled, as a consumer of a re-created topic reads
nothing, and the offsets of its records start again.

Verdicts on the mirror do not wait for the store. Syncs without room in the queue are read again later, by a
second client.

A thread that does not end in time is abandoned while another one starts. So each has a `_Reading`, and
changes nothing after that was ended.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError, RefusedError
from fleet.verdicts.words import ended
from lagmon.mirrors.answers.orders import OFFSET_SYNCS
from lagmon.syncs.intake import SyncIntake
from lagmon.syncs.polls import newest_poll_ms, polled
from lagmon.syncs.progress import NOTE, SyncProgress
from lagmon.syncs.queue import SyncQueue
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.bulk import Bulk

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.ingest.watching import ClusterWatch
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.syncs.orders import SyncOrder
    from lagmon.syncs.queue import WaitingSync
    from runtime.kafka.bulk import Batch
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

WAIT_S = 0.5
ID_S = 30.0  # between two polls of the topic's id
END_S = 15.0
PARTITION = 0


@dataclass(slots=True)
class _Reading:
    """The state of one thread; it is ended before another thread starts."""

    ending: threading.Event = field(default_factory=threading.Event)
    live: bool = False
    position: int = 0
    first_end: int = -1
    estimated_ms: tuple[int, int] = (-1, -1)  # times of the polls of source and target in the last estimate


class SyncReader:
    """Reads the syncs of one flow, for the store, and for its windows if its lag comes from them.

    `host` watches the cluster with the topic, `source` and `target` those of the flow. `mirrored` selects the
    flow's topics, None if no other flow has its syncs in the same topic.
    """

    def __init__(
        self,
        order: SyncOrder,
        flow: MirrorFlow,
        settings: ClientSettings,
        *,
        host: ClusterWatch,
        source: ClusterWatch,
        target: ClusterWatch,
        mirrored: Callable[[str], bool] | None,
        clock: WaitingClock,
    ) -> None:
        self.flow, self.cluster, self.topic = order.flow, order.kafka_cluster, order.topic
        self.turn = threading.Lock()  # guards queue, intake, windows, and the state of reading
        self.queue = SyncQueue()
        self.refused = ""  # the missing permission to read them
        self._followed = flow.order.lag_from == OFFSET_SYNCS
        self._progress = SyncProgress(flow.windows, flow.estimated, lag_max=flow.order.flow.offset_lag_max)
        self.intake = SyncIntake(self.queue, mirrored or _any, self._note)
        self._alone = mirrored is None
        self.mirror = flow
        if self._followed:
            flow.note = NOTE
        self._settings = settings
        self._host = host
        self._source = source
        self._target = target
        self._clock = clock
        self._reading = _Reading()  # that of the newest thread
        self._noted = -1  # the number of the newest noted sync

    @property
    def name(self) -> str:
        """Return its name in states and logs."""
        return f"{self.cluster}: {self.topic} ({self.flow})"

    def tell(self, problem: str) -> None:
        """Record why the syncs are not read; "" if they are."""
        if self._followed:
            self.mirror.problem = problem

    async def run(self, stopping: asyncio.Event) -> None:
        """Read until stopped; raises UnavailableError from the cluster."""
        admin = ClusterAdmin(self._settings, cluster=self.cluster)
        await admin.open()
        try:
            while not stopping.is_set():
                topic_id = await self._find_allowed(admin)
                if topic_id is None:
                    await self._clock.wait(stopping, timeout_s=ID_S if not self._followed else WAIT_S)
                else:
                    await self._read_one(admin, topic_id, stopping)
        finally:
            await admin.close()

    async def _find_allowed(self, admin: ClusterAdmin) -> str | None:
        try:
            return await self._find(admin)
        except RefusedError as error:
            self.refused = f"{error}."
            raise

    async def _find(self, admin: ClusterAdmin) -> str | None:
        """Return the topic's id, None if there is no such topic."""
        found = (await admin.describe_topics([self.topic]))[self.topic]
        if found is None and self._followed:
            self.tell(
                f"cluster {self.cluster}: no topic {self.topic} with offset syncs: MirrorMaker was never"
                " started, or does not write them (emit.offset-syncs.enabled)."
            )
        return None if found is None else found.topic_id

    async def _read_one(self, admin: ClusterAdmin, topic_id: str, stopping: asyncio.Event) -> None:
        """Read the topic with this id until stopped, or until it is re-created."""
        of_it = self._begin(topic_id)
        reading = asyncio.create_task(asyncio.to_thread(self._read, of_it))
        reading.add_done_callback(_heard)
        try:
            while not stopping.is_set() and not reading.done():
                stop = asyncio.create_task(self._clock.wait(stopping, timeout_s=ID_S))
                await asyncio.wait((stop, reading), return_when=asyncio.FIRST_COMPLETED)
                stop.cancel()
                if not stopping.is_set() and not reading.done() and await self._is_another(admin, topic_id):
                    return
            if reading.done():
                await reading
        finally:
            of_it.ending.set()
            await asyncio.wait((reading,), timeout=END_S)

    async def _is_another(self, admin: ClusterAdmin, topic_id: str) -> bool:
        try:
            return await self._find(admin) != topic_id
        except MirrorwatchError:
            return False  # the reader itself reports the error

    def _begin(self, topic_id: str) -> _Reading:
        with self.turn:
            if topic_id != self.queue.topic_id:
                self._noted = -1
            self.queue.begin(topic_id)
            self._reading = _Reading()
            return self._reading

    # --- on the thread

    def _read(self, reading: _Reading) -> None:
        bulk, again = self._bulk(), None
        bulk.open((PARTITION,))
        try:
            while not reading.ending.is_set():
                since = self.queue.read_again_from
                self._take(bulk, reading, wait_s=WAIT_S if since is None else 0.0)
                self._advance(reading)
                if since is not None:
                    if again is None:
                        again = self._bulk()
                        again.open((PARTITION,), since=since)
                    self._take_again(again, reading)
                elif again is not None and self.queue.whole:
                    again.close()
                    again = None
        finally:
            bulk.close()
            if again is not None:
                again.close()

    def _bulk(self) -> Bulk:
        return Bulk(
            self._settings,
            cluster=self.cluster,
            topic=self.topic,
            name=f"{self.cluster}-syncs",
            timed=True,
        )

    def _take(self, bulk: Bulk, reading: _Reading, *, wait_s: float) -> None:
        batch = bulk.take(wait_s=wait_s)
        with self.turn:
            if reading.ending.is_set():
                return
            if batch.keys:
                self.intake.take(
                    batch.keys,
                    batch.values,
                    batch.offsets,
                    batch.times_ms,
                    read_ms=int(self._clock.wall_s() * 1000),
                    live=reading.live,
                )
            if batch.keys or batch.ends:  # it can be read, even if it is empty
                self.tell("")
                self.refused = ""
            for fault in batch.faults:
                self.tell(ended(str(fault)))
                if isinstance(fault, RefusedError):
                    self.refused = f"{fault}."
        reading.position = max(_position(bulk, batch), reading.position)

    def _take_again(self, bulk: Bulk, reading: _Reading) -> None:
        """Add skipped syncs; errors are left to the other client."""
        batch = bulk.take(wait_s=WAIT_S)
        with self.turn:
            if not reading.ending.is_set():
                self.intake.take_again(
                    batch.keys,
                    batch.values,
                    batch.offsets,
                    batch.times_ms,
                    read_ms=int(self._clock.wall_s() * 1000),
                    position=_position(bulk, batch),
                )

    def _note(self, sync: WaitingSync) -> None:
        if sync.number <= self._noted:
            return  # a repeated read is no step back
        self._noted = sync.number
        if self._alone:
            self.mirror.syncs.note(
                sync.topic,
                sync.partition,
                upstream=sync.upstream,
                downstream=sync.downstream,
                live=self._reading.live,
            )
        if self._followed:
            self._progress.note(sync, live=self._reading.live)

    def _advance(self, reading: _Reading) -> None:
        """Compute up to when all syncs are read, and the estimate from the target's log end."""
        end, stable, sampled_ms = (int(found[0]) for found in polled(self._host, [(self.topic, PARTITION)]))
        to = stable if stable >= 0 else end
        if to < 0:
            return
        reading.first_end = to if reading.first_end < 0 else reading.first_end
        reading.live = reading.live or reading.position >= reading.first_end
        if self._followed and reading.live:
            looked_ms = newest_poll_ms(self._source), newest_poll_ms(self._target)
            if looked_ms != reading.estimated_ms:
                self._estimate(reading)
                reading.estimated_ms = looked_ms
            with self.turn:
                if reading.position >= to and not reading.ending.is_set():
                    self.mirror.read_to_ms = min(sampled_ms, looked_ms[1])

    def _estimate(self, reading: _Reading) -> None:
        """Pass the last polled log ends to the flow's progress."""
        remote = self.mirror.topics.remote
        with self.turn:
            known = [place for place in self._progress.partitions() if place[0] in remote]
        ends, _, times_ms = polled(self._source, known)
        copies, _, copied_ms = polled(self._target, [(remote[topic], number) for topic, number in known])
        with self.turn:
            if reading.ending.is_set():
                return
            for (topic, number), end, at_ms, copy, copy_at_ms in zip(
                known, ends, times_ms, copies, copied_ms, strict=True
            ):
                self._progress.estimate(
                    topic,
                    number,
                    target_end=copy,
                    at_ms=copy_at_ms,
                    source_end=end,
                    source_at_ms=at_ms,
                )


def _position(bulk: Bulk, batch: Batch) -> int:
    """Return the offset after all that was read, 0 at the start."""
    return max((*bulk.positions().values(), *batch.ends.values()), default=0)


def _any(_topic: str) -> bool:
    return True


def _heard(reading: asyncio.Task[None]) -> None:
    """Retrieve how an abandoned thread ended."""
    if not reading.cancelled():
        reading.exception()
