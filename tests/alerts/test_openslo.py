"""OpenSLO v1, written and read: what is written reads back, and everything else is refused by name."""

from __future__ import annotations

import re
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
GOOD = 'sum(mirrorwatch_canary_good_total{flow="A->B"})'


def metric(spec):
    return spec["indicator"]["spec"]["ratioMetric"]["good"]["metricSource"]


def test_blanks_and_metadata_change_no_objective():
    document = document_of(objective())
    metric(document["spec"])["spec"]["query"] = ' sum ( mirrorwatch_canary_good_total { flow = "A->B", } ) '
    document["metadata"]["labels"] = {"team": "x"}
    assert entry_of(document) == entry_of(document_of(objective()))


def test_each_objective_has_a_name_of_its_own():
    flows = ("a->b", "A->B", "us->east-dr", "us-east->dr", "us.east->dr", "x" * 60 + "->a", "x" * 60 + "->b")
    names = [
        document_of(objective(kind, flow=flow))["metadata"]["name"]
        for flow in flows
        for kind in (ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS)
    ]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", one) for one in names)
    assert names[0] == "a-b-availability"


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
        (lambda d, _: d["metadata"].update(owner="x"), "metadata.owner", "is not supported"),
        (lambda _, s: metric(s).update(type="Datadog"), f"{RATIO}.good.metricSource.type", "only Prometheus"),
        (lambda _, s: metric(s).pop("type"), f"{RATIO}.good.metricSource.type", "nothing is not supported"),
        (
            lambda _, s: metric(s).update(metricSourceRef="x"),
            f"{RATIO}.good.metricSource.metricSourceRef",
            "is not supported",
        ),
        (
            lambda _, s: metric(s)["spec"].update(source="x"),
            f"{RATIO}.good.metricSource.spec.source",
            "is not supported",
        ),
        (
            lambda _, s: s["indicator"]["spec"]["ratioMetric"]["good"].update(extra=1),
            f"{RATIO}.good.extra",
            "is not supported",
        ),
        *(
            (lambda _, s, query=query: metric(s)["spec"].update(query=query), RATIO, "must divide counters")
            for query in (
                f"2 * {GOOD}",
                f"{GOOD} or vector(0)",
                GOOD.replace("}", "} offset 7d"),
                GOOD.replace("}", ', instance="x"}'),
                GOOD.replace("A->B", "A->*"),
            )
        ),
        (
            lambda _, s: s.update(budgetingMethod="Occurrences"),
            "spec.objectives.timeSliceTarget",
            "must not be set with Occurrences",
        ),
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
