"""Watch one cluster's groups: read its commits, and poll the positions of its partitions."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from fleet.errors import RefusedError, UnavailableError
from lagmon.cluster.group_share import USUAL_PARTITIONS
from lagmon.groups.kinds import CONSUMER, OTHER, count_kinds
from lagmon.ingest.admin_fallback import RETRY_S, commits_readable, refusal_sentence
from lagmon.ingest.admin_rounds import AdminRounds
from lagmon.ingest.commits import TOPIC, CommitsReader, Progress
from lagmon.logs.position_polls import PositionPolls
from lagmon.logs.tail_reads import TailReads
from runtime.kafka.positions import Positions, Which
from runtime.process import logs
from runtime.process.memory import give_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.cluster.state import ClusterLag
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

LOOK_S = 10.0  # between two polls of log ends
LEAST_LOOK_S = 5.0  # after the last poll, for a poll because another cluster was polled
LEAST_PAUSE_S = 2.0  # after the last poll, for a poll that is required; one serves many flows
LOOKING_SHARE = 0.1  # share of the time for these, until they are LEAST_LOOK_S apart
FLUSH_LOOK_S = 15.0  # between two polls because a mirror wrote its offsets
END_S = 15.0


class ClusterWatch:
    """The work on one cluster in the ingest process; `run` continues until it fails or is stopped."""

    def __init__(
        self,
        alias: str,
        settings: ClientSettings,
        lag: ClusterLag,
        *,
        clock: WaitingClock,
        random: Callable[[], float],
        commits_from: str = "topic",
        retry_s: float = RETRY_S,
    ) -> None:
        self.alias = alias
        self.lag = lag
        self.commits_from = commits_from  # topic | admin: the current source
        self.refusal = ""  # why they are not read from the topic, although configured
        self.lock = threading.Lock()
        self.reader: CommitsReader | AdminRounds | None = None
        self.problem = ""  # why the last poll failed
        self.failed_polls = self.failed_reads = 0
        # Called after each poll, on the loop's thread, with whether it was because a mirror wrote offsets.
        self.on_polled: Callable[[bool], None] | None = None
        self.leaders: tuple[ClusterWatch, ...] = ()  # watches of other clusters, whose polls ours follow
        self._soon = asyncio.Event()
        # whether the next poll, or this one, is after a flush
        self._flushed = self._polls_after_flush = False
        self._flush_poll_at: float | None = None  # epoch s
        self._nothing_there: Progress | None = None  # if there are no commits to read
        self._settings = settings
        self._clock = clock
        self._random = random
        self._log = logs.get("ingest")
        self._retry_s = retry_s  # between two attempts to read the topic
        self._retry_at_ns = 0
        self._began_at: float | None = None  # epoch s
        self._ready_s: float | None = None
        self.looks = PositionPolls(alias, lag, self.lock, clock=clock)
        self.tails = TailReads(alias, settings, lag, self.lock, clock=clock)

    async def run(self, stopping: asyncio.Event) -> None:
        """Watch until stopped; raises UnavailableError or RefusedError from the cluster."""
        positions = Positions(
            self._settings, cluster=self.alias, name=f"{self.alias}-positions", clock=self._clock
        )
        self._began_at = self._began_at or self._clock.wall_s()
        await asyncio.to_thread(positions.open)
        try:
            await self._poll_on_thread(positions)
            await self._follow(positions, stopping)
        finally:
            positions.close()
            await asyncio.to_thread(self.tails.close)

    def poll_soon(self, *, in_any_case: bool = False) -> None:
        """Poll log ends at once, unless that was just done; with `in_any_case`, shortly after."""
        polled_at = self.looks.polled_at
        if in_any_case or (polled_at is not None and self._clock.wall_s() - polled_at >= LEAST_LOOK_S):
            self._soon.set()

    def poll_after_flush(self) -> None:
        """Poll log ends of target topics after a mirror wrote its offsets, even soon after a poll."""
        now_s = self._clock.wall_s()
        if self._flush_poll_at is None or not 0 <= now_s - self._flush_poll_at < FLUSH_LOOK_S:
            self._flush_poll_at = now_s
            self._flushed = True
            self._soon.set()

    @property
    def progress(self) -> Progress | None:
        """Return the reading progress; None before it starts."""
        return self._nothing_there if self.reader is None else self.reader.progress

    @property
    def ready_s(self) -> float | None:
        """Return how long after the start of the process all groups were first known; None until then."""
        progress = self.progress
        if self._ready_s is None and self._began_at is not None and progress is not None:
            after_s = progress.ready_after_s
            if after_s is not None:
                self._ready_s = max(0.0, progress.began_at + after_s - self._began_at)
        return self._ready_s

    @property
    def cycle_s(self) -> float | None:
        """Return how long it takes to poll every group once; None if commits are read."""
        return self.reader.cycle_s if isinstance(self.reader, AdminRounds) else None

    @property
    def other_groups(self) -> dict[str, int]:
        """Return how many groups commit no offsets, by kind; the caller holds the lock."""
        if isinstance(self.reader, AdminRounds):
            counts = {OTHER: self.reader.others} if self.reader.others else {}
        else:
            slots = self.lag.slots
            counts = count_kinds(self.lag.membership.kinds, lambda group: slots.number(group) is not None)
        silent = len(self.lag.silent_groups())
        return counts | {CONSUMER: silent} if silent else counts

    async def _follow(self, positions: Positions, stopping: asyncio.Event) -> None:
        """Poll again and again, and read commits as soon as there are any, until stopped.

        A failed poll is logged and followed by the next one: the commits read so far stay.
        """
        reading: asyncio.Task[None] | None = None
        try:
            while True:
                if reading is None:
                    reading = await self._begin(positions)
                await self._rest(stopping, [reading] if reading else [])
                if reading is not None and reading.done():
                    if self._falls_back(reading):
                        reading = None
                        continue
                    try:
                        await reading
                    except (UnavailableError, RefusedError):
                        self.failed_reads += 1
                        raise
                    break
                if stopping.is_set():
                    break
                try:
                    await self._poll_on_thread(positions)
                except (UnavailableError, RefusedError) as error:
                    self._note_problem(str(error))
                else:
                    self._note_problem("")
                anew = isinstance(self.reader, CommitsReader) and self.reader.must_restart()
                if anew or self._must_divide_again() or await self._may_read_again():
                    await self._end(reading)
                    reading = None
        finally:
            await self._end(reading)

    async def _rest(self, stopping: asyncio.Event, reading: list[asyncio.Task[None]]) -> None:
        """Wait until a poll is due, or until one of `reading` ends."""
        wait_s = LOOK_S * (0.9 + 0.2 * self._random())
        if self.leaders:  # polls by itself only if theirs do not end; a leader that fails counts as usual
            took_s = max(0.0 if one.problem else one.looks.took_s for one in self.leaders)
            wait_s = min(1.1 * LOOK_S + took_s, 2 * LOOK_S)
        stop = asyncio.create_task(self._clock.wait(stopping, timeout_s=wait_s))
        soon = asyncio.create_task(self._soon.wait())
        await asyncio.wait([stop, soon, *reading], return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        soon.cancel()
        if soon.done() and not stopping.is_set():
            await self._clock.wait(stopping, timeout_s=self._pause_s())
        self._soon.clear()
        self._polls_after_flush, self._flushed = self._flushed, False

    def _pause_s(self) -> float:
        """Return how long a requested poll has to wait after the last one."""
        polled_at = self.looks.polled_at
        if polled_at is None:
            return 0.0
        least_s = min(max(LEAST_PAUSE_S, self.looks.took_s / LOOKING_SHARE), LEAST_LOOK_S)
        return max(0.0, least_s - max(0.0, self._clock.wall_s() - polled_at))

    async def _poll_on_thread(self, positions: Positions) -> None:
        """Poll log ends on a thread; counts and raises UnavailableError or RefusedError."""
        failure, refused = "", False
        try:
            await asyncio.to_thread(self._look, positions)
        except (UnavailableError, RefusedError) as error:
            self.failed_polls += 1
            failure, refused = str(error), isinstance(error, RefusedError)
            raise
        finally:
            with self.lock:
                self.lag.note_answer(int(self._clock.wall_s() * 1000), failure, refused=refused)
        if self.on_polled is not None:
            self.on_polled(self._polls_after_flush)

    async def _end(self, reading: asyncio.Task[None] | None) -> None:
        if reading is not None and self.reader is not None:
            self.reader.stop()
            await asyncio.wait((reading,), timeout=END_S)
            self.reader = None

    def _falls_back(self, reading: asyncio.Task[None]) -> bool:
        """Return whether reading was denied, and change to the Admin API if so."""
        if self.commits_from != "topic" or not isinstance(reading.exception(), RefusedError):
            return False
        self._fall_back()
        return True

    def _fall_back(self) -> None:
        self.commits_from, self.reader = "admin", None
        said, self.refusal = self.refusal, refusal_sentence(self.alias, self._retry_s)
        self._retry_at_ns = self._clock.monotonic_ns() + int(self._retry_s * 1e9)
        if not said:
            self._log.warning(self.refusal, kafka_cluster=self.alias)

    async def _may_read_again(self) -> bool:
        """Return whether denied commits are readable again, and change back if so."""
        if not self.refusal or self._clock.monotonic_ns() < self._retry_at_ns:
            return False
        self._retry_at_ns = self._clock.monotonic_ns() + int(self._retry_s * 1e9)
        may = TOPIC in self.looks.listed and await asyncio.to_thread(
            commits_readable, self._settings, cluster=self.alias, clock=self._clock
        )
        if may:
            self.commits_from, self.refusal = "topic", ""
            self._log.info("commits of groups are readable again; reading them", kafka_cluster=self.alias)
        return may

    def _note_problem(self, sentence: str) -> None:
        if sentence and sentence != self.problem:
            self._log.warning(sentence, kafka_cluster=self.alias)
        self.problem = sentence

    async def _begin(self, positions: Positions) -> asyncio.Task[None] | None:
        """Start to read commits; None if there is nothing to read.

        Then no group has ever committed, or this shard has no partition.
        """
        if self.commits_from == "topic" and TOPIC not in self.looks.listed:
            try:
                await asyncio.to_thread(positions.ids, [TOPIC])  # it may only be hidden
            except RefusedError:
                self._fall_back()
        if self.commits_from == "admin":
            return self._begin_asking()
        count = len(self.looks.listed[TOPIC].leaders) if TOPIC in self.looks.listed else 0
        numbers = self._divide(count) if count else []
        if not numbers:
            if count and self.lag.slots.used:  # in Admin mode another number of partitions was assumed
                with self.lock:
                    self.lag.begin_commits(count)
            now_s = self._clock.wall_s()
            self._nothing_there = self._nothing_there or Progress(began_at=now_s, ready_after_s=0.0)
            return None
        partitions = [(TOPIC, number) for number in numbers]
        at_ms = int(self._clock.wall_s() * 1000)
        starts, ends, stables = [
            await asyncio.to_thread(positions.read, partitions, which)
            for which in (Which.START, Which.END, Which.STABLE)
        ]
        self.reader = CommitsReader(
            self._settings, self.lag, self.lock, cluster=self.alias, clock=self._clock
        )
        self._nothing_there = None
        self.reader.expect(
            {number: end for number, end in zip(numbers, ends, strict=True) if end >= 0}, at_ms
        )
        from_ = {number: max(0, start) for number, start in zip(numbers, starts, strict=True)}
        to = {
            number: stable if start >= 0 else -1
            for number, start, stable in zip(numbers, starts, stables, strict=True)
        }
        return asyncio.create_task(asyncio.to_thread(self.reader.run, from_, to, count))

    def _divide(self, partitions: int) -> list[int]:
        """Divide groups by this number of partitions, 0 if not known; return those to be read."""
        with self.lock:
            self.lag.share.divide(partitions)
            return self.lag.share.read(partitions)

    def _must_divide_again(self) -> bool:
        """Return whether other groups belong to this shard now, in Admin mode.

        If commits are read, the reader reports another number of partitions.
        """
        share, count = self.lag.share, self.lag.topics.get(TOPIC, USUAL_PARTITIONS)
        known = count > 0  # a topic without partitions was listed by a broker that does not know them
        return isinstance(self.reader, AdminRounds) and share.divides and known and count != share.partitions

    def _begin_asking(self) -> asyncio.Task[None]:
        self._nothing_there = None
        self._divide(self.lag.topics.get(TOPIC, 0))
        self.reader = AdminRounds(
            self._settings,
            self.lag,
            self.lock,
            cluster=self.alias,
            clock=self._clock,
            random=self._random,
            tell=lambda sentence: self._log.warning(sentence, kafka_cluster=self.alias),
        )
        return asyncio.create_task(asyncio.to_thread(self.reader.run))

    def _look(self, positions: Positions) -> None:
        reader = self.reader if isinstance(self.reader, CommitsReader) else None
        self.looks.look(positions, reader.expect if reader else None)
        self.tails.look()
        give_back()
