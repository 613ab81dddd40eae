"""Records that the source deleted before the mirror replicated them: their number, by partition. Pure.

By offsets these are N + 1 to the log start minus 1. But N is only as fresh as the worker's flush: records
replicated since are not lost. The target's end bounds the mirror's position (target_ends/distance.py), and so
the number: `least` to `most`. These meet if polls of an idle mirror have shown the distance. Each further
poll narrows them. A contradicting poll shows that records arrived after all, or that the log start had moved.

A loss is reported under these conditions:

- N has been idle for longer than in a mirror that moves.
- The log start was read before the poll of the target.
- At least one record is surely lost.

A mirror that keeps up, with an offset each minute and a log of seconds, loses nothing though its log always
starts after N. Once the mirror has passed the start, the target lacks the lost records: the distance before
minus the distance since. What was proved before and is confirmed by that counts at once, the rest of `least`
when it settles. If nothing is proved of a stalled mirror, a suspicion remains: what may have been lost.
Offset syncs show the same to a record or two (synced.py), and take precedence over polls.

Three kinds of mirrors and topics are special. Exactly-once delivery leaves markers in the target, so that it
does not show what it lacks; but the offset is written with the records. Of a compacted topic the number of
records is unknown: at least one is lost. A mirror with `auto.offset.reset=latest` continues at the log end,
so it lacks more than was deleted.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.detectors.retention import emptied as mirror_emptied
from lagmon.mirrors.detectors.retention.findings import findings_of
from lagmon.mirrors.detectors.retention.overtaken import ANY, LossBounds, Overtaken
from lagmon.mirrors.detectors.retention.synced import lost_since, most_at, run_before
from lagmon.mirrors.detectors.retention.unstored import UnstoredLosses
from lagmon.mirrors.partitions.stalls import find_stalls, longest_ms
from lagmon.mirrors.progress.first_offsets import starts_at_log_start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.partitions.stalls import Stalls
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

MOST_KEPT = 1000  # losses that are settled
SETTLES_MS = 90_000  # enough polls of a mirror that moves; longer if it writes its offsets less often


@dataclass(slots=True)
class RetentionLosses(Detector):
    """Finds records that the source deleted before the mirror replicated them, and counts them."""

    open: dict[Name, Overtaken] = field(default_factory=dict)  # not passed yet
    settled: deque[Overtaken] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    total: Counter[str] = field(default_factory=Counter)  # records, by topic
    unstored: UnstoredLosses = field(default_factory=UnstoredLosses)
    known: tuple[Overtaken, ...] = ()  # all, as of the newest poll
    uncounted: dict[Name, Overtaken] = field(default_factory=dict)  # those that may still change
    waiting: frozenset[int] = frozenset()  # slots before deleted records, lost or not, with more to replicate
    emptied: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))  # slots: emptied.py
    _bounds: dict[Name, LossBounds] = field(default_factory=dict)  # of those that are open

    def restore(self, flow: FlowView, open_ones: Iterable[Overtaken]) -> None:
        """Restore what an earlier process knew, once the offsets are read."""
        self.open = {(one.topic, one.partition): one for one in open_ones} | self.open
        flow.distance.note_losses(self.open)

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Keep what was deleted unread, and count it once the mirror has passed it."""
        stalls = find_stalls(flow, partitions)
        self.emptied = mirror_emptied.stalled_before_deleted(partitions, stalls)
        self.waiting = frozenset(np.flatnonzero(self._follow(flow, partitions, stalls)).tolist())
        for lost in self.unstored.settle(flow, partitions):
            self.settled.append(with_gaps(flow, lost))
            self.total[lost.topic] += self.settled[-1].records
        self.uncounted = self._uncounted(flow, partitions)
        settled = (with_gaps(flow, one) for one in self.settled)
        self.known = (*settled, *self.uncounted.values(), *self.unstored.known())
        flow.distance.note_losses(self.open)

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:
        """Return what was lost, for as long as it is shown."""
        return findings_of(flow, self.known, now_ms)

    def _follow(self, flow: FlowView, partitions: PartitionsSnapshot, stalls: Stalls) -> NDArray[np.bool_]:
        """Return which slots are before deleted offsets, lost or not, with more to replicate."""
        if flow.read_to_ms < 0:  # an incomplete backlog of offsets would show old stalls
            return np.zeros(len(partitions.used), np.bool_)
        slots = np.flatnonzero((partitions.deleted > 0) & partitions.used).tolist()
        gone = {flow.windows.name(slot): slot for slot in slots}
        self._settle_passed(flow, partitions, gone, stalls)
        for name, slot in gone.items():
            offset, before = int(partitions.known_to[slot]), self.open.get(name)
            first = int(partitions.next_record[slot])
            start, bounds = first + int(partitions.deleted[slot]), self._bounds.get(name)
            if bounds is None or _moves(bounds, offset):
                bounds = self._bounds[name] = _new_bounds(offset, start, before)
            if bounds.passed_ms >= 0:
                continue  # it settles first; later deletions of the log are found afterwards
            if before is None or (before.mirrored_to, before.start) != (offset, start):
                same = before is not None and (bounds.stalled or before.mirrored_to == offset)
                first_at_ms = before.first_at_ms if before is not None and same else partitions.now_ms
                counted = 0 if before is None else before.counted
                before = self.open[name] = Overtaken(
                    *name,
                    next_offset=start,
                    start=start,
                    first_at_ms=first_at_ms,
                    at_ms=partitions.now_ms,
                    written=offset,
                    within=start - first,
                    counted=counted,
                    gap=first - offset,
                )
            known = _bound_by_target(
                flow, partitions, slot, bounds, start, is_stalled=bool(stalls.target[slot])
            )
            bounds.low = max(bounds.low, first)
            bounds.high = max(bounds.high, bounds.low)
            if not stalls.offset[slot]:
                continue
            bounds.stalled |= bool(stalls.target[slot])
            if not known:
                continue
            if name[0] in flow.settings.compacted and bounds.high < bounds.start:
                bounds.high = bounds.start - 1
            lost = bounds.start - bounds.high
            bounds.stalled |= lost > 0
            if lost > 0:
                self.open[name] = bounds.proved = replace(
                    before,
                    next_offset=bounds.high,
                    start=bounds.start,
                    at_ms=partitions.now_ms,
                    written=min(offset, bounds.low),
                    within=bounds.high - bounds.low,
                )
        return stalls.mirror & (partitions.lag > 0)

    def _settle_passed(
        self, flow: FlowView, partitions: PartitionsSnapshot, gone: dict[Name, int], stalls: Stalls
    ) -> None:
        """Count what the mirror has passed, also if the log start has passed the mirror again since."""
        for name, one in list(self.open.items()):
            slot, bounds = flow.windows.slot(*name), self._bounds.get(name)
            again = name in gone
            if again and int(partitions.known_to[gone[name]]) < one.start:
                if bounds is not None:
                    bounds.passed_ms = -1  # it has not passed it, or went back
                continue
            if slot is not None and not again and (slot >= len(partitions.used) or not partitions.used[slot]):
                continue  # its topic is not in the flow for now
            stalls_again = again and slot is not None and bool(stalls.offset[slot])
            at_once = stalls_again or (again and bounds is not None and not bounds.stalled)
            self._settle(flow, partitions, name, at_once=at_once)

    def _uncounted(self, flow: FlowView, partitions: PartitionsSnapshot) -> dict[Name, Overtaken]:
        """Return what a mirror that is stalled, or was until its next offset, cannot have replicated.

        For a mirror that has just passed it, what the polls until now leave possible.
        """
        found: dict[Name, Overtaken] = {}
        for name, one in self.open.items():
            slot, bounds = flow.windows.slot(*name), self._bounds.get(name)
            if slot is None or bounds is None or slot >= len(partitions.used) or not partitions.used[slot]:
                continue
            if bounds.passed_ms < 0 and bounds.proved is not None:
                found[name] = with_gaps(flow, bounds.proved)
            elif bounds.passed_ms >= 0 and bounds.stalled:
                passed = bounds.found(one, partitions.now_ms)
                if passed.offsets > 0:
                    found[name] = with_gaps(flow, passed)
        return found

    def _settle(self, flow: FlowView, partitions: PartitionsSnapshot, name: Name, *, at_once: bool) -> None:
        """Bound the loss by the newest poll; count it when the bounds meet, or `at_once`."""
        one, bounds, slot = self.open[name], self._bounds.get(name), flow.windows.slot(*name)
        if bounds is None:  # an earlier process proved it
            lost = one if _was_stalled(flow, partitions, one, slot) else replace(one, next_offset=one.start)
        else:
            settled = True
            if slot is not None and slot < len(partitions.places):
                settled = self._bound_passed(flow, partitions, slot, bounds, one)
                one = self.open[name]  # its count may have changed
            if not settled and bounds.stalled and not at_once:
                return
            lost = (
                bounds.found(one, partitions.now_ms)
                if bounds.stalled
                else replace(one, next_offset=one.start)
            )
        del self.open[name]
        self._bounds.pop(name, None)
        flow.syncs.unwatch(*name)
        if lost.offsets > 0 or (lost.most > 0 and bounds is not None and bounds.stalled):  # or a suspicion
            if slot is not None:
                flow.distance.forget(slot)
            lost = with_gaps(flow, replace(lost, at_ms=partitions.now_ms))
            self.settled.append(lost)
            self.total[one.topic] += max(0, lost.records - one.counted)

    def _bound_passed(
        self, flow: FlowView, partitions: PartitionsSnapshot, slot: int, bounds: LossBounds, one: Overtaken
    ) -> bool:
        """Bound the loss by what the target lacks since, and count what is sure; true if all is."""
        if bounds.passed_ms < 0:
            bounds.passed_ms, bounds.passed_to = partitions.now_ms, int(partitions.known_to[slot])
        start = int(flow.source.heads.start[partitions.places[slot]]) if partitions.places[slot] >= 0 else -1
        if start > bounds.start:  # it had moved when the mirror continued, or since
            bounds.moved_to = min(start, bounds.passed_to)
        if not starts_at_log_start(flow):
            bounds.moved_to = bounds.passed_to
        poll, span = flow.distance.newest(flow, slot), bounds.span
        if span is None or partitions.target_places[slot] < 0:
            return True
        if flow.order.flow.exactly_once or one.topic in flow.settings.compacted:
            return True  # the target's growth includes markers, or lacks what was passed
        if poll is not None and poll.at_ms > bounds.polled_ms and poll.least >= max(one.start, bounds.start):
            bounds.polled_ms = poll.at_ms
            most = span.most_at(poll.end)  # where the mirror would be without a loss
            if most is not None:
                bounds.least = max(bounds.least, poll.least - most)
            bounds.most = min(bounds.most, poll.most - poll.end + span.high)
            bounds.synced = bounds.synced or lost_since(flow, slot, bounds.start, span, poll)
            bounds.least, bounds.most = bounds.synced or (bounds.least, bounds.most)
            certain = min(bounds.least, bounds.range()[0])
            if bounds.synced is None:  # later polls may still contradict
                certain = min(certain, 0 if bounds.proved is None else bounds.proved.offsets)
            certain = flow.record_bounds(one.topic, one.partition, max(0, certain)).least
            if bounds.stalled and certain > one.counted:
                self.total[one.topic] += certain - one.counted
                self.open[one.topic, one.partition] = replace(one, counted=certain)
        least, most = bounds.range()
        within_ms = max(SETTLES_MS, 2 * partitions.stopped_after_ms)
        return (least == most and bounds.most < ANY) or partitions.now_ms - bounds.passed_ms > within_ms


def with_gaps(flow: FlowView, one: Overtaken) -> Overtaken:
    """Return the same with how many of its offsets may have had no record."""
    empty = one.offsets - flow.record_bounds(one.topic, one.partition, one.offsets).least
    return replace(one, empty=max(empty, min(one.empty, one.offsets)))


def _new_bounds(offset: int, start: int, before: Overtaken | None) -> LossBounds:
    """Start with what is known of a loss, by an earlier process too, if the mirror has not moved since."""
    if before is None or before.mirrored_to != offset or not before.offsets:
        return LossBounds(offset, offset, first_start=start)
    low, high = before.next_offset - before.within, before.next_offset
    return LossBounds(
        offset, low, high, first_start=before.start, start=before.start, stalled=True, proved=before
    )


def _moves(bounds: LossBounds, offset: int) -> bool:
    """Return whether the mirror writes offsets without a stall: then bounds start again from there."""
    return bounds.passed_ms < 0 and not bounds.stalled and offset != bounds.next_offset


def _bound_by_target(
    flow: FlowView,
    partitions: PartitionsSnapshot,
    slot: int,
    bounds: LossBounds,
    start: int,
    *,
    is_stalled: bool,
) -> bool:
    """Bound the mirror's position by the target's end; return whether it is known."""
    place, offset = int(partitions.target_places[slot]), int(partitions.known_to[slot])
    if place < 0 or not flow.order.progress.commits:
        # It has no target, or the target's end is the offset and passes the lost records with it.
        polled_ms = partitions.now_ms if place < 0 else int(flow.windows.committed_ms[slot])
        bounds.low, bounds.high = max(bounds.low, offset), max(bounds.low, offset)
        bounds.see_start(start, partitions.now_ms, polled_ms)
        return True
    end = int(flow.target.heads.end[place])
    if bounds.target_end not in (-1, end):
        if bounds.proved is not None:
            return False  # it has moved, and its next offset shows where
        bounds.low, bounds.high = offset, ANY
    if end < 0:
        return False
    if offset == bounds.next_offset:  # a later poll may be of a target that lacks the lost records
        if not bounds.stalled or bounds.span is None:
            bounds.span = flow.distance.of(flow, slot) or bounds.span
            bounds.run = run_before(flow, slot, bounds.first_start, bounds.span) or bounds.run
        synced = None if bounds.run is None else most_at(flow, slot, bounds.run, end)
        for most in (flow.distance.most_at(flow, slot, end), synced):
            bounds.high = bounds.high if most is None else min(bounds.high, most)
    bounds.target_end = end
    # Else the growth may be later than the loss, or markers of the mirror's own transactions.
    if is_stalled and bounds.span is not None and not flow.order.flow.exactly_once:
        bounds.low = max(bounds.low, end - bounds.span.high)
    bounds.high = max(bounds.high, bounds.low)
    bounds.see_start(start, partitions.now_ms, int(flow.target.heads.sampled_ms[place]))
    flow.syncs.watch(*flow.windows.name(slot), start)
    return bounds.high < ANY and bounds.start >= 0


def _was_stalled(flow: FlowView, partitions: PartitionsSnapshot, one: Overtaken, slot: int | None) -> bool:
    """Return by its window whether a mirror was stalled before what it passed while Mirrorwatch was down."""
    if slot is None:
        return False
    rings, first = flow.windows.rings, flow.windows.rings.length - int(flow.windows.rings.filled[slot])
    later = np.flatnonzero(rings.offset[slot, first:] > one.mirrored_to)
    if not len(later) or not later[0]:
        return False
    written_ms = rings.committed_ms[slot, first:]
    since_ms, place = int(written_ms[later[0] - 1]), int(partitions.places[slot])
    if place >= 0:  # it was not stalled before there was more to replicate
        passed_ms, _ = flow.source.heads.passed_ms(np.array([place], np.int32), np.array([one.mirrored_to]))
        since_ms = max(since_ms, int(passed_ms[0]))
    return bool(written_ms[later[0]] - since_ms > longest_ms(partitions))
