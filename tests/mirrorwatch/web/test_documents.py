from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from alerts.incidents.incident import Counts
from alerts.objectives import defaults_of
from fleet.verdicts.vocabulary import Cause, Verdict
from mirrorwatch.service.recovery_point import older
from mirrorwatch.service.view import LatencySlice
from mirrorwatch.web.documents import budgets_of, flow_document, flows_document
from mirrorwatch.web.linking import WITHIN, PageLinks
from tests.mirrorwatch import views
from tests.mirrorwatch.stored_incidents import OPEN


def test_a_flow_begins_with_the_promised_shape():
    document = flow_document(views.flow(verdict=Verdict.LOSING), WITHIN)
    assert list(document)[:8] == [
        "flow",
        "source",
        "target",
        "policy",
        "verdict",
        "since",
        "sentence",
        "cause",
    ]
    assert document["flow"] == "A->B"
    assert document["verdict"] == "losing"
    assert document["since"] == "2026-05-28T20:23:20.000Z"
    assert document["cause"] == {
        "code": "filtered",
        "sentence": views.flow(verdict=Verdict.LOSING).verdict.sentence,
    }
    assert document["evidence"] == [
        {
            "part": "canary",
            "topic": "mirrorwatch-canary",
            "partition": 3,
            "source_offset": 918_204,
            "target_offset": None,
            "at": "2026-05-28T20:26:20.000Z",
            "sentence": views.ABSENT,
        }
    ]
    assert list(document["parts"]) == ["canary"]


def test_how_a_flow_is_right_now_is_next_to_a_verdict_that_holds():
    assert flow_document(views.flow(), WITHIN)["also"] is None
    assert flow_document(views.stalled_beside_losing(), WITHIN)["also"] == {
        "verdict": "stalled",
        "since": "2026-05-28T20:26:10.000Z",
        "sentence": "No canary records replicated for 30 s on any partition.",
        "cause": {
            "code": "mirror_down",
            "sentence": "No canary records replicated for 30 s on any partition.",
        },
    }


def test_with_it_stand_the_numbers_of_the_page():
    flow = views.flow(verdict=Verdict.LOSING)
    document = flow_document(flow, WITHIN)
    assert document["counters"] == dict(flow.books)
    assert (document["recovery_point_age_s"], document["recovery_point_age_s_kind"]) == (0.41, "exact")
    assert document["losses"][0] == {
        "at": "2026-05-28T20:26:20.000Z",
        "topic": "mirrorwatch-canary",
        "partition": 0,
        "sequence": 4711,
        "source_offset": 918_204,
        "count": 1,
        "sentence": flow.losses[0].sentence,
    }
    assert document["losses"][4]["count"] == 50
    assert document["canary"]["target_topic"] == "A.mirrorwatch-canary"
    assert document["latency"]["end_to_end"][8] == {
        "at": "2026-05-28T20:15:55.000Z",
        "p50_s": None,
        "p99_s": None,
        "max_s": None,
    }


def test_a_healthy_flow_has_no_cause_but_a_sentence():
    document = flow_document(views.flow(), WITHIN)
    assert document["cause"] is None
    assert document["sentence"] == views.flow().verdict.sentence


def test_objectives_and_links_stand_in_a_flow():
    flow = views.flow(verdict=Verdict.STALLED)
    flow = replace(flow, objectives=views.objectives(flow), incident=OPEN)
    document = flow_document(flow, PageLinks("https://mw.example.org"))
    assert document["incident"] == OPEN.incident
    assert document["objectives"][1] == {
        "objective": "freshness",
        "target_ratio": 0.99,
        "period_s": 28 * 86_400.0,
        "limit_s": None,
        "slice_ratio": None,
        "budget_left_ratio": -1.5,
    }
    assert document["links"] == {
        "page": "https://mw.example.org/flows/A:B",
        "runbook": f"https://mw.example.org/runbooks/{flow.verdict.cause}",
        "dashboard": None,
    }
    assert flow_document(views.flow(), WITHIN)["links"]["runbook"] is None


def test_an_incident_spends_a_known_share_only_of_budgets_that_count_records():
    facts = (SimpleNamespace(name="A->B", probes_per_s=6.0),)
    by_records = defaults_of("A->B", "A", "B", has_canary=True)
    by_minutes = [replace(one, slice_ratio=0.95) for one in by_records]
    spent = budgets_of(views.incident(), by_records, facts)
    assert [kind for kind, _ in spent] == ["availability", "freshness"]
    assert budgets_of(views.incident(), by_minutes, facts) == ()


@pytest.mark.parametrize("partitions", [1, 6])
@pytest.mark.parametrize("replicas", [1, 2])
def test_the_spent_budget_does_not_depend_on_partitions_and_replicas(partitions, replicas):
    facts = (SimpleNamespace(name="A->B", probes_per_s=1.0),)
    bad = Counts(settled=1800 * partitions, concluded=1800 * partitions)
    lasted = replace(
        views.incident(lasted_s=1800), counts_by={f"r{number}:1": bad for number in range(replicas)}
    )
    spent = dict(budgets_of(lasted, defaults_of("A->B", "A", "B", has_canary=True), facts))
    assert spent["availability"] == pytest.approx(1800 / (0.001 * 28 * 86_400))
    assert spent["freshness"] == pytest.approx(1800 / (0.01 * 28 * 86_400))


def test_every_verdict_and_cause_is_written_as_its_word():
    for verdict in Verdict:
        for cause in Cause:
            flow = views.flow(verdict=verdict)
            flow = replace(flow, verdict=replace(flow.verdict, cause=cause))
            document = json.loads(json.dumps(flow_document(flow, WITHIN)))
            assert document["verdict"] == verdict.value
            assert document["cause"]["code"] == cause.value


def test_numbers_that_json_lacks_become_null():
    broken = LatencySlice(at=math.nan, p50_s=math.nan, p99_s=math.inf, max_s=-math.inf)
    flow = replace(views.flow(), recovery_point=older(math.inf), latency={"end_to_end": (broken,)})
    document = json.loads(json.dumps(flow_document(flow, WITHIN), allow_nan=False))
    assert document["recovery_point_age_s"] is None
    assert document["latency"]["end_to_end"] == [{"at": None, "p50_s": None, "p99_s": None, "max_s": None}]


def test_the_whole_names_clusters_and_problems():
    view = views.service(
        views.flow(), views.flow("B", "A"), down={"B": "no answer"}, problems=(views.problem(),)
    )
    document = flows_document(view)
    assert document["version"] == "0.1.0"
    assert document["now"] == "2026-05-28T20:26:40.000Z"
    assert [flow["flow"] for flow in document["flows"]] == ["A->B", "B->A"]
    cluster = document["clusters"][1]
    assert (cluster["kafka_cluster"], cluster["state"], cluster["sentence"]) == ("B", "down", "no answer")
    assert (cluster["flows_from"], cluster["flows_to"]) == (["B->A"], ["A->B"])
    assert document["problems"][0]["count"] == 5
