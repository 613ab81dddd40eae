"""Replays alerts with the minutes in the store. Pure.

Burn-rate alerts follow the rules of `rules.budgets`: the same windows, thresholds, minimum of bad events and
hold times, evaluated once a minute. Probes count in the minute in which they were due, so an alert may start
or end some minutes apart from Prometheus. Symptoms that were over within a minute are not seen.

Records that were due while nothing arrived may arrive late afterwards. Only the recovery point shows that
pause: it grows by a minute each minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from alerts.objectives.burn import BURN_WINDOWS, LEAST_BAD_PROBES
from alerts.reports.tally import good_minutes_of, probe_counts
from alerts.rules.budgets import KEEP_TICKET_S, LEAST_BAD_STEPS, LONG_S, STEP_S, threshold
from alerts.rules.rule import CRITICAL, promql_duration, seconds_of
from alerts.rules.symptoms import KEEP_FOUND_S, KEEP_S, LOSS_WINDOW, STALL_FOR_S
from fleet.probe_history import MINUTE_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alerts.objectives.burn import BurnWindow
    from alerts.objectives.objective import Objective
    from alerts.reports.arithmetic import Stretch
    from fleet.probe_history import ProbeMinute, ValueRun

_STEP = int(STEP_S // MINUTE_S)
MISSED_AFTER_MINUTES = 10  # an incident is missed if no alert fires within this time
LEAST_OF_INCIDENT = 3  # fewer bad probes are no incident
SILENT_GROWTH_S = 50.0  # of the recovery point in a minute without arrivals: it is sampled every 5 s


@dataclass(frozen=True, slots=True)
class Replayed:
    """One alert, and the periods (first and last minute) in which it would have fired."""

    flow: str
    name: str
    severity: str
    detail: str
    firings: tuple[tuple[int, int], ...]

    @property
    def total_minutes(self) -> int:
        """Return the total time for which it would have fired."""
        return sum(last - first + 1 for first, last in self.firings)


@dataclass(frozen=True, slots=True)
class Counts:
    """Bad and valid by minute from `first`; None in unobserved minutes."""

    first: int
    bad: Sequence[int | None]
    valid: Sequence[int | None]


def replay_burn(objective: Objective, counts: Counts) -> list[Replayed]:
    """Return the replayed burn-rate alerts of an objective."""
    smooth = _STEP if objective.kind.counts_probes and objective.slice_ratio is None else 1
    bad, valid = _rates(counts.bad, smooth), _rates(counts.valid, smooth)
    return [
        Replayed(
            objective.flow,
            "MirrorwatchErrorBudgetBurn",
            window.severity,
            f"{objective.kind.value} {promql_duration(window.long_s)}",
            _firings(_burning(objective, window, above, counts.first, bad, valid), counts.first, window),
        )
        for window in BURN_WINDOWS
        if (above := threshold(objective, window)) is not None
    ]


def replay_symptoms(
    flow: str, minutes: Mapping[int, ProbeMinute], values: Mapping[int, ValueRun], *, limit_s: float | None
) -> list[Replayed]:
    """Return the replayed alerts on symptoms; `limit_s` is of the recovery point."""
    keep = int(KEEP_S // MINUTE_S)
    stalled_for = int(STALL_FOR_S // MINUTE_S)
    silent = [
        one.minute
        for one in minutes.values()
        if one.concluded and not one.good and (not one.late or _grew_s(values, one.minute) >= SILENT_GROWTH_S)
    ]
    stalled = [one.minute for one in minutes.values() if one.overdue]
    lost = [one.minute for one in minutes.values() if one.lost or one.confirmed]
    fired = {
        "MirrorwatchNoRecordsArrive": _joined(silent, 0, keep),
        "MirrorwatchReplicationStalled": _joined(stalled, stalled_for, keep),
        "MirrorwatchRecordsLost": _joined(lost, 0, int((seconds_of(LOSS_WINDOW) + KEEP_FOUND_S) // MINUTE_S)),
    }
    if limit_s is not None:
        old = [
            one.first
            for one in values.values()
            if one.recovery_point_s is not None and one.recovery_point_s > limit_s
        ]
        fired["MirrorwatchRecoveryPointOld"] = _joined(old, stalled_for, 0)
    return [Replayed(flow, name, CRITICAL, "", firings) for name, firings in fired.items()]


def _grew_s(values: Mapping[int, ValueRun], minute: int) -> float:
    """Return by how much the recovery point grew in a minute; 0 if that is not known."""
    ages_s = [values[one].recovery_point_s for one in (minute - 1, minute) if one in values]
    before_s, after_s = ages_s if len(ages_s) == 2 else (None, None)
    return 0.0 if before_s is None or after_s is None else after_s - before_s


def counts_of(
    objective: Objective,
    minutes: Mapping[int, ProbeMinute],
    values: Mapping[int, ValueRun],
    span: tuple[int, int],
) -> Counts:
    """Return bad and valid of an objective by minute, within a span of minutes."""
    bad: list[int | None] = []
    valid: list[int | None] = []
    for minute in range(*span):
        good_here, valid_here = 0, 0
        if objective.kind.counts_probes:
            if minute in minutes:
                good_here, valid_here = probe_counts(objective, minutes[minute])
            observed = minute in minutes
        else:
            good_minutes = good_minutes_of(objective, values[minute]) if minute in values else None
            observed = good_minutes is not None
            good_here, valid_here = good_minutes or 0, int(observed)
        bad.append(valid_here - good_here if observed else None)
        valid.append(valid_here if observed else None)
    return Counts(span[0], bad, valid)


def missed(stretches: Iterable[Stretch], alerts: Sequence[Replayed]) -> list[Stretch]:
    """Return the bad stretches without an alert during or shortly after them."""
    firings = [firing for one in alerts for firing in one.firings]
    return [
        one
        for one in stretches
        if one.bad >= LEAST_OF_INCIDENT
        and not any(first <= one.last + MISSED_AFTER_MINUTES and last >= one.first for first, last in firings)
    ]


def _rates(counts: Sequence[int | None], smooth: int) -> list[float | None]:
    """Return the mean of so many minutes up to each; None if none was observed."""
    sums = [0, *accumulate(one or 0 for one in counts)]
    seen = [0, *accumulate(one is not None for one in counts)]
    found: list[float | None] = []
    for until in range(1, len(sums)):
        first = max(0, until - smooth)
        found.append((sums[until] - sums[first]) / smooth if seen[until] > seen[first] else None)
    return found


@dataclass(frozen=True, slots=True)
class _Windowed:
    """Over a window up to each minute: the sum of what was sampled, in minutes, and its mean."""

    total: Sequence[float]
    mean: Sequence[float | None]


def _windowed(rates: Sequence[float | None], length_s: float, first: int, *, step: int) -> _Windowed:
    """Return sums and means over a window that holds one value each `step` minutes, and changes as often."""
    taken = [
        rate if step == 1 or (first + number + 1) % step == 0 else None for number, rate in enumerate(rates)
    ]
    sums = [0.0, *accumulate(one or 0.0 for one in taken)]
    seen = [0, *accumulate(one is not None for one in taken)]
    width = max(1, int(length_s // MINUTE_S))
    total: list[float] = []
    mean: list[float | None] = []
    for until in range(1, len(sums)):
        start = max(0, until - width)
        count, found = seen[until] - seen[start], sums[until] - sums[start]
        total.append(found * step)
        mean.append(found / count if count else None)
    return _Windowed(total, mean)


def _counts(
    bad: Sequence[float | None], valid: Sequence[float | None], length_s: float, first: int
) -> tuple[Sequence[float | None], list[float]]:
    """Return the bad minutes of a window up to each minute, and the recorded ratio.

    From two hours on, a window has one value each five minutes.
    """
    if length_s <= STEP_S:
        return bad, list(map(_ratio, bad, valid))
    step, minutes = _STEP if length_s >= LONG_S else 1, length_s / MINUTE_S
    spent = _windowed(bad, length_s, first, step=step).total
    due = _windowed(valid, length_s, first, step=step).mean
    return spent, [_ratio(one, (each or 0.0) * minutes) for one, each in zip(spent, due, strict=True)]


def _burning(  # noqa: PLR0917 - what a rule's expression holds, in its order
    objective: Objective,
    window: BurnWindow,
    above: float,
    first: int,
    bad: Sequence[float | None],
    valid: Sequence[float | None],
) -> list[bool]:
    counts = objective.kind.counts_probes and objective.slice_ratio is None
    least = LEAST_BAD_PROBES if counts else LEAST_BAD_STEPS * _STEP
    spent, long = _counts(bad, valid, window.long_s, first)
    _, short = _counts(bad, valid, window.short_s, first)
    return [
        one > above and other > above and (count or 0.0) >= least
        for one, other, count in zip(long, short, spent, strict=True)
    ]


def _ratio(bad: float | None, valid: float | None) -> float:
    return bad / valid if bad is not None and valid else 0.0


def _firings(burning: Sequence[bool], first: int, window: BurnWindow) -> tuple[tuple[int, int], ...]:
    keep = 0 if window.severity == CRITICAL else int(KEEP_TICKET_S // MINUTE_S)
    return _joined((first + number for number, one in enumerate(burning) if one), 0, keep)


def _joined(minutes: Iterable[int], for_minutes: int, keep_minutes: int) -> tuple[tuple[int, int], ...]:
    """Return the periods in which an alert fires: after `for_minutes` true ones, and for a while longer."""
    runs: list[tuple[int, int]] = []
    for minute in sorted(minutes):
        if runs and minute == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], minute)
        else:
            runs.append((minute, minute))
    firings: list[tuple[int, int]] = []
    for first, last in runs:
        if last - first < for_minutes:
            continue
        begins, ends = first + for_minutes, last + keep_minutes
        if firings and begins <= firings[-1][1] + 1:
            firings[-1] = (firings[-1][0], max(ends, firings[-1][1]))
        else:
            firings.append((begins, ends))
    return tuple(firings)
