"""One window of commits with the state of its log, and values that several rules need. Pure.

groups/rules/pace.py computes the same values for many windows at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.groups.rules.policy import Policy
    from lagmon.groups.rules.window import Position, Window


@dataclass(frozen=True, slots=True)
class Case:
    """One window and position at an instant, under a policy; times are epoch milliseconds by our clock."""

    window: Window
    position: Position
    now_ms: int
    policy: Policy

    @property
    def offset(self) -> int:
        """Return the newest committed offset, -1 if there is none."""
        return self.window.offsets[-1] if self.window.offsets else -1

    @property
    def end(self) -> int:
        """Return the log end offset, or the end of what can be read if it is not known."""
        return self.position.head if self.position.end < 0 else self.position.end

    @property
    def is_empty(self) -> bool:
        """Return whether the log is known to be empty."""
        return self.end <= max(0, self.position.start)

    @property
    def next_record(self) -> int:
        """Return the first offset that may hold a record to read, even if it is deleted."""
        return max(self.offset, self.position.readable_from)

    @property
    def lag(self) -> int:
        """Return the number of offsets from the first that may hold a record up to the head."""
        return max(0, self.position.head - max(self.next_record, self.position.start))

    @property
    def offsets_left(self) -> int:
        """Return the number of offsets up to the head, with or without records."""
        return max(0, self.position.head - max(self.offset, self.position.start))

    @property
    def absurd_ms(self) -> int | None:
        """Return the first impossible time among those that the rules need, None if all are possible."""
        position, latest_ms = self.position, self.now_ms + self.policy.far_ms
        newest, oldest = max(self.window.committed_ms), min(self.window.committed_ms)
        if newest > latest_ms:
            return newest
        if oldest <= 0:
            return oldest
        if position.seen_ms <= 0 or position.seen_ms > latest_ms:
            return position.seen_ms
        return position.passed_ms if position.passed_ms > latest_ms else None

    @property
    def same_offset_seen_ms(self) -> list[int]:
        """Return when each of the last commits with the newest offset was made, by our clock."""
        newest_ms, found = self.window.committed_ms[-1], []
        for offset, at_ms in zip(
            reversed(self.window.offsets), reversed(self.window.committed_ms), strict=True
        ):
            if offset != self.offset:
                break
            found.append(self.position.seen_ms - max(0, newest_ms - at_ms))
        return found[::-1]

    @property
    def committed_since_ms(self) -> int:
        """Return since when the newest offset is committed, as far as the window goes back."""
        by_window_ms, moved_ms = self.same_offset_seen_ms[0], self.position.moved_ms
        return by_window_ms if moved_ms < 0 else min(by_window_ms, moved_ms)

    @property
    def idle_since_ms(self) -> int:
        """Return since when there was a record to read and the newest offset was committed."""
        # If it is not known when the head passed the offset, the poll of the head counts.
        passed_ms = self.position.passed_ms if self.position.passed_ms >= 0 else self.position.head_at_ms
        return max(passed_ms, self.committed_since_ms)

    @property
    def idle_ms(self) -> int:
        """Return how long the group has made no progress."""
        return self.now_ms - self.idle_since_ms

    def counted_from(self, since_ms: int) -> int:
        """Return from when a time without progress that began at an instant counts.

        If less than the allowed time had passed when the cluster became unreachable, that is later by the
        downtime and by the least allowed time, but no later than the return of the cluster.
        """
        left_ms, back_ms = self.position.left_ms, self.position.back_ms
        if since_ms >= back_ms or left_ms - since_ms > self.stopped_after_ms:
            return since_ms
        return min(back_ms, since_ms + back_ms - left_ms + self.policy.stopped_after_ms)

    @property
    def usual_gap_ms(self) -> int:
        """Return the median gap between commits (of two in the middle the longer), 0 without a gap.

        Gaps between commits of the same offset do not count, except for the last: the trail may have left out
        commits in between (groups/trail.py).
        """
        times, offsets = self.window.committed_ms, self.window.offsets
        last = len(times) - 1
        gaps = sorted(
            max(0, times[one] - times[one - 1])
            for one in range(1, len(times))
            if one == last or offsets[one] != offsets[one - 1]
        )
        return gaps[len(gaps) // 2] if gaps else 0

    @property
    def longest_rest_ms(self) -> int:
        """Return the longest time between two offsets of the window, all of it with lag.

        It starts at the first commit of an offset with a known lag above the allowed one.
        """
        longest, before, since_ms = 0, None, None
        for offset, at_ms, lag in zip(
            self.window.offsets, self.window.committed_ms, self.window.lags, strict=True
        ):
            if offset != before:
                # Without lag, a group waits for records; that may take all night.
                longest = max(longest, 0 if since_ms is None else at_ms - since_ms)
                since_ms = None
            if since_ms is None and lag > self.policy.allowed_lag:
                since_ms = at_ms
            before = offset
        return longest

    @property
    def others_move(self) -> bool:
        """Return whether the consumer of this partition progresses on another."""
        moved_ms = self.position.others_moved_ms
        return moved_ms >= 0 and self.now_ms - moved_ms <= self.policy.stopped_after_ms

    @property
    def stopped_after_ms(self) -> int:
        """Return after how long without progress the group counts as stopped."""
        if not self.others_move:
            return self.alone_after_ms
        turn_ms = min(self.longest_rest_ms, self.policy.longest_turn_ms)
        return max(self.alone_after_ms, self.policy.in_turns_ms, 2 * turn_ms)

    @property
    def alone_after_ms(self) -> int:
        """Return the same for a consumer that does not progress on other partitions."""
        gaps_ms = self.policy.usual_gaps * self.usual_gap_ms
        if self.position.members == 0:  # a job that joins, reads and leaves is due after one gap
            gaps_ms = self.usual_gap_ms * 5 // 4
        pause_ms = self.position.usual_pause_ms * 5 // 4 if self.position.members <= 0 else -1
        return max(self.policy.stopped_after_ms, gaps_ms, pause_ms)

    @property
    def same_since_idle(self) -> int:
        """Return how many commits of the newest offset were made since progress ended."""
        return sum(seen_ms > self.idle_since_ms for seen_ms in self.same_offset_seen_ms)

    @property
    def step_back(self) -> tuple[int, int, int] | None:
        """Return the highest offset, the one after it and its commit time; None if it is reached again.

        A highest offset from before the window counts up to the log end: beyond that the log was truncated,
        or the offset never existed.
        """
        offsets, highest = self.window.offsets, max(self.window.offsets)
        if highest < self.window.went_back[0] <= self.end:
            return self.window.went_back
        after = len(offsets) - offsets[::-1].index(highest)
        if after == len(offsets):
            return None
        return highest, offsets[after], self.window.committed_ms[after]

    @property
    def written_per_ms(self) -> float:
        """Return how many records were written per millisecond, from the first known lag to the last."""
        told = [
            (offset + lag, at_ms)
            for offset, lag, at_ms in zip(
                self.window.offsets, self.window.lags, self.window.committed_ms, strict=True
            )
            if lag >= 0
        ]
        (first, first_ms), (last, last_ms) = told[0], told[-1]
        return float(last - first) / max(1, last_ms - first_ms)

    @property
    def known_lags(self) -> list[tuple[int, int]]:
        """Return lag and time of each commit whose lag is known."""
        pairs = zip(self.window.lags, self.window.committed_ms, strict=True)
        return [(lag, at_ms) for lag, at_ms in pairs if lag >= 0]
