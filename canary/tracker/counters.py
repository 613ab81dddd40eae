"""Counters of one flow: each probe in exactly one outcome, and flags.

    concluded = good + late + overdue + lost          delivered = good + late
    expected  = concluded + the other outcomes + in flight
    overdue + inherited = recovered + confirmed + closed + outstanding
    concluded <= settled <= expected

`inherited` are outstanding probes of an earlier process that this one waits for.

Every counter but `in_flight` and `outstanding` only grows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum


class Outcome(StrEnum):
    """How a probe ended for a flow; each probe has exactly one."""

    GOOD = "good"
    LATE = "late"
    OVERDUE = "overdue"
    LOST = "lost"
    PRODUCE_FAILED = "produce_failed"
    PRODUCE_UNKNOWN = "produce_unknown"
    WARMUP = "warmup"
    SKIPPED = "skipped"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


CONCLUDING = (Outcome.GOOD, Outcome.LATE, Outcome.OVERDUE, Outcome.LOST)


class Flag(StrEnum):
    """What is counted besides the outcomes."""

    RECOVERED = "recovered"
    CONFIRMED = "confirmed"
    CLOSED = "closed"
    RETURNED = "returned"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    CORRUPTED = "corrupted"
    MISROUTED = "misrouted"
    LOOPED = "looped"
    FOREIGN = "foreign"


@dataclass(slots=True)
class Counted:
    """Counters of probes with an outcome, and of later changes to them."""

    expected: int = 0
    settled: int = 0
    good: int = 0
    late: int = 0
    overdue: int = 0
    lost: int = 0
    produce_failed: int = 0
    produce_unknown: int = 0
    warmup: int = 0
    skipped: int = 0
    abandoned: int = 0
    unknown: int = 0
    recovered: int = 0
    confirmed: int = 0
    closed: int = 0
    returned: int = 0


@dataclass(slots=True)
class Counters(Counted):
    """The counters of one flow, in probes."""

    duplicated: int = 0
    reordered: int = 0
    corrupted: int = 0
    misrouted: int = 0
    looped: int = 0
    foreign: int = 0
    inherited: int = 0
    in_flight: int = 0
    outstanding: int = 0

    @property
    def concluded(self) -> int:
        """Return the number of good, late, overdue and lost probes."""
        return self.good + self.late + self.overdue + self.lost

    @property
    def delivered(self) -> int:
        """Return the probes that arrived before the horizon."""
        return self.good + self.late

    def count(self, entry: Outcome | Flag, times: int = 1) -> None:
        """Add to the counter of this outcome or flag."""
        setattr(self, entry, getattr(self, entry) + times)

    def as_dict(self) -> dict[str, int]:
        """Return every counter by its name, with `concluded` and `delivered`."""
        numbers = {field.name: getattr(self, field.name) for field in fields(self)}
        return numbers | {"concluded": self.concluded, "delivered": self.delivered}

    def discrepancies(self) -> list[str]:
        """Return a sentence for every identity that does not hold."""
        found = []
        others = sum(getattr(self, outcome.value) for outcome in Outcome if outcome not in CONCLUDING)
        if self.expected != self.concluded + others + self.in_flight:
            found.append(
                f"expected {self.expected} is not concluded {self.concluded} + others {others}"
                f" + in flight {self.in_flight}"
            )
        ended = self.recovered + self.confirmed + self.closed
        if self.overdue + self.inherited != ended + self.outstanding:
            found.append(
                f"overdue {self.overdue} + inherited {self.inherited} is not recovered, confirmed and closed"
                f" {ended} + outstanding {self.outstanding}"
            )
        if not self.concluded <= self.settled <= self.expected:
            found.append(
                f"settled {self.settled} is not between concluded {self.concluded}"
                f" and expected {self.expected}"
            )
        if min(self.in_flight, self.outstanding) < 0:
            found.append("in flight or outstanding is negative")
        return found
