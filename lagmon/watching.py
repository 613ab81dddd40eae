"""Watch one cluster's groups: read its commits, and again and again where its partitions begin and end."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import numpy as np

from fleet.errors import RefusedError, UnavailableError
from lagmon.commits import TOPIC, CommitsReader, Progress
from runtime import logs
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
        self.problem = ""  # why the last look failed
        self._nothing_there: Progress | None = None  # where there are no commits to read
        self._settings = settings
        self._clock = clock
        self._random = random
        self._log = logs.get("ingest")
        self._looks = 0
        self._listed: dict[str, Listed] = {}
        self._unanswered = False  # whether a partition did not answer at the last look

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

    @property
    def progress(self) -> Progress | None:
        """Return how far the commits are read; None while that has not begun."""
        return self._nothing_there if self.reader is None else self.reader.progress

    async def _follow(self, positions: Positions, stopping: asyncio.Event) -> None:
        """Look again and again, and read commits as soon as there are any, until told to stop.

        A look that fails is told and followed by the next one: what is read of the commits stays.
        """
        reading: asyncio.Task[None] | None = None
        try:
            while True:
                if reading is None:
                    reading = await self._begin(positions)
                wait_s = LOOK_S * (0.9 + 0.2 * self._random())
                stop = asyncio.create_task(self._clock.wait(stopping, timeout_s=wait_s))
                await asyncio.wait(
                    [stop, *([reading] if reading else [])], return_when=asyncio.FIRST_COMPLETED
                )
                if reading is not None and reading.done():
                    stop.cancel()
                    await reading
                    break
                if stopping.is_set():
                    break
                try:
                    await asyncio.to_thread(self._look, positions)
                except (UnavailableError, RefusedError) as error:
                    self._note_problem(str(error))
                else:
                    self._note_problem("")
        finally:
            if reading is not None and self.reader is not None:
                self.reader.stop()
                await asyncio.wait((reading,), timeout=END_S)
                self.reader = None

    def _note_problem(self, sentence: str) -> None:
        if sentence and sentence != self.problem:
            self._log.warning(sentence, kafka_cluster=self.alias)
        self.problem = sentence

    async def _begin(self, positions: Positions) -> asyncio.Task[None] | None:
        """Begin to read the commits; None where no group has ever committed and there is nothing to read."""
        count = len(self._listed[TOPIC].led) if TOPIC in self._listed else 0
        if not count:
            now_s = self._clock.wall_s()
            self._nothing_there = self._nothing_there or Progress(began_at=now_s, ready_after_s=0.0)
            return None
        partitions = [(TOPIC, number) for number in range(count)]
        starts = await asyncio.to_thread(positions.read, partitions, Which.START)
        ends = await asyncio.to_thread(positions.read, partitions, Which.STABLE)
        self.reader = CommitsReader(
            self._settings, self.lag, self.lock, cluster=self.alias, clock=self._clock
        )
        from_, to = ({number: max(0, one) for number, one in enumerate(found)} for found in (starts, ends))
        return asyncio.create_task(asyncio.to_thread(self.reader.run, from_, to))

    def _look(self, positions: Positions) -> None:
        """Read the ends of all partitions; now and then, what topics there are and where logs begin."""
        began_at = self._clock.wall_s()
        rarely = self._looks % TOPICS_EVERY == 0
        if rarely or self._unanswered or TOPIC not in self._listed:
            self._listed = positions.topics()
            with self.lock:
                self.lag.note_topics({name: len(topic.led) for name, topic in self._listed.items()})
        places, asked = self._asked()
        # What does not answer has another leader, or the client still knows it under an old epoch: it learns
        # that from metadata alone, which it asks for by itself every five minutes.
        self._unanswered = True
        ends = np.array(positions.read(asked, Which.END), np.int64)
        self._unanswered = bool((ends < 0).any())
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
