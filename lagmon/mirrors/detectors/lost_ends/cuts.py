"""Source logs that lost their end before the mirror's offset. Pure.

After an unclean leader election (or a truncation) a log ends before N + 1, and the next records are new under
old numbers. How short the log was is known from polls only: it may have been shorter. Where the target ended
then shows what the mirror did since (outcome.py, steps.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.growing import more_rows
from lagmon.groups.rules.words import Reason
from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.detectors.lost_ends.cut import Cut
from lagmon.mirrors.detectors.lost_ends.outcome import decide
from lagmon.mirrors.detectors.recreated.starts import GROWN_TIMES
from lagmon.mirrors.partitions.snapshot import POLL_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition
    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class KeptCuts:
    """What is kept of them over a restart: the cuts, and when each log was last seen complete."""

    cuts: Mapping[Name, Cut] = field(default_factory=dict)
    complete_ms: Mapping[Name, int] = field(default_factory=dict)


@dataclass(slots=True)
class SourceCuts(Detector):
    """Follows the source logs of one flow that lost their end."""

    _cuts: dict[Name, Cut] = field(default_factory=dict)
    _shared_step_ms: dict[Name, int] = field(default_factory=dict)  # target steps back that the source shares
    _complete_ms: Longs = field(default_factory=lambda: np.zeros(0, np.int64))  # by slot; -1: never
    _turns: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))  # of the slots, at that time

    def of(self, name: Name, next_offset: int) -> Cut | None:
        """Return how a log was cut while the mirror had written this offset, None if it was not."""
        cut = self._cuts.get(name)
        return cut if cut is not None and cut.next_offset == next_offset else None

    def kept(self, flow: FlowView) -> KeptCuts:
        """Return what is kept over a restart."""
        at_ms, names = self._complete_ms.tolist(), flow.windows.slots()
        complete = {(topic, number): at_ms[slot] for topic, number, slot in names if slot < len(at_ms)}
        return KeptCuts({name: replace(cut) for name, cut in self._cuts.items()}, complete)

    def restore(self, flow: FlowView, kept: KeptCuts) -> None:
        """Restore what an earlier process knew, once the offsets are read."""
        self._cuts = {**kept.cuts, **self._cuts}
        self._grow(len(flow.windows))
        for topic, partition, slot in flow.windows.slots():
            known_ms = kept.complete_ms.get((topic, partition), -1)
            self._complete_ms[slot] = max(known_ms, int(self._complete_ms[slot]))
            self._turns[slot] = flow.windows.turns[slot]

    def fell_with_source(self, flow: FlowView, partitions: PartitionsSnapshot) -> frozenset[int]:
        """Return the slots of equal offsets whose source lost its end too: nothing is repeated."""
        since = partitions.rows.since_ms
        named = ((flow.windows.slot(*name), at_ms) for name, at_ms in self._shared_step_ms.items())
        return frozenset(slot for slot, at_ms in named if slot is not None and at_ms == int(since[slot]))

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:  # noqa: ARG002 - it is kept so long
        """Return what was skipped, for as long as it is shown."""
        return [cut.found for cut in self._cuts.values() if cut.found is not None]

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Note logs that are too short by now, and decide what can be decided."""
        if not flow.order.progress.commits:
            self._follow_targets(flow, partitions)
            return
        self._find_cuts(flow, partitions)
        for name, cut in list(self._cuts.items()):
            if self._is_over(flow, partitions, name, cut):
                del self._cuts[name]
            elif cut.moved_ms >= 0 and not cut.is_decided:
                decide(flow, partitions, name, cut)

    def _follow_targets(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        back = np.flatnonzero(partitions.used & (partitions.rows.reason == Reason.REWOUND)).tolist()
        names = {flow.windows.name(slot): slot for slot in back}
        self._shared_step_ms = {name: at for name, at in self._shared_step_ms.items() if name in names}
        polled_ms = flow.source.heads.sampled_ms
        for name, slot in names.items():
            place, since_ms = int(partitions.places[slot]), int(partitions.rows.since_ms[slot])
            end, peak = int(flow.source.heads.end[place]), int(flow.windows.rings.offset[slot].max())
            if 0 <= end < peak and int(polled_ms[place]) >= since_ms:
                self._shared_step_ms[name] = since_ms

    def _find_cuts(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        windows, heads, count = flow.windows, flow.source.heads, len(partitions.used)
        self._grow(count)
        other = self._turns[:count] != windows.turns[:count]  # the slot was assigned to another partition
        self._complete_ms[:count][other], self._turns[:count] = -1, windows.turns[:count]
        slots = np.flatnonzero(partitions.used)
        places = partitions.places[slots]
        end, polled_ms = heads.end[places], heads.sampled_ms[places]
        written, written_ms = windows.next_offset[slots], windows.committed_ms[slots]
        short = (end >= 0) & (end < written) & (self._complete_ms[slots] >= 0)
        # Clocks differ: an offset may be newer than its time shows.
        short &= polled_ms > written_ms + POLL_MS
        for at in np.flatnonzero(short).tolist():
            self._note(flow, partitions, int(slots[at]), int(end[at]), int(polled_ms[at]))
        complete = end >= written
        self._complete_ms[slots[complete]] = polled_ms[complete]

    def _grow(self, count: int) -> None:
        if count > len(self._complete_ms):
            more_rows(self, "_complete_ms", count, -1)
            more_rows(self, "_turns", count, 0)

    def _note(
        self, flow: FlowView, partitions: PartitionsSnapshot, slot: int, end: int, polled_ms: int
    ) -> None:
        name, written = flow.windows.name(slot), int(flow.windows.next_offset[slot])
        cut = self.of(name, written)
        if cut is None:
            written_ms, complete_ms = int(flow.windows.committed_ms[slot]), int(self._complete_ms[slot])
            target_end = _target_end(flow, partitions, slot, polled_ms)
            more = _between_polls(flow, slot)
            start = max(0, int(flow.source.heads.start[partitions.places[slot]]))
            self._cuts[name] = Cut(written, written_ms, complete_ms, end, polled_ms, target_end, more, start)
        elif end < cut.lowest:
            cut.lowest, cut.lowest_ms = end, polled_ms
            cut.target_end = _target_end(flow, partitions, slot, polled_ms)
        elif end > cut.lowest:
            cut.grows = True

    def _is_over(self, flow: FlowView, partitions: PartitionsSnapshot, name: Name, cut: Cut) -> bool:
        """Return whether a cut is no longer shown; notes that the mirror moves."""
        slot, now_ms = flow.windows.slot(*name), partitions.now_ms
        recreated_ms = (flow.topics.recreated_ms.get((name[0], side), -1) for side in ("source", "target"))
        if slot is None or max(recreated_ms) >= cut.complete_ms:
            return True  # its offset was removed, or a log was re-created
        if slot >= len(partitions.used) or not partitions.used[slot]:
            return False  # it is not in the flow for now
        if cut.moved_ms < 0 and int(flow.windows.next_offset[slot]) != cut.next_offset:
            cut.moved_ms = now_ms
        if cut.found is not None:
            return now_ms - cut.found.at_ms > HELD_MS
        return 0 <= cut.moved_ms < now_ms - HELD_MS


def _between_polls(flow: FlowView, slot: int) -> int:
    """Return how many records may arrive between two polls of both logs, by the pace of the window."""
    rings = flow.windows.rings
    first = rings.length - int(rings.filled[slot])
    growth = int(rings.offset[slot, -1] - rings.offset[slot, first])
    took_ms = int(rings.committed_ms[slot, -1] - rings.committed_ms[slot, first])
    return GROWN_TIMES * (growth if took_ms <= 0 else -(-growth * 2 * POLL_MS // took_ms))


def _target_end(flow: FlowView, partitions: PartitionsSnapshot, slot: int, at_ms: int) -> int:
    """Return the target's end at the time of a source poll, or at the target's poll before."""
    place, heads = int(partitions.target_places[slot]), flow.target.heads
    if place < 0:
        return -1
    end = int(heads.end_at(np.array([place], np.int32), np.array([at_ms]))[0])
    return end if end >= 0 else int(heads.end[place])
