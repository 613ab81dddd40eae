"""Groups of one member that reads its partitions in turns, as the lag monitor would see them.

Records come evenly to every partition; the member reads one partition for a turn, then the next, as clients do
that hand out one partition's fetched records before another's. Many groups at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import Status

BEGAN_MS = 1_790_000_000_000
FIRST = 1_000_000_000
STEP_S = 0.5


@dataclass(frozen=True)
class Turns:
    """How one group reads; `share` of what is written is what it can read, `backlog_s` what it begins behind."""

    share: float
    turn_s: float
    commit_s: float
    look_s: float = 10.0
    partitions: int = 3
    rate: float = 100.0  # records a second, to each partition
    backlog_s: float = 0.0
    again: bool = False  # commits the offsets of resting partitions too, as Java's client does
    burst_s: float = 0.0  # it works so long on what a poll gave, and is that far at once
    jitter: float = 0.1  # of turns and commits
    changes_at_s: float = float("inf")
    share_after: float = 0.0
    seed: int = 0


class _Reader:
    def __init__(self, how: Turns) -> None:
        self.how, self.random = how, Random(how.seed)
        self.offset = [FIRST - how.rate * how.backlog_s] * how.partitions  # what it has read
        self.told = [-1] * how.partitions
        self.now, self.turn_ends_s, self.commit_at_s, self.poll_at_s = 0, 0.0, 0.0, 0.0
        self.done = list(self.offset)  # as of the last poll

    def end(self, at_s: float) -> float:
        return FIRST + self.how.rate * at_s

    def step(self, at_s: float) -> list[tuple[int, int]]:
        """Read for a step up to an instant; return partitions and offsets that it commits then."""
        how = self.how
        share = how.share_after if at_s >= how.changes_at_s else how.share
        left = share * how.rate * how.partitions * STEP_S
        end = self.end(at_s)
        for _ in range(how.partitions):
            if at_s >= self.turn_ends_s or self.offset[self.now] >= end:
                self.now = (self.now + 1) % how.partitions
                self.turn_ends_s = at_s + how.turn_s * self._about()
            gets = min(left, end - self.offset[self.now])
            self.offset[self.now] += gets
            left -= gets
            if left <= 0:
                break
        if at_s >= self.poll_at_s:
            self.done, self.poll_at_s = list(self.offset), at_s + how.burst_s
        if at_s < self.commit_at_s:
            return []
        self.commit_at_s = at_s + how.commit_s * self._about()
        commits = [
            (number, int(offset))
            for number, offset in enumerate(self.done)
            if how.again or int(offset) != self.told[number]
        ]
        for number, offset in commits:
            self.told[number] = offset
        return commits

    def _about(self) -> float:
        return 1 + self.how.jitter * self.random.uniform(-1, 1)


class Seen:
    """What is seen of many groups that all are looked at together."""

    def __init__(self, groups: list[Turns]) -> None:
        self.readers = [_Reader(one) for one in groups]
        self.look_s = groups[0].look_s
        self.lag = ClusterLag(wanted=lambda _group, _topic: True)
        self.lag.note_topics({f"t{number}": one.partitions for number, one in enumerate(groups)})
        self.lag.begin_commits(1)

    def run(self, until_s: float):
        """Yield at each look the instant and the sight."""
        look_s, at_s, random = 0.0, 0.0, Random(7)
        while at_s < until_s:
            at_s += STEP_S
            batch = [
                (number, partition, offset)
                for number, reader in enumerate(self.readers)
                for partition, offset in reader.step(at_s)
            ]
            now_ms = BEGAN_MS + round(at_s * 1000)
            if batch:
                self.lag.intake.take(
                    [encode_commit_key(f"g{one}", f"t{one}", partition) for one, partition, _ in batch],
                    [encode_commit_value(offset, now_ms) for _, _, offset in batch],
                    read_ms=now_ms,
                    live=True,
                )
            if at_s < look_s:
                continue
            look_s += self.look_s * random.uniform(0.9, 1.1)
            self._look([int(reader.end(at_s)) for reader in self.readers], now_ms)
            self.lag.note_read(0, now_ms)
            yield at_s, self.lag.see(now_ms)

    def _look(self, ends: list[int], now_ms: int) -> None:
        of = [self.lag.places.of(f"t{number}") for number in range(len(ends))]
        places = np.array([place for places in of for place in places], np.int32)
        end = np.array([end for places, end in zip(of, ends, strict=True) for _ in places], np.int64)
        self.lag.note_polled(places, end, end, now_ms)
        self.lag.heads.note_starts(places, np.zeros(len(places), np.int64))

    def statuses(self, sight) -> list[Status]:
        """Return the status of each group."""
        found = [Status.NOTFOUND] * len(self.readers)
        for number, name in self.lag.slots.groups():
            found[int(name[1:])] = Status(int(sight.groups.status[number]))
        return found
