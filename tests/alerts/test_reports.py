"""The arithmetic of reports against a plain reference, and what a report says first."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.incidents import Incident, Symptom
from alerts.objectives import Exclusion
from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.reports import (
    BadMinute,
    ObjectiveReport,
    Report,
    Stretch,
    causes_of,
    document,
    figures_of,
    file_name,
    markdown,
    probe_tally,
    value_tally,
)
from alerts.reports.wording import covered_text, share_text
from fleet.probe_history import DAY_MINUTES, ProbeDay, ProbeMinute, ValueRun
from fleet.verdicts.vocabulary import Cause, Verdict

DAY = 20_000
START = DAY * DAY_MINUTES


def objective(kind=ObjectiveKind.AVAILABILITY, *, target=0.99, **more):
    limit = kind.default_limit_s
    return Objective(
        flow="A->B", source="A", target="B", kind=kind, target_ratio=target, limit_s=limit, **more
    )


def day_of(minutes):
    even = [one for one in minutes if one.even]
    return ProbeDay(
        DAY, len(even), sum(one.good for one in even), tuple(one for one in minutes if not one.even)
    )


def report_of(wanted, minutes, *, length=DAY_MINUTES, **more):
    spans = [(START, START + length)]
    tally = probe_tally(wanted, day_of(minutes))
    figures = figures_of(wanted, [tally], spans)
    return Report(START, START + length, (ObjectiveReport(wanted, figures, **more),))


def even(minute, count=60):
    return ProbeMinute(START + minute, count, count, 0, 0, 0, 0, 0, 0)


def lossy(minute, lost=6, count=60):
    return ProbeMinute(START + minute, count, count - lost, 0, 0, lost, 0, 0, 0)


COUNTS = st.integers(0, 4)
MINUTES = st.lists(
    st.tuples(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS), min_size=1, max_size=40
).map(lambda rows: [ProbeMinute(START + n, one[0] + sum(one[1:5]), *one[1:]) for n, one in enumerate(rows)])


@given(
    MINUTES,
    st.sampled_from([ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS]),
    st.sampled_from([None, 0.5, 1.0]),
    st.sampled_from([0.0, 0.5, 0.99]),
)
def test_figures_equal_a_plain_reference(minutes, kind, slice_ratio, target):
    wanted = objective(kind, target=target, slice_ratio=slice_ratio)
    good, valid, seen = [], [], Fraction(0)
    for one in minutes:
        judged = one.good + one.late + one.overdue + one.lost
        good_here, valid_here = (
            (one.good, one.settled) if kind is ObjectiveKind.FRESHNESS else (one.good + one.late, judged)
        )
        if valid_here:
            seen += Fraction(valid_here, valid_here + one.unknown + one.unsent)
        if valid_here and slice_ratio is not None:
            good_here, valid_here = int(Fraction(good_here, valid_here) >= Fraction(slice_ratio)), 1
        good.append(good_here)
        valid.append(valid_here)
    figures = report_of(wanted, minutes).objectives[0].figures
    assert (figures.good, figures.valid) == (sum(good), sum(valid))
    assert figures.observed_minutes == pytest.approx(float(seen), abs=0.5 + 1e-9)
    assert figures.coverage_ratio == figures.observed_minutes / DAY_MINUTES
    if not sum(valid):
        assert (figures.sli_ratio, figures.burn, figures.budget_left_ratio) == (None, None, None)
        return
    assert figures.sli_ratio == sum(good) / sum(valid)
    burn = Fraction(sum(valid) - sum(good), sum(valid)) / (1 - Fraction(target)) * seen / DAY_MINUTES
    assert figures.burn == pytest.approx(float(burn))
    assert figures.budget_left_ratio == pytest.approx(1 - float(burn))
    assert report_of(wanted, minutes).objectives[0].met is (burn <= 1)
    assert sum(one.bad for one in figures.stretches) == figures.bad
    if figures.burn:
        assert sum(one.budget_ratio for one in figures.stretches) == pytest.approx(figures.burn)


def test_unknown_probes_are_neither_good_nor_bad():
    minute = ProbeMinute(START, 10, 10, 0, 0, 0, 0, 30, 5)
    figures = report_of(objective(), [minute]).objectives[0].figures
    assert (figures.good, figures.valid, figures.unknown) == (10, 10, 30)


@pytest.mark.parametrize("slice_ratio", [None, 0.5])
@pytest.mark.parametrize(("unknown", "unsent"), [(59, 0), (0, 59), (30, 29)])
def test_unknown_and_unsent_probes_lower_the_coverage(unknown, unsent, slice_ratio):
    minutes = [ProbeMinute(START + n, 1, 1, 0, 0, 0, 0, unknown, unsent) for n in range(60)]
    found = report_of(objective(slice_ratio=slice_ratio), minutes, length=60)
    assert found.objectives[0].figures.observed_minutes == 1
    assert found.first_line.startswith("Partly covered: 1 of 1 objective lack data")


def test_a_minute_that_was_measured_in_part_is_observed_in_part():
    wanted = objective(ObjectiveKind.RECOVERY_POINT)
    assert value_tally(wanted, DAY, [ValueRun(START, 120, 5, None, 1.0, None)]).minutes == 10


def test_unobserved_time_spends_none_of_the_budget_of_the_period():
    # A minute of which all is bad, and another one: of a day with a budget of 14.4 min.
    found = report_of(objective(), [lossy(1, lost=60), even(2)])
    (one,) = found.objectives
    assert (one.met, one.figures.sli_ratio) == (True, 0.5)
    assert one.figures.burn == pytest.approx(1 / 14.4)
    assert one.figures.budget_left_ratio == pytest.approx(1 - 1 / 14.4)
    assert one.figures.stretches[0].budget_ratio == pytest.approx(1 / 14.4)


def test_an_sli_just_at_its_target_is_met_with_nothing_left():
    minutes = [lossy(n, 6, count=600) for n in range(DAY_MINUTES)]
    found = report_of(objective(target=0.99), minutes)
    (one,) = found.objectives
    assert (one.met, one.figures.burn, one.figures.budget_left_ratio) == (True, 1.0, 0.0)
    assert "| 0.0 % |" in markdown(found)
    assert markdown(found).count("not at the recent rate") == 1


def test_a_period_that_is_excluded_is_not_one_without_data():
    figures = figures_of(objective(), [], [])
    excluded = ObjectiveReport(objective(), figures)
    alone = Report(START, START + 60, (excluded,))
    assert alone.first_line == "Excluded: the whole period of the only objective."
    assert "| excluded |" in markdown(alone)
    assert document(alone)["objectives"][0]["excluded"] is True
    among = report_of(objective(), [even(n) for n in range(60)], length=60)
    both = Report(among.first, among.until, (*among.objectives, excluded))
    assert both.first_line == "Met: the only objective. Excluded: the whole period of A->B availability."
    unseen = report_of(objective(), [], length=60)
    both = Report(unseen.first, unseen.until, (*unseen.objectives, excluded, excluded))
    assert both.first_line == (
        "No data: the store holds nothing of this period for the only objective."
        " Excluded: the whole period of A->B availability and 1 more."
    )


@pytest.mark.parametrize(
    ("first", "minutes", "name"),
    [
        (START, 28 * DAY_MINUTES + 700, "mirrorwatch-2024-11-01-28d.md"),
        (START, 7 * DAY_MINUTES, "mirrorwatch-2024-10-11-7d.md"),
        (START + 5, 36 * 60, "mirrorwatch-2024-10-05-36h.md"),
        (START + 5, 60, "mirrorwatch-2024-10-04-1h.md"),
    ],
)
def test_reports_of_one_day_over_other_periods_have_other_names(first, minutes, name):
    assert file_name(Report(first, first + minutes, ()), "md") == name


def test_confirmed_losses_count_as_lost_where_the_probe_was_due():
    minute = ProbeMinute(START, 10, 4, 0, 5, 1, 2, 0, 0)
    one = report_of(objective(ObjectiveKind.LOSS, target=1.0), [minute]).objectives[0]
    assert (one.figures.bad, one.met) == (3, False)
    assert (one.figures.burn, one.figures.stretches[0].budget_ratio) == (None, None)


def test_time_above_the_limit_is_bad_and_what_is_not_known_is_not_observed():
    wanted = objective(ObjectiveKind.REPLICATION_LAG)
    rows = [
        ValueRun(START, 1, 60, 300.0, None, None),
        ValueRun(START + 1, 1, 30, 300.1, 1.0, None),
        ValueRun(START + 2, 1, 60, None, 1.0, None),
        ValueRun(START + 3, 1, 0, 1.0, 1.0, None),
    ]
    tally = value_tally(wanted, DAY, rows)
    assert (tally.minutes, tally.good, tally.valid) == (1.5, 60, 90)


def test_the_age_of_an_audit_is_that_at_the_end_of_the_minute():
    wanted = objective(ObjectiveKind.AUDIT_AGE)
    limit_s = 26 * 3600
    end_s = (START + 1) * 60
    for audited_at, good in ((end_s - limit_s, 60), (end_s - limit_s - 1, 0)):
        assert value_tally(wanted, DAY, [ValueRun(START, 1, 60, None, None, float(audited_at))]).good == good


def test_bad_minutes_near_each_other_are_one_stretch_and_the_worst_comes_first():
    found = report_of(objective(), [lossy(1), lossy(2), lossy(5), lossy(20, lost=30)])
    stretches = found.objectives[0].figures.stretches
    assert [(one.first - START, one.last - START, one.bad) for one in stretches] == [(20, 20, 30), (1, 5, 18)]


@given(st.integers(0, 200), st.integers(1, 90), st.integers(-60, 60))
def test_a_run_of_minutes_counts_as_its_minutes(first, count, audited):
    wanted = objective(ObjectiveKind.AUDIT_AGE, target=0.5)
    audited_at = float(START * 60 - 26 * 3600 + audited * 60 + 7200)
    run = ValueRun(START + first, count, 60, None, None, audited_at)
    single = [run._replace(first=run.first + n, minutes=1) for n in range(count)]
    assert value_tally(wanted, DAY, [run]) == value_tally(wanted, DAY, single)


@pytest.mark.parametrize(
    ("minutes", "length", "said"),
    [
        ([], 60, "No data: the store holds nothing of this period for the only objective."),
        (
            [even(n) for n in range(30)],
            60,
            (
                "Partly covered: 1 of 1 objective lack data, most of all A->B availability (50 % covered)."
                " Met: the only objective."
            ),
        ),
        ([even(n) for n in range(60)], 60, "Met: the only objective."),
        (
            [lossy(n, 6) for n in range(60)],
            60,
            "Missed: 1 of 1 objective, worst A->B availability, budget left -900.0 %.",
        ),
    ],
)
def test_what_is_shown_first(minutes, length, said):
    found = report_of(objective(), minutes, length=length)
    assert found.first_line == said
    assert said in markdown(found).replace("\\", "")
    assert document(found)["summary"] == said


def test_an_sli_is_never_rounded_up_to_its_target_or_to_all():
    assert share_text(0.9999999) == "99.9999 %"
    assert share_text(0.999) == "99.9 %"
    assert share_text(1.0) == "100 %"
    assert share_text(0.98999999) == "98.9999 %"
    assert [covered_text(one) for one in (16 / 60, 0.99999, 1.001)] == ["26.6 %", "99.9 %", "100 %"]


@pytest.mark.parametrize(
    ("every", "assumed", "days", "coverage"),
    [
        (5, 5.0, [1440], 1.0),
        (5, 5.0, [720], 0.5),
        (1, 1.0, [720], 0.5),
        (5, 5.0, [1440, 720, 0], 0.5),
        (1, 5.0, [1440, 1440, 0], 2 / 3),  # more partitions than were assumed
        (2, 5.0, [1440, 1440, 0], 2 / 3),
        (5, 5.0, [12], 15 / 1440),  # a probe at minutes 0, 5 and 10
    ],
)
def test_a_probe_stands_for_the_time_up_to_the_next(every, assumed, days, coverage):
    wanted = objective(minutes_per_probe=assumed)
    tallies = [
        probe_tally(wanted, ProbeDay(DAY + n, len(range(0, seen, every)), len(range(0, seen, every)), ()))
        for n, seen in enumerate(days)
    ]
    figures = figures_of(wanted, tallies, [(START, START + len(days) * DAY_MINUTES)])
    assert figures.coverage_ratio == pytest.approx(coverage, abs=0.004)
    assert [one.coverage_ratio for one in figures.days] == pytest.approx(
        [min(1.0, -(-seen // every) * every / 1440) for seen in days], abs=0.004
    )


def test_a_day_with_another_interval_changes_no_other_day():
    wanted = objective(minutes_per_probe=10.0)
    days = [ProbeDay(DAY, 1440, 86_400, ()), ProbeDay(DAY + 1, 144, 144, ())]
    figures = figures_of(
        wanted, [probe_tally(wanted, one) for one in days], [(START, START + 2 * DAY_MINUTES)]
    )
    assert [one.coverage_ratio for one in figures.days] == [1.0, 1.0]


def test_an_objective_with_a_period_of_its_own_says_so():
    found = report_of(
        objective(period_s=6 * 3600.0), [lossy(n, lost=60) for n in range(20)], first=START + 1080
    )
    (one,) = found.objectives
    assert (one.name, found.first_of(one)) == ("availability over 6 h", START + 1080)
    assert "| availability over 6 h |" in markdown(found)
    assert "worst A->B availability over 6 h" in found.result
    assert document(found)["objectives"][0]["from"] == "2024-10-04T18:00:00Z"


def test_the_budget_is_projected_from_the_newest_quarter():
    wanted = objective()
    days = [
        probe_tally(wanted, ProbeDay(DAY + n, 1440, 86_400, ()))._replace(
            good=86_400 - bad, bad=(BadMinute(START + n * DAY_MINUTES, bad, "stalled"),) if bad else ()
        )
        for n, bad in enumerate([0, 0, 0, 1728])
    ]
    spans = [(START, START + 4 * DAY_MINUTES)]
    figures = figures_of(wanted, days, spans)
    assert figures.burn == pytest.approx(0.5)
    assert figures.recent_burn == pytest.approx(2.0)
    assert figures.exhausted_in_s == pytest.approx(0.5 * 4 * 86_400 / 2)


@pytest.mark.parametrize(("bad", "recent"), [(range(100, 110), 0.0), (range(1400, 1410), 4 * 10 / 144)])
def test_the_newest_quarter_of_a_day_is_6_hours(bad, recent):
    minutes = [lossy(n, 60) if n in bad else even(n) for n in range(DAY_MINUTES)]
    figures = report_of(objective(target=0.9), minutes).objectives[0].figures
    assert figures.recent_burn == pytest.approx(recent)


def test_text_of_others_cannot_break_the_table():
    found = report_of(objective(), [lossy(1)])
    with_reason = Report(
        found.first,
        found.until,
        found.objectives,
        (Exclusion(1, "A->B", START, START + 5, "me", "a | b\n# c"),),
    )
    line = next(line for line in markdown(with_reason).splitlines() if "| me |" in line)
    assert line.endswith(r"| me | a \| b # c |")
    json.dumps(document(with_reason))


def test_a_bad_time_has_the_causes_of_the_incidents_of_then():
    stretches = [Stretch(START + n, START + n + 2, 9, "stalled", 0.1) for n in (0, 30, 60)]

    def incident(first, last, *causes):
        symptoms = tuple(Symptom(Verdict.STALLED, cause, "", 1.0, 2.0) for cause in causes)
        begins, ends = (START + first) * 60.0, (START + last) * 60.0
        return Incident("i", "A->B", "A", "B", begins, ends, ends, symptoms=symptoms)

    incidents = [
        incident(1, 2, Cause.MIRROR_DOWN),
        incident(31, 33, None),
        incident(45, 50, Cause.TARGET_DOWN),
        incident(50, 70, Cause.THROTTLED, Cause.TASK_STUCK),
    ]
    assert causes_of(stretches, incidents) == {
        START: "stalled: mirror_down",
        START + 60: "stalled: throttled, task_stuck",
    }
