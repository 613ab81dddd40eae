"""What the audit's process answers: an overview, series, pages of groups."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleet.series.failover import FAILOVER_STATUSES
from lagmon.exposition.format import Form
from mirrorwatch.failover.audit.series import series_text
from tests.mirrorwatch.failover.audit.audited import AT, AUDITS, Process

LIST = {"flow": "", "search": "", "first": 0, "most": 100, "fields": None, "address": "/api/v1/failover"}


def test_the_overview_names_the_groups_that_are_not_ready():
    head, body = Process().now("flows", since=-1)
    both, away = json.loads(body)["flows"]
    assert head == {"number": 1}
    assert (both["group_count"], both["ready_count"], both["at"]) == (5, 2, AT)
    assert both["by_status"] == {"skips": 1, "unknown": 1, "not_applied": 1, "ready": 1, "running": 1}
    assert [(one["group"], one["status"], one["skipped"]) for one in both["worst"]] == [
        ("reports", "skips", [10, 10]),
        ("audit", "unknown", None),
        ("moved", "running", [0, 0]),
    ]
    assert (away["at"], away["group_count"], away["problem"]) == (None, 0, "cluster A: no answer")


def test_nothing_new_is_no_answer():
    assert Process().now("flows", since=1) == ({"number": 1}, b"")


def test_series():
    _, text = Process().now("metrics", form=Form.PLAIN.value)
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    labels = 'flow="A->B",source_cluster="A",target_cluster="B"'
    assert f"mirrorwatch_failover_last_success_timestamp_seconds{{{labels}}} {AT}" in lines
    assert f'mirrorwatch_failover_groups{{{labels},status="running"}} 1' in lines
    assert f'mirrorwatch_failover_groups{{{labels},status="stale"}} 0' in lines
    assert f'mirrorwatch_failover_group_ready{{{labels},group="billing"}} 1' in lines
    assert f'mirrorwatch_failover_group_ready{{{labels},group="moved"}} 0' in lines
    assert f'mirrorwatch_failover_records_to_reread{{{labels},group="billing"}} 49' in lines
    assert f'mirrorwatch_failover_records_skipped{{{labels},group="reports"}} 10' in lines
    assert f'mirrorwatch_failover_records_at_risk{{{labels},group="reports"}} 40' in lines
    drift = [line for line in lines if line.startswith("mirrorwatch_drift_")]
    assert drift == [
        f'mirrorwatch_drift_differences{{{labels},kind="topic_missing"}} 2',
        f'mirrorwatch_drift_differences{{{labels},kind="config"}} 0',
    ]
    unknown = {line.partition("{")[0] for line in lines if 'group="audit"' in line}
    assert unknown == {"mirrorwatch_failover_group_ready"}


def test_with_fewer_series_than_groups_every_flow_has_its_worst_and_its_counts():
    both = AUDITS["A->B"]
    other = replace(both, flow=replace(both.flow, source="B", target="A"))
    for most in (0, 2, 4):
        lines = series_text([both, other], Form.PLAIN, max_series=most).decode().splitlines()
        ready = [line for line in lines if line.startswith("mirrorwatch_failover_group_ready{")]
        assert len(ready) == most
        assert sum('flow="A->B"' in line for line in ready) == most / 2
        assert sum(line.startswith("mirrorwatch_failover_groups{") for line in lines) == 2 * len(
            FAILOVER_STATUSES
        )


def test_series_follow_the_audits():
    process = Process()
    process.now("metrics", form=Form.PLAIN.value)
    process.audits.flows["A->B"] = AUDITS["B->A"]
    process.audits.number += 1
    assert process.now("metrics", form=Form.PLAIN.value)[1] == b""


def test_a_page_of_groups():
    head, body = Process().now("groups", **LIST | {"first": 1, "most": 2, "fields": ("group", "ready")})
    document = json.loads(body)
    assert head == {"status": 200}
    assert document["groups"] == [{"group": "audit", "ready": False}, {"group": "moved", "ready": False}]
    assert (document["count"], document["next"]) == (5, "/api/v1/failover?offset=3")
    assert [(one["flow"], one["excluded_groups"]) for one in document["flows"]] == [("A->B", 1), ("B->A", 0)]


@pytest.mark.parametrize(
    ("asked", "groups"), [({"search": "BILL"}, ["billing"]), ({"flow": "B->A"}, []), ({"search": "x"}, [])]
)
def test_a_search(asked, groups):
    document = json.loads(Process().now("groups", **LIST | asked)[1])
    assert [one["group"] for one in document["groups"]] == groups


def test_one_group_with_its_partitions():
    asked = LIST | {"flow": "A->B", "group": "reports", "most": 1, "address": "/a?b=c"}
    document = json.loads(Process().now("group", **asked)[1])
    assert (document["group"], document["count"], document["next"]) == ("reports", 2, "/a?b=c&offset=1")
    assert document["partitions"][0]["partition"] == 1


@pytest.mark.parametrize(
    ("question", "asked", "code", "sentence"),
    [
        ("groups", {"flow": "A->C"}, "unknown_flow", "unknown flow 'A->C'; did you mean"),
        ("group", {"flow": "C->D", "group": "x"}, "unknown_flow", "unknown flow 'C->D'"),
        ("group", {"flow": "A->B", "group": "bill"}, "unknown_group", "did you mean 'billing'?"),
        ("group", {"flow": "B->A", "group": "x"}, "unknown_group", "unknown group 'x'; there are none here"),
    ],
)
def test_unknown_names(question, asked, code, sentence):
    head, body = Process().now(question, **LIST | asked)
    assert (head["status"], head["code"]) == (404, code)
    assert sentence in json.loads(body)["error"]
