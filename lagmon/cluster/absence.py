"""When a cluster was last unreachable, so that no group could commit. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_MS = 30_000  # three polls
SILENT_LOOKS = 2  # in a row, at least: a single one says nothing about the cluster
SOON_MS = 60_000  # clients may need this long to come back: absences this close count as one
MOST_BETWEEN_MS = 300_000  # up to this total time of answers in between: then all clients are back
STATE_NUMBERS = 5  # stored over a restart


class Absence:
    """The newest absence, from the last answered poll before it to the first after it, epoch ms; -1: none."""

    def __init__(self) -> None:
        self.left_ms = -1
        self.back_ms = -1
        self._between_ms = 0  # total time of answers within the absence
        self._looked_ms = -1  # the newest answered poll
        self._silent = 0  # unanswered polls since then
        self._answered = False  # whether the current poll was answered

    def note_answer(self, at_ms: int) -> None:
        """Record that the cluster answered the current poll, whatever fails in it later."""
        self._answered = True
        before_ms, self._looked_ms = self._looked_ms, at_ms
        silent, self._silent = self._silent, 0
        if silent < SILENT_LOOKS or before_ms < 0 or at_ms - before_ms < LEAST_MS:
            return
        answered_ms = before_ms - self.back_ms
        self._between_ms += answered_ms
        if self.back_ms < 0 or answered_ms > SOON_MS or self._between_ms > MOST_BETWEEN_MS:
            self.left_ms, self._between_ms = before_ms, 0
        self.back_ms = at_ms

    def end_poll(self) -> None:
        """Record that a poll has ended, failed or complete."""
        if not self._answered:
            self._silent += 1
        self._answered = False

    def state(self) -> list[int]:
        """Return the state to store over a restart."""
        return [self.left_ms, self.back_ms, self._between_ms, self._looked_ms, self._silent]

    def take_up(self, state: Sequence[int]) -> None:
        """Restore what `state` returned; call it before the first answered poll."""
        self.left_ms, self.back_ms, self._between_ms, self._looked_ms, silent = state
        self._silent += silent
