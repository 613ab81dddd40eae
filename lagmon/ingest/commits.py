"""Read `__consumer_offsets` of one cluster: all that is there, then what comes. On a thread of its own.

Where the topic is another one by then, has other partitions or has lost its end, whoever looks at the cluster
is told to have all read anew: what an earlier reading took in is forgotten then, as after a start. A client
that finds less than it has read begins at the log's start by itself, and what it hands over then is old.
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
MOST_AWAITED = 12  # ends of a partition: of more the newest counts, and those of the first two minutes
BACKLOG_WAIT_S = 0.05  # the last records of what was there are not waited for as live ones are


@dataclass(slots=True)
class Progress:
    """How far the reading has come; offsets are summed over partitions."""

    partitions: int = 0
    total_records: int = 0  # between start and end when the reading began
    read_records: int = 0
    began_at: float = 0.0
    ready_after_s: float | None = None  # None while what was there at the beginning is still being read
    problem: str = ""
    refused: str = ""  # which right is missing, where no group can be told of for want of it
    total_groups: int | None = None  # where groups are asked instead, how many
    asked_groups: int = 0  # of them at least once


class CommitsReader:
    """Takes in every commit; `lock` guards what it is taken into."""

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
        self._first_ends: dict[int, int] = {}  # read so far, all that was there as it began is known
        self._behind = True  # whether what was there as it began is still being read, as far as it can be
        self._position: dict[int, int] = {}  # of each partition, the next offset
        self._handed_over = HandedOver(cluster, TOPIC)  # the same by the records that came alone
        self._at_look = HandedOver(cluster, TOPIC)  # the same when the ends had been looked at last
        self._identity = TopicIdentity(lag, cluster, TOPIC)
        self._lost = ""  # how what was read is no longer in the topic
        # The ends that were seen there, and when (epoch ms), oldest first.
        self._awaited: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.progress = Progress()

    def run(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """Read until `stop`; `starts` and `ends` are the offsets of each partition as it begins.

        An end of -1 is not known: what stands there has yet to be read once `expect` tells it, and holds up
        no other partition until then. Raises our own error where the cluster does not let us.
        """
        self._behind = True
        self._starts = dict(starts)
        self._position = dict(starts)
        self._first_ends = dict(ends)
        self.progress = Progress(
            partitions=len(starts),
            total_records=sum(max(0, ends[one] - starts[one]) for one in starts),
            began_at=self._clock.wall_s(),
        )
        with self._lock:
            self._lag.begin_commits(max(starts, default=0) + 1)
            self._identity.begin(len(starts))
        self._bulk.open(starts)
        try:
            while not self._ending.is_set() and not self._lost:
                self._take()
            self._ending.wait()  # what comes now is for the one that begins anew
        finally:
            self._bulk.close()

    def stop(self) -> None:
        """Stop the thread."""
        self._ending.set()

    def has_to_begin_anew(self) -> bool:
        """Return whether all commits are to be read again.

        At once where the topic is another one or has lost some: what is there is not what was read. Where
        topics are back that took commits along, not before all that was there is read, where it can be: or
        topics that come back one by one would never let it be.
        """
        with self._lock:
            self._lost = self._identity.changed() or self._lost
            if self._lost:  # at once: nobody is to be judged by what is no more
                self._lag.begin_commits(len(self._starts))
                self.progress = Progress()
        if self._lost:
            self._log.warning(self._lost, kafka_cluster=self._cluster)
            return True
        if not self._lag.positions_lost or self._behind:
            return False
        self._log.info("topics are shown again: all commits are read anew", kafka_cluster=self._cluster)
        return True

    def expect(self, ends: Mapping[int, int], at_ms: int) -> bool:
        """Record where the partitions ended at an instant: read so far, all until then is known.

        That is the high watermark: what was committed behind an open transaction cannot be read before that
        is decided, and is no less in force. Return whether one ends before what was read: then nothing is.
        """
        # By the look before: while this one went on, the reading may have gone past the end that it found.
        self._note_lost(self._at_look.went_back(ends))
        self._at_look.note(self._position)
        if self._lost:
            return True
        with self._lock:
            for partition, end in ends.items():
                awaited = self._awaited[partition]
                if len(awaited) == MOST_AWAITED:
                    awaited.pop()
                awaited.append((end, at_ms))
        return False

    def _take(self) -> None:
        behind = self._behind
        batch = self._bulk.take(wait_s=BACKLOG_WAIT_S if behind else WAIT_S)
        read_ms = self._now_ms()
        self._move(batch.ends)
        if self._lost:
            return
        if batch.keys:
            live = not behind and self._is_level()  # with the records of this batch, too
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
            self.progress.problem = (
                f"Partition {unknown[0]} of {TOPIC} is not there to be read: see its leader."
            )
        self._behind = not self._is_level()
        if not self._behind and not unknown and self.progress.ready_after_s is None:
            self.progress.ready_after_s = self._clock.wall_s() - self.progress.began_at
            if not batch.faults:
                self.progress.problem = ""
        if behind and not self._behind:
            give_back()  # reading a backlog leaves holes

    def _is_level(self) -> bool:
        """Return whether what was there as it began is read, of all partitions that can be read.

        One of which records come before its end is known is back from where nobody could read it: the first
        of them are old, however late they come.
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
        """Record where the partitions are read to."""
        handed_over = self._bulk.positions()
        self._note_lost(self._handed_over.went_back(handed_over))
        self._handed_over.note(handed_over)
        for partition, offset in (*handed_over.items(), *ends.items()):
            self._position[partition] = max(offset, self._position.get(partition, 0))
        self.progress.read_records = sum(self._position[one] - start for one, start in self._starts.items())

    def _note_lost(self, said: str) -> None:
        """Record what says how something is lost; of none nothing: the other thread may have, too."""
        if said and not self._lost:
            self._lost = said

    def _note_read(self) -> None:
        """Tell up to when all is known of each partition, what was handed over being taken in."""
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
