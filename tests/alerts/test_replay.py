"""The replay of alerts against what promtool makes of the same story, and its rules one by one."""

from __future__ import annotations

import json
import random

import pytest

from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.objectives.resolving import FlowFacts
from alerts.reports.arithmetic import Stretch
from alerts.reports.replay import (
    Counts,
    Replayed,
    counts_of,
    missed,
    replay_burn,
    replay_symptoms,
)
from alerts.rules import budget_groups
from alerts.rules.document import Links, rules_document
from fleet.probe_history import ProbeMinute, ValueRun
from fleet.series import catalogue as series
from tests.alerts.test_rules import promtool

START = 20_000 * 1440
FLOWS = (FlowFacts("A->B", "A", "B", has_canary=True),)
LABELS = 'flow="A->B", source_cluster="A", target_cluster="B"'
NEAR_MINUTES = (
    6  # a transition may be so far from where promtool has it: a rule that runs each 5 min, and one
)


def objective(kind=ObjectiveKind.AVAILABILITY, **more):
    how = {"target_ratio": 0.99, "limit_s": kind.default_limit_s} | more
    return Objective(flow="A->B", source="A", target="B", kind=kind, **how)


def story(minutes):
    """Return bad probes by minute: a slow leak, a total stop, flapping, and one lost probe."""
    chosen = random.Random(4)
    bad = [0] * minutes
    bad[30] = 4
    for minute in range(120, 135):
        bad[minute] = 60
    for minute in range(300, 600):
        bad[minute] = 16 if chosen.random() < 0.4 else 0
    return bad


def increments(bad, total=60):
    """Return promtool's values of a counter that grows by what was not bad, in steps of 15 s."""
    parts, value = ["0"], 0
    for one in bad:
        step = (total - one) // 4
        parts.append(f"{value + step}+{step}x3")
        value += 4 * step
    return " ".join(parts)


def test_burn_alerts_fire_where_promtool_has_them(tmp_path):
    minutes = 900
    wanted = objective()
    bad = story(minutes)
    alerts = replay_burn(wanted, Counts(0, bad, [60] * minutes))
    transitions = {edge for one in alerts for first, last in one.firings for edge in (first, last + 1)}
    tests = []
    for minute in range(10, minutes, 11):
        if any(abs(minute - edge) <= NEAR_MINUTES for edge in transitions):
            continue
        firing = [
            f'ALERTS{{alertname="MirrorwatchErrorBudgetBurn", alertstate="firing", {LABELS},'
            f' objective="availability", severity="{one.severity}", window="{one.detail.split()[1]}"}}'
            for one in alerts
            if any(first < minute <= last for first, last in one.firings)
        ]
        samples = [{"labels": each, "value": 1} for each in firing]
        tests.append(
            {"expr": 'ALERTS{alertstate="firing"}', "eval_time": f"{minute}m", "exp_samples": samples}
        )
    assert {len(one["exp_samples"]) for one in tests} >= {0, 1, 2}
    assert sum(1 for one in alerts if one.firings) == 4
    (tmp_path / "rules.yml").write_text(
        json.dumps(rules_document(budget_groups([wanted], FLOWS), Links(service="https://mw.example.org")))
    )
    series_of = {
        series.CANARY_DELIVERED_TOTAL: increments(bad),
        series.CANARY_CONCLUDED_TOTAL: increments([0] * minutes),
    }
    document = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "30s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [
                    {"series": f"{one.full_name}{{{LABELS}}}", "values": values}
                    for one, values in series_of.items()
                ],
                "promql_expr_test": tests,
            }
        ],
    }
    (tmp_path / "test.yml").write_text(json.dumps(document))
    tested = promtool("test", "rules", "test.yml", folder=tmp_path)
    assert tested.returncode == 0, (tested.stdout + tested.stderr)[:3000]


def test_few_bad_probes_fire_nothing_however_small_the_traffic():
    counts = Counts(START, [2, *[0] * 119], [2] * 120)
    assert [one.firings for one in replay_burn(objective(), counts)] == [()] * 4


def test_minutes_that_were_not_observed_neither_fire_nor_end_the_story():
    silent = [None] * 240
    counts = Counts(START, [*[0] * 60, *silent, *[0] * 60], [*[60] * 60, *silent, *[60] * 60])
    assert [one.firings for one in replay_burn(objective(), counts)] == [()] * 4


def test_time_over_the_limit_burns_without_smoothing():
    wanted = objective(ObjectiveKind.RECOVERY_POINT)
    values = {
        START + n: ValueRun(START + n, 1, 60, None, 900.0 if n >= 60 else 1.0, None) for n in range(120)
    }
    counts = counts_of(wanted, {}, values, (START, START + 120))
    assert (sum(counts.bad), sum(counts.valid)) == (60, 120)
    fast = replay_burn(wanted, counts)[0]
    assert fast.firings[0][0] == START + 60 + 8  # 9 of 60 minutes are more than 13.44 %


def minute(number, **counts):
    return ProbeMinute(START + number, **dict.fromkeys(ProbeMinute._fields[1:], 0) | counts)


@pytest.mark.parametrize(
    ("minutes", "fired"),
    [
        ([minute(3, settled=60, overdue=60)], {"MirrorwatchNoRecordsArrive": ((3, 4),)}),
        ([minute(n, settled=60, late=60) for n in range(3, 63)], {}),
        ([minute(3, settled=60, good=1, late=59)], {}),
        (
            [minute(n, settled=60, good=1, overdue=9) for n in (3, 4, 5)],
            {"MirrorwatchReplicationStalled": ((4, 6),)},
        ),
        ([minute(3, settled=60, good=59, lost=1)], {"MirrorwatchRecordsLost": ((3, 18),)}),
        ([minute(3, settled=60, good=59, overdue=1, confirmed=1)], {"MirrorwatchRecordsLost": ((3, 18),)}),
    ],
)
def test_symptoms(minutes, fired):
    found = replay_symptoms("A->B", {one.minute: one for one in minutes}, {}, limit_s=None)
    told = {one.name: tuple((a - START, b - START) for a, b in one.firings) for one in found if one.firings}
    assert told == fired


def test_late_records_arrived_unless_the_recovery_point_grew_with_the_time():
    minutes = {one.minute: one for one in (minute(n, settled=60, late=60) for n in range(1, 10))}
    ages_s = [1, 40, 100, 160, 161, 160, 160, 190, 160, 160]  # a pause of two minutes, and steady lateness
    values = {START + n: ValueRun(START + n, 1, 60, None, age_s, None) for n, age_s in enumerate(ages_s)}
    silent = next(
        one.firings
        for one in replay_symptoms("A->B", minutes, values, limit_s=None)
        if one.name == "MirrorwatchNoRecordsArrive"
    )
    assert silent == ((START + 2, START + 4),)


def test_what_no_alert_announced_is_missed():
    stretches = [Stretch(START + n, START + n + 5, 9, "late", None) for n in (0, 100)]
    stretches.append(Stretch(START + 500, START + 500, 2, "late", None))
    alerts = [Replayed("A->B", "X", "critical", "", ((START + 15, START + 20),))]
    assert missed(stretches, alerts) == stretches[1:2]
