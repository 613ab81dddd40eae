"""OpenSLO v1, written and read: what is written reads back, and everything else is refused by name."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.objectives.openslo import can_be_written, document_of, entry_of


def objective(kind=ObjectiveKind.FRESHNESS, **more):
    return Objective(
        **{"flow": "A->B", "source": "A", "target": "B", "kind": kind, "target_ratio": 0.99} | more
    )


@given(
    st.sampled_from([ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS]),
    st.integers(0, 9999).map(lambda one: one / 10_000),
    st.integers(4, 400),
    st.none() | st.integers(0, 99).map(lambda one: one / 100),
)
def test_what_is_written_reads_back(kind, target, days, slice_ratio):
    one = objective(kind, target_ratio=target, period_s=days * 86_400.0, slice_ratio=slice_ratio)
    entry, problems = entry_of(document_of(one))
    assert problems == []
    assert (entry["flow"], entry["kind"]) == ("A->B", kind.value)
    assert entry["period"] == f"{days}d"
    assert entry["target"] == pytest.approx(100 * target, abs=1e-9)
    assert entry.get("good_minutes") == (None if slice_ratio is None else pytest.approx(100 * slice_ratio))


def test_what_counts_no_events_cannot_be_written():
    written = [kind for kind in ObjectiveKind if can_be_written(objective(kind))]
    assert written == [ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS]


def changed(change):
    document = deepcopy(document_of(objective(slice_ratio=0.9)))
    change(document, document["spec"])
    return entry_of(document)[1]


RATIO = "spec.indicator.spec.ratioMetric"


@pytest.mark.parametrize(
    ("change", "key", "said"),
    [
        (lambda d, _: d.update(apiVersion="openslo/v1alpha"), "apiVersion", "must be openslo/v1"),
        (lambda d, _: d.update(kind="DataSource"), "kind", "DataSource is not supported; only SLO is"),
        (lambda _, s: s.update(alertPolicies=[]), "spec.alertPolicies", "is not supported; remove it"),
        (
            lambda _, s: s.update(budgetingMethod="RatioTimeslices"),
            "spec.budgetingMethod",
            "RatioTimeslices is not",
        ),
        (
            lambda _, s: s["timeWindow"][0].update(isRolling=False),
            "spec.timeWindow",
            "calendar windows are not",
        ),
        (lambda _, s: s["timeWindow"][0].update(calendar={}), "spec.timeWindow.calendar", "is not supported"),
        (
            lambda _, s: s["timeWindow"][0].update(duration="1M"),
            "spec.timeWindow.duration",
            "'1M' is not supported",
        ),
        (lambda _, s: s["objectives"].append({}), "spec.objectives", "must have exactly one element"),
        (lambda _, s: s["objectives"][0].update(op="lte"), "spec.objectives.op", "is not supported"),
        (lambda _, s: s["objectives"][0].update(target=1), "spec.objectives.target", "below 1"),
        (lambda _, s: s["objectives"][0].update(target=-0.1), "spec.objectives.target", "from 0"),
        (
            lambda _, s: s["objectives"][0].update(targetPercent=99),
            "spec.objectives",
            "either target or targetPercent",
        ),
        (
            lambda _, s: s["objectives"][0].update(timeSliceWindow="5m"),
            "spec.objectives.timeSliceWindow",
            "must be 1m",
        ),
        (lambda _, s: s["indicator"]["spec"].pop("ratioMetric"), RATIO, "missing"),
        (
            lambda _, s: s["indicator"]["spec"].update(thresholdMetric={}),
            "spec.indicator.spec.thresholdMetric",
            "not",
        ),
        (
            lambda _, s: s["indicator"]["spec"]["ratioMetric"].update(bad={}),
            f"{RATIO}.bad",
            "is not supported",
        ),
        (
            lambda _, s: s["indicator"]["spec"]["ratioMetric"].update(counter=False),
            f"{RATIO}.counter",
            "must be true",
        ),
        (
            lambda _, s: s["indicator"]["spec"]["ratioMetric"]["good"]["metricSource"]["spec"].update(
                query="up"
            ),
            RATIO,
            "must divide counters of one flow",
        ),
    ],
)
def test_everything_else_is_refused_by_name(change, key, said):
    problems = changed(change)
    assert any(where == key and said in sentence for where, sentence in problems), problems


def test_a_document_of_another_shape_is_refused():
    for document in ("text", [], {}, {"kind": "SLO", "spec": [1, 2]}):
        assert entry_of(document)[1]
