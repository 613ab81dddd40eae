"""When a cluster last did not answer: meanwhile nobody could commit to it. Pure."""

from __future__ import annotations

LEAST_MS = 30_000  # three looks: one that fails tells nothing of the cluster
SOON_MS = 60_000  # within so long nobody is sure to have come back: absences so close are one


class Absence:
    """The newest absence: from the last look before it to the first one after it, epoch ms, -1 for none."""

    def __init__(self) -> None:
        self.left_ms = -1
        self.back_ms = -1
        self._looked_ms = -1  # the newest look with an answer
        self._silent = False  # whether one since then had none

    def note_look(self, at_ms: int, *, answered: bool, failed: bool) -> None:
        """Take note of a look, whether any partition answered, and whether one before it failed."""
        if not answered:
            self._silent = True
            return
        before_ms, self._looked_ms = self._looked_ms, at_ms
        silent, self._silent = self._silent or failed, False
        if not silent or before_ms < 0 or at_ms - before_ms < LEAST_MS:
            return
        if self.back_ms < 0 or before_ms - self.back_ms > SOON_MS:
            self.left_ms = before_ms
        self.back_ms = at_ms
