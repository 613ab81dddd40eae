"""One rehearsed failover: which steps were reached, when, and what was measured. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReachedStep:
    """A step that was reached: its name, when (epoch s), and what was measured then."""

    step: str
    at: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsed failover of a flow; `complete`: every step was reached before it ended (epoch s)."""

    flow: str
    began_at: float
    ended_at: float
    groups: int
    complete: bool
    steps: tuple[ReachedStep, ...]

    @property
    def took_s(self) -> float:
        """Return how long it took."""
        return self.ended_at - self.began_at

    @property
    def outcome(self) -> str:
        """Return whether every step was reached, or how many."""
        return "complete" if self.complete else f"{len(self.steps)} steps"

    @property
    def sentence(self) -> str:
        """Return what was measured at the last step that was reached."""
        return self.steps[-1].sentence if self.steps else "No step was reached."
