"""Rules as Prometheus takes them, and what fires when, by promtool."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from alerts.objectives import Objective, ObjectiveKind, defaults_of
from alerts.objectives.resolving import FlowFacts
from alerts.rules import Alert, all_groups
from alerts.rules.cases import Case, Story, cases_document, cases_of
from alerts.rules.document import Links, rules_document
from alerts.rules.rule import CRITICAL, WARNING, flow_matcher, promql_duration, quoted
from fleet.series import catalogue as series
from fleet.series import checksum as series_checksum
from fleet.series import failover as series_failover
from fleet.series import lag as series_lag
from fleet.series.catalogue import CATALOGUE

LINKS = Links(service="https://mw.example.org")
FLOWS = (("A->B", "A", "B"), ("A->C", "A", "C"))
OBJECTIVES = tuple(one for flow in FLOWS for one in defaults_of(*flow, has_canary=True))


def facts_of(objectives):
    flows = sorted({(one.flow, one.source, one.target) for one in objectives})
    return [FlowFacts(*flow, has_canary=True, exactly_once=flow[2] == "B") for flow in flows]


def groups_of(objectives=OBJECTIVES, flows=None):
    return all_groups(objectives, facts_of(objectives) if flows is None else flows)


def alerts_of(objectives=OBJECTIVES):
    return [rule for group in groups_of(objectives) for rule in group.rules if isinstance(rule, Alert)]


def promtool(*arguments, folder):
    program = shutil.which("promtool")
    assert program, "promtool is not installed: apt-get install prometheus"
    return subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, timeout=400, check=False
    )


def check(folder, objectives, cases=(), flows=None):
    groups = groups_of(objectives, flows)
    # JSON is YAML.
    (folder / "rules.yml").write_text(json.dumps(rules_document(groups, LINKS)))
    checked = promtool("check", "rules", "--lint-fatal", "rules.yml", folder=folder)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    if cases:
        check_document(folder, objectives, cases_document(list(cases), groups, "rules.yml"), flows)


def check_document(folder, objectives, document, flows=None):
    (folder / "rules.yml").write_text(json.dumps(rules_document(groups_of(objectives, flows), LINKS)))
    (folder / "rules_test.yml").write_text(json.dumps(document))
    tested = promtool("test", "rules", "rules_test.yml", folder=folder)
    assert tested.returncode == 0, tested.stdout + tested.stderr


MIXED = (
    *defaults_of("A->B", "A", "B", has_canary=True),
    Objective(
        flow="A.x+(->C",
        source="A.x+(",
        target="C",
        kind=ObjectiveKind.FRESHNESS,
        target_ratio=0.95,
        slice_ratio=0.9,
    ),
    Objective(
        flow="A.x+(->C",
        source="A.x+(",
        target="C",
        kind=ObjectiveKind.RECOVERY_POINT,
        target_ratio=0.9,
        limit_s=30,
    ),
    Objective(
        flow="A.x+(->C",
        source="A.x+(",
        target="C",
        kind=ObjectiveKind.AUDIT_AGE,
        target_ratio=0.99,
        limit_s=93600,
    ),
)


AUDITED = replace(MIXED[-1], flow="A->B", source="A", target="B")


@pytest.mark.parametrize("objectives", [OBJECTIVES, MIXED, OBJECTIVES[:1]], ids=["same", "mixed", "one"])
def test_promtool_finds_nothing_wrong(tmp_path, objectives):
    check(tmp_path, objectives)


@pytest.mark.parametrize(
    "flows",
    [FLOWS, (FLOWS[0], ("B->A", "B", "A"), ("C->B", "C", "B"))],
    ids=["fan-out", "both ways and fan-in"],
)
def test_the_cases_that_are_rendered_for_users_pass(tmp_path, flows):
    objectives = tuple(one for flow in flows for one in defaults_of(*flow, has_canary=True))
    cases = list(cases_of(objectives, facts_of(objectives)))
    assert len(cases) >= 8
    check(tmp_path, objectives, cases)


def test_they_pass_with_every_kind_of_objective_and_a_flow_without_any(tmp_path):
    objectives, flows = (*OBJECTIVES[:4], AUDITED), facts_of(OBJECTIVES)
    (healthy, *_) = cases_of(objectives, flows)
    check(tmp_path, objectives, [healthy], flows)


def test_every_alert_has_what_someone_who_is_woken_needs():
    for alert in alerts_of():
        assert re.fullmatch(r"Mirrorwatch[A-Z][A-Za-z]+", alert.name)
        assert len(re.sub(r"\{\{.*?\}\}", "X", alert.summary).split()) <= 9, alert.summary
        assert alert.description.endswith(".")
    document = rules_document(groups_of(), LINKS)
    for group in document["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                assert set(rule["annotations"]) == {"summary", "description", "runbook_url", "dashboard_url"}
                assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_every_series_in_an_expression_is_in_the_catalogue():
    names = {one.full_name for one in CATALOGUE}
    kinds = ("_bucket", "_sum", "_count")
    histograms = {one.full_name + kind for one in CATALOGUE for kind in kinds if one.kind == "histogram"}
    for group in groups_of():
        for rule in group.rules:
            found = set(re.findall(r"\bmirrorwatch_[a-z0-9_]+", rule.expression))
            assert found <= names | histograms, rule.expression


def test_an_alert_of_a_flow_keeps_its_labels():
    for alert in alerts_of():
        if alert.of_flow:
            by = re.findall(r"by \(([^)]*)\)", alert.expression)
            inner = {"kafka_cluster", "source_cluster", "target_cluster"}  # of what only mutes others
            assert all(one.startswith("flow, source_cluster, target_cluster") for one in set(by) - inner)


def leak(minutes, bad_per_minute, *, start=5):
    story = Story(OBJECTIVES[1], [FLOWS[1]], minutes)
    before, after = start * 4, (minutes - start) * 4
    step = 30 - bad_per_minute / 4
    values = f"0+30x{before} {30 * before + step:g}+{step:g}x{after}"
    for one in (series.CANARY_GOOD_TOTAL, series.CANARY_DELIVERED_TOTAL):
        story.play(one, values)
    return story


def burn(story, objective, window, severity):
    return story.fires("MirrorwatchErrorBudgetBurn", severity, objective=objective, window=window)


def test_half_of_the_probes_failing_pages_soon_and_a_little_leak_does_not(tmp_path):
    half, little, one = leak(60, 60), leak(60, 0.012), leak(60, 0)
    one.play(series.CANARY_GOOD_TOTAL, "0+30x40 1199+30x200")
    # Ten minutes spend 300 s of what 1h, 6h, 1d and 3d may: 48, 121, 242, 242 s of availability, 484 s and
    # more of freshness. An hour without samples before it counts as good.
    available = tuple(burn(half, "availability", window, CRITICAL) for window in ("1h", "6h"))
    stale = (burn(half, "freshness", "1h", CRITICAL),)
    cases = [
        half.case(
            "half of all probes fail",
            ("5m", ()),
            ("15m", (*available, *tickets(half))),
            ("25m", (*available, *tickets(half), *stale)),
        ),
        little.case("one probe in ten thousand fails", ("59m", ())),
        one.case("one probe fails", ("59m", ())),
    ]
    check(tmp_path, OBJECTIVES, cases)


def tickets(story):
    return tuple(burn(story, "availability", window, WARNING) for window in ("1d", "3d"))


@pytest.mark.parametrize(
    "values",
    [
        "_x240",  # never there
        "0x240",  # no probe concluded: 0/0
        "0+30x120 stale",  # gone
        "0+30x120 0+30x120",  # restarted
    ],
    ids=["absent", "none", "gone", "restart"],
)
def test_numbers_that_show_nothing_burn_no_budget(tmp_path, values):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 60)
    for one in (
        series.CANARY_SETTLED_TOTAL,
        series.CANARY_GOOD_TOTAL,
        series.CANARY_CONCLUDED_TOTAL,
        series.CANARY_DELIVERED_TOTAL,
    ):
        story.play(one, values)
    check(tmp_path, OBJECTIVES, [story.case(values, ("10m", ()), ("31m", ()), ("59m", ()))])


def test_a_restart_of_the_mirror_pages_no_one(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 20)
    # Nothing arrives for 9 s, as seen by one scrape at the worst moment.
    story.play(series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, "0+15x20 " + "306 " + "330+15x58")
    story.play(series.FLOW_CONDITION, "0x20 1 0x59", condition="stalled")
    check(tmp_path, OBJECTIVES, [story.case("restart", ("5m15s", ()), ("5m45s", ()), ("19m", ()))])


def test_a_series_that_is_born_at_1_shows_nothing_and_the_condition_shows_it(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 20)
    for outcome in ("lost", "overdue"):
        story.play(series.CANARY_PROBES_TOTAL, "_x20 1x60", outcome=outcome)
    told = Story(OBJECTIVES[1], [FLOWS[1]], 20)
    told.play(series.CANARY_PROBES_TOTAL, "_x20 1x60", outcome="lost")
    told.play(series.FLOW_CONDITION, "_x20 1x60", condition="losing")
    lost = told.fires("MirrorwatchRecordsLost", CRITICAL)
    cases = [
        story.case("a counter born at 1", ("5m", ()), ("6m", ()), ("19m", ())),
        told.case(
            "a counter born at 1, and its condition", ("4m30s", ()), ("5m30s", (lost,)), ("19m", (lost,))
        ),
    ]
    check(tmp_path, OBJECTIVES, cases)


def test_a_value_that_is_no_number_neither_pages_nor_spoils_a_window(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 30)
    # The limit is 300 s: NaN for a minute, then too old for the rest.
    story.play(series.FLOW_RECOVERY_POINT_AGE_SECONDS, "1x20 NaN NaN NaN NaN 1x35 400x60")
    old = story.fires("MirrorwatchRecoveryPointOld", CRITICAL)
    burns = (burn(story, "recovery_point", "1h", CRITICAL),)
    case = story.case("no number", ("5m30s", ()), ("14m", ()), ("16m30s", (old,)), ("29m", (old, *burns)))
    check(tmp_path, OBJECTIVES, [case])


def test_a_mirror_that_stops_and_goes_on_again_and_again_is_one_alert(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 20)
    # From 5 min on nothing arrives for 30 s of each minute.
    arrivals, at = [], 0
    for step in range(80):
        at = step * 15 if step < 20 or step % 4 in (0, 1) else at
        arrivals.append(str(at))
    story.play(series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, " ".join(arrivals))
    story.play(series.FLOW_CONDITION, "0x19 " + "0 0 1 1 " * 15, condition="stalled")
    names = "MirrorwatchNoRecordsArrive", "MirrorwatchReplicationStalled"
    fires = [story.fires(name, CRITICAL) for name in names]
    quarters = (0, 15, 30, 45)
    moments = [(f"7m{second}s", fires[: 1 if second < 30 else 2]) for second in quarters]
    moments += [(f"{minute}m{second}s", fires) for minute in (8, 12, 18) for second in quarters]
    check(tmp_path, OBJECTIVES, [story.case("flapping", ("5m", ()), *moments)])


def test_a_slow_leak_pages_by_the_long_window_alone(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 240)
    # One probe in a hundred is overdue: 1 % of availability, where 1.34 % page within an hour.
    story.play(series.CANARY_DELIVERED_TOTAL, "0+29.7x960")
    story.play(series.CANARY_GOOD_TOTAL, "0+29.7x960")
    document = cases_document(
        [
            story.case(
                "a slow leak",
                ("1h", ()),
                ("3h", ()),
                ("3h55m", (burn(story, "availability", "6h", CRITICAL),)),
            )
        ],
        groups_of(),
        "rules.yml",
    )
    document["evaluation_interval"] = "1m"
    check_document(tmp_path, OBJECTIVES, document)


def test_probes_that_arrive_altered_are_not_called_lost_as_well(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 20)
    story.play(series.CANARY_PROBES_TOTAL, "0x20 4x60", outcome="lost")
    story.play(series.FLOW_CONDITION, "0x20 1x8 0x52", condition="altered")
    story.play(series.FLOW_CONDITION, "0x60 1x20", condition="losing")
    altered, lost = (story.fires(f"Mirrorwatch{one}", CRITICAL) for one in ("DataAltered", "RecordsLost"))
    case = story.case(
        "altered", ("5m", ()), ("5m30s", (altered,)), ("12m", (altered,)), ("16m", (altered, lost))
    )
    check(tmp_path, OBJECTIVES, [case])


def test_a_source_that_refuses_the_canary_is_no_mirror_that_stands(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 30)
    story.play(series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, "0+15x20 300x100")
    story.play(series.CANARY_PROBES_TOTAL, "0x20 30+30x100", outcome="produce_failed")
    for one in (series.CANARY_SETTLED_TOTAL, series.CANARY_CONCLUDED_TOTAL):
        story.play(one, "0+30x20 600x100")
    for one in (series.CANARY_GOOD_TOTAL, series.CANARY_DELIVERED_TOTAL):
        story.play(one, "0+30x20 600x100")
    story.play(series.FLOW_CONDITION, "0x20 1x100", condition="unknown")
    unknown = story.fires("MirrorwatchFlowUnknown", WARNING)
    check(tmp_path, OBJECTIVES, [story.case("refused", ("5m45s", ()), ("19m", ()), ("21m30s", (unknown,)))])


def test_records_that_arrive_twice_page_only_where_that_may_not_be(tmp_path):
    strict, lax = (Story(one, [other], 20) for one, other in zip(OBJECTIVES[1::4], FLOWS[::-1], strict=True))
    for story in (strict, lax):
        story.play(series.CANARY_PROBE_FLAGS_TOTAL, "0x20 3x60", flag="duplicated")
        story.play(series_checksum.CHECKSUM_RECORDS, "0x20 5x60", topic="orders", verdict="duplicated")
    twice = strict.fires("MirrorwatchRecordsDuplicated", CRITICAL)
    cases = [
        strict.case("exactly once", ("5m", ()), ("6m", (twice,))),
        lax.case("at least once", ("5m", ()), ("6m", ()), ("19m", ())),
    ]
    check(tmp_path, OBJECTIVES, cases)


def test_an_objective_that_is_missed_is_a_ticket(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 30)
    left = series.OBJECTIVE_ERROR_BUDGET_REMAINING_RATIO
    story.play(left, "0.2x20 -0.1x100", objective="freshness")
    story.play(left, "1x120", objective="availability")
    missed = story.fires("MirrorwatchErrorBudgetExhausted", WARNING, objective="freshness")
    check(tmp_path, OBJECTIVES, [story.case("spent", ("5m", ()), ("14m", ()), ("16m30s", (missed,)))])


def test_latencies_of_nothing_and_a_refused_configuration_are_tickets(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 40)
    latency = replace(series.CANARY_LATENCY_SECONDS, name="canary_latency_seconds_sum")
    counted = replace(latency, name="canary_latency_seconds_count")
    story.play(latency, "0+3x20 60x140", stage="end_to_end")
    story.play(counted, "0+30x160", stage="end_to_end")
    story.play_alone(series.CONFIG_LAST_RELOAD_SUCCESSFUL, "1x20 0x140", instance="a:1")
    refused = story.fires_alone("MirrorwatchReloadRefused", WARNING, instance="a:1")
    zero = story.fires("MirrorwatchZeroNotCredible", WARNING)
    moments = (("9m", ()), ("11m", (refused,)), ("27m", (refused, zero)))
    check(tmp_path, OBJECTIVES, [story.case("zeros", *moments)])


def test_a_flow_without_objectives_is_not_judged_by_those_of_others(tmp_path):
    objectives, flows = (*OBJECTIVES[:4], AUDITED), facts_of(OBJECTIVES)
    story = Story(replace(OBJECTIVES[1], flow="A->C", target="C"), [FLOWS[0]], 60)
    story.play(series.FLOW_RECOVERY_POINT_AGE_SECONDS, "1x20 4000x220")
    for one in (series.CANARY_GOOD_TOTAL, series.CANARY_DELIVERED_TOTAL):
        story.play(one, "0+30x20 600x220")
    last = series_checksum.CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS
    story.play(last, f"{-2 * AUDITED.limit_s:.0f}x240", topic="orders")
    check(tmp_path, objectives, [story.case("no objective", ("10m", ()), ("59m", ()))], flows)
    # The same flow with objectives, so that the case shows something.
    every = tuple(replace(one, flow=flow, target=flow[-1]) for one in objectives for flow in ("A->B", "A->C"))
    old = story.fires("MirrorwatchRecoveryPointOld", CRITICAL)
    overdue = story.fires("MirrorwatchAuditOverdue", WARNING)
    burns = [
        *(burn(story, kind, window, CRITICAL) for kind in BURNT for window in ("1h", "6h")),
        *(burn(story, kind, window, WARNING) for kind in BURNT for window in ("1d", "3d")),
    ]
    check(tmp_path, every, [story.case("objectives", ("59m", (old, overdue, *burns)))], flows)


BURNT = ("availability", "freshness", "recovery_point", "audit_age")


@pytest.mark.parametrize("paused", [True, False])
def test_a_pause_spends_the_budget_and_pages_no_one_for_it(tmp_path, paused):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 40)
    # Paused from minute 5 to 15; canary records arrive again at once.
    for one in (series.CANARY_GOOD_TOTAL, series.CANARY_DELIVERED_TOTAL):
        story.play(one, "0+30x20 600x40 630+30x100")
    story.play(series.FLOW_CAUSE, f"0x20 {int(paused)}x39 0x100", cause="paused")
    pages = tuple(burn(story, "availability", window, CRITICAL) for window in ("1h", "6h"))
    firing = tickets(story) if paused else (*pages, *tickets(story))
    after = [("16m30s", firing)] if paused else []  # the short window still has the pause
    check(tmp_path, OBJECTIVES, [story.case("a pause", ("5m", ()), ("14m", firing), *after)])


def test_numbers_of_independent_replicas_are_not_added_up(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 60)
    for replica in ("left", "right"):
        # Together they are above the limit of 10,000 waiting records.
        story.play(series_lag.REPLICATION_TOPIC_LAG_RECORDS, "0+41x240", topic="orders", instance=replica)
    twice = story.case("two replicas", ("59m", ()))
    story.play(series_lag.REPLICATION_TOPIC_LAG_RECORDS, "0+41x240", topic="payments", instance="left")
    growing = story.fires("MirrorwatchLagGrowing", WARNING)
    check(tmp_path, OBJECTIVES, [twice, story.case("two topics", ("59m", (growing,)))])


def test_a_collector_that_stalls_in_one_replica_is_seen_beside_another_that_reads(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 30)
    last = series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS
    of = {"kafka_cluster": "A", "collector": "positions"}
    story.play_alone(last, "0+15x120", instance="left", **of)
    story.play_alone(last, "0+15x20 300x100", instance="right", **of)
    stalled = story.fires_alone("MirrorwatchCollectorStalled", WARNING, **of)
    one_of_two = story.case("one of two", ("9m", ()), ("13m", (stalled,)))
    story.play_alone(last, "0+15x20 stale", instance="right", **of)
    check(tmp_path, OBJECTIVES, [one_of_two, story.case("a replica that ended", ("29m", ()))])


def test_a_failover_audit_that_never_succeeded_is_old_unless_there_is_none(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 30)
    story.play(series_failover.FAILOVER_LAST_SUCCESS_TIMESTAMP_SECONDS, "_x120")
    old = story.fires("MirrorwatchFailoverAuditOld", WARNING)
    check(tmp_path, OBJECTIVES, [story.case("never", ("14m", ()), ("17m", (old,)))])
    without = all_groups(OBJECTIVES, facts_of(OBJECTIVES), audits_failover=False)
    assert "MirrorwatchFailoverAuditOld" not in {one.name for group in without for one in group.rules}


def test_a_topic_without_any_complete_checksum_makes_the_audit_old_after_the_limit(tmp_path):
    audited = replace(AUDITED, limit_s=1200)
    story = Story(OBJECTIVES[1], [FLOWS[1]], 60)
    # Runs compare `payments` from minute 5 on and never all of it; another topic is complete all the time.
    coverage = series_checksum.CHECKSUM_COVERAGE_RATIO
    story.play(coverage, "_x20 0.1x220", topic="payments", instance="left")
    story.play(coverage, "1x240", topic="orders", instance="left")
    overdue = story.fires("MirrorwatchAuditOverdue", WARNING)
    pages = tuple(burn(story, "audit_age", window, CRITICAL) for window in ("1h", "6h"))
    case = story.case("never complete", ("5m30s", ()), ("24m", ()), ("59m", (overdue, *pages)))
    check(tmp_path, (*OBJECTIVES[:4], audited), [case], facts_of(OBJECTIVES))


def test_a_flow_within_its_objective_is_no_ticket_however_short_the_period(tmp_path):
    story = Story(OBJECTIVES[1], [FLOWS[1]], 77 * 60)
    # 0.06 % is bad, of 0.1 %: in 3 d that is more than 10 % of the budget of 4 d.
    story.play(series.CANARY_DELIVERED_TOTAL, f"0+29.982x{77 * 240}")
    short = replace(OBJECTIVES[0], period_s=4 * 86_400)
    document = cases_document([story.case("within", ("77h", ()))], groups_of([short]), "rules.yml")
    document["evaluation_interval"] = "5m"
    check_document(tmp_path, [short], document)


def test_durations_and_names_are_written_as_promql_reads_them():
    assert [promql_duration(each) for each in (5, 90, 300, 3600, 86_400, 129_600, 0)] == [
        "5s", "90s", "5m", "1h", "1d", "36h", "0s",
    ]  # fmt: skip
    assert quoted('a"\\') == '"a\\"\\\\"'
    assert flow_matcher(["A.x->B"], ["A.x->B", "C->D"]) == 'flow=~"A\\\\.x->B"'
    assert flow_matcher(["C->D", "A->B"], ["A->B", "C->D"]) == ""


def test_a_case_names_all_that_fires():
    case = Case("x", {}, (("1m", ('ALERTS{a="1"}',)),))
    (test,) = cases_document([case], (), "r.yml")["tests"]
    assert test["promql_expr_test"][0]["exp_samples"] == [{"labels": 'ALERTS{a="1"}', "value": 1}]
