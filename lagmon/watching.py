"""Watch one cluster's groups: read its commits, and again and again where its partitions begin and end."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import numpy as np

from fleet.errors import UnavailableError
from lagmon.commits import TOPIC, CommitsReader
from runtime.kafka.positions import Positions, Which

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.cluster import ClusterLag
    from runtime.clock import WaitingClock
    from runtime.kafka.positions import Listed
    from runtime.kafka.translation import ClientSettings

LOOK_S = 10.0  # between two looks at the ends
TOPICS_EVERY = 6  # looks: at the list of topics, and at log starts
END_S = 15.0


class ClusterWatch:
    """What works at one cluster within the ingest process; `run` goes on until it fails or is told to end."""

    def __init__(
        self,
        alias: str,
        settings: ClientSettings,
        lag: ClusterLag,
        *,
        clock: WaitingClock,
        random: Callable[[], float],
    ) -> None:
        self.alias = alias
        self.lag = lag
        self.lock = threading.Lock()
        self.looked_at: float | None = None  # when all ends were read last, epoch s
        self.look_took_s = 0.0
        self.reader: CommitsReader | None = None
        self._settings = settings
        self._clock = clock
        self._random = random
        self._looks = 0
        self._listed: dict[str, Listed] = {}

    async def run(self, stopping: asyncio.Event) -> None:
        """Watch until told to stop; raises our own error where the cluster is away or refuses."""
        positions = Positions(
            self._settings, cluster=self.alias, name=f"{self.alias}-positions", clock=self._clock
        )
        await asyncio.to_thread(positions.open)
        try:
            await asyncio.to_thread(self._look, positions)
            await self._follow(positions, stopping)
        finally:
            positions.close()

    async def _follow(self, positions: Positions, stopping: asyncio.Event) -> None:
        reader = CommitsReader(self._settings, self.lag, self.lock, cluster=self.alias, clock=self._clock)
        starts, ends = await asyncio.to_thread(self._begin, positions)
        self.reader = reader
        reading = asyncio.create_task(asyncio.to_thread(reader.run, starts, ends))
        try:
            while not stopping.is_set():
                wait_s = LOOK_S * (0.9 + 0.2 * self._random())
                stop = asyncio.create_task(self._clock.wait(stopping, timeout_s=wait_s))
                await asyncio.wait((stop, reading), return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    stop.cancel()
                    await reading
                    break
                if not stopping.is_set():
                    await asyncio.to_thread(self._look, positions)
        finally:
            reader.stop()
            await asyncio.wait((reading,), timeout=END_S)

    def _begin(self, positions: Positions) -> tuple[dict[int, int], dict[int, int]]:
        count = len(self._listed[TOPIC].led) if TOPIC in self._listed else 0
        if not count:
            raise UnavailableError(
                f"cluster {self.alias}: it has no topic {TOPIC} yet: no group has ever committed there"
            )
        partitions = [(TOPIC, number) for number in range(count)]
        starts = positions.read(partitions, Which.START)
        ends = positions.read(partitions, Which.STABLE)
        return (
            {number: max(0, start) for number, start in enumerate(starts)},
            {number: max(0, end) for number, end in enumerate(ends)},
        )

    def _look(self, positions: Positions) -> None:
        """Read the ends of all partitions; now and then, what topics there are and where logs begin."""
        began_at = self._clock.wall_s()
        rarely = self._looks % TOPICS_EVERY == 0
        if rarely:
            self._listed = positions.topics()
            with self.lock:
                self.lag.note_topics({name: len(topic.led) for name, topic in self._listed.items()})
        places, asked = self._asked()
        ends = np.array(positions.read(asked, Which.END), np.int64)
        at_ms = int(self._clock.wall_s() * 1000)
        stables = np.array(positions.read(asked, Which.STABLE), np.int64)
        with self.lock:
            self.lag.note_looked(places, ends, stables, at_ms)
        if rarely:
            starts = np.array(positions.read(asked, Which.START), np.int64)
            with self.lock:
                self.lag.heads.note_starts(places, starts)
        self._look_at_ids(positions, at_ms, everywhere=rarely)
        self._expect(asked, stables.tolist(), at_ms)
        self._looks += 1
        self.looked_at = self._clock.wall_s()
        self.look_took_s = self.looked_at - began_at

    def _look_at_ids(self, positions: Positions, at_ms: int, *, everywhere: bool) -> None:
        """Read the ids of topics that groups read: of all, or of those of which none is known yet."""
        with self.lock:
            wanted = [one for one in self.lag.watched_topics() if everywhere or one not in self.lag.ids]
        ids = positions.ids(wanted)
        if ids:
            with self.lock:
                for topic, topic_id in ids.items():
                    self.lag.note_id(topic, topic_id, at_ms)
                self.lag.membership.name_topics({one: topic for topic, one in self.lag.ids.items()})

    def _asked(self) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], list[tuple[str, int]]]:
        """Return the partitions with a leader, and their places."""
        asked = [
            (name, number)
            for name, topic in self._listed.items()
            for number, led in enumerate(topic.led)
            if led
        ]
        with self.lock:
            of = {name: self.lag.places.of(name) for name in self._listed}
        return np.array([of[name][number] for name, number in asked], np.int32), asked

    def _expect(self, asked: list[tuple[str, int]], stables: list[int], at_ms: int) -> None:
        if self.reader is not None:
            ends = {
                number: end
                for (name, number), end in zip(asked, stables, strict=True)
                if name == TOPIC and end >= 0
            }
            self.reader.expect(ends, at_ms)
