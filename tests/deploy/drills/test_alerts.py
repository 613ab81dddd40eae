"""Which alerts a drill has to fire, what else may page, and what makes its row wrong."""

from __future__ import annotations

import json

import pytest

from alerts.rules.rule import CRITICAL
from deploy.drills.alerts import expected, may_page, wrong
from deploy.drills.catalogue import BY_LABEL, DRILLS
from deploy.drills.page import table
from deploy.drills.result import Result, as_line, first_seconds, from_line
from fleet.verdicts.vocabulary import Cause, Verdict
from tests.alerts.test_rules import MIXED, alerts_of

STALL = BY_LABEL["freeze-mirror"]
BENIGN = BY_LABEL["restart-mirror"]
SILENT, STALLED = (16.0, "NoRecordsArrive", "critical"), (11.0, "ReplicationStalled", "critical")
BURN, GROWING = (30.0, "ErrorBudgetBurn", "critical"), (70.0, "LagGrowing", "warning")


def test_every_expected_alert_is_one_of_the_rules():
    severities = {one.name: one.severity for one in alerts_of(MIXED)}
    for drill in DRILLS:
        for name in expected(drill.verdict, drill.cause) | may_page(drill):
            assert f"Mirrorwatch{name}" in severities


def test_a_drill_with_an_alarm_expects_an_alert_and_a_benign_one_allows_no_page():
    for drill in DRILLS:
        assert bool(expected(drill.verdict, drill.cause)) == (drill.verdict is not None)
        assert drill.verdict is not None or not may_page(drill)


def test_what_comes_on_the_way_and_after_it_may_page_too():
    assert may_page(BY_LABEL["overtake"]) == {"RecordsLost", "NoRecordsArrive", "ReplicationStalled"}
    assert may_page(BY_LABEL["drop-topic"]) == {"RecordsLost", "NoRecordsArrive", "ReplicationStalled"}
    assert may_page(BY_LABEL["stop-source"]) == {"ClusterDown"}
    assert expected(Verdict.REPEATING, Cause.LOOPING) == {"RecordsLoop"}
    critical = {one.name for one in alerts_of(MIXED) if one.severity == CRITICAL}
    assert "MirrorwatchClusterDown" in critical


@pytest.mark.parametrize(
    ("drill", "fired", "paged", "sentence"),
    [
        (STALL, [SILENT], [(17.0, "NoRecordsArrive")], ""),
        (STALL, [STALLED, SILENT, BURN], [(12.0, "ReplicationStalled"), (17.0, "NoRecordsArrive")], ""),
        (STALL, [SILENT], [], "NoRecordsArrive was muted"),
        (STALL, [BURN], [], "NoRecordsArrive or ReplicationStalled did not fire"),
        (STALL, [SILENT, BURN], [(17.0, "NoRecordsArrive"), (31.0, "ErrorBudgetBurn")], "ErrorBudgetBurn paged"),
        (BENIGN, [], [], ""),
        (BENIGN, [GROWING], [], ""),
        (BENIGN, [BURN], [], "ErrorBudgetBurn paged"),
    ],
)  # fmt: skip
def test_a_row_is_right_only_where_the_expected_fired_and_nothing_else_paged(drill, fired, paged, sentence):
    assert wrong(drill, fired, paged) == sentence


def test_an_alert_is_as_late_as_in_its_slowest_drill():
    results = [
        Result("kill-mirror", fired=[(21.0, "NoRecordsArrive", "critical")]),
        Result("freeze-mirror", fired=[(26.5, "NoRecordsArrive", "critical")]),
        Result("overtake"),
    ]
    measured = {"seconds": 26.5, "severity": "critical", "drill": "freeze-mirror"}
    assert first_seconds(results) == {"MirrorwatchNoRecordsArrive": measured}


def test_a_line_without_alerts_is_of_a_drill_that_no_one_watched_for_them():
    said = [(5.6, "stalled", "mirror_down")]
    whole = Result(
        "freeze-mirror", said=said, healed_s=1.0, fired=[SILENT, GROWING], paged=[(17.0, SILENT[1])]
    )
    assert from_line(as_line(whole)) == whole
    assert "| **NoRecordsArrive** 16, LagGrowing 70 |" in table({"freeze-mirror": whole})
    old = json.loads(as_line(whole))
    del old["fired"], old["paged"]
    kept = from_line(json.dumps(old))
    assert kept.fired is None
    assert kept.wrong(STALL) == ""
    silent = Result("freeze-mirror", said=said, healed_s=1.0, fired=[])
    assert silent.wrong(STALL) == "NoRecordsArrive or ReplicationStalled did not fire"
