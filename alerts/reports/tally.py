"""Counts of one objective for a day: good and valid, and each minute with something bad. Pure.

Unknown and unsent probes are neither good nor valid: of a minute with some, only the valid share is observed.

Objectives about time count seconds: a minute whose worst value was above the limit is bad as a whole, so bad
time is at most a minute too long for each time that the limit was crossed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from alerts.objectives.objective import Objective, ObjectiveKind
from fleet.probe_history import MINUTE_S, ProbeDay, ProbeMinute, ValueRun

if TYPE_CHECKING:
    from collections.abc import Iterable


class BadMinute(NamedTuple):
    """A minute with something bad, and a word for it."""

    minute: int
    bad: int
    what: str


class Tally(NamedTuple):
    """A day, or a part of it. `minutes` are the observed ones; `unknown` counts probes.

    If the canary sends less than one probe a minute, a minute with one stands for those up to the next.
    """

    day: int
    minutes: float
    good: int
    valid: int
    unknown: int
    bad: tuple[BadMinute, ...]


def probe_tally(objective: Objective, day: ProbeDay) -> Tally:
    """Return the counts of an objective about probes for a day."""
    minutes = float(day.even_minutes)
    good = valid = day.even_probes if objective.slice_ratio is None else day.even_minutes
    unknown, bad = 0, []
    counts = _COUNTS[objective.kind]
    sliced = objective.slice_ratio
    for one in day.uneven:  # tens of thousands in a year: nothing is looked up twice
        unknown += one[7]
        good_here, valid_here = counts(one)
        if valid_here == 0:
            continue
        minutes += valid_here / (valid_here + one[7] + one[8])
        if sliced is not None:
            good_here, valid_here = int(good_here >= sliced * valid_here), 1
        good += good_here
        valid += valid_here
        if good_here < valid_here:
            bad.append(BadMinute(one[0], valid_here - good_here, _what(one)))
    return Tally(day.day, minutes * objective.minutes_per_probe, good, valid, unknown, tuple(bad))


def value_tally(objective: Objective, day: int, runs: Iterable[ValueRun]) -> Tally:
    """Return the counts of an objective with a limit for a day, in seconds."""
    good = valid = 0
    bad = []
    for one in runs:
        good_minutes = good_minutes_of(objective, one)
        if good_minutes is None or one.observed_s == 0:
            continue
        valid += one.minutes * one.observed_s
        good += good_minutes * one.observed_s
        after = range(one.first + good_minutes, one.first + one.minutes)
        bad += [BadMinute(minute, one.observed_s, "over the limit") for minute in after]
    return Tally(day, valid / MINUTE_S, good, valid, 0, tuple(bad))


def good_minutes_of(objective: Objective, run: ValueRun) -> int | None:
    """Return how many of the first minutes of a run were within the limit; None if unknown."""
    limit_s = objective.limit_s or 0.0
    if objective.kind is ObjectiveKind.AUDIT_AGE:
        if run.audited_at is None:
            return None
        last = math.floor((run.audited_at + limit_s) / MINUTE_S) - 1  # the last minute that ends in time
        return min(run.minutes, max(0, last - run.first + 1))
    age_s = run.lag_s if objective.kind is ObjectiveKind.REPLICATION_LAG else run.recovery_point_s
    if age_s is None:
        return None
    return run.minutes if age_s <= limit_s else 0


def probe_counts(objective: Objective, one: ProbeMinute) -> tuple[int, int]:
    """Return good and valid of a minute for an objective about probes."""
    good, valid = _COUNTS[objective.kind](one)
    if objective.slice_ratio is None or valid == 0:
        return good, valid
    return int(good >= objective.slice_ratio * valid), 1


def _delivered(one: ProbeMinute) -> tuple[int, int]:
    _, _, good, late, overdue, lost, *_ = one
    return good + late, good + late + overdue + lost


def _fresh(one: ProbeMinute) -> tuple[int, int]:
    return one[2], one[1]


def _not_lost(one: ProbeMinute) -> tuple[int, int]:
    return max(0, one.concluded - one.lost - one.confirmed), one.concluded


_COUNTS = {
    ObjectiveKind.AVAILABILITY: _delivered,
    ObjectiveKind.FRESHNESS: _fresh,
    ObjectiveKind.LOSS: _not_lost,
}


def _what(one: ProbeMinute) -> str:
    if one.lost or one.confirmed:
        return "records lost"
    if one.overdue:
        return "stalled"
    return "late" if one.late else "unknown"
