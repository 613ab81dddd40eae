"""Records that the source deleted before the mirror had copied them: how many, by partition. Pure.

By offsets they are N + 1 to the log's start less 1, but N is only as fresh as the worker's flush: what was
copied since it was written is not lost. Where the mirror stands is bounded by where its copy ends
(`mirror_distance`), and so is the number: `least` to `most`, which meet where looks at rest have told the
distance. Each further look narrows them; one that contradicts tells that records came after all, or that the
log's start had moved on.

A loss is told when N has stood for longer than it does in a mirror that moves, of a log's start that was read
before the copy was looked at, and where at least one record is lost for certain. A mirror that keeps up, with
offsets each minute and a log of seconds, loses nothing though its log starts behind its N all the time. Once
the mirror has passed the start, the copy lacks what was lost: the distance before less that since. So much as
was proved before and is by that is counted at once, and the rest of `least` when it settles. Where nothing is
proved of a mirror that stood, a suspicion is left: what may have been lost. Offset syncs tell the same to a
record or two (mirrors/retention/synced.py), and are taken before what looks tell.

Three kinds of mirrors and topics are told apart. Exactly-once delivery leaves markers in the copy, which so
tells nothing of what it lacks, but the offset is written with the records. Of a topic that is compacted,
nobody knows how much was there: one record at least is lost. And a mirror with `auto.offset.reset=latest`
goes on at the log's end, so it lacks more than was deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.answers.orders import EQUAL_OFFSETS
from lagmon.mirrors.left_out.transactions import record_bounds
from lagmon.mirrors.progress.beginnings import begins_early
from lagmon.mirrors.retention.synced import lost_since, most_at, run_before
from lagmon.mirrors.standing import longest_ms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.distance import Reach
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.sight import MirrorSight
    from lagmon.mirrors.standing import Standing
    from lagmon.syncs.runs import SyncRun

    Name = tuple[str, int]  # topic and partition

_ANY = 1 << 62
MOST_STARTS = 8  # of a log, while its copy is not looked at
SETTLES_MS = 90_000  # looks enough at a mirror that moves; longer where it writes its offsets less often


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Records of a partition that the source deleted before the mirror had copied them."""

    topic: str
    partition: int
    next_offset: int  # the first of those that are surely lost
    start: int  # where the log began then
    first_at_ms: int
    at_ms: int
    written: int = -1  # the next offset that the mirror had written, -1 for that of the first one
    within: int = 0  # how many before them may be lost too
    counted: int = 0  # how many records are in the total already
    gap: int = 0  # offsets from the one that was written on, at which nothing stood for it to copy
    empty: int = 0  # offsets among those that are surely lost, at most, that may have had no record

    @property
    def offsets(self) -> int:
        """Return how many offsets are surely lost."""
        return self.start - self.next_offset

    @property
    def records(self) -> int:
        """Return how many records at least."""
        return self.offsets - self.empty

    @property
    def most(self) -> int:
        """Return how many records at most."""
        return self.offsets + self.within

    @property
    def mirrored_to(self) -> int:
        """Return the next offset that the mirror had written."""
        return self.written if self.written >= 0 else self.next_offset

    @property
    def copied(self) -> int:
        """Return how many the copy had got at least, of what is behind the offset that was written."""
        return max(0, self.next_offset - self.within - self.gap - self.mirrored_to)

    @property
    def copied_most(self) -> int:
        """Return how many of those it had got at most."""
        return max(0, self.next_offset - self.gap - self.mirrored_to)


@dataclass(slots=True)
class Passing:
    """What bounds the number of records of one that is open."""

    next_offset: int  # that the mirror had written
    low: int  # the mirror stands at least here
    high: int = _ANY  # and at most here
    reach: Reach | None = None  # from its offset to its copy's end, before anything was lost
    first_start: int = -1  # of the log, the first that was past the mirror
    run: SyncRun | None = None  # of its offset syncs before that
    synced: tuple[int, int] | None = None  # how many are lost by the syncs, at least and at most
    copy_end: int = -1
    starts: list[tuple[int, int]] = field(default_factory=list)  # of the log, and when they were seen first
    start: int = -1  # of the log, read before the copy was looked at
    stood: bool = False  # whether the mirror stood, as far as that is proved
    told: Overtaken | None = None  # what was lost while it stood, as it was proved last
    passed_ms: int = -1  # when the mirror's offset was seen to be past it, -1 not yet
    passed_to: int = -1  # what the mirror had written then
    moved_to: int = -1  # where the log may have started when the mirror went on, -1 at `start`
    least: int = 0  # by what the copy lacks since
    most: int = _ANY
    looked_ms: int = -1

    def see_start(self, start: int, now_ms: int, looked_ms: int) -> None:
        """Take note where the log starts, and what of that the newest look at the copy came after."""
        if not self.starts or start > self.starts[-1][0]:
            del self.starts[MOST_STARTS - 1 :]
            self.starts.append((start, now_ms))
        before = [one for one in self.starts if one[1] <= looked_ms]
        if before:
            self.start = max(self.start, before[-1][0])
            self.starts = self.starts[len(before) - 1 :]

    def range(self) -> tuple[int, int]:
        """Return how many were lost at least and at most, by all that is known."""
        told = self.told
        most_told = max(self.start, self.moved_to) - self.low
        least, most = (0, max(0, most_told)) if told is None else (told.offsets, max(told.most, most_told))
        if self.most < least:  # records that were under way came after all
            most = max(0, self.most)
            return min(max(0, self.least), most), most
        if self.least > most:
            return least, most  # the copy lacks more than was deleted: that is not of this
        return max(least, self.least), min(most, self.most)

    def found(self, one: Overtaken, at_ms: int) -> Overtaken:
        """Return what was lost of one that the mirror has passed."""
        least, most = self.range()
        start = max(self.start, one.start)
        if self.moved_to >= 0:  # what the log begins with now may have been copied before
            stood_at = self.low if self.told is None else self.told.next_offset
            start = max(self.start, self.first_start, stood_at + least)
        first = start - least
        written = min(one.mirrored_to, first)
        return replace(one, next_offset=first, start=start, at_ms=at_ms, written=written, within=most - least)


def follow(
    flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing], stands: Standing
) -> NDArray[np.bool_]:
    """Keep what was deleted unread, and count it once the mirror has passed it.

    Return which slots stand before what was deleted, be anything lost or not, with more to copy.
    """
    if flow.read_to_ms < 0:  # by some of the offsets it would seem to stand where it has long gone on
        return np.zeros(len(sight.used), np.bool_)
    slots = np.flatnonzero((sight.deleted > 0) & sight.used).tolist()
    gone = {flow.windows.name(slot): slot for slot in slots}
    _settle_passed(flow, sight, gone, passing, stands)
    for name, slot in gone.items():
        offset, before = int(sight.known_to[slot]), flow.open_overtaken.get(name)
        first = int(sight.next_record[slot])
        start, bounds = first + int(sight.deleted[slot]), passing.get(name)
        if bounds is None or _moves(bounds, offset):
            bounds = passing[name] = _begin(offset, start, before)
        if bounds.passed_ms >= 0:
            continue  # it settles, and what the log has lost since is seen after that
        if before is None or (before.mirrored_to, before.start) != (offset, start):
            same = before is not None and (bounds.stood or before.mirrored_to == offset)
            first_at_ms = before.first_at_ms if before is not None and same else sight.now_ms
            counted = 0 if before is None else before.counted
            before = Overtaken(
                *name, start, start, first_at_ms, sight.now_ms, offset, start - first, counted, first - offset
            )
            flow.open_overtaken[name] = before
        known = _see_copy(flow, sight, slot, bounds, start, stands=bool(stands.copy[slot]))
        bounds.low = max(bounds.low, first)
        bounds.high = max(bounds.high, bounds.low)
        if not stands.offset[slot]:
            continue
        bounds.stood |= bool(stands.copy[slot])
        if not known:
            continue
        if name[0] in flow.settings.compacted and bounds.high < bounds.start:
            bounds.high = bounds.start - 1
        lost = bounds.start - bounds.high
        bounds.stood |= lost > 0
        if lost > 0:
            flow.open_overtaken[name] = bounds.told = replace(
                before,
                next_offset=bounds.high,
                start=bounds.start,
                at_ms=sight.now_ms,
                written=min(offset, bounds.low),
                within=bounds.high - bounds.low,
            )
    return stands.still & (sight.lag > 0)


def _begin(offset: int, start: int, before: Overtaken | None) -> Passing:
    """Begin with what is known of a loss, by an earlier process too, where the mirror has not moved since."""
    if before is None or before.mirrored_to != offset or not before.offsets:
        return Passing(offset, offset, first_start=start)
    low, high = before.next_offset - before.within, before.next_offset
    return Passing(offset, low, high, first_start=before.start, start=before.start, stood=True, told=before)


def _moves(bounds: Passing, offset: int) -> bool:
    """Tell whether the mirror writes on without having stood: what it lost or not is told from there."""
    return bounds.passed_ms < 0 and not bounds.stood and offset != bounds.next_offset


def _see_copy(
    flow: MirrorFlow, sight: MirrorSight, slot: int, bounds: Passing, start: int, *, stands: bool
) -> bool:
    """Bound where the mirror stands by the end of its copy; tell whether that is known."""
    place, offset = int(sight.target_places[slot]), int(sight.known_to[slot])
    if place < 0 or flow.order.lag_from == EQUAL_OFFSETS:
        # It has no copy, or its copy's end is the offset and goes past what is lost with it.
        looked_ms = sight.now_ms if place < 0 else int(flow.windows.committed_ms[slot])
        bounds.low, bounds.high = max(bounds.low, offset), max(bounds.low, offset)
        bounds.see_start(start, sight.now_ms, looked_ms)
        return True
    end = int(flow.target.heads.end[place])
    if bounds.copy_end not in (-1, end):
        if bounds.told is not None:
            return False  # it has gone on, and its next offset tells where
        bounds.low, bounds.high = offset, _ANY
    if end < 0:
        return False
    if offset == bounds.next_offset:  # a later look may be one at a copy that lacks what was lost
        if not bounds.stood or bounds.reach is None:
            bounds.reach = flow.distance.of(flow, slot) or bounds.reach
            bounds.run = run_before(flow, slot, bounds.first_start, bounds.reach) or bounds.run
        synced = None if bounds.run is None else most_at(flow, slot, bounds.run, end)
        for most in (flow.distance.most_at(flow, slot, end), synced):
            bounds.high = bounds.high if most is None else min(bounds.high, most)
    bounds.copy_end = end
    # Else it may have grown behind what was lost, or by the markers of the mirror's own transactions.
    if stands and bounds.reach is not None and not flow.order.flow.exactly_once:
        bounds.low = max(bounds.low, end - bounds.reach.high)
    bounds.high = max(bounds.high, bounds.low)
    bounds.see_start(start, sight.now_ms, int(flow.target.heads.sampled_ms[place]))
    flow.syncs.watch(*flow.windows.name(slot), start)
    return bounds.high < _ANY and bounds.start >= 0


def _settle_passed(
    flow: MirrorFlow,
    sight: MirrorSight,
    gone: dict[Name, int],
    passing: dict[Name, Passing],
    stands: Standing,
) -> None:
    """Count what the mirror has passed, also where the log's start has passed it again since."""
    for name, one in list(flow.open_overtaken.items()):
        slot, bounds = flow.windows.slot(*name), passing.get(name)
        again = name in gone
        if again and int(sight.known_to[gone[name]]) < one.start:
            if bounds is not None:
                bounds.passed_ms = -1  # it is not past it, or went back
            continue
        if slot is not None and not again and (slot >= len(sight.used) or not sight.used[slot]):
            continue  # its topic is left out for now
        stands_again = again and slot is not None and bool(stands.offset[slot])
        at_once = stands_again or (again and bounds is not None and not bounds.stood)
        _settle(flow, sight, name, passing, at_once=at_once)


def uncounted(flow: MirrorFlow, sight: MirrorSight, passing: dict[Name, Passing]) -> dict[Name, Overtaken]:
    """Return what a mirror that stands, or stood until its next offset, can not have copied.

    Of one that has just passed it, what the looks until now leave possible.
    """
    found: dict[Name, Overtaken] = {}
    for name, one in flow.open_overtaken.items():
        slot, bounds = flow.windows.slot(*name), passing.get(name)
        if slot is None or bounds is None or slot >= len(sight.used) or not sight.used[slot]:
            continue
        if bounds.passed_ms < 0 and bounds.told is not None:
            found[name] = with_gaps(flow, bounds.told)
        elif bounds.passed_ms >= 0 and bounds.stood:
            passed = bounds.found(one, sight.now_ms)
            if passed.offsets > 0:
                found[name] = with_gaps(flow, passed)
    return found


def with_gaps(flow: MirrorFlow, one: Overtaken) -> Overtaken:
    """Return the same with how many of its offsets may have had no record."""
    empty = one.offsets - _records(flow, one, one.offsets)
    return replace(one, empty=max(empty, min(one.empty, one.offsets)))


def _records(flow: MirrorFlow, one: Overtaken, offsets: int) -> int:
    """Return how many records there are at least at so many offsets that are lost."""
    return record_bounds(flow, one.topic, one.partition, offsets).least


def _settle(
    flow: MirrorFlow,
    sight: MirrorSight,
    name: Name,
    passing: dict[Name, Passing],
    *,
    at_once: bool,
) -> None:
    """Bound what was lost by the newest look, and count it as soon as the bounds meet, or `at_once`."""
    one, bounds, slot = flow.open_overtaken[name], passing.get(name), flow.windows.slot(*name)
    if bounds is None:  # what a process before this one proved of it
        lost = one if _stood(flow, sight, one, slot) else replace(one, next_offset=one.start)
    else:
        settled = True
        if slot is not None and slot < len(sight.places):
            settled = _look_at_passed(flow, sight, slot, bounds, one)
            one = flow.open_overtaken[name]  # of which more is counted, perhaps
        if not settled and bounds.stood and not at_once:
            return
        lost = bounds.found(one, sight.now_ms) if bounds.stood else replace(one, next_offset=one.start)
    del flow.open_overtaken[name]
    passing.pop(name, None)
    flow.syncs.unwatch(*name)
    if lost.offsets > 0 or (lost.most > 0 and bounds is not None and bounds.stood):  # or a suspicion
        if slot is not None:
            flow.distance.forget(slot)
        lost = with_gaps(flow, replace(lost, at_ms=sight.now_ms))
        flow.settled_overtaken.append(lost)
        flow.overtaken_total[one.topic] += max(0, lost.records - one.counted)


def _look_at_passed(flow: MirrorFlow, sight: MirrorSight, slot: int, bounds: Passing, one: Overtaken) -> bool:
    """Bound what was lost by what the copy lacks since, and count what is certain; tell if that is all."""
    if bounds.passed_ms < 0:
        bounds.passed_ms, bounds.passed_to = sight.now_ms, int(sight.known_to[slot])
    start = int(flow.source.heads.start[sight.places[slot]]) if sight.places[slot] >= 0 else -1
    if start > bounds.start:  # it had moved on when the mirror went on, or did so since
        bounds.moved_to = min(start, bounds.passed_to)
    if not begins_early(flow):
        bounds.moved_to = bounds.passed_to
    look, reach = flow.distance.newest(flow, slot), bounds.reach
    if reach is None or sight.target_places[slot] < 0:
        return True
    if flow.order.flow.exactly_once or one.topic in flow.settings.compacted:
        return True  # the copy's growth counts markers too, or does not count what was passed
    if look is not None and look.at_ms > bounds.looked_ms and look.least >= max(one.start, bounds.start):
        bounds.looked_ms = look.at_ms
        most = reach.most_at(look.end)  # where the mirror would be, had nothing been lost
        if most is not None:
            bounds.least = max(bounds.least, look.least - most)
        bounds.most = min(bounds.most, look.most - look.end + reach.high)
        bounds.synced = bounds.synced or lost_since(flow, slot, bounds.start, reach, look)
        bounds.least, bounds.most = bounds.synced or (bounds.least, bounds.most)
        certain = min(bounds.least, bounds.range()[0])
        if bounds.synced is None:  # looks since may yet contradict each other
            certain = min(certain, 0 if bounds.told is None else bounds.told.offsets)
        certain = _records(flow, one, max(0, certain))
        if bounds.stood and certain > one.counted:
            flow.overtaken_total[one.topic] += certain - one.counted
            flow.open_overtaken[one.topic, one.partition] = replace(one, counted=certain)
    least, most = bounds.range()
    within_ms = max(SETTLES_MS, 2 * sight.stopped_after_ms)
    return (least == most and bounds.most < _ANY) or sight.now_ms - bounds.passed_ms > within_ms


def _stood(flow: MirrorFlow, sight: MirrorSight, one: Overtaken, slot: int | None) -> bool:
    """Tell by its window whether a mirror stood before what it has passed while we were away."""
    if slot is None:
        return False
    rings, first = flow.windows.rings, flow.windows.rings.length - int(flow.windows.rings.filled[slot])
    behind = np.flatnonzero(rings.offset[slot, first:] > one.mirrored_to)
    if not len(behind) or not behind[0]:
        return False
    written_ms = rings.committed_ms[slot, first:]
    since_ms, place = int(written_ms[behind[0] - 1]), int(sight.places[slot])
    if place >= 0:  # before there was more to copy it did not stand
        passed_ms, _ = flow.source.heads.passed_ms(np.array([place], np.int32), np.array([one.mirrored_to]))
        since_ms = max(since_ms, int(passed_ms[0]))
    return bool(written_ms[behind[0]] - since_ms > longest_ms(sight))
