"""Rules on a faster clock: all times are divided, and nothing else is touched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.rules import Alert, compressed
from alerts.rules.rule import CRITICAL, Group, Record, promql_duration, seconds_of
from tests.alerts.test_rules import MIXED, groups_of


def rewritten(expression, divisor=15.0):
    group = Group(name="x", interval_s=30, rules=(Record(name="x", expression=expression),))
    ((found,),) = (one.rules for one in compressed([group], divisor))
    return found.expression


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rate(x[5m])", "rate(x[20s])"),
        ("avg_over_time(x[1d:5m])", "avg_over_time(x[96m:20s])"),
        ("x offset 30m", "x offset 2m"),
        ("rate(x[1h30m])", "rate(x[6m])"),
        ("rate(x[5s])", "rate(x[333ms])"),
        ('x{flow=~"A.[5m]|offset 5m"} > 5', 'x{flow=~"A.[5m]|offset 5m"} > 5'),
        ('x{a="\\"[5m]"}[5m]', 'x{a="\\"[5m]"}[20s]'),
        ("mirrorwatch:objective_error:ratio_rate5m > 300", "mirrorwatch:objective_error:ratio_rate5m > 300"),
    ],
)
def test_durations_are_divided_and_strings_names_and_numbers_stay(before, after):
    assert rewritten(before) == after


def test_an_alert_waits_less_and_keeps_its_labels():
    alert = Alert(
        name="MirrorwatchX",
        expression="x > 1",
        severity=CRITICAL,
        for_s=60,
        keep_s=600,
        labels={"window": "1h"},
        summary="x",
        description="x.",
    )
    ((found,),) = (one.rules for one in compressed([Group(name="x", interval_s=5, rules=(alert,))], 15))
    assert (found.for_s, found.keep_s, found.labels) == (4, 40, {"window": "1h"})


def durations(group):
    expressions = (rule.expression for rule in group.rules)
    return [
        seconds_of(one) for text in expressions for one in re.findall(r"(?:\[|:|offset )(\d+[a-z]+)", text)
    ]


def test_every_rule_differs_in_its_durations_alone():
    for group, faster in zip(groups_of(MIXED), compressed(groups_of(MIXED), 15), strict=True):
        assert faster.interval_s == group.interval_s / 15
        assert durations(faster) == pytest.approx([one / 15 for one in durations(group)], abs=0.0005)
        for rule, other in zip(group.rules, faster.rules, strict=True):
            shape = re.compile(r"\d+(d|h|m|s|ms)\b")
            assert shape.sub("T", rule.expression) == shape.sub("T", other.expression)
    assert compressed(groups_of(MIXED), 1) == groups_of(MIXED)


@given(st.integers(1, 10**10))
def test_a_duration_is_read_as_it_was_written(milliseconds):
    assert seconds_of(promql_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)
