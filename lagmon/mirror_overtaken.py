"""Records that the source deleted before the mirror had copied them: how many, by partition. Pure.

By offsets they are N + 1 to the log's start less 1, but N is only as fresh as the worker's flush: what was
copied since it was written is not lost. That shows in how much the copy has grown since N was written (the
base, `mirror_growth`). A mirror that keeps up, with offsets each minute and a log of seconds, loses nothing
though its log starts behind its N all the time; one that was frozen has copied what it had fetched. So a loss
is told when N has stood for longer than it does in a mirror that moves, and counted once the mirror has
passed the start that was seen meanwhile, be the log's start behind its N again by then: each look at the
copy's end bounds the count from both sides, as N at that instant lies between two offsets.

Of a mirror that has not stood for so long nothing is told: markers of transactions make a copy seem to lack
as many records, more with each offset. Nor is what is within the spread of the base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.vocabulary import Cause
from lagmon import mirror_growth
from lagmon.mirror_distance import narrowed
from lagmon.mirror_findings import HELD_MS, MirrorFinding
from lagmon.mirror_orders import EQUAL_OFFSETS
from lagmon.mirror_passage import Base
from lagmon.mirror_remade import Followed, sighted
from lagmon.mirror_standing import Standing, longest_ms, standing
from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    next_offset: int  # the first of them: what the mirror had written, and what its copy got behind that
    start: int  # where the log began then
    first_at_ms: int
    at_ms: int
    written: int = -1  # the next offset that the mirror had written, -1 where its copy does not tell more
    within: int = 0  # records by which the number may be wrong

    @property
    def records(self) -> int:
        """Return how many."""
        return self.start - self.next_offset

    @property
    def copied(self) -> int:
        """Return how many of those the copy had got all the same."""
        return self.next_offset - self.written if self.written >= 0 else 0


@dataclass(slots=True)
class Passing:
    """What bounds the number of records of one that is open: lost are at least and at most so many."""

    base: Base
    spread: int = 0  # records within which the base is not known
    least: int = 0
    most: int = _ANY
    copied: int = 0  # by how much the copy had grown when N was first known to stand
    passed_ms: int = -1  # when the mirror's offset was seen to be past it, -1 not yet
    stood: bool = False  # whether the mirror stood, as far as that is proved
    told: Overtaken | None = None  # what was lost while it stood, as it was proved last

    def lost(self, one: Overtaken) -> int:
        """Return how many of one are lost by the bounds, none of a mirror that has not stood.

        No more than by offsets, and no more than the copy had not got yet while it stood.
        """
        left = min(one.records, one.start - self.base.next_offset - self.copied)
        return max(0, min(left, max(self.least, self.most))) if self.stood else 0


def follow(flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing]) -> None:
    """Keep what was deleted unread, and count it once the mirror has passed it."""
    slots = np.flatnonzero((sight.deleted > 0) & sight.used).tolist()
    gone = {flow.windows.name(slot): slot for slot in slots}
    stands = standing(flow, sight)
    _settle_passed(flow, sight, gone, passing, stands)
    anew = [
        name
        for name, slot in gone.items()
        if name not in passing or _moves(passing[name], int(sight.known_to[slot]))
    ]
    _note_bases(flow, sight, [gone[name] for name in anew], passing)
    for name, slot in gone.items():
        offset, bounds, before = int(sight.known_to[slot]), passing[name], flow.open_overtaken.get(name)
        if bounds.passed_ms >= 0:
            continue  # it settles, and what the log has lost since is seen after that
        start = offset + int(sight.deleted[slot])
        grown = _grown(flow, sight, slot, bounds) if stands.offset[slot] else 0
        lost = start - bounds.base.next_offset - grown
        proved = stands.offset[slot] and (
            stands.copy[slot] or flow.distance.proves(slot, lost, bounds.base.next_offset, start)
        )
        if not bounds.stood and proved:
            bounds.stood, bounds.copied = True, grown
        if before is None or (before.next_offset, before.start) != (offset, start):
            same = before is not None and (bounds.stood or before.next_offset == offset)
            first_at_ms = before.first_at_ms if before is not None and same else sight.now_ms
            flow.open_overtaken[name] = Overtaken(*name, offset, start, first_at_ms, sight.now_ms)
        if proved:
            one = flow.open_overtaken[name]
            bounds.told = _counted(one, lost, sight.now_ms, bounds) if lost > bounds.spread else None


def _moves(bounds: Passing, offset: int) -> bool:
    """Tell whether the mirror writes on without having stood: what it lost or not is told from there."""
    return bounds.passed_ms < 0 and not bounds.stood and offset != bounds.base.next_offset


def _settle_passed(
    flow: MirrorFlow,
    sight: MirrorSight,
    gone: dict[Name, int],
    passing: dict[Name, Passing],
    stands: Standing,
) -> None:
    """Count what the mirror has passed, also where the log's start has passed it again since."""
    looks_ms: tuple[Longs, Longs] | None = None
    for name, one in list(flow.open_overtaken.items()):
        slot, bounds = flow.windows.slot(*name), passing.get(name)
        again = name in gone
        if again and int(sight.known_to[gone[name]]) < one.start:
            if bounds is not None:
                bounds.passed_ms = -1  # it is not past it, or went back
            continue
        if slot is not None and not again and (slot >= len(sight.used) or not sight.used[slot]):
            continue  # its topic is left out for now
        if looks_ms is None:
            looks_ms = flow.source.heads.sampled_ms, flow.target.heads.sampled_ms
        stands_again = again and slot is not None and bool(stands.offset[slot])
        at_once = stands_again or (again and bounds is not None and not bounds.stood)
        _settle(flow, sight, name, passing, looks_ms, at_once=at_once)


def uncounted(flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing]) -> dict[Name, Overtaken]:
    """Return what a mirror that stands, or stood until its next offset, can not have copied.

    Of one that has just passed it, what the looks until now leave possible.
    """
    found: dict[Name, Overtaken] = {}
    for name, one in flow.open_overtaken.items():
        slot, bounds = flow.windows.slot(*name), passing.get(name)
        if slot is None or bounds is None or slot >= len(sight.used) or not sight.used[slot]:
            continue
        lost = bounds.lost(one) if bounds.most < _ANY else 0
        if bounds.passed_ms < 0 and bounds.told is not None:
            found[name] = bounds.told
        elif bounds.passed_ms >= 0 and lost > bounds.spread:
            found[name] = _counted(one, lost, sight.now_ms, bounds)
    return found


def findings(flow: MirrorFlow, lost: Sequence[Overtaken], now_ms: int) -> list[MirrorFinding]:
    """Return what was lost, for as long as it is told."""
    return [_finding(flow, one) for one in lost if 0 <= now_ms - one.at_ms <= HELD_MS]


def _counted(one: Overtaken, lost: int, at_ms: int, bounds: Passing | None) -> Overtaken:
    """Return what was lost of one by offsets: not more than that."""
    if bounds is None or bounds.base.target_end < 0:
        return replace(one, next_offset=one.start - min(lost, one.records), at_ms=at_ms)
    within = bounds.spread
    if bounds.passed_ms >= 0 and bounds.most < _ANY:
        within = max(within, bounds.most - bounds.least)
    next_offset = one.start - min(lost, one.records)
    return replace(one, next_offset=next_offset, at_ms=at_ms, written=one.next_offset, within=within)


def _note_bases(flow: MirrorFlow, sight: MirrorSight, slots: list[int], passing: dict[Name, Passing]) -> None:
    """Find where the copies ended when N was written."""
    if not slots:
        return
    # Where offsets are equal the copy's end is the offset, and goes past what is lost with it.
    places = sight.target_places[slots] if flow.order.lag_from != EQUAL_OFFSETS else np.full(len(slots), -1)
    rows = mirror_growth.distances(flow, slots, places)
    lost_to: dict[Name, int] = {}
    for one in flow.settled_overtaken:
        name = one.topic, one.partition
        lost_to[name] = max(one.start, lost_to.get(name, 0))
    for slot, row in zip(slots, rows, strict=True):
        name, next_offset = flow.windows.name(slot), int(sight.known_to[slot])
        after = flow.windows.rings.offset[slot] >= lost_to.get(name, 0)  # before a loss it was another
        bounds = flow.distance.of(slot) if flow.order.lag_from != EQUAL_OFFSETS else None
        usual = narrowed(mirror_growth.usual(np.where(after, row, np.nan)), bounds)
        end = -1 if usual is None else next_offset + usual.records
        base = Base(next_offset, int(flow.windows.committed_ms[slot]), end, sure=True)
        passing[name] = Passing(base) if usual is None else Passing(base, usual.spread)


def _grown(flow: MirrorFlow, sight: MirrorSight, slot: int, bounds: Passing) -> int:
    """Return by how many records the copy has grown since the base, 0 where that can not be told."""
    place, base = int(sight.target_places[slot]), bounds.base
    end = int(flow.target.heads.end[place]) if place >= 0 else -1
    if min(end, base.target_end) < 0:
        return 0
    grown = end - base.target_end
    return grown if 2 * grown > bounds.spread else 0


def _settle(
    flow: MirrorFlow,
    sight: MirrorSight,
    name: Name,
    passing: dict[Name, Passing],
    looks_ms: tuple[Longs, Longs],
    *,
    at_once: bool,
) -> None:
    """Bound what was lost by the newest look, and count it as soon as the bounds meet, or `at_once`."""
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
            if bounds.most < _ANY:
                lost = bounds.lost(one)
    if not sure and not at_once:
        return
    del flow.open_overtaken[name]
    passing.pop(name, None)
    if lost:
        flow.settled_overtaken.append(_counted(one, lost, sight.now_ms, bounds))
        flow.overtaken_total[one.topic] += lost


def _stood(flow: MirrorFlow, sight: MirrorSight, one: Overtaken, slot: int | None) -> bool:
    """Tell by its window whether a mirror stood before what it has passed while we were away."""
    if slot is None:
        return False
    rings, first = flow.windows.rings, flow.windows.rings.length - int(flow.windows.rings.filled[slot])
    behind = np.flatnonzero(rings.offset[slot, first:] > one.next_offset)
    if not len(behind) or not behind[0]:
        return False
    written_ms = rings.committed_ms[slot, first:]
    since_ms, place = int(written_ms[behind[0] - 1]), int(sight.places[slot])
    if place >= 0:  # before there was more to copy it did not stand
        passed_ms, _ = flow.source.heads.passed_ms(np.array([place], np.int32), np.array([one.next_offset]))
        since_ms = max(since_ms, int(passed_ms[0]))
    return bool(written_ms[behind[0]] - since_ms > longest_ms(sight))


def _finding(flow: MirrorFlow, one: Overtaken) -> MirrorFinding:
    were = "it was" if one.records == 1 else "they were"
    written = one.next_offset - one.copied
    came = f"{one.copied or 'none'} of what is behind that had come to {flow.order.flow.target}"
    if one.written < 0:
        came = f"how much of what is behind that had come to {flow.order.flow.target} is not known"
    had = f"the mirror had written {written} as its next offset, and {came}"
    if flow.order.lag_from == EQUAL_OFFSETS:
        had = f"its copy on {flow.order.flow.target} ended at {written}"
    within = f" By the looks at its copy that may be wrong by {one.within}." if one.within else ""
    return MirrorFinding(
        code=Cause.OVERTAKEN,
        topic=one.topic,
        partition=one.partition,
        at_ms=one.at_ms,
        records=one.records,
        first_offset=one.next_offset,
        last_offset=one.start - 1,
        sentence=(
            f"{flow.order.flow.source} deleted {count_text(one.records, 'record')} of"
            f" {one.topic}-{one.partition} before {were} copied: its log starts at {one.start}, seen at"
            f" {instant_text(one.first_at_ms)}, {had}.{within}"
        ),
    )
