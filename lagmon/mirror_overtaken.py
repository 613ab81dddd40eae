"""Records that the source deleted before the mirror had copied them: how many, by partition. Pure.

By offsets they are N + 1 to the log's start less 1, but N is only as fresh as the worker's flush: what was
copied since it was written is not lost. That shows in how much the target has grown since N was written (the
base). A mirror that keeps up, with offsets each minute and a log of seconds, loses nothing though its log
starts behind its N all the time; one that was frozen has copied what it had fetched. So a loss is told when N
has stood for longer than it does in a mirror that moves, and counted once the mirror has passed it: each look
at the target's end bounds the count from both sides, as N at that instant lies between two offsets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fleet.vocabulary import Cause
from lagmon.mirror_findings import HELD_MS, MirrorFinding
from lagmon.mirror_remade import Base, Followed, sighted
from lagmon.mirror_sight import LOOK_MS
from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_sight import MirrorSight

    Longs = NDArray[np.int64]
    Name = tuple[str, int]  # topic and partition

_ANY = 1 << 62
SETTLES_MS = 90_000  # looks enough at a mirror that moves; longer where it writes its offsets less often


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Records of a partition that the source deleted before the mirror had copied them."""

    topic: str
    partition: int
    next_offset: int  # where the mirror stood
    start: int  # where the log began then
    first_at_ms: int
    at_ms: int

    @property
    def records(self) -> int:
        """Return how many."""
        return self.start - self.next_offset


@dataclass(slots=True)
class Passing:
    """What bounds the number of records of one that is open: lost are at least and at most so many."""

    base: Base
    least: int = 0
    most: int = _ANY
    passed_ms: int = -1  # when the mirror's offset was seen to be past it, -1 not yet
    stood: bool = False  # whether N has stood for longer than it does in a mirror that moves


def follow(flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing]) -> None:
    """Keep what was deleted unread, and count it once the mirror has passed it."""
    gone = np.flatnonzero((sight.deleted > 0) & sight.used).tolist()
    _note_bases(flow, sight, [slot for slot in gone if flow.windows.name(slot) not in passing], passing)
    for slot in gone:
        topic, partition = name = flow.windows.name(slot)
        offset = int(sight.known_to[slot])
        start = offset + int(sight.deleted[slot])
        before = flow.open_overtaken.get(name)
        passing[name].passed_ms = -1
        passing[name].stood |= sight.now_ms - int(flow.windows.committed_ms[slot]) > _longest_ms(sight)
        if before is None or (before.next_offset, before.start) != (offset, start):
            first_at_ms = before.first_at_ms if before is not None else sight.now_ms
            flow.open_overtaken[name] = Overtaken(topic, partition, offset, start, first_at_ms, sight.now_ms)
    passed = flow.open_overtaken.keys() - {flow.windows.name(slot) for slot in gone}
    looks_ms = (flow.source.heads.sampled_ms, flow.target.heads.sampled_ms) if passed else None
    for name in passed:
        assert looks_ms is not None
        _settle(flow, sight, name, passing, looks_ms)


def surely_lost(flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing]) -> list[Overtaken]:
    """Return what was lost: what is counted, and what a mirror that stands can not have copied so far."""
    found = [*flow.settled_overtaken]
    for name, one in flow.open_overtaken.items():
        slot, bounds = flow.windows.slot(*name), passing.get(name)
        if slot is None or bounds is None:
            continue
        standing_ms = sight.now_ms - int(flow.windows.committed_ms[slot])
        lost = one.start - bounds.base.next_offset - _grown(flow, sight, slot, bounds.base)
        if bounds.passed_ms < 0 and standing_ms > _longest_ms(sight) and lost > 0:
            left = one.start - min(lost, one.records)
            found.append(replace(one, next_offset=left, at_ms=sight.now_ms))
    return found


def findings(flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing]) -> list[MirrorFinding]:
    """Return what was lost, for as long as it is told."""
    lost = surely_lost(flow, sight, passing)
    return [_finding(flow, one) for one in lost if 0 <= sight.now_ms - one.at_ms <= HELD_MS]


def _note_bases(flow: MirrorFlow, sight: MirrorSight, slots: list[int], passing: dict[Name, Passing]) -> None:
    """Find the target's end when N was written, from those at all offsets in the window: the usual distance.

    The end at one instant lies on a line between two looks; over ten offsets that evens out.
    """
    if not slots:
        return
    at, rings = np.array(slots), flow.windows.rings
    places = sight.target_places[at]
    distances = np.full((len(slots), rings.length), np.nan)
    for column in range(rings.length):
        offsets, times = rings.offset[at, column], rings.committed_ms[at, column]
        known = (places >= 0) & (offsets >= 0)
        ends = np.full(len(slots), -1, np.int64)
        ends[known] = flow.target.heads.end_at(places[known], times[known])
        known = ends >= 0
        distances[known, column] = ends[known] - offsets[known]
    for row, slot in enumerate(slots):
        known_row = distances[row][~np.isnan(distances[row])]
        next_offset = int(sight.known_to[slot])
        end = next_offset + round(float(np.median(known_row))) if len(known_row) else -1
        at_ms = int(flow.windows.committed_ms[slot])
        passing[flow.windows.name(slot)] = Passing(Base(next_offset, at_ms, end, sure=True))


def _grown(flow: MirrorFlow, sight: MirrorSight, slot: int, base: Base) -> int:
    """Return by how many records the target has grown since the base, 0 where that is not known."""
    place = int(sight.target_places[slot])
    end = int(flow.target.heads.end[place]) if place >= 0 else -1
    return max(0, end - base.target_end) if end >= 0 and base.target_end >= 0 else 0


def _settle(
    flow: MirrorFlow,
    sight: MirrorSight,
    name: Name,
    passing: dict[Name, Passing],
    looks_ms: tuple[Longs, Longs],
) -> None:
    """Bound what was lost by the newest look, and count it as soon as the bounds meet."""
    one, bounds, slot = flow.open_overtaken[name], passing.get(name), flow.windows.slot(*name)
    followed = Followed(flow.windows, flow.source.heads, flow.target.heads, flow.order.flow.source)
    # Without the target's growth only a mirror that stood is known to have lost what its offsets say.
    stood = bounds.stood if bounds is not None else _stood(flow, sight, one, slot)
    lost, sure = one.records if stood else 0, True
    if bounds is not None and slot is not None and slot < len(sight.places):
        if bounds.passed_ms < 0:
            bounds.passed_ms = sight.now_ms
        places = int(sight.places[slot]), int(sight.target_places[slot])
        if min(places) >= 0 and bounds.base.target_end >= 0:
            looked_ms = int(looks_ms[0][places[0]]), int(looks_ms[1][places[1]])
            seen = sighted(followed, slot, places, looked_ms, bounds.base)
            if seen is not None:
                grew = seen.target_end - bounds.base.target_end
                bounds.least = max(bounds.least, seen.low - bounds.base.next_offset - grew)
                bounds.most = min(bounds.most, seen.high - bounds.base.next_offset - grew)
            within_ms = max(SETTLES_MS, 2 * sight.stopped_after_ms)
            sure = bounds.most - bounds.least <= 0 or sight.now_ms - bounds.passed_ms > within_ms
            if bounds.most < _ANY:  # no more than by offsets, and no more than the target lacks
                lost = max(0, min(one.records, max(bounds.most, bounds.least)))
    if not sure:
        return
    del flow.open_overtaken[name]
    passing.pop(name, None)
    if lost:
        flow.settled_overtaken.append(replace(one, next_offset=one.start - lost, at_ms=sight.now_ms))
        flow.overtaken_total[one.topic] += lost


def _longest_ms(sight: MirrorSight) -> int:
    """Return for how long an offset may stand in a mirror that moves."""
    return 2 * sight.cadence_ms + LOOK_MS


def _stood(flow: MirrorFlow, sight: MirrorSight, one: Overtaken, slot: int | None) -> bool:
    """Tell by its window whether a mirror stood before what it has passed while we were away."""
    if slot is None:
        return False
    rings, first = flow.windows.rings, flow.windows.rings.length - int(flow.windows.rings.filled[slot])
    behind = np.flatnonzero(rings.offset[slot, first:] > one.next_offset)
    if not len(behind) or not behind[0]:
        return False
    stood_ms = np.diff(rings.committed_ms[slot, first:])[behind[0] - 1]
    return bool(stood_ms > _longest_ms(sight))


def _finding(flow: MirrorFlow, one: Overtaken) -> MirrorFinding:
    return MirrorFinding(
        code=Cause.OVERTAKEN,
        topic=one.topic,
        partition=one.partition,
        at_ms=one.at_ms,
        records=one.records,
        first_offset=one.next_offset,
        last_offset=one.start - 1,
        sentence=(
            f"{flow.order.flow.source} deleted {one.records} records of {one.topic}-{one.partition} before"
            f" they were copied, up to {one.start - 1}: its log starts at {one.start}, seen at"
            f" {instant_text(one.first_at_ms)}, and the mirror had come to {one.next_offset}."
        ),
    )
