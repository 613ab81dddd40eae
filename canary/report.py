"""What the canary's loops tell the service besides verdicts: problems for a person, and counts of errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from fleet.series import COLLECTORS


class Reporter(Protocol):
    """Where problems go; told once and again at a decent interval, which is the receiver's business."""

    def problem(self, where: str, sentence: str) -> None:
        """Tell of something that needs a person."""
        ...

    def settled(self, where: str) -> None:
        """Tell that it is over."""
        ...

    def event(self, sentence: str, **facts: object) -> None:
        """Tell of something that happened and needs nobody."""
        ...


@dataclass(slots=True)
class CollectorCounts:
    """By collector of one cluster: when it last succeeded (epoch s), and how often it failed."""

    last_success_at: dict[str, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COLLECTORS, 0)))
