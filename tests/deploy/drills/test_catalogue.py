"""Every fault of the register is drilled or has a reason not to be, and a drill is right only where it is."""

import pytest

from deploy.drills.catalogue import BY_LABEL, DRILLS
from deploy.drills.drill import Drill
from deploy.drills.ledger import groups
from deploy.drills.page import page
from deploy.drills.result import Result, as_line, from_line
from deploy.local.faults import BY_NAME, FAULTS
from fleet.verdicts.vocabulary import Cause, Verdict

NOT_DRILLED = {
    "retime-some": "neither a canary nor offsets compare timestamps",
}
STALL = Drill(name="freeze-mirror", verdict=Verdict.STALLED, cause=Cause.MIRROR_DOWN)
BENIGN = Drill(name="restart-source", verdict=None, accepted=frozenset({Cause.SOURCE_DOWN}))
OVERTAKEN = Drill(
    name="overtake",
    verdict=Verdict.LOSING,
    cause=Cause.OVERTAKEN,
    accepted=frozenset({Cause.MIRROR_DOWN}),
    shows_mended=True,
    then=Verdict.LOSING,
)
LATE = Drill(name="quota", verdict=Verdict.LATE)
SLOW = Drill(name="slow-link", verdict=Verdict.LATE, accepted=frozenset({Cause.TASK_STUCK}))
BURSTS = Drill(
    name="quota", verdict=Verdict.STALLED, accepted=frozenset({Cause.TASK_STUCK, Cause.MIRROR_DOWN})
)
WELL = (0.0, "healthy", None)


def test_every_fault_is_drilled_or_has_a_reason_not_to_be():
    drilled = {one.name for one in DRILLS}
    assert drilled | set(NOT_DRILLED) == set(BY_NAME)
    assert not drilled & set(NOT_DRILLED)
    assert len(BY_LABEL) == len(DRILLS)
    assert len(BY_NAME) == len(FAULTS)


def test_drills_that_share_a_service_leave_no_verdict_that_holds():
    for one in DRILLS:
        if not one.alone:
            assert one.then is Verdict.HEALTHY
            assert not one.canary


def test_groups_keep_every_drill_once():
    grouped = [one for group in groups(DRILLS) for one in group]
    assert sorted(one.label for one in grouped) == sorted(BY_LABEL)
    assert all(len({tuple(one.settings.items()) for one in group}) == 1 for group in groups(DRILLS))


@pytest.mark.parametrize(
    ("drill", "result", "wrong"),
    [
        (STALL, [WELL, (5.6, "stalled", "mirror_down")], ""),
        (STALL, [WELL, (5.2, "stalled", "unexplained"), (5.6, "stalled", "mirror_down")], ""),
        (
            STALL,
            [WELL, (5.2, "stalled", "target_down"), (5.6, "stalled", "mirror_down")],
            "target_down was said",
        ),
        (STALL, [WELL, (5.6, "stalled", "mirror_down"), (12.0, "stalled", "target_down")], ""),
        (STALL, [WELL, (5.6, "stalled", "target_down")], "the expected was not said"),
        (STALL, [WELL, (5.6, "stalled", "mirror_down"), (9.0, "losing", "filtered")], "losing was said"),
        (LATE, [WELL, (5.2, "stalled", "unexplained"), (6.0, "late", "unexplained")], ""),
        (LATE, [WELL, (5.2, "stalled", "task_stuck"), (6.0, "late", "unexplained")], "task_stuck was said"),
        (SLOW, [WELL, (5.2, "stalled", "task_stuck"), (6.0, "late", "unexplained")], ""),
        (SLOW, [WELL, (5.2, "stalled", "mirror_down"), (6.0, "late", None)], "mirror_down was said"),
        (SLOW, [WELL, (5.2, "stalled", "task_stuck")], "the expected was not said"),
        (SLOW, [WELL, (5.2, "losing", "task_stuck"), (6.0, "late", None)], "losing was said"),
        (BURSTS, [WELL, (5.2, "stalled", "task_stuck"), (6.0, "late", "unexplained")], ""),
        (BURSTS, [WELL, (5.2, "stalled", "mirror_down"), (6.0, "stalled", "task_stuck")], ""),
        (
            BURSTS,
            [WELL, (5.2, "stalled", "not_mirrored"), (6.0, "stalled", "task_stuck")],
            "not_mirrored was said",
        ),
        (BURSTS, [WELL, (6.0, "late", "unexplained")], "the expected was not said"),
        (BURSTS, [WELL, (6.0, "stalled", "unexplained")], "the expected was not said"),
        (LATE, [WELL, (6.0, "late", "unexplained"), (12.0, "stalled", "mirror_down")], ""),
        (BENIGN, [WELL], ""),
        (BENIGN, [WELL, (6.0, "stalled", "source_down"), (8.0, "healthy", None)], ""),
        (BENIGN, [WELL, (6.0, "repeating", "duplicating")], "repeating was said"),
        (BENIGN, [WELL, (6.0, "stalled", "mirror_down")], "mirror_down was said"),
        (BENIGN, [WELL, (6.0, "late", "target_down")], "target_down was said"),
        (BENIGN, [WELL, (6.0, "unknown", None), (12.0, "stalled", "mirror_down")], ""),
        (BENIGN, [WELL, (6.0, "unknown", "prober")], "prober was said"),
        (BENIGN, [WELL, (12.0, "unknown", "prober")], "prober was said"),
        (STALL, [WELL, (12.0, "stalled", "mirror_down")], "the expected was not said"),
        (STALL, [WELL, (5.6, "stalled", "mirror_down"), (8.0, "unknown", "prober")], "prober was said"),
        (
            STALL,
            [WELL, (5.2, "late", "source_down"), (5.6, "stalled", "mirror_down")],
            "source_down was said",
        ),
        (OVERTAKEN, [WELL, (6.0, "stalled", "mirror_down"), (12.0, "losing", "overtaken")], ""),
        (
            OVERTAKEN,
            [WELL, (6.0, "stalled", "source_down"), (12.0, "losing", "overtaken")],
            "source_down was said",
        ),
    ],
)
def test_what_makes_a_row_right(drill, result, wrong):
    assert Result("x", said=result, mended_s=10.0, healed_s=1.0).wrong(drill) == wrong


SUSPECTED = Drill(name="drop-some", verdict=None, suspected=Cause.FILTERED)


@pytest.mark.parametrize(
    ("drill", "suspected", "wrong"),
    [
        (SUSPECTED, [(12.0, "filtered", "orders")], ""),
        (SUSPECTED, [], "filtered was not suspected"),
        (
            SUSPECTED,
            [(12.0, "filtered", "orders"), (13.0, "overtaken", "stock")],
            "overtaken of stock was suspected",
        ),
        (BENIGN, [(12.0, "filtered", "orders")], "filtered of orders was suspected"),
        (BENIGN, [(12.0, "source_down", "orders")], ""),
        (LATE, [(12.0, "filtered", "orders")], "the expected was not said"),
    ],
)
def test_what_is_suspected_is_right_where_that_is_expected(drill, suspected, wrong):
    result = Result("x", said=[WELL], mended_s=10.0, healed_s=1.0, suspected=suspected)
    assert result.wrong(drill) == wrong


def test_a_suspicion_is_kept_and_stands_in_its_row():
    result = Result("offsets-drop-some", [WELL], healed_s=1.0, suspected=[(12.0, "filtered", "payments")])
    assert from_line(as_line(result)) == result
    text = page({"offsets-drop-some": result})
    assert "| no alarm; suspected filtered | silence | suspected: filtered | 12.0 |  | 1.0 |" in text


def test_a_flow_that_does_not_come_back_is_wrong():
    assert Result("x", said=[WELL]).wrong(BENIGN) == "the flow did not come back"


@pytest.mark.parametrize("called", ["lost", "confirmed"])
def test_a_probe_called_lost_is_wrong_where_no_alarm_is_expected(called):
    result = Result("x", said=[WELL], healed_s=1.0, books={called: 1})
    assert result.wrong(BENIGN) == "probes were called lost"


def test_a_fault_that_left_no_trace_in_the_counters_did_not_happen():
    neighbour = Drill(name="neighbour", verdict=None, counted="foreign")
    assert Result("x", said=[WELL], healed_s=1.0).wrong(neighbour) == "nothing was counted as foreign"
    assert Result("x", said=[WELL], healed_s=1.0, books={"foreign": 9}).wrong(neighbour) == ""


def test_results_are_kept_and_written_down():
    result = Result(
        "freeze-mirror", [(5.6, "stalled", "mirror_down")], "It stands.", 9.0, 0.5, {"late": 7}, "2026-01-02"
    )
    assert from_line(as_line(result)) == result
    text = page({"freeze-mirror": result})
    assert "| stalled | mirror_down | 5.6 |  | 0.5 | late 7 | yes |" in text
    assert "not run for this page: `restart-mirror`" in text
    assert "| stalled mirror_down or task_stuck |" in page({"quota": result})
    assert "| late; on the way mirror_down |" in page({"slow-link": result})
    assert "2026-01-02" in text


def test_the_page_names_the_kafka_of_the_run_and_can_be_made_of_nothing(monkeypatch):
    monkeypatch.setenv("MIRRORWATCH_KAFKA", "")
    assert "two real Kafka 4.3.0 brokers" in page({})
    monkeypatch.setenv("MIRRORWATCH_KAFKA", "3.9")
    assert "two real Kafka 3.9.2 brokers" in page({})
    days = {name: Result(name, [WELL], day=f"2026-01-0{number}") for number, name in enumerate(BY_LABEL, 1)}
    two = dict(list(days.items())[:3])
    assert "on 2026-01-01 to 2026-01-03." in page(two)
