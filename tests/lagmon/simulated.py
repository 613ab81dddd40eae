"""Groups that each read a partition, as the lag monitor would see them: commits, looks at the ends, verdicts.

Many lives at once, since a look at a hundred partitions costs hardly more than one at a single one.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import Reason

BEGAN_MS = 1_790_000_000_000
FIRST = 1_000_000_000  # the end at the beginning
BATCH_S = 1.0  # commits are read together that come within it


@dataclass(frozen=True)
class Life:
    """How a group lives; seconds and records.

    `lags` are what it leaves behind at its commits, one after the other and again from the first, in percent of
    what is written from one commit to the next. It never reads less than a record, where there is any.
    """

    cadence_s: float
    rate: float = 10.0  # records written in a second
    jitter: float = 0.0  # of the cadence, up and down
    lags: tuple[int, ...] = (0,)
    debt: float = 0.0  # that it begins with, and works off by a tenth at each commit
    burst_s: float = 0.0  # records come all at once, so often; 0 for evenly
    skew_s: float = 0.0  # of the broker's clock
    commits: int = 30
    seed: int = 0
    same_after: bool = False  # once it has ended, it commits the same offset on and on
    left: int = 3  # of its commits, where the monitor begins anew and compaction was there
    ends_with: int = 1  # it leaves at least so many records

    def end(self, at_s: float) -> int:
        """Return where the log ended at an instant."""
        written = self.rate * at_s
        if self.burst_s:
            written = self.rate * self.burst_s * int(at_s / self.burst_s)
        return FIRST + int(written)

    def read(self) -> list[tuple[float, int]]:
        """Return instants and offsets of its commits."""
        random, at_s = Random(self.seed), 0.0
        # A lag that rises from nothing to where it stays is a lag that grows.
        before = FIRST - round(self.debt + max(self.lags) / 100 * self.rate * self.cadence_s)
        found = []
        for number in range(self.commits):
            at_s += self.cadence_s * (1 + self.jitter * random.uniform(-1, 1))
            end = self.end(at_s)
            lag = self.lags[number % len(self.lags)] / 100 * self.rate * self.cadence_s
            lag += self.debt * 0.9**number
            if number == self.commits - 1:
                lag = max(lag, self.ends_with)
            before = min(end, max(before + 1, end - round(lag)))
            found.append((at_s, before))
        return found

    def unread_since_s(self, at_s: float, offset: int) -> float:
        """Return since when there is a record to read for one that stands there from an instant on."""
        while self.end(at_s) <= offset:
            at_s += max(1.0, self.burst_s / 8)
        return at_s


class Crowd:
    """Groups of these lives, all with about the same cadence; `verdicts` are told at each look."""

    def __init__(self, lives: list[Life], *, forgets_at_s: float = 0.0) -> None:
        self.lives = lives
        self.read = [life.read() for life in lives]
        self.look_s = max(10.0, min(life.cadence_s for life in lives) / 12)
        self.now_s = 0.0
        self._forgets_at_s = forgets_at_s
        self._keys = [encode_commit_key(f"g{number}", "t", number) for number in range(len(lives))]
        self._lag = self._cluster()
        self._random = Random(len(lives))

    def run(self, until_s: float):
        """Yield at each look the instant, and by life its reason and sentence, None before its first commit."""
        waiting = sorted(
            (at_s, number, offset)
            for number, commits in enumerate(self._commits(until_s))
            for at_s, offset in commits
        )[::-1]
        look_s = 0.0
        while look_s < until_s:
            batch = []
            while waiting and waiting[-1][0] < look_s:
                batch.append(waiting.pop())
                if not waiting or waiting[-1][0] > batch[0][0] + BATCH_S or waiting[-1][0] >= look_s:
                    self._take(batch, live=True)
                    batch = []
            self.now_s = look_s
            if 0 < self._forgets_at_s <= self.now_s:
                self._forget()
            yield self.now_s, self._look()
            look_s += self.look_s * self._random.uniform(0.9, 1.1)

    def _commits(self, until_s):
        for life, commits in zip(self.lives, self.read, strict=True):
            at_s, offset = commits[-1]
            again_s = max(0.5, min(life.cadence_s, max(20.0, life.cadence_s / 12)))
            more = int((until_s - at_s) / again_s) if life.same_after else 0
            yield commits + [(at_s + again_s * (number + 1), offset) for number in range(more)]

    def _take(self, batch, *, live):
        self.now_s = max(self.now_s, batch[-1][0])
        values = [
            encode_commit_value(offset, BEGAN_MS + round((at_s + self.lives[number].skew_s) * 1000))
            for at_s, number, offset in batch
        ]
        keys = [self._keys[number] for _, number, _ in batch]
        self._lag.intake.take(keys, values, read_ms=self._now_ms, live=live)

    def _forget(self):
        """Begin anew, with what the topic still holds."""
        self._forgets_at_s = 0.0
        self._lag = self._cluster()
        left = []
        for number, (life, commits) in enumerate(zip(self.lives, self.read, strict=True)):
            past = [commit for commit in commits if commit[0] < self.now_s][-life.left :]
            left += [(at_s, number, offset) for at_s, offset in past]
        if left:
            self._take(sorted(left), live=False)

    def _look(self):
        places = np.array(self._lag.places.of("t"), np.int32)
        ends = np.array([life.end(self.now_s) for life in self.lives])
        self._lag.note_polled(places, ends, ends, self._now_ms)
        self._lag.heads.note_starts(places, np.zeros(len(places), np.int64))
        self._lag.note_read(0, self._now_ms)
        rows = self._lag.see(self._now_ms).rows
        of = {int(place): slot for slot, place in enumerate(self._lag.slots.place[: len(rows.reason)])}
        slots = [of.get(place) for place in places.tolist()]
        return [
            None if slot is None else (Reason(int(rows.reason[slot])), rows.sentence(slot)) for slot in slots
        ]

    def _cluster(self):
        lag = ClusterLag(wanted=lambda _group, _topic: True)
        lag.note_topics({"t": len(self.lives)})
        lag.begin_commits(1)
        return lag

    @property
    def _now_ms(self) -> int:
        return BEGAN_MS + round(self.now_s * 1000)
