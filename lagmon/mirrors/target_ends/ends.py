"""What a flow's topics on the target held at the last few polls, by their names on the source. Pure.

A cluster's log data is dropped as soon as a topic is re-created, and a poll of the new topic may come before
its id is read. So the last polls are kept here. Those before the last read of the old id surely belong to it.

Each poll also keeps where the mirror was. An operator who has a topic replicated again removes the mirror's
offsets, or resets them to the log start, and may delete the target topic afterwards. Meanwhile the mirror's
previous position counts.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import MirrorFinding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot

    Longs = NDArray[np.int64]

MOST_POLLS = 6
EVERY_MS = 4_000  # ends are polled each ten seconds: no poll is missed


@dataclass(frozen=True, slots=True)
class TargetPoll:
    """What was known of a topic's partitions at a poll; -1 if unknown.

    `known` has four rows, with a column for each partition.
    """

    at_ms: int
    known: Longs

    @property
    def starts(self) -> Longs:
        """The log starts."""
        starts: Longs = self.known[0]
        return starts

    @property
    def ends(self) -> Longs:
        """The log ends."""
        ends: Longs = self.known[1]
        return ends

    @property
    def next_offsets(self) -> Longs:
        """Where the mirror was in the source's logs, or had been before its offsets were removed."""
        offsets: Longs = self.known[2]
        return offsets

    @property
    def offsets_ms(self) -> Longs:
        """Up to when the mirror's offsets were read for these positions."""
        instants: Longs = self.known[3]
        return instants


class TargetEnds:
    """The last polls of each topic."""

    def __init__(self) -> None:
        self._polls: dict[str, deque[TargetPoll]] = {}
        self._noted_ms = -EVERY_MS

    def note(self, flow: FlowFacts, partitions: PartitionsSnapshot) -> None:
        """Note the present state."""
        if 0 <= partitions.now_ms - self._noted_ms < EVERY_MS:
            return
        self._noted_ms = partitions.now_ms
        target, remote = flow.target, flow.topics.remote
        sampled_ms = target.heads.sampled_ms
        offsets = _next_offsets(flow, partitions)
        read_ms = np.where(offsets < 0, -1, flow.read_to_ms)
        known = np.stack((target.heads.start, target.heads.end, offsets, read_ms))
        for topic, name in remote.items():
            places = target.places.listed_of(name)
            if not places or name not in target.topics:
                continue  # keep what it held until it exists again
            at_ms = int(sampled_ms[places].max())
            polls = self._polls.setdefault(topic, deque(maxlen=MOST_POLLS))
            if at_ms >= 0 and (not polls or polls[-1].at_ms < at_ms):
                now = TargetPoll(at_ms, known.take(places, axis=1))
                if polls:
                    _keep_next_offsets(now, polls[-1])
                polls.append(now)
        for topic in self._polls.keys() - remote.keys():
            del self._polls[topic]

    def recreated(self, topic: str, known_ms: int) -> TargetPoll | None:
        """Return the last poll that surely was of the old topic, and forget all; None if there is none."""
        polls = self._polls.pop(topic, deque())
        return next((poll for poll in reversed(polls) if poll.at_ms <= known_ms), None)

    def polls(self) -> dict[str, deque[TargetPoll]]:
        """Return the last polls of each topic, oldest first; read them only."""
        return dict(self._polls)

    def restore(self, poll: Mapping[str, TargetPoll]) -> None:
        """Restore the last poll of an earlier process; polls since then are newer."""
        for topic, one in poll.items():
            self._polls[topic] = deque([one, *self._polls.get(topic, ())], maxlen=MOST_POLLS)


def _next_offsets(flow: FlowFacts, partitions: PartitionsSnapshot) -> Longs:
    """Return by target place where the mirror is; -1 if unknown, or at its log start."""
    found = np.full(len(flow.target.heads.end), -1, np.int64)
    if flow.read_to_ms >= 0:
        slots = np.flatnonzero((partitions.places >= 0) & (partitions.target_places >= 0))
        offsets, starts = flow.windows.next_offset[slots], flow.source.heads.start[partitions.places[slots]]
        found[partitions.target_places[slots]] = np.where(offsets > np.maximum(starts, 0), offsets, -1)
    return found


def _keep_next_offsets(now: TargetPoll, before: TargetPoll) -> None:
    """Use the mirror's position of the previous poll if it is unknown."""
    both = slice(min(len(now.ends), len(before.ends)))
    unknown = now.next_offsets[both] < 0
    for row in (2, 3):
        now.known[row, both][unknown] = before.known[row, both][unknown]


@dataclass(frozen=True, slots=True)
class TargetTopic:
    """A topic by its names on both sides, its target, and whether each target offset has a record."""

    topic: str
    remote: str
    target: str
    dense: bool


def lost_with_topic(names: TargetTopic, poll: TargetPoll, *, now_ms: int) -> list[MirrorFinding]:
    """Return what was lost with a re-created target topic, by partition.

    That is at least what it held at the last poll: more may have arrived before the deletion.
    """
    starts = np.maximum(poll.starts, 0).tolist()
    return [
        _lost_of_partition(names, partition, (start, end), held_ms=poll.at_ms, now_ms=now_ms)
        for partition, (start, end) in enumerate(zip(starts, poll.ends.tolist(), strict=True))
        if end > start
    ]


def _lost_of_partition(
    names: TargetTopic, partition: int, bounds: tuple[int, int], *, held_ms: int, now_ms: int
) -> MirrorFinding:
    start, end = bounds
    least = end - start if names.dense else 1  # markers and compaction leave offsets without a record
    return MirrorFinding(
        code=Cause.TOPIC_RECREATED,
        topic=names.topic,
        partition=partition,
        at_ms=now_ms,
        records=least,
        first_offset=start,
        last_offset=end - 1,
        side="target",
        sentence=(
            f"{names.remote} on {names.target} was re-created (seen at {instant_text(now_ms)}): at least "
            f"{count_text(least, 'record')} of its partition {partition} "
            f"{'is' if least == 1 else 'are'} gone. It held offsets {start} to {end - 1} at the last poll "
            f"before, at {instant_text(held_ms)}. The mirror does not send them again."
        ),
    )


def all_of_it(one: MirrorFinding) -> MirrorFinding:
    """Return the loss of a target to which nothing can have arrived after the last poll: an exact number."""
    assert one.records is not None
    sentence = one.sentence.replace("at least ", "", 1)
    sentence = f"{sentence} Nothing more was on the source to replicate."
    return replace(one, records_most=one.records, sentence=sentence)
