"""Unit tests of rendered rules, for `promtool test rules`: silence first, then exactly these alerts. Pure.

Each case plays series of one flow of the user's own configuration and lists every alert that fires at some
moments; whatever else fires fails the case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alerts.objectives.objective import ObjectiveKind
from alerts.rules.rule import CRITICAL, FLOW, WARNING, quoted
from alerts.rules.watching import JOB
from fleet import series, series_lag
from fleet.series_checksum import CHECKSUM_RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alerts.objectives.objective import Objective
    from fleet.series_kinds import Series

STEP_S = 15  # as often as Prometheus scrapes, by the rendered configuration
_MINUTE = 60 // STEP_S
FIRING = 'ALERTS{alertstate="firing", alertname!="MirrorwatchWatchdog"}'


@dataclass(frozen=True, slots=True)
class Case:
    """Series by selector, with values in promtool's notation; at each moment, the alerts that fire."""

    name: str
    series: Mapping[str, str]
    moments: Sequence[tuple[str, Sequence[str]]]  # a duration, and samples of ALERTS


class _Story:
    """The series of one healthy flow, of which a case changes some."""

    def __init__(self, objective: Objective, others: Sequence[tuple[str, str, str]], minutes: int) -> None:
        self._labels = dict(
            zip(FLOW.split(", "), (objective.flow, objective.source, objective.target), strict=True)
        )
        self._count = minutes * _MINUTE
        self._values: dict[str, str] = {f"up{{job={quoted(JOB)}}}": f"1x{self._count}"}
        for flow in others:
            labels = dict(zip(FLOW.split(", "), flow, strict=True))
            self._values[_selector(series.FLOW_INFO, labels)] = f"1x{self._count}"
        self.play(series.FLOW_INFO, f"1x{self._count}")
        self.play(series.CANARY_THRESHOLD_SECONDS, f"5x{self._count}")
        self.play(series.CANARY_INTERVAL_SECONDS, f"1x{self._count}")
        self.play(series.FLOW_RECOVERY_POINT_AGE_SECONDS, f"1x{self._count}")
        self.play(series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, f"0+{STEP_S}x{self._count}")
        for one in _COUNTERS:
            self.play(one, f"0+{2 * STEP_S}x{self._count}")
        for outcome in ("lost", "overdue"):
            self.play(series.CANARY_PROBES_TOTAL, f"0x{self._count}", outcome=outcome)

    def play(self, one: Series, values: str, **labels: str) -> _Story:
        """Give a series of the flow these values."""
        self._values[_selector(one, {**self._labels, **labels})] = values
        return self

    def fires(self, name: str, severity: str, **labels: str) -> str:
        """Return the sample that ALERTS has while the alert fires for the flow."""
        held = {"alertname": name, "alertstate": "firing", "severity": severity, **self._labels, **labels}
        return _braced("ALERTS", held)

    def case(self, name: str, *moments: tuple[str, Sequence[str]]) -> Case:
        """Return the case of what was played."""
        return Case(name, dict(self._values), moments)


_COUNTERS = (
    series.CANARY_EXPECTED_TOTAL,
    series.CANARY_SETTLED_TOTAL,
    series.CANARY_GOOD_TOTAL,
    series.CANARY_CONCLUDED_TOTAL,
    series.CANARY_DELIVERED_TOTAL,
)


def cases_of(objectives: Sequence[Objective]) -> Iterator[Case]:
    """Yield the cases of the first flow that has a canary, whose rules are those of all others."""
    probed = [one for one in objectives if one.kind is ObjectiveKind.FRESHNESS and one.slice_ratio is None]
    if not probed:
        return
    flow = probed[0]
    others = sorted({(one.flow, one.source, one.target) for one in objectives if one.flow != flow.flow})
    for make in (_healthy, _silence, _one_lost, _lost_while_stalled, _nothing_due, _audit, _race, _gone):
        yield make(flow, others)


def _healthy(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    return _Story(flow, others, 30).case("a healthy flow", ("1m", ()), ("29m", ()))


def _silence(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    # Five minutes of arrivals, then none.
    story.play(
        series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, f"0+{STEP_S}x{5 * _MINUTE} {5 * 60}x{25 * _MINUTE}"
    )
    silent = story.fires("MirrorwatchNoRecordsArrive", CRITICAL)
    return story.case("records stop to arrive", ("5m", ()), ("5m35s", (silent,)))


def _one_lost(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    story.play(series.CANARY_PROBES_TOTAL, f"0x{5 * _MINUTE} 1x{25 * _MINUTE}", outcome="lost")
    lost = story.fires("MirrorwatchRecordsLost", CRITICAL)
    return story.case("one canary record is lost", ("5m", ()), ("6m", (lost,)), ("25m", ()))


def _lost_while_stalled(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    story.play(series.FLOW_CONDITION, f"0x{5 * _MINUTE} 1x{25 * _MINUTE}", condition="losing")
    story.play(series.FLOW_CONDITION, f"0x{10 * _MINUTE} 1x{20 * _MINUTE}", condition="stalled")
    lost = story.fires("MirrorwatchRecordsLost", CRITICAL)
    stalled = story.fires("MirrorwatchReplicationStalled", CRITICAL)
    return story.case(
        "a stall beside a loss", ("4m", ()), ("6m", (lost,)), ("10m30s", (lost,)), ("12m", (lost, stalled))
    )


def _nothing_due(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    for one in _COUNTERS:
        story.play(one, f"0+{2 * STEP_S}x{5 * _MINUTE} {600}x{25 * _MINUTE}")
    silent = story.fires("MirrorwatchCanarySilent", CRITICAL)
    return story.case("the canary stops", ("14m", ()), ("17m30s", (silent,)))


def _audit(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    story.play(CHECKSUM_RECORDS, f"0x{5 * _MINUTE} 3x{25 * _MINUTE}", topic="orders", verdict="lost")
    story.play(CHECKSUM_RECORDS, f"0x{30 * _MINUTE}", topic="orders", verdict="extra")
    found = story.fires("MirrorwatchAuditFoundLoss", CRITICAL)
    return story.case("an audit finds lost records", ("5m", ()), ("6m", (found,)))


def _race(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    steps = 30 * _MINUTE
    story.play(series_lag.REPLICATION_TOPIC_LAG_SECONDS, f"0+{STEP_S}x{steps}", topic="orders")
    headroom = f"1500-{STEP_S}x{steps}"
    story.play(series_lag.REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS, headroom, topic="orders")
    ticket = story.fires("MirrorwatchRetentionRace", WARNING, topic="orders")
    return story.case(
        "retention comes near what waits",
        ("10m", ()),
        ("23m30s", (ticket, story.fires("MirrorwatchRetentionRace", CRITICAL, topic="orders"))),
    )


def _gone(flow: Objective, others: Sequence[tuple[str, str, str]]) -> Case:
    story = _Story(flow, others, 30)
    story.play(series.FLOW_INFO, f"1x{5 * _MINUTE} stale")
    return story.case(
        "a flow is no longer watched",
        ("6m", ()),
        ("16m", (story.fires("MirrorwatchFlowMissing", CRITICAL),)),
    )


def cases_document(cases: Sequence[Case], rule_file: str) -> dict[str, Any]:
    """Return what a file of unit tests holds."""
    return {
        "rule_files": [rule_file],
        "evaluation_interval": f"{STEP_S}s",
        "tests": [
            {
                "name": case.name,
                "interval": f"{STEP_S}s",
                "input_series": [{"series": one, "values": values} for one, values in case.series.items()],
                "promql_expr_test": [
                    {
                        "expr": FIRING,
                        "eval_time": at,
                        "exp_samples": [{"labels": labels, "value": 1} for labels in sorted(firing)],
                    }
                    for at, firing in case.moments
                ],
            }
            for case in cases
        ],
    }


def _selector(one: Series, labels: Mapping[str, str]) -> str:
    return _braced(one.full_name, labels)


def _braced(name: str, labels: Mapping[str, str]) -> str:
    return f"{name}{{{', '.join(f'{key}={quoted(value)}' for key, value in labels.items())}}}"
