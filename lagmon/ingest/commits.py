"""Read `__consumer_offsets` of one cluster on a thread: all that is there, then new records.

All commits are read again, as after a start, if the topic was re-created or truncated or has more partitions.
A client whose offset is beyond the log end starts again at the log start by itself and returns old records.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lagmon.cluster.handed_over import HandedOver
from lagmon.ingest.topic_identity import TopicIdentity
from runtime.kafka.bulk import Bulk
from runtime.process import logs
from runtime.process.memory import give_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.cluster.state import ClusterLag
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

TOPIC = "__consumer_offsets"
WAIT_S = 0.5
MOST_AWAITED = 12  # log ends of a partition; with more, the newest is replaced
BACKLOG_WAIT_S = 0.05  # a shorter wait for the last records of the backlog


@dataclass(slots=True)
class Progress:
    """The reading progress; offsets are summed over partitions."""

    partitions: int = 0
    total_records: int = 0  # between start and end when reading began
    read_records: int = 0
    began_at: float = 0.0
    ready_after_s: float | None = None  # None while the backlog is being read
    problem: str = ""
    refused: str = ""  # the missing permission, if no group can be read without it
    total_groups: int | None = None  # in Admin mode, the number of groups
    asked_groups: int = 0  # groups polled at least once


class CommitsReader:
    """Adds every commit to the groups; `lock` guards them."""

    def __init__(
        self, settings: ClientSettings, lag: ClusterLag, lock: threading.Lock, *, cluster: str, clock: Clock
    ) -> None:
        self._cluster = cluster
        self._log = logs.get("ingest")
        self._bulk = Bulk(settings, cluster=cluster, topic=TOPIC, name=f"{cluster}-commits")
        self._lag = lag
        self._lock = lock
        self._clock = clock
        self._ending = threading.Event()
        self._starts: Mapping[int, int] = {}
        self._partitions = 0  # of the topic, also those that are not read
        self._first_ends: dict[int, int] = {}  # the backlog is read once these are reached
        self._behind = True  # whether the backlog is still being read
        self._position: dict[int, int] = {}  # by partition, the next offset
        self._handed_over = HandedOver(cluster, TOPIC)  # checks positions of records
        self._at_poll = HandedOver(cluster, TOPIC)  # checks positions at polls of log ends
        self._identity = TopicIdentity(lag, cluster, TOPIC)
        self._lost = ""  # why what was read is no longer in the topic
        # Log ends and when they were read (epoch ms), oldest first.
        self._awaited: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.progress = Progress()

    def run(self, starts: Mapping[int, int], ends: Mapping[int, int], partitions: int | None = None) -> None:
        """Read until `stop`; `starts` and `ends` are the offsets of each partition at the beginning.

        An end of -1 is not known: the partition's backlog ends where `expect` first finds its end, and delays
        no other partition. `partitions` is how many the topic has, if others have the rest. Raises
        RefusedError or UnavailableError from the cluster.
        """
        self._behind = True
        self._starts = dict(starts)
        self._partitions = len(starts) if partitions is None else partitions
        self._position = dict(starts)
        self._first_ends = dict(ends)
        self.progress = Progress(
            partitions=len(starts),
            total_records=sum(max(0, ends[one] - starts[one]) for one in starts),
            began_at=self._clock.wall_s(),
        )
        with self._lock:
            self._lag.begin_commits(self._partitions)
            self._identity.begin(self._partitions)
        self._bulk.open(starts)
        try:
            while not self._ending.is_set() and not self._lost:
                self._take()
            self._ending.wait()  # later records are for the next reader
        finally:
            self._bulk.close()

    def stop(self) -> None:
        """Stop the thread."""
        self._ending.set()

    def must_restart(self) -> bool:
        """Return whether all commits must be read again.

        At once, if the topic was re-created or truncated, or if groups are not in the partitions that are
        expected. If removed topics are back, once the backlog is read: otherwise topics that come back one by
        one would never let it finish.
        """
        with self._lock:
            self._lost = self._identity.changed() or self._lost or self._strayed()
            if self._lost:  # at once: no verdict from outdated commits
                self._lag.begin_commits(self._partitions)
                self.progress = Progress()
        if self._lost:
            self._log.warning(self._lost, kafka_cluster=self._cluster)
            return True
        if not self._lag.positions_lost or self._behind:
            return False
        self._log.info("removed topics are back; reading all commits again", kafka_cluster=self._cluster)
        return True

    def expect(self, ends: Mapping[int, int], at_ms: int) -> bool:
        """Record the log ends of a poll: once they are read, all commits up to then are known.

        These are high watermarks: commits behind an open transaction are valid although they cannot be read
        yet. Return whether an end is before what was read, so that nothing is known.
        """
        # Compared with the poll before: during this one, reading may have passed the end that it returned.
        self._note_lost(self._at_poll.went_back(ends))
        self._at_poll.note(self._position)
        if self._lost:
            return True
        with self._lock:
            for partition, end in ends.items():
                if self._starts and partition not in self._starts:
                    continue
                awaited = self._awaited[partition]
                if len(awaited) == MOST_AWAITED:
                    awaited.pop()
                awaited.append((end, at_ms))
        return False

    def _strayed(self) -> str:
        """Return why all partitions have to be read, although this shard has a part of them; "" if not."""
        share = self._lag.share
        if share.reads_all or not self._lag.intake.has_strays:
            return ""
        share.reads_all = True
        return (
            f"cluster {self._cluster}: topic {TOPIC} has groups in partitions that do not fit its number of"
            " partitions; reading all partitions from their start"
        )

    def _take(self) -> None:
        behind = self._behind
        batch = self._bulk.take(wait_s=BACKLOG_WAIT_S if behind else WAIT_S)
        read_ms = self._now_ms()
        self._move(batch.ends)
        if self._lost:
            return
        if batch.keys:
            live = not behind and self._is_level()  # including this batch
            with self._lock:
                self._lag.intake.take(batch.keys, batch.values, read_ms=read_ms, live=live)
            self._tell_malformed(read_ms)
        self._note_read()
        if batch.refused is not None:
            raise batch.refused
        for fault in batch.faults:
            self.progress.problem = str(fault)
        if batch.keys:
            self.progress.problem = ""
        unknown = [partition for partition, end in self._first_ends.items() if end < 0]
        if unknown:
            self.progress.problem = f"Partition {unknown[0]} of {TOPIC} cannot be read; check its leader."
        self._behind = not self._is_level()
        if not self._behind and not unknown and self.progress.ready_after_s is None:
            self.progress.ready_after_s = self._clock.wall_s() - self.progress.began_at
            if not batch.faults:
                self.progress.problem = ""
        if behind and not self._behind:
            give_back()  # reading a backlog fragments memory

    def _is_level(self) -> bool:
        """Return whether the backlog is read, of all partitions that can be read.

        If records of a partition arrive before its end is known, the partition is back after an outage: its
        first records are old.
        """
        at, starts = self._position, self._starts
        return all(
            at[one] >= end if end >= 0 else at[one] <= starts[one] for one, end in self._first_ends.items()
        )

    def _tell_malformed(self, now_ms: int) -> None:
        taken = self._lag.intake.taken
        due = self._lag.intake.notice.due(taken.malformed, now_ms)
        if due:
            self._log.warning(due, kafka_cluster=self._cluster, topic=TOPIC, sample=taken.sample)

    def _move(self, ends: Mapping[int, int]) -> None:
        """Record up to where the partitions are read."""
        handed_over = self._bulk.positions()
        self._note_lost(self._handed_over.went_back(handed_over))
        self._handed_over.note(handed_over)
        for partition, offset in (*handed_over.items(), *ends.items()):
            self._position[partition] = max(offset, self._position.get(partition, 0))
        self.progress.read_records = sum(self._position[one] - start for one, start in self._starts.items())

    def _note_lost(self, said: str) -> None:
        """Record why something is lost, unless the reason is empty or one is already recorded."""
        if said and not self._lost:
            self._lost = said

    def _note_read(self) -> None:
        """Record up to when all commits of each partition are known."""
        with self._lock:
            for partition, awaited in self._awaited.items():
                if awaited and self._first_ends.get(partition) == -1:
                    self._first_ends[partition] = awaited[0][0]
                position = self._position.get(partition, -1)
                read_ms = [at_ms for end, at_ms in awaited if position >= end]
                if read_ms:
                    self._lag.note_read(partition, max(read_ms))
                    awaited[:] = [one for one in awaited if position < one[0]]

    def _now_ms(self) -> int:
        return int(self._clock.wall_s() * 1000)
