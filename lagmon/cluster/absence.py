"""When a cluster last did not answer: meanwhile nobody could commit to it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_MS = 30_000  # three looks
SILENT_LOOKS = 2  # in a row, at least: one without an answer tells nothing of the cluster
SOON_MS = 60_000  # within so long nobody is sure to have come back: absences so close are one
MOST_BETWEEN_MS = 300_000  # that it answered within one: in so long, all who are there have come back
STATE_NUMBERS = 5  # that a restart keeps


class Absence:
    """The newest absence: from the last look before it to the first one after it, epoch ms, -1 for none."""

    def __init__(self) -> None:
        self.left_ms = -1
        self.back_ms = -1
        self._between_ms = 0  # for how long it answered in between
        self._looked_ms = -1  # the newest look with an answer
        self._silent = 0  # looks without one since then
        self._answered = False  # whether the look that is under way had one

    def note_answer(self, at_ms: int) -> None:
        """Record that the cluster answered the look that is under way, whatever fails in it afterwards."""
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

    def end_look(self) -> None:
        """Record that a look is over, as it failed or because all was asked."""
        if not self._answered:
            self._silent += 1
        self._answered = False

    def state(self) -> list[int]:
        """Return what a restart has to keep of it."""
        return [self.left_ms, self.back_ms, self._between_ms, self._looked_ms, self._silent]

    def take_up(self, state: Sequence[int]) -> None:
        """Know again what `state` gave; call it before any look with an answer."""
        self.left_ms, self.back_ms, self._between_ms, self._looked_ms, silent = state
        self._silent += silent
