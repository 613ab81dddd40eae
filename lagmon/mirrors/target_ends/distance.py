"""Bounds of the distance from a mirror's offsets to its target ends, from each poll of a target end. Pure.

While each record is replicated once, a target's end is the mirror's offset at that instant plus a constant,
the *distance*. At a poll of the target's end, the mirror's offset was at least the newest one written before.
It was at most the next one written, or the source's log end afterwards. So each poll bounds the distance from
both sides. All polls together narrow it, to one number as soon as the mirror has once read everything. If a
poll contradicts the earlier ones (records were left out, or the target was re-created), the bounds start
again with that poll.

Transaction markers make the distance fall as offsets grow. So:

- The upper bound holds for all later polls. The lower bound holds only when it was measured.
- The growth of the target since a poll is known. It bounds how far the mirror is, with as many markers as may
  lie among the records since. Each marker ends at least one record that is replicated, unless aborted records
  are not replicated or compaction removes them.
- Usually there are far fewer markers. The rate of markers between an old poll and one of the last ones is
  known: the target grew by a known number, and the mirror by what both polls leave room for.
- If the distance has not fallen lately, its bounds show the same, from where the upper one was first measured
  to where the lower one was last measured.
- Chance is allowed for: an expected number plus twice its square root.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.progress.first_offsets import starts_at_log_start

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    Name = tuple[str, int]  # topic and partition

EVERY_MS = 4_000  # ends are read each ten seconds
KEPT = 4  # polls: markers that have become more frequent show in later ones
ANCHOR_MS = 600_000
LEAST_RECORDS = 50  # between the polls that gave the bounds
_ARRAYS = (
    "_known",
    "_fell",
    "_gapped",
    "_low",
    "_high",
    "_set_at",
    "_seen",
    "_polls",
    "_anchors",
    "_end",
    "_polled_ms",
    "_read_ms",
    "_before",
)
_FAR = np.iinfo(np.int64).max
WRITING_MS = 2_000  # an offset written so soon after a poll may have been decided before it
READING_MS = 2_000  # ends are read within this time of a poll's start, if the end of the poll is unknown


@dataclass(frozen=True, slots=True)
class PastPoll:
    """How far the mirror was at most at a poll, and how many markers may follow."""

    most: int
    end: int  # of its target
    gaps: int = 0  # at most ...
    records: int = 0  # ... among so many records; 0: unknown
    replicates_all: bool = False  # whether each gap is a marker that ends a replicated record

    def most_at(self, end: int) -> int | None:
        """Return the largest offset that the mirror can be at when its target ends there; None if unknown."""
        growth = end - self.end
        if growth <= 0:
            return None if growth else self.most
        found = [growth + 1] if self.replicates_all else []
        if self.records:
            gaps = self.gaps * growth / self.records
            # The lengths of transactions vary: of few markers there may be half as many more.
            found.append(math.ceil(gaps + 2 * math.sqrt(gaps)))
        return self.most + growth + min(found) if found else None


@dataclass(frozen=True, slots=True)
class DistanceRange:
    """The bounds of a distance, in records, and polls that show how far the mirror is at most."""

    low: int
    high: int
    polls: tuple[PastPoll, ...] = ()

    def most_at(self, end: int) -> int | None:
        """Return the largest offset that the mirror can be at when its target ends there; None if unknown."""
        found = [one.most_at(end) for one in self.polls]
        return min((most for most in found if most is not None), default=None)


@dataclass(frozen=True, slots=True)
class EndPoll:
    """A poll of a target's end, and between which offsets the mirror was then."""

    least: int
    most: int
    end: int
    at_ms: int


def replicates_all(flow: FlowFacts, slot: int) -> bool:
    """Return whether each gap of a partition is a marker that ends a replicated record."""
    return not flow.committed_only and flow.windows.name(slot)[0] not in flow.settings.compacted


class DistanceBounds:
    """The bounds of each slot of a flow, in records: `target end - next offset` lies between them."""

    def __init__(self) -> None:
        self._known, self._fell, self._gapped = (np.zeros(0, np.bool_) for _ in range(3))
        self._losing: Flags = np.zeros(0, np.bool_)  # slots whose targets lack what the source deleted
        self._low, self._high = (np.zeros(0, np.int64) for _ in range(2))
        self._set_at = np.zeros(
            (2, 0), np.int64
        )  # the target's ends where the upper and the lower bound were set
        self._seen = np.zeros((4, 0), np.int64)  # the newest poll that was used, as EndPoll has it
        self._polls = np.zeros((2, KEPT, 0), np.int64)  # of polls with other ends: `most` and the end
        # Old polls: an upper bound of the distance, the target's end and the time; the newer one is last.
        self._anchors = np.zeros((3, 2, 0), np.int64)
        self._end = np.zeros(0, np.int64)  # of the target, at a poll that is not used yet
        self._polled_ms = np.zeros(0, np.int64)  # when that was, or the last used poll
        self._read_ms = np.zeros(0, np.int64)  # when its ends had been read
        self._before = np.zeros(
            (3, 0), np.int64
        )  # bounds before the target last outgrew the offsets, and when
        self._turns = np.zeros(0, np.int32)  # of the windows' slots
        self._open_losses: Collection[Name] = ()
        self._noted_ms = -EVERY_MS

    def note_losses(self, names: Collection[Name]) -> None:
        """Take in the partitions of which the source deleted records that are not replicated yet."""
        self._open_losses = names

    def of(self, flow: FlowFacts, slot: int) -> DistanceRange | None:
        """Return the bounds of a slot, None if no poll has shown any yet."""
        if not self._is_followed(flow, slot) or not self._known[slot]:
            return None
        low, high = int(self._low[slot]), int(self._high[slot])
        last = [(most, end) for most, end in self._polls[:, :, slot].T.tolist() if end >= 0]
        spans = [
            # Zero markers in so many records: there may be one in as many more.
            (max(0, above - (end - most)) + 1, end - since)
            for above, since, _ in self._anchors[:, :, slot].T.tolist()
            for most, end in last
            if 0 <= since < end
        ]
        gaps, records = min(spans, key=lambda one: one[0] / one[1], default=(0, 0))
        replicates = replicates_all(flow, slot)
        polls = [PastPoll(most, end, gaps, records, replicates) for most, end in last]
        since, until = self._set_at[:, slot].tolist()
        if until - since >= LEAST_RECORDS and not self._fell[slot]:
            polls.append(PastPoll(until - low, until, high - low, until - since))
        return DistanceRange(low, high, tuple(polls))

    def before(self, flow: FlowFacts, slot: int, since_ms: int) -> tuple[int, int] | None:
        """Return the bounds before a target outgrew the offsets since then; else the present ones."""
        if not self._is_followed(flow, slot) or not self._known[slot]:
            return None
        low, high, at_ms = self._before[:, slot].tolist()
        return (low, high) if at_ms >= since_ms >= 0 else (int(self._low[slot]), int(self._high[slot]))

    def _is_followed(self, flow: FlowFacts, slot: int) -> bool:
        """Return whether the data of a slot belongs to the partition that has it now."""
        return slot < len(self._turns) and self._turns[slot] == flow.windows.turns[slot]

    def has_gaps(self, flow: FlowFacts, slot: int) -> bool:
        """Return whether a slot's target lacks offsets, as by markers, that were not deleted unread.

        Its distance fell while nothing was deleted, or it lacked more than all that the source ever deleted.
        """
        return self._is_followed(flow, slot) and bool(self._gapped[slot])

    def newest(self, flow: FlowFacts, slot: int) -> EndPoll | None:
        """Return the newest poll of a slot's target that was used, None if there is none."""
        if not self._is_followed(flow, slot) or self._seen[3, slot] < 0:
            return None
        return EndPoll(*self._seen[:, slot].tolist())

    def most_at(self, flow: FlowFacts, slot: int, end: int) -> int | None:
        """Return the largest offset that the mirror can be at when its target ends there; None if unknown."""
        span = self.of(flow, slot)
        followed = self._is_followed(flow, slot)
        if span is None and followed and int(self._polls[1, -1, slot]) == end >= 0:
            return int(self._polls[0, -1, slot])
        return None if span is None else span.most_at(end)

    def forget(self, slot: int) -> None:
        """Start again with a slot's next poll: its target lacks records from here on."""
        if slot < len(self._known):
            self._known[slot] = False

    def note(self, flow: FlowFacts, partitions: PartitionsSnapshot) -> None:
        """Take in the polls since the last time; for new slots, all polls that are kept.

        Not before the offsets are read: an incomplete list of offsets would give wrong bounds.
        """
        if 0 <= partitions.now_ms - self._noted_ms < EVERY_MS:
            return
        self._noted_ms = partitions.now_ms
        if flow.read_to_ms < 0:
            return
        there = (
            partitions.used
            & (partitions.places >= 0)
            & (partitions.target_places >= 0)
            & (partitions.tail == 0)
        )
        is_new = self._follow_slots(flow, len(partitions.used))
        self._losing = partitions.deleted > 0
        open_slots = (flow.windows.slot(*name) for name in self._open_losses)
        self._losing[[one for one in open_slots if one is not None and one < len(self._losing)]] = True
        self._bound_by_past(flow, partitions, np.flatnonzero(there & is_new))
        self._use(flow, partitions, np.flatnonzero(there & (self._end >= 0)))
        self._take(flow, partitions, np.flatnonzero(there))

    def _follow_slots(self, flow: FlowFacts, count: int) -> Flags:
        """Forget slots that were assigned since, to whatever partition; return which."""
        turns = flow.windows.turns[:count]
        if np.array_equal(turns, self._turns):
            return np.zeros(count, np.bool_)
        more = count - len(self._turns)
        is_new: Flags = turns != np.concatenate((self._turns, np.zeros(more, np.int32)))
        self._turns = turns.copy()
        for array in _ARRAYS:
            kept = getattr(self, array)
            grown = np.concatenate((kept, np.zeros((*kept.shape[:-1], more), kept.dtype)), axis=-1)
            grown[..., is_new] = 0 if kept.dtype == np.bool_ else -1
            setattr(self, array, grown)
        return is_new

    def _bound_by_past(
        self, flow: FlowFacts, partitions: PartitionsSnapshot, slots: NDArray[np.intp]
    ) -> None:
        """Bound by the earlier polls that are kept, oldest first."""
        if not len(slots):
            return
        source = flow.source.heads.state(partitions.places[slots])
        target = flow.target.heads.state(partitions.target_places[slots])
        row = np.arange(len(slots))
        starts = flow.source.heads.start[partitions.places[slots]]
        source_ends, source_ms = source.ends, source.times + np.int64(source.origin_ms)
        for ends, times in zip(target.ends, target.times, strict=True):
            polled_ms = times + np.int64(target.origin_ms)
            read_ms = polled_ms + READING_MS
            later = (source_ends >= 0) & (source_ms >= read_ms)
            ended = np.where(later.any(axis=0), source_ends[later.argmax(axis=0), row], -1)
            at = ends >= 0
            self._bound(flow, slots[at], ends[at], (polled_ms[at], read_ms[at]), (starts[at], ended[at]))

    def _use(self, flow: FlowFacts, partitions: PartitionsSnapshot, slots: NDArray[np.intp]) -> None:
        """Bound by a poll that was followed by a poll of the source, or by a written offset."""
        source, places = flow.source.heads, partitions.places[slots]
        polled_ms, read_ms = self._polled_ms[slots], self._read_ms[slots]
        later = source.sampled_ms[places] >= read_ms
        logs = np.where(later, source.start[places], -1), np.where(later, source.end[places], -1)
        used = self._bound(flow, slots, self._end[slots], (polled_ms, read_ms), logs)
        self._end[used] = -1

    def _bound(
        self,
        flow: FlowFacts,
        slots: NDArray[np.intp],
        ends: Longs,
        times_ms: tuple[Longs, Longs],
        source_logs: tuple[Longs, Longs],
    ) -> NDArray[np.intp]:
        """Bound by polls of the targets' ends; return the slots for which that was possible.

        `times_ms` are when the polls began and when the ends had been read. `source_logs` are the source's
        log starts, and its log ends at some later poll; -1 if unknown.
        """
        offsets, times = flow.windows.rings.offset[slots], flow.windows.rings.committed_ms[slots]
        known, (polled_ms, read_ms) = (times >= 0) & (offsets >= 0), times_ms
        starts, source_ends = source_logs
        written = np.where(known & (times > read_ms[:, None] + WRITING_MS), offsets, _FAR)
        most = np.minimum(written.min(axis=1, initial=_FAR), np.where(source_ends >= 0, source_ends, _FAR))
        least = np.where(known & (times < polled_ms[:, None]), offsets, -1).max(axis=1, initial=-1)
        use = (most < _FAR) & (least >= 0) & (most >= least)
        slots, ends, least, most = (one[use] for one in (slots, ends, least, most))
        polled_ms, starts = polled_ms[use], starts[use]
        low, high = ends - most, ends - least
        rose = ~self._known[slots] | (low > self._high[slots])
        fell = ~rose & (high < self._low[slots])
        more = slots[rose & self._known[slots]]
        self._before[:, more] = self._low[more], self._high[more], polled_ms[rose & self._known[slots]]
        self._gapped[slots] |= fell & ~self._losing[slots] & (ends >= self._seen[2, slots])
        if starts_at_log_start(flow):  # what was deleted unread is before the log's start
            self._gapped[slots] |= (starts >= 0) & (ends < least - starts)
        self._anchor(slots, np.stack((high, ends, polled_ms)), high - low, rose, fell)
        self._keep(slots, most, ends, rose, fell)
        fits = ~(rose | fell)
        # For equal bounds, keep the first poll of the upper one and the last of the lower one.
        self._set_at[0, slots] = np.where(fits & (self._high[slots] <= high), self._set_at[0, slots], ends)
        self._set_at[1, slots] = np.where(fits & (self._low[slots] > low), self._set_at[1, slots], ends)
        self._low[slots] = np.where(fits, np.maximum(self._low[slots], low), low)
        self._high[slots] = np.where(fits, np.minimum(self._high[slots], high), high)
        self._seen[:, slots] = least, most, ends, polled_ms
        self._known[slots] = True
        return slots

    def _anchor(self, slots: NDArray[np.intp], poll: Longs, width: Longs, rose: Flags, fell: Flags) -> None:
        """Keep two old polls from which markers can be counted."""
        before, (high, ends, at_ms) = self._anchors[:, 1, slots], poll
        self._anchors[:, :, slots[rose]] = -1
        # A fall is of markers, which the anchor before covers, or of records that were left out, which are
        # past.
        is_due = ~rose & (ends > before[1]) & (at_ms - before[2] >= ANCHOR_MS)
        self._fell[slots] = fell | (self._fell[slots] & ~rose & ~is_due)
        moves = fell | is_due
        self._anchors[:, 0, slots[moves]] = before[:, moves]
        # A poll with less than half the range soon shows more, though over fewer records.
        puts = rose | moves | (before[0] - high >= np.maximum(width, 1))
        self._anchors[:, 1, slots[puts]] = poll[:, puts]

    def _keep(self, slots: NDArray[np.intp], most: Longs, ends: Longs, rose: Flags, fell: Flags) -> None:
        """Keep the last polls; of those with the same end, the tightest bound."""
        was_most, was_end = self._polls[:, -1, slots]
        same = (was_end == ends) & ~fell & ~(rose & self._known[slots])
        self._polls[:, :, slots[(rose | fell) & ~same]] = -1
        self._polls[:, :-1, slots[rose & same]] = -1
        self._polls[0, -1, slots[same]] = np.minimum(was_most, most)[same]
        others = slots[~same]
        self._polls[:, :-1, others] = self._polls[:, 1:, others]
        self._polls[:, -1, others] = most[~same], ends[~same]

    def _take(self, flow: FlowFacts, partitions: PartitionsSnapshot, slots: NDArray[np.intp]) -> None:
        """Keep the newest poll of each target's end until it can be used."""
        heads, places = flow.target.heads, partitions.target_places[slots]
        new = (heads.sampled_ms[places] > self._polled_ms[slots]) & (heads.end[places] >= 0)
        self._end[slots[new]] = heads.end[places[new]]
        polled_ms = heads.sampled_ms[places[new]]
        read_ms = np.int64(flow.target.ends_read_ms)
        self._polled_ms[slots[new]] = polled_ms
        self._read_ms[slots[new]] = np.where(read_ms >= polled_ms, read_ms, polled_ms + READING_MS)
