"""History of a flow: its probes and measurements by minute. Pure.

Minutes and days count from the epoch, in UTC. Each minute is counted once, however many processes
wrote about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MINUTE_S = 60
DAY_MINUTES = 1440


class ProbeMinute(NamedTuple):
    """Probes that were due in one minute, by outcome."""

    minute: int
    settled: int
    good: int
    late: int
    overdue: int
    lost: int
    confirmed: int  # of those overdue, proved absent later
    unknown: int
    unsent: int  # refused, not acknowledged, warm-up, skipped, abandoned

    @property
    def concluded(self) -> int:
        """Return the probes that were judged."""
        return self.good + self.late + self.overdue + self.lost

    @property
    def even(self) -> bool:
        """Return whether every probe was good."""
        return 0 < self.good == self.settled and not any(self[3:])


class ProbeDay(NamedTuple):
    """One day of a flow, or a part: all-good minutes in total, other minutes separately."""

    day: int
    even_minutes: int
    even_probes: int
    uneven: tuple[ProbeMinute, ...]


class ValueRun(NamedTuple):
    """Measurements of each of so many `minutes`: the worst ages, None if unknown.

    `observed_s` is for how long it was measured in each minute. `audited_at` (epoch s) is when the topic
    whose last complete checksum is the oldest was compared.
    """

    first: int
    minutes: int
    observed_s: int
    lag_s: float | None
    recovery_point_s: float | None
    audited_at: float | None


def by_day(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Split spans of minutes by day: day, first minute, and the one after the last."""
    for first, until in spans:
        at = first
        while at < until:
            day = at // DAY_MINUTES
            end = min(until, (day + 1) * DAY_MINUTES)
            yield day, at, end
            at = end


def without(span: tuple[int, int], left_out: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a span of minutes without other spans, in order."""
    first, until = span
    left = []
    for begins, ends in sorted(left_out):
        if begins >= until or ends <= first:
            continue
        if begins > first:
            left.append((first, begins))
        first = ends
    if first < until:
        left.append((first, until))
    return left
