"""Lag, time lag and status of each partition with an offset, at an instant. Pure.

The windows and the rules are those of groups. These points differ:

- A mirror's position is known only when its worker writes offsets, once a minute by default: the *cadence*,
  measured over the flow's own partitions. Lag is the log end when the offset was written, minus the offset.
  It is compared with the present end only if the mirror has been idle for longer than twice the cadence plus
  a poll of the log end. Nothing counts as stopped before that.
- One offset is enough: the pace is the flow's, and the writer of the offset was running at that time. It is
  not enough if an offset is no sign of life (a poll of the target, an answer about a group), or if only a
  single group's pace is known.
- A tail without a record (transaction markers, aborted records, compacted offsets) is no lag, once the log
  was read there (partitions/tails.py). Other partitions prove nothing about it. If it could not be read, it
  is unknown whether the partition is behind.
- If an offset is idle while the target's end advances, the mirror does not commit offsets. That is no stall.
  The target may grow from elsewhere: from another flow, from producers, or from other partitions of a mirror
  that is not MirrorMaker 2. So its growth counts only if the waiting records explain it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.window import Positions, Windows
from lagmon.groups.rules.words import Reason
from lagmon.groups.sweep import Sweep, sweep
from lagmon.logs.time_lag import NO_ANSWER_S, LagKind, lag_s, written
from lagmon.mirrors.partitions.window import observed_cadence_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from lagmon.logs.heads import Heads
    from lagmon.mirrors.partitions.window import MirrorWindows

    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Flags = NDArray[np.bool_]
    Slots = NDArray[np.intp]

POLL_MS = 12_000  # between two polls of a log end, at most
STALE_MS = 60_000  # what was read longer ago is unknown
LEAST_MS = 30_000  # what is idle for less never counts as stopped
GROWS_MS = 20_000  # lags grow for at least this long: a full window of offsets each 3 s spans 27 s
STOPPED = (Reason.STOPPED, Reason.STOPPED_EMPTY, Reason.STALLED)
_NEEDS_READING = (*STOPPED, Reason.HISTORY_SHORT)  # only with a record to replicate


@dataclass(frozen=True, slots=True)
class PartitionsSnapshot:
    """Every slot of a flow at one instant; rows are slots, and `used` marks the valid ones."""

    now_ms: int
    used: Flags
    rows: Sweep
    lag: Longs  # records; -1: unknown
    tail: Longs  # records of an idle tail
    lag_s: NDArray[np.float64]
    lag_kind: NDArray[np.uint8]
    places: Int32s  # on the source, -1 where it has none
    target_places: Int32s
    not_committing: Flags  # idle while the target's end advances
    known_to: Longs  # the next offset, or the end of the idle tail after it
    next_record: Longs  # where its next record may be: the same, or the end of a gap that was read
    deleted: Longs  # records from there on that the source has deleted, unread
    behind_since_ms: Longs  # when the newest offset was first written, or the first record after it
    cadence_ms: int
    stopped_after_ms: int


@dataclass(frozen=True, slots=True)
class Sides:
    """Places of a flow's slots on both sides, and the logs there."""

    source: Heads
    target: Heads
    places: Int32s
    target_places: Int32s
    recreated_ms: Longs  # when the source topic was found re-created; -1: never
    readable_from: Longs | None = None  # the first offset that may have a record (tails.py); -1: unknown
    unread: Flags | None = None  # whether it is unknown if there is one at all
    fed: Callable[[Slots], Flags] | None = None  # whether another flow writes the target topics of slots
    # The slots of each topic, and all places of its target topic.
    topics: Callable[[], Iterable[tuple[Slots, Int32s]]] | None = None


@dataclass(frozen=True, slots=True)
class MirrorPace:
    """How one mirror reads and writes offsets.

    `configured_ms` is how often its worker is configured to write offsets; it holds while too few are seen.
    `read_to_ms` is up to when they are read; -1: not yet. `committed_only` is whether it skips open
    transactions. `tails` is whether its offsets stop before an idle tail. `is_connect` is whether a Connect
    worker writes the offsets, at times of its own. `commits` is whether offsets are
    written apart from the records, so that one may continue without the other. `least_ms` is for how long
    nothing counts as stopped or unknown, because Mirrorwatch polls no more often. `floor_ms` is how often a
    worker of these settings writes offsets at most; 0 if unknown. A worker that crashes again and again
    writes them at each exit, but only while that continues.
    """

    configured_ms: int
    read_to_ms: int
    committed_only: bool
    tails: bool = True
    is_connect: bool = True
    commits: bool = True
    least_ms: int = 0
    floor_ms: int = 0


def take_snapshot(
    windows: MirrorWindows, sides: Sides, pace: MirrorPace, *, now_ms: int
) -> PartitionsSnapshot:
    """Judge every slot.

    Updates `windows` with lags at the times of offsets, and with tails.
    """
    return _Instant.of(windows, sides, pace, now_ms).snapshot(pace)


@dataclass(frozen=True, slots=True)
class _Instant:
    """What several steps need of one flow at one instant."""

    windows: MirrorWindows
    sides: Sides
    now_ms: int
    count: int
    used: Flags
    at: Int32s  # places on the source; 0 for slots that are not used
    head: Longs  # up to where the mirror can read
    gap_end: Longs  # where a gap after its newest offset ends; -1: no known gap
    unread: Flags  # whether the log after its newest offset must be read first
    cadence_ms: int

    @classmethod
    def of(cls, windows: MirrorWindows, sides: Sides, pace: MirrorPace, now_ms: int) -> _Instant:
        count = len(windows)
        at = np.where(sides.places >= 0, sides.places, 0)
        end, stable = _of(sides.source.end, at), _of(sides.source.stable, at)
        return cls(
            windows,
            sides,
            now_ms,
            count,
            (sides.places >= 0) & (windows.next_offset[:count] >= 0),
            at,
            np.where(pace.committed_only & (stable >= 0), np.minimum(stable, end), end),
            sides.readable_from
            if sides.readable_from is not None and pace.tails
            else np.full(count, -1, np.int64),
            sides.unread if sides.unread is not None and pace.tails else np.zeros(count, np.bool_),
            observed_cadence_ms(windows, pace.configured_ms, pace.floor_ms),
        )

    def snapshot(self, pace: MirrorPace) -> PartitionsSnapshot:
        windows, sides, count, used = self.windows, self.sides, self.count, self.used
        stopped_ms = max(LEAST_MS, pace.least_ms, 2 * self.cadence_ms + 2 * POLL_MS)
        self._measure()
        if pace.tails:
            self._settle_tails()
        known_to = np.maximum(windows.next_offset[:count], windows.rest[:count])
        next_record = np.maximum(known_to, self.gap_end)
        start = np.where(used, _of(sides.source.start, self.at), -1)
        passed = self._passed()
        behind_since_ms = self._behind_since(passed)
        rows = self._judge(pace, stopped_ms, passed, behind_since_ms)
        if pace.is_connect:
            self._mark_rewound(rows)
        if pace.tails:
            rows.reason[self.unread & self.used & np.isin(rows.reason, _NEEDS_READING)] = Reason.UNREAD
        lag, seconds, kinds = self._lags(rows)
        kinds[(rows.reason == Reason.UNREAD) & (kinds == LagKind.EXACT)] = LagKind.ESTIMATE
        # Records that were not replicated when offsets were written are normal, and the log end at that time
        # is known only from two polls.
        keeps_up = (rows.reason == Reason.GROWING) & (seconds * 1000 <= POLL_MS)
        rows.reason[keeps_up] = Reason.MOVING
        return PartitionsSnapshot(
            now_ms=self.now_ms,
            used=used,
            rows=rows,
            lag=np.where(used, lag, -1),
            tail=np.where(used, known_to - windows.next_offset[:count], 0),
            lag_s=np.where(used, seconds, -1.0),
            lag_kind=kinds,
            places=sides.places,
            target_places=sides.target_places,
            not_committing=self._not_committing(rows, by_topic=not pace.is_connect) & used & pace.commits,
            known_to=known_to,
            next_record=next_record,
            deleted=np.where(used & (start >= 0), np.maximum(start - next_record, 0), 0),
            behind_since_ms=behind_since_ms,
            cadence_ms=self.cadence_ms,
            stopped_after_ms=stopped_ms,
        )

    def _passed(self) -> tuple[Longs, Flags]:
        """Return when each log passed the next record, as `Heads.passed_ms` does; -1 if unknown.

        A source that was never listed has no place at all, not even a placeholder.
        """
        passed_ms, exact = np.full(self.count, -1, np.int64), np.zeros(self.count, np.bool_)
        rows = np.flatnonzero(self.used)
        passed_ms[rows], exact[rows] = self.sides.source.passed_ms(self.at[rows], self._next_record()[rows])
        return passed_ms, exact

    def _next_record(self) -> Longs:
        """Return where the next record may be after each newest offset, which an idle tail raises."""
        newest: Longs = self.windows.rings.offset[: self.count, -1]
        return np.maximum(newest, self.gap_end)

    def _measure(self) -> None:
        """Fill in the lags of commits that polls of the log end have passed by now."""
        rings = self.windows.rings
        for column in range(rings.length):
            lag, times = rings.lag[: self.count, column], rings.committed_ms[: self.count, column]
            slots = np.flatnonzero(self.used & (lag < 0) & (times > 0))
            if len(slots):
                ends = self.sides.source.end_at(self.at[slots], times[slots])
                offsets = rings.offset[slots, column]
                rings.lag[slots, column] = np.where(ends >= 0, np.maximum(ends - offsets, 0), -1)

    def _settle_tails(self) -> None:
        """Count tails without a record as replicated; no longer if the log lost its end."""
        windows, used, head = self.windows, self.used, self.head
        rest, end = windows.rest[: self.count], _of(self.sides.source.end, self.at)
        windows.unsettle(np.flatnonzero(used & (end >= 0) & (rest > end)))
        known_to = np.maximum(windows.next_offset[: self.count], rest)
        slots = np.flatnonzero(used & (head > known_to) & (self.gap_end >= head))
        if len(slots):
            windows.settle(slots, head[slots])

    def _mark_rewound(self, rows: Sweep) -> None:
        """Mark partitions as gone back, not stopped, if only what they had passed before is left.

        If an old offset was written late there is nothing to replicate: only the next offset or the target
        shows it.
        """
        offset, times = (
            one[: self.count] for one in (self.windows.rings.offset, self.windows.rings.committed_ms)
        )
        peak, newest = offset.max(axis=1), offset[:, -1]
        for slot in np.flatnonzero(
            self.used & (newest < peak) & (self.head <= peak) & np.isin(rows.reason, STOPPED)
        ).tolist():
            back = int(np.flatnonzero(offset[slot] == peak[slot])[-1]) + 1
            if (offset[slot, back:] == newest[slot]).all():  # else it continued, and is stalled now
                rows.reason[slot] = Reason.REWOUND
                rows.since_ms[slot], rows.limit_ms[slot] = times[slot, back], -1
                rows.before[slot], rows.after[slot] = peak[slot], newest[slot]

    def _behind_since(self, passed: tuple[Longs, Flags]) -> Longs:
        """Return since when another offset could have been written: not before there was more to replicate.

        A write during an outage of Mirrorwatch may have happened at any time. There the offset's own time
        counts, from when it changed: groups commit the same offset again.
        """
        heads = self.sides.source
        seen_ms = self.windows.moved_ms[: self.count]
        passed_ms, exact = passed
        offline = ~exact & np.isin(passed_ms, [back_ms for _, back_ms in heads.away])
        since_ms = np.where(offline, seen_ms, np.maximum(seen_ms, passed_ms))
        none = (_of(heads.end, self.at) >= 0) & (passed_ms < 0)  # as far as it was polled
        return np.where(none, self.now_ms, since_ms)

    def _judge(
        self, pace: MirrorPace, stopped_ms: int, passed: tuple[Longs, Flags], behind_since_ms: Longs
    ) -> Sweep:
        count, rings, source = self.count, self.windows.rings, self.sides.source
        end, start, sampled = (_of(one, self.at) for one in (source.end, source.start, source.sampled_ms))
        passed_ms, exact = passed
        absent = self.sides.places < 0
        seen_ms, unknown = self.windows.committed_ms[:count], np.full(count, -1, np.int64)
        # A mirror that moves has replicated more than its offsets show: a log start after the newest offset
        # is no loss yet.
        fresh = self.now_ms - behind_since_ms <= 2 * self.cadence_ms + POLL_MS
        start = np.where(fresh, np.minimum(start, rings.offset[:count, -1]), start)
        # Data older than a mirror may be idle does not prove a stall.
        stale_ms = max(pace.least_ms, min(STALE_MS, stopped_ms))
        return sweep(
            Windows(
                rings.offset[:count],
                rings.committed_ms[:count],
                rings.lag[:count],
                rings.filled[:count],
                rings.live[:count],
            ),
            Positions(
                head=np.where(absent, -1, self.head),
                end=np.where(absent, -1, end),
                head_at_ms=np.where(absent, -1, sampled),
                start=start,
                passed_ms=passed_ms,
                passed_exact=exact,
                seen_ms=seen_ms,
                # Without commits, each position is known up to its own poll.
                commits_read_to_ms=np.full(count, pace.read_to_ms, np.int64) if pace.commits else seen_ms,
                remade_ms=self.sides.recreated_ms,
                members=unknown,
                readable_from=self.gap_end,
                others_moved_ms=unknown,  # tasks replicate their partitions in parallel
                moved_ms=unknown,
                known_before=unknown,
                left_ms=unknown,
                back_ms=unknown,
                hangs_ms=unknown,  # see unreplicated/blocked.py
                usual_pause_ms=unknown,
            ),
            now_ms=self.now_ms,
            policy=Policy(
                stale_after_ms=stale_ms,
                head_stale_after_ms=stale_ms,
                stopped_after_ms=stopped_ms,
                usual_gaps=0,
                grown_lags=3,
                grown_rises=1,
                grown_for_ms=GROWS_MS,
                grown_by_ms=0,
                empty_is_read=False,  # records of the old log that were not replicated must show
                maybe_markers=0,
                paced=pace.is_connect,
            ),
        )

    def _lags(self, rows: Sweep) -> tuple[Longs, NDArray[np.float64], NDArray[np.uint8]]:
        """Return lag in records and seconds: of the newest offset, or of now for a stalled partition."""
        rings, source, count = self.windows.rings, self.sides.source, self.count
        seconds, kinds = np.full(count, NO_ANSWER_S), np.full(count, LagKind.NONE, np.uint8)
        there = np.flatnonzero(self.used)
        seconds[there], kinds[there] = lag_s(source, self.at[there], self._next_record()[there], self.now_ms)
        lag = rows.lag.copy()
        stalled = (rows.since_ms >= 0) & (self.now_ms - rows.since_ms > 2 * self.cadence_ms + POLL_MS)
        stalled &= ~np.isin(rows.reason, (Reason.GROWING, Reason.REWOUND))  # their time is another instant
        moving = np.flatnonzero((lag > 0) & ~stalled & (rows.reason != Reason.DELETED_UNREAD))
        seconds[lag == 0], kinds[lag == 0] = 0.0, LagKind.EXACT
        seconds[lag < 0], kinds[lag < 0] = -1.0, LagKind.NONE
        if not len(moving):
            return lag, seconds, kinds
        known = rings.lag[moving] >= 0
        any_known = known.any(axis=1)
        column = rings.length - 1 - np.argmax(known[:, ::-1], axis=1)
        at_commit = rings.lag[moving, column]
        written_ms, kind = written(source, self.at[moving], rings.offset[moving, column])
        was_s = np.maximum(rings.committed_ms[moving, column] - written_ms, 0) / 1000.0
        was_s[at_commit == 0] = 0.0
        kind[at_commit == 0] = LagKind.EXACT
        lag[moving] = np.where(any_known, at_commit, -1)
        seconds[moving] = np.where(any_known, was_s, -1.0)
        kinds[moving] = np.where(any_known, kind, LagKind.NONE)
        return lag, seconds, kinds

    def _not_committing(self, rows: Sweep, *, by_topic: bool) -> Flags:
        """Return which slots are stalled while the target's end has advanced.

        `by_topic`: the partition of a record on the target is not that on the source.
        """
        found = np.zeros(self.count, np.bool_)
        stopped = np.isin(rows.reason, STOPPED)
        if by_topic:
            topics = self.sides.topics() if self.sides.topics is not None and stopped.any() else ()
            for slots, places in topics:
                found[slots] = stopped[slots] & self._topic_advances(rows.lag, slots, stopped[slots], places)
        else:
            slots = np.flatnonzero(stopped & (self.sides.target_places >= 0))
            advances, growth = self._growth(self.sides.target_places[slots], self.windows.committed_ms[slots])
            age_ms = self.now_ms - self.windows.committed_ms[slots]
            found[slots] = advances & _explains(rows.lag[slots], growth, age_ms)
        if self.sides.fed is not None and found.any():
            slots = np.flatnonzero(found)
            found[slots] = ~self.sides.fed(slots)
        return found

    def _topic_advances(self, lag: Longs, slots: Slots, stopped: Flags, places: Int32s) -> bool:
        """Return whether a target topic grows by what waits in the stalled ones of these slots.

        If one of the slots moves, the topic may grow by its records.
        """
        stalled, others = slots[stopped], slots[~stopped]
        if not len(stalled) or not len(places):
            return False
        since_ms = self.windows.committed_ms[stalled].max()
        if (self.used[others] & (self.windows.moved_ms[others] > since_ms)).any():
            return False
        advances, growth = self._growth(places, np.full(len(places), since_ms))
        explains = _explains(lag[stalled].sum(), growth.sum(), self.now_ms - since_ms)
        return bool(advances.any() and explains)

    def _growth(self, places: Int32s, committed_ms: Longs) -> tuple[Flags, Longs]:
        """Return which target ends have advanced since shortly after these instants, and by how much since.

        What a mirror replicated between its last offsets and its exit has arrived by then. A target that does
        not answer shows nothing.
        """
        target, later_ms = self.sides.target, committed_ms + self.cadence_ms + POLL_MS
        now, polled_ms = target.end[places], target.sampled_ms[places]
        oldest, _ = target.oldest_ms(places)
        first, later = (
            np.where(ends >= 0, ends, oldest)  # older than all polls that are kept
            for ends in (target.end_at(places, committed_ms), target.end_at(places, later_ms))
        )
        known = first >= 0
        return known & (polled_ms > later_ms) & (now > later), np.where(known, now - first, 0)


def _explains(lag: Longs, growth: Longs, age_ms: Longs) -> Flags:
    """Return whether the waiting records may be those by which a target grew since an offset was written.

    A stalled mirror has replicated ever less of what was written since. Growth by more is from elsewhere,
    except for what is written during a poll of either side.
    """
    from_elsewhere: Flags = growth * (1.0 - 2.0 * POLL_MS / np.maximum(age_ms, 1)) > lag
    explains: Flags = (2 * growth >= lag) & ~from_elsewhere
    return explains


def _of(values: Longs, at: Int32s) -> Longs:
    """Return the values at these places; -1 throughout if there is no place yet."""
    return values[at] if len(values) else np.full(len(at), -1, np.int64)
