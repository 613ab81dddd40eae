"""What a soak reads in a scrape, and what of its result fails."""

from __future__ import annotations

import pytest

from bench.soak import page
from bench.soak.faults import BY_NAME
from bench.soak.judging import Change, Window, false_verdicts
from bench.soak.result import by_fault, failures, figures, finding_row, injected, tables
from bench.soak.scrape import read_scrape

SERIES = """\
# TYPE mirrorwatch_replica_leader gauge
mirrorwatch_replica_leader{{replica_group="soak"}} 1.0
# TYPE mirrorwatch_canary_expected counter
mirrorwatch_canary_expected_total{{flow="A->B"}} {expected}
# TYPE mirrorwatch_canary_settled counter
mirrorwatch_canary_settled_total{{flow="A->B"}} {settled}
# TYPE mirrorwatch_canary_concluded counter
mirrorwatch_canary_concluded_total{{flow="A->B"}} 12
# TYPE mirrorwatch_canary_probes counter
mirrorwatch_canary_probes_total{{flow="A->B",outcome="good"}} 11
mirrorwatch_canary_probes_total{{flow="A->B",outcome="lost"}} {lost}
mirrorwatch_canary_probes_total{{flow="A->B",outcome="late"}} {late}
mirrorwatch_canary_probes_total{{flow="A->B",outcome="skipped"}} 2
# TYPE mirrorwatch_canary_probe_flags counter
mirrorwatch_canary_probe_flags_total{{flow="A->B",flag="duplicated"}} 5
mirrorwatch_canary_probe_flags_total{{flow="A->B",flag="corrupted"}} {corrupted}
# TYPE mirrorwatch_canary_in_flight gauge
mirrorwatch_canary_in_flight{{flow="A->B"}} 3
# TYPE mirrorwatch_group_status gauge
mirrorwatch_group_status{{kafka_cluster="A",group="billing"}} 4
"""
RIGHT = {"expected": 17, "settled": 13, "lost": 0, "late": 1, "corrupted": 0}


def wrong(**changed):
    return read_scrape(SERIES.format(**{**RIGHT, **changed})).wrong()


def test_counters_that_add_up_are_right():
    found = read_scrape(SERIES.format(**RIGHT))
    assert found.wrong() == []
    assert found.leads
    assert found.groups == {"A/billing": 4.0}
    assert found.series == 12


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"expected": 18}, "A->B: 18 expected, 17 with outcome or in flight"),
        ({"settled": 11}, "A->B: 11 settled, 12 concluded, 17 expected"),
        ({"settled": 99}, "A->B: 99 settled, 12 concluded, 17 expected"),
        ({"lost": 1, "late": 0}, "A->B: 1 lost"),
        ({"corrupted": 2}, "A->B: 2 corrupted"),
    ],
)
def test_counters_that_do_not_add_up_or_must_be_zero_are_named(changed, sentence):
    assert wrong(**changed) == [sentence]


def test_what_prometheus_cannot_read_is_an_error():
    with pytest.raises(ValueError, match="convert"):
        read_scrape("mirrorwatch_x one")


WINDOW = Window(BY_NAME["kill-A"], at=100.0, ended_at=130.0, restored_at=138.0, until=180.0)
CHANGES = [
    Change(0.0, "A->B", "healthy", "none", "", "left"),
    Change(0.0, "B->A", "healthy", "none", "", "left"),
    Change(106.5, "A->B", "stalled", "source_down", "", "left"),
    Change(140.0, "A->B", "healthy", "none", "", "left"),
    Change(200.0, "B->A", "late", "unexplained", "Slow.", "left"),
    Change(203.0, "B->A", "healthy", "none", "", "left"),
]


def document(**changed):
    rows = injected(CHANGES, [], [WINDOW], begin=50.0, end=600.0)
    found = {
        "made_at": "2026-11-28T00:00:00+00:00",
        "minutes": 10.0,
        "planned_minutes": 10.0,
        "seed": 4,
        "machine": {"load_median": 1.0, "load_most": 2.0},
        "quiet_share": 0.6,
        "faults_injected": 1,
        "faults": by_fault(rows),
        "findings": [],
        "processes": [],
        "trouble": [],
        "wrong_counters": [],
        "bad_answers": [],
        "bad_log_lines": [],
    }
    return {"failures": [], **found, **changed}


def test_a_fault_has_its_seconds():
    (row,) = injected(CHANGES, [], [WINDOW], begin=50.0, end=600.0)
    assert row == {
        "fault": "kill-A",
        "at_s": 50.0,
        "held_s": 30.0,
        "restored_after_s": 8.0,
        "window_s": 80.0,
        "detected_s": {"A->B": 6.5, "B->A": None},
        "shown_s": None,
        "healthy_after_s": 10.0,
    }
    assert by_fault([row])["kill-A"]["detected_s"] == {"least": 6.5, "median": 6.5, "p99": 6.5, "most": 6.5}


def test_a_run_without_findings_passes():
    assert failures(document()) == []


def test_each_finding_fails_the_run_in_a_sentence():
    findings = false_verdicts(CHANGES, [WINDOW], begin=50.0, end=600.0)
    found = document(findings=[finding_row(one, begin=50.0) for one in findings])
    (sentence,) = failures(found)
    assert sentence.startswith("false verdict at 150.0 s B->A late unexplained (100.0 s after kill-A, ")
    assert sentence.endswith("after its window, 3.0 s): Slow.")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"trouble": ["mirror has ended"]}, "component: mirror has ended"),
        ({"counters": {"violations": ["one"]}}, "counters: one"),
        (
            {
                "applications": {
                    "A->B": {"missing_on_target": 2, "altered_on_target": 0, "missing_on_source": 0}
                }
            },
            "applications: A->B: 2 missing_on_target",
        ),
        (
            {"groups": [{"group": "A/x", "lag_records": 1, "lag_by_brokers": 0}]},
            "groups: A/x: lag 1 by the API, 0 by the brokers",
        ),
    ],
)
def test_whatever_does_not_agree_fails_the_run(changed, sentence):
    assert failures(document(**changed)) == [sentence]


def test_the_section_has_every_bar_and_claims_nothing_that_was_not_measured():
    text = page.section(document())
    assert "| false verdicts | 0 | 0 | yes |" in text
    assert "| memory, MiB/h, the fastest growth | 5 | the run is too short |  |" in text
    assert "violations" not in text
    assert (
        "| `kill-A`: The broker of A is killed (SIGKILL) and started again. | 1 | 6.5 to 6.5 | 10 to 10 |"
        in text
    )


def test_figures_of_nothing_are_none():
    assert figures([]) == {}
    assert figures([1.0, 3.0, 2.0]) == {"least": 1.0, "median": 2.0, "p99": 3.0, "most": 3.0}


def test_tables_grow_by_the_hour():
    found = tables([(0.0, {"minutes": 1024}), (1800.0, {"minutes": 3072, "new": 1024})])
    assert found == {"minutes": {"kib": 3, "kib_per_hour": 4}, "new": {"kib": 1, "kib_per_hour": 2}}
    assert tables([]) == {}
