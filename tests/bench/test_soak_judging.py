"""What a soak calls a false verdict, a missed fault and a false incident, on made-up logs."""

from __future__ import annotations

import pytest

from bench.soak.faults import BY_NAME, Signal
from bench.soak.judging import (
    Change,
    Incident,
    Shown,
    Window,
    detected_s,
    false_incidents,
    false_leads,
    false_verdicts,
    healthy_after_s,
    is_quiet,
    missed,
    of_leaders,
    quiet_s,
    seconds_by_verdict,
    segments,
    shown_s,
)

BEGIN, END = 1000.0, 2000.0
KILLED = Window(BY_NAME["kill-A"], at=1100.0, ended_at=1130.0, restored_at=1140.0, until=1185.0)
STORE = Window(BY_NAME["kill-store"], at=1300.0, ended_at=1320.0, restored_at=1325.0, until=1345.0)
LEADER = Window(BY_NAME["kill-leader"], at=1500.0, ended_at=1515.0, restored_at=1520.0, until=1540.0)
WINDOWS = [KILLED, STORE, LEADER]


def log(*rows):
    """Return changes of A->B, both flows healthy before the start."""
    before = [(900.0, "A->B", "healthy", "none"), (900.0, "B->A", "healthy", "none")]
    changes = [(at, "A->B", verdict, cause) for at, verdict, cause in rows]
    return [Change(*one, "sentence", "left") for one in (*before, *changes)]


def false(*rows):
    return false_verdicts(log(*rows), WINDOWS, begin=BEGIN, end=END)


def test_healthy_flows_are_right():
    assert false() == []


def test_what_a_fault_causes_is_right_in_its_window():
    assert (
        false(
            (1106.0, "stalled", "source_down"),
            (1135.0, "stalled", "mirror_down"),
            (1142.0, "late", "unexplained"),
            (1150.0, "healthy", "none"),
        )
        == []
    )


def test_a_verdict_in_a_quiet_period_is_false_with_the_fault_before_it():
    (found,) = false((1200.0, "late", "unexplained"), (1207.5, "healthy", "none"))
    assert (found.kind, found.flow, found.verdict) == ("false_verdict", "A->B", "late")
    assert (found.fault, found.since_fault_s, found.lasted_s) == ("kill-A", 100.0, 7.5)
    assert not found.in_window


def test_a_verdict_before_all_faults_is_false():
    (found,) = false((1010.0, "unknown", "prober"), (1012.0, "healthy", "none"))
    assert (found.fault, found.cause) == ("", "prober")


@pytest.mark.parametrize(
    ("verdict", "cause"),
    [("losing", "filtered"), ("stalled", "target_down"), ("repeating", "duplicating"), ("unknown", "prober")],
)
def test_another_verdict_or_cause_in_a_window_is_false(verdict, cause):
    (found,) = false((1110.0, verdict, cause), (1120.0, "healthy", "none"))
    assert found.in_window
    assert found.lasted_s == 10.0


@pytest.mark.parametrize(("lasts_s", "count"), [(1.9, 0), (2.1, 1)])
def test_a_moment_without_enough_data_is_no_false_verdict_in_a_window(lasts_s, count):
    at = 1142.0
    assert len(false((at, "unknown", "none"), (at + lasts_s, "healthy", "none"))) == count


def test_a_verdict_that_outlasts_its_window_is_false_from_then_on():
    (found,) = false((1110.0, "stalled", "source_down"), (1200.0, "healthy", "none"))
    assert (found.at, found.lasted_s, found.in_window) == (1185.0, 15.0, False)


def test_a_verdict_that_starts_just_before_the_window_ends_may_be_logged_a_moment_later():
    assert false((1184.0, "late", "unexplained"), (1185.4, "healthy", "none")) == []


def test_a_verdict_that_stays_is_one_finding():
    (found,) = false((1110.0, "stalled", "source_down"))
    assert (found.at, found.lasted_s, found.in_window) == (1185.0, END - 1185.0, False)


def test_a_verdict_that_is_wrong_in_a_window_and_after_it_is_one_finding():
    (found,) = false((1150.0, "unknown", "none"), (1195.0, "healthy", "none"))
    assert (found.at, found.lasted_s, found.in_window) == (1150.0, 45.0, True)


def test_a_verdict_that_another_window_explains_is_false_before_and_after_it():
    found = false((1450.0, "unknown", "none"), (1560.0, "healthy", "none"))
    assert [(one.at, one.lasted_s) for one in found] == [(1450.0, 50.0), (1540.0, 20.0)]


def test_no_verdict_may_change_while_the_store_is_down():
    (found,) = false((1310.0, "unknown", "none"), (1312.0, "healthy", "none"))
    assert (found.fault, found.in_window) == ("kill-store", True)


def test_a_new_leader_may_know_nothing_for_a_moment():
    assert false((1505.0, "unknown", "none"), (1506.0, "healthy", "none")) == []


def test_what_was_logged_before_the_run_holds_until_it_changes():
    changes = [Change(900.0, "A->B", "late", "none", "", "left"), *log()[1:]]
    (found,) = false_verdicts(changes, [], begin=BEGIN, end=END)
    assert (found.at, found.lasted_s) == (BEGIN, END - BEGIN)


def test_a_former_leader_is_not_heard():
    shown = [Shown(900.0, Signal.LEADER, "left"), Shown(1504.5, Signal.LEADER, "right")]
    before, after = log((1200.0, "late", "none"), (1510.0, "unknown", "prober"))[-2:]
    new = Change(1505.0, "A->B", "healthy", "none", "", "right")
    back = Change(1900.0, "A->B", "late", "none", "", "left")
    assert of_leaders([after, new, before], shown) == [before, new]
    assert of_leaders([back], [*shown, Shown(1800.0, Signal.LEADER, "left")]) == [back]


def test_segments_of_both_flows_are_in_order():
    found = segments(log((1200.0, "late", "none")), begin=BEGIN, end=END)
    assert [(one.at, one.until, one.change.flow) for one in found] == [
        (BEGIN, 1200.0, "A->B"),
        (BEGIN, END, "B->A"),
        (1200.0, END, "A->B"),
    ]


def test_a_fault_is_detected_by_verdict_and_cause():
    changes = log((1103.0, "stalled", "unexplained"), (1106.0, "stalled", "source_down"))
    assert detected_s(changes, KILLED, "A->B") == 6.0
    found = missed(changes, [], [KILLED])
    assert [(one.flow, one.verdict, one.cause) for one in found] == [("B->A", "stalled", "target_down")]
    assert found[0].sentence == "reported instead: nothing"


def test_a_verdict_after_the_limit_or_before_the_order_detects_nothing():
    assert detected_s(log((1121.0, "stalled", "source_down")), KILLED, "A->B") is None
    assert detected_s(log((1099.0, "stalled", "source_down")), KILLED, "A->B") is None


def test_a_fault_that_changes_no_verdict_is_shown_by_an_event():
    shown = [Shown(1304.0, Signal.STORE, "left"), Shown(1504.5, Signal.LEADER, "right")]
    assert shown_s(shown, STORE) == 4.0
    assert missed(log(), shown, [STORE, LEADER]) == []
    (found,) = missed(log(), shown[:1], [STORE, LEADER])
    assert (found.fault, found.sentence) == ("kill-leader", "no event 'leader'")


def test_the_lead_changes_only_by_a_fault_that_moves_it():
    shown = [Shown(at, Signal.LEADER, "left") for at in (1310.0, 1400.0, 1505.0)]
    found = false_leads(shown, WINDOWS)
    assert [(one.at, one.in_window) for one in found] == [(1310.0, True), (1400.0, False)]


def test_an_incident_is_false_unless_its_flow_may_be_bad():
    incidents = [Incident("A->B", at, ("stalled",)) for at in (950.0, 1107.0, 1190.0, 1310.0)]
    found = false_incidents(incidents, WINDOWS, begin=BEGIN)
    assert [one.at for one in found] == [1190.0, 1310.0]


def test_a_flow_is_healthy_again_after_its_last_bad_verdict():
    assert healthy_after_s(log(), KILLED, end=END) == 0.0
    changes = log((1106.0, "stalled", "source_down"), (1150.0, "healthy", "none"))
    assert healthy_after_s(changes, KILLED, end=END) == 20.0
    assert healthy_after_s(changes[:-1], KILLED, end=END) is None


def test_seconds_are_counted_by_verdict_and_in_quiet_periods():
    found = seconds_by_verdict(
        log((1106.0, "stalled", "source_down"), (1195.0, "healthy", "none")), [KILLED], begin=BEGIN, end=END
    )
    assert found["A->B"] == {
        "healthy": 911.0,
        "healthy, quiet": 905.0,
        "stalled source_down": 89.0,
        "stalled source_down, quiet": 10.0,
    }


def test_quiet_is_what_no_window_covers():
    assert quiet_s(WINDOWS, begin=BEGIN, end=END) == 1000.0 - 85.0 - 45.0 - 40.0
    assert is_quiet(1099.0, WINDOWS)
    assert not is_quiet(1100.0, WINDOWS)
