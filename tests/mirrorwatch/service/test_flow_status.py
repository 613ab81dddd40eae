"""What holds of a flow now, apart from what is past, and how incidents are said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerts.incidents import Counts
from alerts.incidents.losses import Loss
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from mirrorwatch.service import flow_status
from mirrorwatch.web import texts
from mirrorwatch.web.linking import PageLinks, runbook_of
from mirrorwatch.web.pages.runbooks import Mitigations, runbook_names
from tests.mirrorwatch import views


def _status(view):
    return view.status


def test_a_verdict_that_holds_is_the_present_one():
    for verdict in Verdict:
        status = _status(views.flow(verdict=verdict))
        assert (status.now.verdict, status.past, status.worst) == (verdict, None, verdict)


def test_a_verdict_about_what_has_ended_is_past():
    stalled, healthy = _status(views.stalled_beside_losing()), _status(views.healthy_after_losing())
    assert (stalled.now.verdict, stalled.now.cause) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert (stalled.past.verdict, stalled.worst) == (Verdict.LOSING, Verdict.STALLED)
    assert (healthy.now.verdict, healthy.now.sentence) == (
        Verdict.HEALTHY,
        "Canary records arrive on 6 of 6 partitions.",
    )
    assert (healthy.past.cause, healthy.worst) == (Cause.FILTERED, Verdict.LOSING)


def test_a_flow_without_a_canary_that_lost_records_is_healthy_by_its_offsets():
    parts = (("canary", "canary.mode is off."), ("lag", "No lag on 6 partitions."))
    view = views.healthy_after_losing()
    view = replace(view, verdict=replace(view.verdict, parts=parts))
    assert _status(view).now.sentence == "canary.mode is off."
    assert _status(replace(view, canary_state="off")).now.sentence == "No lag on 6 partitions."


def test_a_condition_that_nothing_describes_is_shown_without_a_sentence():
    view = views.healthy_after_losing()
    verdict = replace(view.verdict, conditions=frozenset({Verdict.LATE, Verdict.REPEATING}))
    status = flow_status.flow_status(verdict)
    assert (status.now.verdict, status.now.sentence) == (Verdict.REPEATING, "")


def test_what_a_checksum_found_is_reported_as_such():
    view = views.healthy_after_losing()
    audited = replace(view.verdict, evidence=(Evidence("checksum", "7 records are absent", 1.0),))
    assert flow_status.flow_status(audited).by_audit
    assert not _status(view).by_audit


def test_flows_are_ordered_by_what_holds_now():
    flows = (
        views.flow("A", "H"),
        views.flow("A", "U", Verdict.UNKNOWN),
        views.healthy_after_losing(),
        views.flow("A", "L", Verdict.LATE),
        views.stalled_beside_losing(),
    )
    ordered = sorted(flows, key=lambda one: one.status.rank)
    assert [(one.status.now.verdict.value, one.status.past is not None) for one in ordered] == [
        ("stalled", True),
        ("late", False),
        ("healthy", True),
        ("unknown", False),
        ("healthy", False),
    ]


def test_an_incident_in_one_line():
    one = views.incident()
    assert texts.recent_text(one, views.NOW_AT) == "272 records lost, stalled, 20:15 to 20:18 UTC"
    opened = views.incident(ended=False)
    assert texts.recent_text(opened, views.NOW_AT) == "272 records lost, stalled, since 20:15 UTC"
    over_midnight = replace(one, started_at=one.started_at - 76_000)
    assert texts.recent_text(over_midnight, views.NOW_AT + 20_000).endswith(
        "27 May 23:08 to 28 May 20:18 UTC"
    )


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (Bounds(3, 3), "275 records lost"),
        (Bounds(3, 9), "between 275 and 281 records lost"),
        (Bounds(3, None), "at least 275 records lost"),
    ],
)
def test_a_number_of_lost_records_keeps_its_bounds(lost, said):
    assert texts.what_text(replace(views.incident(), lost_by={"one": Loss(0, 0, lost)})) == f"{said}, stalled"
    nothing = replace(views.incident(), lost_by={}, counts_by={"one": Counts()})
    assert texts.what_text(nothing) == "records lost, stalled"


def test_how_long_an_incident_lasted_keeps_its_bounds():
    one = views.incident()
    assert texts.lasted_text(one) == "3 min"
    assert (
        texts.lasted_text(replace(one, healthy_at=one.bad_until_at + 3600)) == "between 3 min and 1 h 3 min"
    )
    assert texts.lasted_text(replace(one, healthy_at=None)) == "at least 3 min"


def test_every_condition_and_cause_has_something_to_do():
    mitigations = Mitigations()
    for verdict in Verdict:
        for cause in (None, *Cause):
            name = runbook_of(verdict, cause)
            if verdict is Verdict.HEALTHY and cause is None:
                assert name is None
                continue
            assert name in runbook_names()
            assert mitigations.of(name)
    assert mitigations.of("nothing") is None
    assert mitigations.of(None) is None
    assert 'href="/runbooks/overtaken"' in mitigations.of("filtered")


def test_links_hold_any_name():
    links = PageLinks("https://mw.example.org", grafana="https://g.example.org")
    assert links.flow("A", "B") == "https://mw.example.org/flows/A:B"
    assert links.flow("a/b?#", "ü") == "https://mw.example.org/flows/a%2Fb%3F%23:%C3%BC"
    assert links.dashboard("A->B") == "https://g.example.org/d/mirrorwatch-flow?var-flow=A-%3EB"
    assert links.runbook("filtered") == "https://mw.example.org/runbooks/filtered"
    assert (
        PageLinks(runbooks="https://r.example.org").runbook("filtered") == "https://r.example.org/filtered.md"
    )
    assert PageLinks().dashboard("A->B") is None
