"""Error ratios of objectives over several windows, and alerts on their burn rates. Pure.

Bad and valid events of five minutes are recorded separately: the ratio is computed last, so that a time
without events (0/0) does not spoil a window. Each window sums its bad events, and compares them with the
valid events that it would have if all of it were like the part with samples. So time without samples spends
nothing, and a new flow does not page for its first bad seconds.

Windows of two hours and more read copies that are recorded once in five minutes: these counts do not overlap,
and three days of them are read in milliseconds.

Objectives about time record 1 for bad and for valid time instead of events; the rest is equal.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from alerts.objectives.burn import BURN_WINDOWS, LEAST_BAD_PROBES
from alerts.objectives.counters import AGES, COUNTERS
from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.rules.rule import (
    CRITICAL,
    FLOW,
    Alert,
    Group,
    Record,
    either,
    flow_matcher,
    number,
    promql_duration,
    quoted,
    selector,
)
from alerts.rules.tickets import audit_age
from fleet.series import catalogue as series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alerts.objectives.burn import BurnWindow
    from alerts.objectives.resolving import FlowFacts

BAD = "mirrorwatch:objective_bad:increase"  # followed by the window, as the next two
VALID = "mirrorwatch:objective_valid:increase"
ERROR = "mirrorwatch:objective_error:ratio_rate"
STEP_S = 300.0
_STEP = promql_duration(STEP_S)
SPARSE_COUNT = f"{_STEP}:sparse"  # of five minutes, recorded once in five minutes
_INTERVAL_S = 30.0  # between two samples of the others
LONG_S = 7200.0  # windows from here on read sparse counts
KEEP_TICKET_S = 600.0
LEAST_BAD_STEPS = 0.5  # minimum of bad time in the long window: 150 s
SPENT_BY_PAUSES = (ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS, ObjectiveKind.REPLICATION_LAG)


def budget_groups(objectives: Sequence[Objective], flows: Sequence[FlowFacts]) -> tuple[Group, ...]:
    """Return the recorded ratios and the burn-rate alerts; loss has none, because each loss pages."""
    budgeted = [one for one in objectives if one.kind is not ObjectiveKind.LOSS]
    if not budgeted:
        return ()
    every = {one.name for one in flows}
    lengths = sorted({each for window in BURN_WINDOWS for each in (window.short_s, window.long_s)})
    events = [record for kind in ObjectiveKind for record in _events(kind, budgeted, every)]
    dense = [record for length in lengths if length < LONG_S for record in _window(length)]
    sparse = [record for length in lengths if length >= LONG_S for record in _window(length)]
    copies = [Record(name=name + SPARSE_COUNT, expression=name + _STEP) for name in (BAD, VALID)]
    burns = [_burn(window, budgeted, every) for window in BURN_WINDOWS]
    return (
        Group(name="mirrorwatch-objectives", interval_s=_INTERVAL_S, rules=(*events, *dense)),
        Group(name="mirrorwatch-objectives-long", interval_s=STEP_S, rules=(*copies, *sparse)),
        Group(name="mirrorwatch-budgets", interval_s=_INTERVAL_S, rules=tuple(filter(None, burns))),
    )


def threshold(objective: Objective, window: BurnWindow) -> float | None:
    """Return the error ratio above which a window alerts; None if no ratio can be above it."""
    ratio = window.factor(objective.period_s) * objective.budget_ratio
    return ratio if ratio < 1 else None


def _alike(objectives: Iterable[Objective]) -> list[list[Objective]]:
    """Group objectives that differ only in their flow."""
    found: dict[tuple[object, ...], list[Objective]] = defaultdict(list)
    for one in objectives:
        found[one.kind, one.target_ratio, one.period_s, one.limit_s, one.slice_ratio].append(one)
    return [found[key] for key in sorted(found, key=str)]


def _events(kind: ObjectiveKind, objectives: Sequence[Objective], every: set[str]) -> Iterable[Record]:
    classes = _alike(one for one in objectives if one.kind is kind)
    if not classes:
        return
    pair = _probes if kind in COUNTERS else _time
    pairs = [pair(alike[0], flow_matcher({one.flow for one in alike}, every)) for alike in classes]
    for name, expressions in zip((BAD, VALID), zip(*pairs, strict=True), strict=True):
        yield Record(name=name + _STEP, expression=either(expressions), labels={"objective": kind.value})


def _probes(objective: Objective, matcher: str) -> tuple[str, str]:
    good, valid = (selector(one.full_name, matcher) for one in COUNTERS[objective.kind])
    if objective.slice_ratio is None:
        bad = f"sum by ({FLOW}) (increase({valid}[5m])) - sum by ({FLOW}) (increase({good}[5m]))"
        return f"clamp_min({bad}, 0)", f"sum by ({FLOW}) (increase({valid}[5m]))"
    # A minute without probes is neither good nor bad.
    minute = f"sum by ({FLOW}) (rate({good}[1m])) / (sum by ({FLOW}) (rate({valid}[1m])) > 0)"
    return f"{minute} < bool {number(objective.slice_ratio)}", f"{minute} >= bool 0"


def _time(objective: Objective, matcher: str) -> tuple[str, str]:
    limit_s = objective.limit_s or 0.0
    if objective.kind is ObjectiveKind.AUDIT_AGE:
        age = audit_age(limit_s, matcher)
    else:
        age = f"max by ({FLOW}) ({selector(AGES[objective.kind].full_name, matcher)})"
    return f"{age} > bool {number(limit_s)}", f"{age} >= bool 0"


def _window(length_s: float) -> Iterator[Record]:
    """Yield the counts of a window and their ratio, or only the ratio if the counts exist."""
    window = promql_duration(length_s)
    if length_s > STEP_S:
        sparse = length_s >= LONG_S
        every_s, count = (STEP_S, SPARSE_COUNT) if sparse else (_INTERVAL_S, _STEP)
        span = f"[{window}:{promql_duration(every_s)}]"
        bad, valid = (name + count + span for name in (BAD, VALID))
        weight, steps = number(every_s / STEP_S), number(length_s / STEP_S)
        yield Record(name=BAD + window, expression=f"sum_over_time({bad}) * {weight}")
        yield Record(name=VALID + window, expression=f"avg_over_time({valid}) * {steps}")
    yield Record(name=ERROR + window, expression=f"{BAD}{window} / ({VALID}{window} > 0)")


def _burn(window: BurnWindow, objectives: Sequence[Objective], every: set[str]) -> Alert | None:
    """Return the alert of a window over all objectives; None if it could never fire."""
    expressions = [
        _burning(window, above, alike[0], flow_matcher({one.flow for one in alike}, every))
        for alike in _alike(objectives)
        if (above := threshold(alike[0], window)) is not None
    ]
    if not expressions:
        return None
    long = promql_duration(window.long_s)
    return Alert(
        name="MirrorwatchErrorBudgetBurn",
        severity=window.severity,
        expression=either(expressions),
        labels={"window": long},
        more_labels=("objective",),
        summary="{{ $labels.objective }} budget of {{ $labels.flow }} burns",
        description=(
            f"{{{{ $value | humanizePercentage }}}} of what {{{{ $labels.objective }}}} counts was bad in"
            f" {long}. At least {number(100 * window.budget_share)} % of the period's budget is spent in"
            f" {long}."
        ),
        keep_s=0 if window.severity == CRITICAL else KEEP_TICKET_S,
    )


def _burning(window: BurnWindow, above: float, objective: Objective, matcher: str) -> str:
    which = f"objective={quoted(objective.kind.value)}"
    counts = objective.kind.counts_probes and objective.slice_ratio is None
    least = number(LEAST_BAD_PROBES if counts else LEAST_BAD_STEPS)
    long, short = promql_duration(window.long_s), promql_duration(window.short_s)
    burning = (
        f"{selector(ERROR + long, which, matcher)} > {number(above)}"
        f" and {selector(ERROR + short, which, matcher)} > {number(above)}"
        f" and {selector(BAD + long, which, matcher)} >= {least}"
    )
    if window.severity != CRITICAL or objective.kind not in SPENT_BY_PAUSES:
        return burning
    # Someone paused the mirror on purpose. The short window still has the pause when it is over.
    paused = selector(series.FLOW_CAUSE.full_name, 'cause="paused"')
    return f"{burning} unless on ({FLOW}) max_over_time({paused}[{short}]) == 1"
