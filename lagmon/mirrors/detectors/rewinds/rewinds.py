"""Offsets of one flow's mirror that went back, and the findings about repeated records. Pure.

steps.py judges what a step back means. A decided step stays so, also after its proof has left the window. If
the source's log lost its end below the highest offset, the records after it are new under old numbers. Then
repeated records are known only if the loss was seen before the step (lost_ends/steps.py). A re-created target
has no repeated records. Steps are not judged for equal offsets: there a fall is one of the target itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.detectors.lost_ends.outcome import is_same_log
from lagmon.mirrors.detectors.lost_ends.steps import judge_cut
from lagmon.mirrors.detectors.rewinds.replays import Replays, Window
from lagmon.mirrors.detectors.rewinds.steps import Ends, Rewound, Step, judge_step
from lagmon.mirrors.metadata.topics import ids_within_ms
from lagmon.mirrors.target_ends import growth as mirror_growth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.mirrors.detectors.lost_ends.cuts import SourceCuts
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

MOST_KEPT = 1000
AT_ONCE = 500  # steps judged at one poll; more are judged in turn


@dataclass(slots=True)
class Rewinds(Detector):
    """Follows the steps back of one flow's offsets; `cuts` are the source logs that lost their end."""

    cuts: SourceCuts
    steps: dict[Name, Step] = field(default_factory=dict)  # the newest step in each window
    replays: Replays = field(default_factory=Replays)
    _judged_ms: dict[Name, int] = field(default_factory=dict)  # the time of the judged offset
    _found: dict[Name, tuple[Step, MirrorFinding]] = field(default_factory=dict)  # the newest of each
    _cut_ms: dict[Name, int] = field(default_factory=dict)  # the step that went back with its source's end
    _turn: int = 0

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:  # noqa: ARG002 - it is kept so long
        """Return the repeats, for as long as they are shown."""
        return [one for _, one in self._found.values()]

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Judge the steps back that are new, or not decided yet."""
        now_ms = partitions.now_ms
        self.replays.follow(now_ms)
        self._found = {
            name: one
            for name, one in self._found.items()
            if now_ms - one[1].at_ms <= HELD_MS and not _target_recreated(flow, name[0], one[0].at_ms)
        }
        slots = _with_a_fall(flow, partitions) if flow.order.progress.commits else []
        if not slots and not self.steps:
            return
        named = {
            flow.windows.name(slot): slot
            for slot in slots
            if is_same_topic(flow, slot, now_ms)
            and not _target_recreated(flow, flow.windows.name(slot)[0], _peak_ms(flow, slot))
        }
        self.steps = {name: step for name, step in self.steps.items() if name in named}
        self._cut_ms = {name: at_ms for name, at_ms in self._cut_ms.items() if name in named}
        self._judged_ms = {name: at_ms for name, at_ms in self._judged_ms.items() if name in named}
        due = [
            name for name in named if not self._is_judged(name, int(flow.windows.committed_ms[named[name]]))
        ]
        if len(due) > AT_ONCE:
            self._turn = (self._turn + AT_ONCE) % len(due)
            due = [*due[self._turn :], *due[: self._turn]][:AT_ONCE]
        self._judge(flow, partitions, {name: named[name] for name in due})

    def kept(self) -> list[tuple[Step, MirrorFinding]]:
        """Return what is kept over a restart: the findings, and their steps back."""
        return [*self._found.values()]

    def restore(self, kept: Sequence[tuple[Step, MirrorFinding]]) -> None:
        """Restore what an earlier process found."""
        for step, one in kept:
            assert one.partition is not None
            self._found.setdefault((one.topic, one.partition), (step, one))

    def _is_judged(self, name: Name, committed_ms: int) -> bool:
        step = self.steps.get(name)
        return (
            step is not None and step.means is not Rewound.OPEN and self._judged_ms.get(name) == committed_ms
        )

    def _judge(self, flow: FlowView, partitions: PartitionsSnapshot, named: dict[Name, int]) -> None:
        if not named:
            return
        slots = [*named.values()]
        rows = mirror_growth.distances(flow, slots, partitions.target_places[slots])
        polls_ms = flow.source.heads.sampled_ms, flow.target.heads.sampled_ms
        rings = flow.windows.rings
        for (name, slot), row in zip(named.items(), rows, strict=True):
            first = rings.length - int(rings.filled[slot])
            place, target_place = int(partitions.places[slot]), int(partitions.target_places[slot])
            ends = Ends(
                int(flow.source.heads.end[place]),
                int(polls_ms[0][place]),
                int(flow.target.heads.end[target_place]) if target_place >= 0 else -1,
                int(polls_ms[1][target_place]) if target_place >= 0 else -1,
                has_target=target_place >= 0,
                start=int(flow.source.heads.start[place]),
            )
            window = Window(
                rings.offset[slot, first:].tolist(), rings.committed_ms[slot, first:].tolist(), place
            )
            step = judge_step(window.offsets, window.times, row[first:], ends)
            step = self._with_its_log(flow, name, step, ends)
            step = self.replays.judge(flow, partitions, name, step, window)
            self._judged_ms[name] = int(flow.windows.committed_ms[slot])
            self._take(flow, name, step, partitions.now_ms)

    def _with_its_log(self, flow: FlowView, name: Name, step: Step, ends: Ends) -> Step:
        """Return what a step means given the source's log, which may have lost its end."""
        if ends.source_ms < step.at_ms:
            return step.unproved(Rewound.OPEN)
        if 0 <= ends.source < step.peak:
            self._cut_ms[name] = step.at_ms
        cut = self.cuts.of(name, step.peak)
        if cut is not None and is_same_log(flow, name[0], cut):
            return judge_cut(step, cut, ends)
        is_cut = self._cut_ms.get(name) == step.at_ms
        return step.unproved(Rewound.LATE) if is_cut else step

    def _take(self, flow: FlowView, name: Name, step: Step, now_ms: int) -> None:
        known = self.steps.get(name)
        if step.means is Rewound.OPEN and known is not None and known.at_ms == step.at_ms:
            step = known  # its proof has left the window
        self.steps[name] = step
        previous = self._found.get(name)
        of_same = previous[0] if previous is not None and previous[0].at_ms == step.at_ms else None
        if step.means is Rewound.LATE and of_same is not None:
            del self._found[name]
        if step.means is not Rewound.REPEATED or (of_same is not None and of_same.records >= step.records):
            return
        self._found.pop(name, None)
        self._found[name] = step, _finding(flow, name, step, now_ms)
        if len(self._found) > MOST_KEPT:
            del self._found[next(iter(self._found))]


def is_same_topic(flow: FlowView, slot: int, now_ms: int) -> bool:
    """Return whether an offset that fell belongs to the same log as the one before.

    If the topic's id has not been read for too long, that is assumed.
    """
    topic = flow.windows.name(slot)[0]
    fell_ms = int(flow.windows.committed_ms[slot])
    read_ms = flow.topics.ids_at_ms.get((topic, "source"), now_ms)
    recreated_ms = flow.topics.recreated_ms.get((topic, "source"), -1)
    lately = recreated_ms >= 0 and now_ms - recreated_ms <= HELD_MS
    waited_ms = ids_within_ms(len(flow.source.topics))
    return not lately and (read_ms >= fell_ms or now_ms - fell_ms > waited_ms)


def _target_recreated(flow: FlowView, topic: str, since_ms: int) -> bool:
    """Return whether a target was re-created since: then it has no repeated records."""
    return flow.topics.recreated_ms.get((topic, "target"), -1) >= since_ms


def _peak_ms(flow: FlowView, slot: int) -> int:
    """Return when the offset before the newest step back was written."""
    offsets, times = flow.windows.rings.offset[slot], flow.windows.rings.committed_ms[slot]
    return int(times[np.flatnonzero(offsets[1:] < offsets[:-1])[-1]])


def _with_a_fall(flow: FlowView, partitions: PartitionsSnapshot) -> list[int]:
    offsets = flow.windows.rings.offset[: len(partitions.used)]
    falls = (offsets[:, 1:] < offsets[:, :-1]).any(axis=1) & partitions.used
    found: list[int] = np.flatnonzero(falls).tolist()
    return found


def _finding(flow: FlowView, name: Name, step: Step, at_ms: int) -> MirrorFinding:
    topic, partition = name
    # The first offset after a step is written some time after the restart, which may have been further back.
    first, last = step.back, step.peak - 1
    if step.cut >= 0:  # where it restarted is unknown, and everything after the cut is new
        first, last = step.cut - step.records, step.cut - 1
    return MirrorFinding(
        code=Cause.DUPLICATING,
        topic=topic,
        partition=partition,
        at_ms=at_ms,
        records=step.records,
        records_most=step.cut if step.cut >= 0 else None,
        first_offset=first,
        last_offset=last,
        sentence=(
            f"At least {count_text(step.records, 'record')} of {topic}-{partition} reached"
            f" {flow.order.flow.target} again: the mirror's offset went back from {step.peak} to "
            f"{step.back} at"
            f" {instant_text(step.at_ms)}, and {step.proof}."
        ),
    )
