"""Objectives: which a flow has, what their budgets allow, and when a probe rate is too low for one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from alerts.config import LinksConfig, ObjectiveConfig, address_of
from alerts.objectives import BURN_WINDOWS, Objective, ObjectiveKind, longest_window_s, rate_advice
from alerts.objectives.advice import probes_needed
from alerts.objectives.objective import DAY_S
from alerts.objectives.resolving import FlowFacts, objectives_of
from alerts.rules.budgets import threshold

FLOWS = (FlowFacts("A->B", "A", "B", has_canary=True), FlowFacts("A->C", "A", "C", has_canary=False))


def objective(kind=ObjectiveKind.FRESHNESS, target_ratio=0.999, **more):
    return Objective(flow="A->B", source="A", target="B", kind=kind, target_ratio=target_ratio, **more)


def entries(*rows):
    return [ObjectiveConfig.model_validate(row) for row in rows]


def test_factors_come_from_the_period():
    month = [round(window.factor(30 * DAY_S), 6) for window in BURN_WINDOWS]
    assert month == [14.4, 6, 3, 1]
    # A lower rate never spends the budget, so a flow within its objective would have an alert.
    assert [round(window.factor(4 * DAY_S), 6) for window in BURN_WINDOWS] == [1.92, 1, 1, 1]
    assert round(BURN_WINDOWS[0].factor(28 * DAY_S), 6) == 13.44
    assert [window.short_s for window in BURN_WINDOWS] == [300, 1800, 7200, 21600]


def test_without_entries_each_flow_has_the_defaults_of_what_can_be_measured():
    found, problems = objectives_of(None, FLOWS)
    kinds = {(one.flow, one.kind.value) for one in found}
    assert problems == []
    assert kinds == {
        ("A->B", "availability"),
        ("A->B", "freshness"),
        ("A->B", "loss"),
        ("A->B", "recovery_point"),
        ("A->C", "replication_lag"),
    }


@pytest.mark.parametrize(
    ("probes_per_s", "minutes"), [(1.0, 1), (1 / 60, 1), (1 / 300, 5), (1 / 90, 1.5), (0, 1)]
)
@pytest.mark.parametrize("wanted", [None, entries({"kind": "availability"})])
def test_an_objective_knows_how_far_apart_the_probes_of_its_flow_are(wanted, probes_per_s, minutes):
    found, _ = objectives_of(wanted, [replace(FLOWS[0], probes_per_s=probes_per_s)])
    assert [one.minutes_per_probe for one in found] == pytest.approx([minutes] * len(found))


def test_of_several_entries_for_a_flow_the_last_counts():
    wanted = entries(
        {"kind": "recovery_point", "limit": "60s"},
        {"flow": "A->B", "kind": "recovery_point", "target": "99.9", "limit": "30s", "period": "30d"},
    )
    found, problems = objectives_of(wanted, FLOWS)
    assert problems == []
    assert {(one.flow, one.target_ratio, one.limit_s, one.period_s / DAY_S) for one in found} == {
        ("A->B", 0.999, 30, 30),
        ("A->C", 0.99, 60, 28),
    }


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"flow": "A->D", "kind": "loss"}, "unknown flow 'A->D'; did you mean 'A->C'?"),
        ({"flow": "X*", "kind": "loss"}, "unknown flow 'X*'; known are A->B, A->C"),
        (
            {"flow": "A->C", "kind": "freshness"},
            "freshness needs a canary, and A->C has none; use replication_lag",
        ),
    ],
)
def test_what_fits_no_flow_is_a_problem(row, sentence):
    found, problems = objectives_of(entries(row), FLOWS)
    assert found == ()
    assert [text for _number, _key, text in problems] == [sentence]


@pytest.mark.parametrize(
    ("row", "key", "word"),
    [
        ({"kind": "freshness", "target": "100"}, "target", "less than 100"),
        ({"kind": "freshness", "target": "-1"}, "target", "greater than or equal to 0"),
        ({"kind": "freshness", "period": "3d"}, "period", "longer than 3 d"),
        ({"kind": "freshness", "limit": "5s"}, "limit", "canary threshold"),
        ({"kind": "loss", "target": "99"}, "target", "every lost record"),
        ({"kind": "recovery_point", "good_minutes": "95"}, "good_minutes", "availability and freshness"),
        ({"kind": "speed"}, "kind", "availability"),
        ({"kind": "loss", "taget": "1"}, "taget", ""),
    ],
)
def test_a_wrong_entry_is_refused(row, key, word):
    with pytest.raises(ValidationError) as caught:
        ObjectiveConfig.model_validate(row)
    (error,) = caught.value.errors()
    assert error["loc"] == (key,)
    assert word in error["msg"]


def test_a_link_that_is_refused_shows_no_password():
    for text in ("https://u:secret@a", "https://u:sec@ret@a", "ftp://u:secret@a"):
        with pytest.raises(ValueError, match="invalid address; write http:// or https://") as caught:
            address_of(text)
        assert "sec" not in str(caught.value)


@pytest.mark.parametrize("text", ["ftp://a", "a", "https://", "https://u:p@a", "http://[x"])
def test_a_link_has_to_be_an_address(text):
    with pytest.raises(ValidationError):
        LinksConfig.model_validate({"grafana": text})


def test_one_probe_a_minute_is_too_few_for_99_and_one_a_second_is_not():
    advice = rate_advice(objective(), 1 / 60)
    assert advice is not None
    assert advice.startswith("freshness 0.999 of A->B: 3 failed probes in 1 h exceed the rate that pages")
    assert "more than 223 probes per 1 h (now 60)" in advice
    assert rate_advice(objective(), 1.0) is None
    assert rate_advice(objective(ObjectiveKind.RECOVERY_POINT), 0.0) is None


@given(
    ratio=st.floats(0.5, 0.99999),
    days=st.floats(3.5, 400),
    rate=st.floats(1e-4, 100),
)
def test_advice_is_given_exactly_where_three_failed_probes_are_above_a_paging_threshold(ratio, days, rate):
    one = objective(target_ratio=ratio, period_s=days * DAY_S)
    paging = [window for window in BURN_WINDOWS if window.severity == "critical"]
    trips = any(
        3 / (rate * window.long_s) >= window.factor(one.period_s) * one.budget_ratio for window in paging
    )
    assert (rate_advice(one, rate) is not None) == trips


@given(ratio=st.floats(0, 0.99999), days=st.floats(3.5, 400))
def test_a_window_alerts_only_where_a_ratio_can_be_above_its_threshold(ratio, days):
    one = objective(target_ratio=ratio, period_s=days * DAY_S)
    for window in BURN_WINDOWS:
        above = threshold(one, window)
        assert above is None or 0 < above < 1
        # What burns just at the threshold spends the window's share of the budget, or all in the period.
        if above is not None:
            spent = above * window.long_s / (one.budget_ratio * one.period_s)
            assert spent == pytest.approx(max(window.budget_share, window.long_s / one.period_s))
            assert probes_needed(window, one) == pytest.approx(3 / above)
    assert longest_window_s() == 3 * DAY_S
