"""The words for what is wrong with a flow, one list for page, API, series, alert and log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Verdict(StrEnum):
    """How a flow is, worst first."""

    LOSING = "losing"
    ALTERED = "altered"
    STALLED = "stalled"
    REPEATING = "repeating"
    LATE = "late"
    UNKNOWN = "unknown"
    HEALTHY = "healthy"

    @property
    def severity(self) -> int:
        """Return 0 for the worst verdict and 6 for healthy."""
        return _SEVERITY[self]

    @property
    def is_bad(self) -> bool:
        """Tell whether something is known to be wrong."""
        return self not in (Verdict.HEALTHY, Verdict.UNKNOWN)


CONDITIONS = tuple(verdict for verdict in Verdict if verdict is not Verdict.HEALTHY)
"""What can hold of a flow at one instant, several at once; nothing of it is healthy."""

BAD = frozenset(verdict for verdict in Verdict if verdict.is_bad)

_SEVERITY = {verdict: number for number, verdict in enumerate(Verdict)}


class Cause(StrEnum):
    """What the evidence shows to be behind a verdict: a closed list."""

    SOURCE_DOWN = "source_down"
    TARGET_DOWN = "target_down"
    MIRROR_DOWN = "mirror_down"
    TASK_FAILED = "task_failed"
    TASK_STUCK = "task_stuck"
    NOT_MIRRORED = "not_mirrored"
    OVERTAKEN = "overtaken"
    TOPIC_RECREATED = "topic_recreated"
    TOPIC_MISSING = "topic_missing"
    PARTITION_MISSING = "partition_missing"
    FILTERED = "filtered"
    RECORD_REJECTED = "record_rejected"
    MISROUTED = "misrouted"
    TRANSFORMED = "transformed"
    RETIMED = "retimed"
    ABORTED_TRANSACTION = "aborted_transaction"
    DUPLICATING = "duplicating"
    LOOPING = "looping"
    THROTTLED = "throttled"
    PAUSED = "paused"
    OFFSETS_NOT_COMMITTING = "offsets_not_committing"
    PROBER = "prober"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact that a person can check by hand: where it is and what was seen there, at epoch second `at`."""

    part: str  # canary | lag | checksum | failover
    sentence: str
    at: float
    topic: str | None = None
    partition: int | None = None
    source_offset: int | None = None
    target_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Also:
    """How a flow is right now, beside a verdict that holds on what has been found; fields as there."""

    verdict: Verdict
    cause: Cause | None
    sentence: str
    since_at: float
    shown_at: float = 0.0
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class FlowVerdict:
    """A verdict with its reason: `cause` is None for healthy, and for unknown where data is only missing.

    `parts` holds one sentence for each part that looked at the flow, by its name. `shown_at` is when the
    evidence last showed the cause: while a stall goes on it may be a moment ago. `evidence` is that of the
    verdict, and behind it that of `also`. `conditions` are all verdicts but healthy that hold right now: a
    loss of ten minutes ago is no condition, though it may still be the verdict.
    """

    flow: str
    verdict: Verdict
    cause: Cause | None
    sentence: str
    evidence: tuple[Evidence, ...]
    parts: tuple[tuple[str, str], ...]
    since_at: float
    shown_at: float = 0.0
    also: Also | None = None
    conditions: frozenset[Verdict] = frozenset()

    def moved(self, by_s: float) -> FlowVerdict:
        """Return it with every instant moved by this many seconds, as with a clock that was set."""
        also = self.also
        if also is not None:
            also = replace(also, since_at=also.since_at + by_s, shown_at=also.shown_at + by_s)
        return replace(self, since_at=self.since_at + by_s, shown_at=self.shown_at + by_s, also=also)
