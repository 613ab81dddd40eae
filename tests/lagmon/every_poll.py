"""The scalar reference of when an end passed an offset: keeps every look at one place, for ever."""

from __future__ import annotations

from lagmon.logs.head_history import LONGEST_LINE_MS


class EveryPoll:
    def __init__(self) -> None:
        self.points: list[tuple[int, int]] = []  # (end, epoch ms), oldest first

    def note(self, end: int, at_ms: int) -> None:
        if end < 0:
            return
        self.points = [(min(old, end), min(ms, at_ms)) for old, ms in self.points]
        self.points.append((end, at_ms))

    def passed(self, offset: int) -> tuple[int, bool] | None:
        """Return when, and whether that is between two looks, not too far apart; None where it has not passed."""
        if offset < 0 or not self.points or self.points[-1][0] <= offset:
            return None
        above = next(index for index, (end, _) in enumerate(self.points) if end > offset)
        end, ms = self.points[above]
        if above == 0:
            return ms, False
        old_end, old_ms = self.points[above - 1]
        if not 0 < ms - old_ms <= LONGEST_LINE_MS:
            return ms, False
        return old_ms + round((ms - old_ms) * ((offset - old_end + 0.5) / (end - old_end))), True
