"""Incidents: what belongs to one, what ends it, and what several processes make of the same bad time."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts import incident_tables
from alerts.incidents import GAP_S, Counts, Note, Recorder, Span, bar_of
from alerts.incidents.incident import UNWATCHED_S, incident_id
from alerts.incidents.recorder import add_span
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Also, Cause, Verdict
from fleet.verdicts.words import HOLD_S
from runtime.store.store import Store
from tests.alerts.incidents import FLOW, START, row, sample
from tests.databases import DATABASES, address_of


class Stored:
    """A store in memory: the rules of tables.py over SQLite, without files and threads."""

    def __init__(self):
        self.connection = sa.create_engine("sqlite://").connect()
        for migration in incident_tables.MIGRATIONS:
            migration.apply(self.connection)

    def keep(self, recorder, now_at, observer="one", flow=FLOW, *, ending=False):
        batch = recorder.take(ending=ending)
        found = incident_tables.keep(self.connection, {flow: batch}, observer=observer, now_at=START + now_at)
        recorder.written(batch)
        return found

    @property
    def all(self):
        return incident_tables.incidents_between(self.connection, 0, START * 2)


def played(stored, samples, *, observer="one", recorder=None, every=20):
    """Have a process take these samples, and write after every so many."""
    recorder = recorder or Recorder(observer)
    for number, one in enumerate(samples):
        recorder.note(one)
        if number % every == 0:
            stored.keep(recorder, one.at - START, observer)
    stored.keep(recorder, samples[-1].at - START, observer)
    return recorder


def line(*pieces):
    """Return samples every second: pieces are (seconds, *conditions)."""
    samples, at = [], 0
    for seconds, *conditions in pieces:
        samples += [sample(at + n, *conditions) for n in range(seconds)]
        at += seconds
    return samples


GAP = int(GAP_S)
CASES = {
    "healthy time makes none": ([(600,)], []),
    "unknown time makes none": ([(600, "unknown")], []),
    "bad time makes one, open": ([(10,), (30, "late")], [(10, 39, False)]),
    "healthy for the gap ends it": ([(10,), (30, "late"), (GAP + 1,)], [(10, 39, True)]),
    "healthy for less does not": ([(10,), (30, "late"), (GAP - 1,)], [(10, 39, False)]),
    "a short healthy gap does not split": (
        [(10, "late"), (GAP - 2,), (10, "stalled"), (GAP + 1,)],
        [(0, 10 + GAP - 2 + 9, True)],
    ),
    "a longer one does": (
        [(10, "late"), (GAP + 5,), (10, "late"), (GAP + 1,)],
        [(0, 9, True), (GAP + 15, GAP + 24, True)],
    ),
    "unknown is not healthy": ([(10, "late"), (GAP * 3, "unknown")], [(0, 9, False)]),
    "unknown begins the healthy time anew": (
        [(10, "late"), (GAP - 50,), (5, "unknown"), (GAP - 50,)],
        [(0, 9, False)],
    ),
    "several conditions are one": ([(10, "late", "losing"), (10, "stalled", "losing")], [(0, 19, False)]),
}


@pytest.mark.parametrize("every", [20, 10_000])
@pytest.mark.parametrize("case", CASES)
def test_bad_time_becomes_incidents(case, every):
    pieces, expected = CASES[case]
    stored = Stored()
    played(stored, line(*pieces), every=every)
    found = [
        (round(one.started_at - START), round(one.bad_until_at - START), one.ended) for one in stored.all
    ]
    assert found == expected


def test_an_end_that_was_watched_is_exact_and_another_has_bounds():
    watched, blind = Stored(), Stored()
    played(watched, line((10, "late"), (GAP + 2,)))
    assert watched.all[0].lasted_s == Bounds(9, 9)
    played(blind, [*line((10, "late")), *(sample(1000 + n) for n in range(GAP + 2))])
    assert blind.all[0].lasted_s == Bounds(9, 1000)
    assert blind.all[0].ended


def test_a_crash_neither_ends_nor_doubles_an_open_incident():
    stored = Stored()
    played(stored, line((10,), (30, "stalled")), observer="killed")
    (before,) = stored.all
    played(stored, [sample(60 + n, "unknown") for n in range(5)], observer="next")
    assert stored.all == (before,)
    played(
        stored, [sample(65 + n, "stalled", counts=Counts(3, 1, 3, 1, 0)) for n in range(20)], observer="next"
    )
    (after,) = stored.all
    assert (after.incident, after.started_at, after.ended) == (before.incident, before.started_at, False)
    assert after.bad_until_at == START + 84


def test_after_a_crash_a_healthy_flow_has_its_incident_ended_with_bounds():
    stored = Stored()
    played(stored, line((30, "stalled")), observer="killed")
    played(stored, [sample(500 + n) for n in range(GAP + 2)], observer="next")
    (one,) = stored.all
    assert one.ended
    assert one.lasted_s == Bounds(29, 500)


def test_two_processes_make_one_incident_and_the_one_that_still_sees_it_keeps_it_open():
    stored, one, two = Stored(), Recorder("one"), Recorder("two")
    for at in range(GAP * 2):
        one.note(sample(at, *(("late",) if at < 20 else ())))
        two.note(sample(at + 0.5, *(("late",) if at >= 3 else ())))
        if not at % 10 or at == GAP * 2 - 1:
            stored.keep(one, at, "one")
            stored.keep(two, at, "two")
    (found,) = stored.all
    assert (found.started_at, found.ended) == (START, False)
    assert found.bad_until_at == START + GAP * 2 - 0.5


def test_counts_are_of_all_processes_and_written_twice_are_the_same():
    stored, one, two = Stored(), Recorder("one"), Recorder("two")
    one.note(sample(0, counts=Counts(10, 10, 10, 10, 0)))
    two.note(sample(0, counts=Counts(5, 5, 5, 5, 0)))
    one.note(sample(1, "losing", counts=Counts(20, 13, 20, 13, 4), lost=Bounds(2, None)))
    two.note(sample(1, "losing", counts=Counts(9, 6, 9, 6, 1), lost=Bounds(3, None)))
    for _ in range(3):
        for recorder, name in ((one, "one"), (two, "two")):
            batch = recorder.take()
            incident_tables.keep(stored.connection, {FLOW: batch}, observer=name, now_at=START + 1)
    (found,) = stored.all
    assert found.counts == Counts(14, 4, 14, 4, 5)
    assert found.lost_records == Bounds(5 + 3, None)


def test_what_arrives_with_the_sample_that_ends_the_bad_time_counts():
    stored = Stored()
    played(
        stored,
        [
            sample(0),
            sample(1, "stalled", counts=Counts(5, 0, 5, 0, 0)),
            sample(2, counts=Counts(9, 2, 9, 9, 0)),
            sample(3, counts=Counts(20, 13, 20, 20, 0)),
        ],
    )
    assert stored.all[0].counts == Counts(9, 2, 9, 9, 0)


def test_it_reports_conditions_causes_and_evidence_in_the_order_in_which_they_came():
    stored = Stored()
    also = Also(Verdict.STALLED, Cause.MIRROR_DOWN, "No records.", START, START, (row("stalled row"),))
    played(
        stored,
        [
            sample(0, "late", sentence="Late."),
            sample(1, "stalled", cause="unexplained", sentence="Nothing arrives.", evidence=(row("first"),)),
            sample(2, "losing", "stalled", cause="filtered", sentence="3 lost.", also=also),
            sample(3, "stalled", verdict="losing", cause="filtered", sentence="3 lost.", also=also),
        ],
    )
    (found,) = stored.all
    assert found.conditions == (Verdict.LOSING, Verdict.STALLED, Verdict.LATE)
    assert found.causes == (Cause.FILTERED, Cause.UNEXPLAINED, Cause.MIRROR_DOWN)
    told = [
        (one.condition.value, one.cause, one.first_at - START, one.last_at - START) for one in found.symptoms
    ]
    assert told == [
        ("late", None, 0, 0),
        ("stalled", "unexplained", 1, 1),
        ("losing", "filtered", 2, 2),  # of what was lost a while ago nothing is said as of now
        ("stalled", "mirror_down", 2, 3),
    ]
    assert found.worst.sentence == "3 lost."
    assert [one.sentence for one in found.symptoms[1].evidence] == ["first"]
    assert found.symptoms[3].evidence == (row("stalled row"),)


def test_an_incident_of_a_flow_that_no_one_watches_is_closed_without_an_end():
    stored = Stored()
    played(stored, line((10, "late")))
    incident_tables.keep(stored.connection, {}, observer="one", now_at=START + UNWATCHED_S)
    assert not stored.all[0].ended
    incident_tables.keep(stored.connection, {}, observer="one", now_at=START + UNWATCHED_S + 1000)
    (found,) = stored.all
    assert found.ended
    assert found.healthy_at is None
    assert found.lasted_s == Bounds(9, None)


def test_bad_time_a_day_after_no_one_watched_is_another_incident():
    stored = Stored()
    played(stored, line((10, "late")))
    later = UNWATCHED_S + 1000
    played(stored, [sample(later + n, "late") for n in range(5)], observer="next")
    assert [one.ended for one in stored.all] == [True, False]


def test_a_store_that_was_away_for_long_gets_every_incident():
    stored = Stored()
    pieces = line((10, "late"), (GAP + 5,), (10, "stalled"), (GAP + 5,), (10, "losing"))
    played(stored, pieces, every=10_000)
    assert [one.conditions for one in stored.all] == [
        (Verdict.LATE,),
        (Verdict.STALLED,),
        (Verdict.LOSING,),
    ]


def test_many_restarts_within_an_incident_are_summed_up():
    stored = Stored()
    for number in range(120):
        recorder = Recorder(f"{number}")
        recorder.note(sample(number * 10, "late", counts=Counts(2, 1, 2, 1, 1)))
        stored.keep(recorder, number * 10, f"{number}")
    (found,) = stored.all
    assert len(found.counts_by) <= 51
    assert found.counts == Counts(240, 120, 240, 120, 120)


# --- losses by offsets, over restarts


def losing(stored, observer, totals, *, first, conditions=("losing",)):
    """Have a new process take these totals by offsets every second; None is unknown."""
    recorder = Recorder(observer)
    for number, total in enumerate(totals):
        one = sample(first + number, *conditions)
        recorder.note(replace(one, lost=None if total is None else Bounds(total, total)))
    stored.keep(recorder, first + len(totals), observer)


def test_losses_after_a_restart_add_to_those_before():
    stored = Stored()
    losing(stored, "killed", [0] * 5 + [100] * 15, first=0)
    losing(stored, "next", [None] * 3 + [100] * 12 + [150] * 20, first=25)
    assert stored.all[0].lost_records == Bounds(150, 150)


def test_two_replicas_that_see_the_same_losses_count_them_once():
    stored = Stored()
    losing(stored, "one", [0] * 5 + [100] * 60, first=0)
    losing(stored, "two", [0] * 6 + [100] * 60, first=1)
    assert stored.all[0].lost_records == Bounds(100, 100)


def test_losses_of_a_time_in_which_no_process_ran_belong_to_the_incident_that_they_begin():
    stored = Stored()
    losing(stored, "one", [None, 40, 40], first=0)
    assert stored.all[0].lost_records == Bounds(40, 40)


def test_losses_of_an_incident_shortly_before_may_be_in_the_first_total_of_a_process():
    stored = Stored()
    losing(stored, "one", [0, 40, 40], first=0)
    played(stored, [sample(3 + n) for n in range(GAP + 2)], observer="two")
    losing(stored, "three", [40, 42, 42], first=GAP + 20)
    assert [one.lost_records for one in stored.all] == [Bounds(40, 40), Bounds(2, 42)]


def test_losses_that_were_known_before_the_bad_time_do_not_count():
    stored, recorder = Stored(), Recorder("one")
    for at, total, conditions in ((0, 7, ()), (1, 7, ("losing",)), (2, 9, ("losing",))):
        recorder.note(sample(at, *conditions, lost=Bounds(total, total)))
    stored.keep(recorder, 2)
    assert stored.all[0].lost_records == Bounds(2, 2)


def burning(part, *, every_s, bad_s, unknown=()):
    """Have a process lose `part` records every so many seconds, each in a finding of its own."""
    stored, recorder = Stored(), Recorder("one")
    for at in range(bad_s + 1):
        last = at // every_s * every_s
        found = [START + one for one in range(every_s, last + 1, every_s) if at - one <= HOLD_S]
        one = replace(
            sample(at, "losing", lost=Bounds(part.least * len(found), part.most * len(found))),
            lost_by_time=tuple((at, part) for at in found),
        )
        recorder.note(replace(one, lost=None, lost_by_time=()) if at in unknown else one)
    stored.keep(recorder, bad_s)
    return stored.all[0].lost_records


@pytest.mark.parametrize("every_s", [1, 7, 10, 100])
@pytest.mark.parametrize("part", [Bounds(5, 5), Bounds(3, 8)])
def test_a_loss_counts_in_full_however_much_of_it_leaves_the_total_meanwhile(part, every_s):
    lost = burning(part, every_s=every_s, bad_s=4000)
    assert lost == Bounds(part.least * (4000 // every_s), part.most * (4000 // every_s))


@pytest.mark.parametrize(
    ("unknown_s", "lost"),
    [
        (5, Bounds(2000, 2000)),
        (300, Bounds(2000 - 5 * 30, 2000)),
        (880, Bounds(2000 - 5 * 88, 2000)),
        (1000, Bounds(2000 - 5 * 100, None)),
    ],
)
def test_a_loss_while_its_total_is_not_known_has_bounds(unknown_s, lost):
    unknown = range(1500, 1500 + unknown_s)
    assert burning(Bounds(5, 5), every_s=10, bad_s=4000, unknown=unknown) == lost


def test_losses_of_many_restarts_are_summed_up():
    stored = Stored()
    for number in range(120):
        losing(stored, f"{number}", [number, number + 1], first=number * 5)
    (found,) = stored.all
    assert len(found.lost_by) <= 51
    assert found.lost_records == Bounds(120, 120)


def test_an_incident_of_an_older_store_keeps_its_losses():
    stored = Stored()
    losing(stored, "one", [0, 40, 40], first=0)
    (before,) = stored.all
    former = {"symptoms": [], "counts": {"a:1": [1, 0, 1, 0, 1]}, "lost": {"a:1": [3, 9], "b:1": [4, None]}}
    former |= {"at_risk_records": None, "recovery_point_age_s": None}
    stored.connection.execute(sa.update(incident_tables.INCIDENTS).values(document=json.dumps(former)))
    incident_tables.MIGRATIONS[1].apply(stored.connection)
    (after,) = stored.all
    assert (after.started_at, after.bad_until_at) == (before.started_at, before.bad_until_at)
    assert after.lost_records.least == 1 + 4


# --- a clock that is set


class Machine:
    """A process on a machine whose clock is set, with a store that it writes every five seconds."""

    def __init__(self):
        self.stored, self.recorder, self.offset, self.at = Stored(), Recorder("one"), 0, 0

    def run(self, seconds, *conditions, gap_s=GAP_S):
        for _ in range(seconds):
            self.recorder.note(replace(sample(self.at + self.offset, *conditions), gap_s=gap_s))
            self.at += 1
            if self.at % 5 == 0:
                self.stored.keep(self.recorder, self.at + self.offset)

    def set_clock(self, by_s):
        self.offset += by_s
        self.recorder.moved(by_s)

    def restart(self):
        self.stored.keep(self.recorder, self.at + self.offset)
        self.recorder = Recorder(f"after {self.at}")

    @property
    def found(self):
        """What the store has: start, last bad time and whether it has ended, on the clock of now."""
        return [
            (
                round(one.started_at - START) - self.offset,
                round(one.bad_until_at - START) - self.offset,
                one.ended,
            )
            for one in self.stored.all
        ]


@pytest.mark.parametrize("by_s", [-3600, -100, -2, 2, 100, 3600, 2 * 86_400])
def test_a_clock_that_is_set_during_an_incident_changes_nothing_about_it(by_s):
    machine = Machine()
    machine.run(400)
    machine.run(120, "stalled")
    machine.set_clock(by_s)
    machine.run(60, "stalled")
    assert machine.found == [(400, 579, False)]
    machine.run(GAP + 5)
    assert machine.found == [(400, 579, True)]
    (found,) = machine.stored.all
    assert found.lasted_s == Bounds(179, 179)
    symptom = found.symptoms[0]
    assert (symptom.first_at, symptom.last_at) == (found.started_at, found.bad_until_at)


def test_a_fault_after_the_clock_was_set_back_is_an_incident_of_its_own():
    machine = Machine()
    machine.run(400)
    machine.run(60, "stalled")
    machine.set_clock(-3600)
    machine.run(1800)
    machine.run(30, "losing")
    machine.run(GAP + 5)
    assert machine.found == [(400, 459, True), (2260, 2289, True)]


def test_an_incident_that_ended_before_the_clock_was_set_back_takes_no_fault_after_it():
    machine = Machine()
    machine.run(400)
    machine.run(60, "stalled")
    machine.run(GAP + 40)
    machine.set_clock(-600)
    machine.run(80)
    machine.run(700, "losing")  # past the times of the former
    machine.run(GAP + 5)
    assert [(one.conditions, one.lasted_s) for one in machine.stored.all] == [
        ((Verdict.LOSING,), Bounds(699, 699)),
        ((Verdict.STALLED,), Bounds(59, 59)),
    ]


def test_after_a_restart_and_a_clock_set_back_it_is_one_incident_that_ends():
    machine = Machine()
    machine.run(400)
    machine.run(60, "stalled")
    machine.restart()
    machine.run(35, "stalled")
    machine.set_clock(-3600)
    machine.run(20, "stalled")
    ((started_at, bad_until_at, ended),) = machine.found
    assert (started_at, ended) == (460, False)  # the former process wrote times that compare with nothing
    assert 510 <= bad_until_at <= 515
    machine.run(GAP + 5)
    assert machine.found == [(460, bad_until_at, True)]


def test_a_clock_set_back_between_two_processes_leaves_one_incident_that_ends():
    machine = Machine()
    machine.run(60, "stalled")
    machine.restart()
    machine.offset = -3600
    machine.run(30, "stalled")
    assert machine.found == [(60, 89, False)]
    machine.run(GAP + 10)
    assert machine.found == [(60, 89, True)]


def test_two_incidents_of_one_start_are_two_rows():
    machine = Machine()
    machine.run(60, "stalled")
    machine.run(GAP + 5)
    machine.restart()
    machine.offset = -machine.at  # the clock is where it was at the beginning
    machine.run(10, "losing")
    machine.stored.keep(machine.recorder, 10)
    names = {one.incident: one.conditions for one in machine.stored.all}
    name = incident_id(FLOW[0], START)
    assert names == {name: (Verdict.STALLED,), f"{name}-2": (Verdict.LOSING,)}


def test_with_a_long_interval_the_gap_is_longer():
    machine = Machine()
    for _ in range(4):
        machine.run(300, "losing", gap_s=1800.0)
        machine.run(900, gap_s=1800.0)
    assert machine.found == [(0, 3899, False)]
    machine.run(905, gap_s=1800.0)
    assert machine.found == [(0, 3899, True)]


_pieces = st.lists(
    st.tuples(
        st.integers(1, 2 * GAP),
        st.sampled_from([(), (), ("unknown",), ("late",), ("stalled",), ("losing", "stalled")]),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40)
@given(_pieces, st.integers(30, 400), st.lists(st.integers(0, 4000), max_size=3))
def test_incidents_cover_all_bad_time_and_no_gap_of_health(pieces, every, restarts):
    stored, recorder = Stored(), Recorder("0")
    samples = line(*((seconds, *conditions) for seconds, conditions in pieces))
    restarted = False
    for number, one in enumerate(samples):
        if number in restarts:  # a kill loses what was not written
            stored.keep(recorder, number, "0")
            recorder, restarted = Recorder(f"{number}"), True
        recorder.note(one)
        if number % every == 0:
            stored.keep(recorder, number)
    stored.keep(recorder, len(samples))
    found = stored.all
    bad = [number for number, one in enumerate(samples) if one.verdict.conditions - {Verdict.UNKNOWN}]
    covered = [
        [number for number in bad if one.started_at - START <= number <= one.bad_until_at - START]
        for one in found
    ]
    assert sum(map(len, covered)) == len(bad)
    assert all(covered)
    assert sum(not one.ended for one in found) <= 1
    for before, after in pairwise(found):
        # Between two incidents lies healthy time of at least the gap, without a break.
        between = samples[round(before.bad_until_at - START) + 1 : round(after.started_at - START)]
        assert max((len(run) for run in _healthy_runs(between)), default=0) >= GAP - 1
    if found and not found[-1].ended and not restarted:
        after = samples[round(found[-1].bad_until_at - START) + 1 :]
        tail = _healthy_runs(after)
        assert not tail or not after or after[-1].verdict.conditions or len(tail[-1]) <= GAP + every


def _healthy_runs(samples):
    runs = [[]]
    for one in samples:
        if one.verdict.conditions:
            runs.append([])
        else:
            runs[-1].append(one)
    return [run for run in runs if run]


# --- history


def test_minutes_are_kept_as_spans_and_a_restart_leaves_its_gap():
    stored = Stored()
    first = played(stored, line((120,), (30, "late"), (150,)), observer="one")
    stored.keep(first, 300, "one", ending=True)
    played(stored, [sample(600 + n, "unknown") for n in range(130)], observer="two")
    found = incident_tables.history_since(stored.connection, 0)[FLOW[0]]
    minute = int(START // 60)
    assert [(one.first_minute - minute, one.last_minute - minute, one.state.value) for one in found] == [
        (0, 1, "healthy"),
        (2, 2, "late"),
        (3, 4, "healthy"),
        (10, 11, "unknown"),
    ]
    bar = bar_of(found, until_minute=minute + 12, minutes=12, columns=12)
    assert [(one.state and one.state.value, one.count) for one in bar.runs] == [
        ("healthy", 2),
        ("late", 1),
        ("healthy", 2),
        (None, 5),
        ("unknown", 2),
    ]
    assert bar.watched_minutes == 7


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10), st.sampled_from(list(Verdict))), max_size=12)
)
def test_of_spans_with_one_first_minute_each_minute_keeps_its_worst_state(rows):
    spans, expected = {}, {}
    for first, more, state in rows:
        add_span(spans, Span(first, first + more, state))
        for minute in range(first, first + more + 1):
            expected[minute] = min(expected.get(minute, state), state, key=lambda one: one.severity)
    found = {}
    for first, span in spans.items():
        assert first == span.first_minute
        for minute in range(first, span.last_minute + 1):
            found[minute] = min(found.get(minute, span.state), span.state, key=lambda one: one.severity)
    assert found == expected


def test_of_two_processes_the_worse_counts_and_health_that_one_has_seen():
    stored = Stored()
    played(stored, line((61, "unknown"), (60,), (60,)), observer="one")
    played(stored, line((61,), (60, "stalled"), (60, "unknown")), observer="two")
    found = incident_tables.history_since(stored.connection, 0)[FLOW[0]]
    minute = int(START // 60)
    bar = bar_of(found, until_minute=minute + 2, minutes=2, columns=2)
    assert [one.state for one in bar.runs] == [Verdict.HEALTHY, Verdict.STALLED]


def test_a_column_shows_bad_time_however_short_and_else_what_most_of_it_was():
    spans = [Span(0, 99, Verdict.HEALTHY), Span(100, 100, Verdict.LATE), Span(101, 120, Verdict.HEALTHY)]
    bar = bar_of(spans, until_minute=200, minutes=200, columns=4)
    assert [(one.state, one.first, one.count) for one in bar.runs] == [
        (Verdict.HEALTHY, 0, 2),
        (Verdict.LATE, 2, 1),
        (None, 3, 1),
    ]
    assert dict(bar.minutes) == {Verdict.HEALTHY: 120, Verdict.LATE: 1, None: 79}


@given(
    st.lists(
        st.tuples(st.integers(-50, 260), st.integers(0, 90), st.sampled_from(list(Verdict))), max_size=12
    )
)
def test_a_bar_counts_every_minute_once_and_shows_healthy_only_of_what_was_seen(rows):
    spans = [Span(first, first + more, state) for first, more, state in rows]
    bar = bar_of(spans, until_minute=200, minutes=200, columns=20)
    assert sum(count for _, count in bar.minutes) == 200
    assert sum(one.count for one in bar.runs) == 20
    states = {minute: set() for minute in range(200)}
    for one in spans:
        for minute in range(max(0, one.first_minute), min(200, one.last_minute + 1)):
            states[minute].add(one.state)
    counts = dict(bar.minutes)
    assert counts.get(None, 0) == sum(not seen for seen in states.values())
    healthy = sum(
        Verdict.HEALTHY in seen and not seen - {Verdict.HEALTHY, Verdict.UNKNOWN} for seen in states.values()
    )
    assert counts.get(Verdict.HEALTHY, 0) == healthy


# --- the store


@pytest.fixture(params=DATABASES)
async def store(request, tmp_path):
    made = Store(address_of(request, tmp_path), migrations=incident_tables.MIGRATIONS)
    await made.open()
    yield made
    await made.close()


async def test_the_store_gives_back_what_was_kept(store):
    recorder, hostile = Recorder("one"), "\x00<b>\ud800'; drop table incidents--"
    flow = ("A->B" + "x" * 200, "A", "B" + "x" * 200)
    recorder.note(
        sample(0, "losing", cause="filtered", sentence=hostile, evidence=(row(hostile),), at_risk=7)
    )
    batch = recorder.take()

    def keep(connection):
        return incident_tables.keep(connection, {flow: batch}, observer="one", now_at=START)

    (written,) = await store.write(keep)
    assert written.incident == incident_id(flow[0], START)
    (again,) = await store.write(keep)
    assert (
        again == written == await store.read(partial(incident_tables.incident_of, incident=written.incident))
    )
    assert again.symptoms[0].sentence == hostile
    assert again.symptoms[0].evidence == (row(hostile),)
    assert again.at_risk_records == 7
    note = Note(START + 1, "Ada <ada@example.org>", hostile)
    assert await store.write(lambda c: incident_tables.add_note(c, again.incident, note))
    assert not await store.write(lambda c: incident_tables.add_note(c, "none", note))
    assert (await store.read(lambda c: incident_tables.incident_of(c, again.incident))).notes == (note,)
    assert await store.read(lambda c: incident_tables.incident_of(c, "none")) is None


async def test_minutes_that_a_clock_set_back_repeats_keep_their_worst_state(store):
    recorder, found = Recorder("one"), []
    pieces = [(0, 600, "stalled"), (-600, 660), (-600, 60, "losing"), (-60, 60)]
    offset = at = 0
    for by_s, seconds, *conditions in pieces:
        offset += by_s
        recorder.moved(by_s)
        for _ in range(seconds):
            recorder.note(sample(at + offset, *conditions))
            at += 1
            if at % 300 == 0:
                batch = recorder.take()
                keep = partial(
                    incident_tables.keep, batches={FLOW: batch}, observer="one", now_at=START + at + offset
                )
                await store.write(keep)
                recorder.written(batch)
    batch = recorder.take(ending=True)
    await store.write(
        partial(incident_tables.keep, batches={FLOW: batch}, observer="one", now_at=START + at + offset)
    )
    found = (await store.read(lambda c: incident_tables.history_since(c, 0)))[FLOW[0]]
    minute = int(START // 60)
    bar = bar_of(found, until_minute=minute + 12, minutes=12, columns=12)
    assert [(one.state and one.state.value, one.count) for one in bar.runs] == [
        ("stalled", 1),
        ("losing", 1),
        ("stalled", 8),
        ("healthy", 1),
        (None, 1),
    ]


async def test_an_incident_is_one_row_before_and_after_the_clock_is_set(store):
    async def keep(recorder, at):
        batch = recorder.take()
        return await store.write(
            partial(incident_tables.keep, batches={FLOW: batch}, observer="one", now_at=START + at)
        )

    recorder = Recorder("one")
    recorder.note(sample(0, "losing", lost=Bounds(0, 0)))
    recorder.note(sample(1, "losing", lost=Bounds(3, 5)))
    (before,) = await keep(recorder, 1)
    recorder.moved(-3600)
    recorder.note(sample(-3598, "losing", lost=Bounds(3, 5)))
    (after,) = await keep(recorder, -3598)
    assert (after.incident, after.lasted_s.least) == (before.incident, 2)
    assert after.lost_records == before.lost_records == Bounds(3, 5)
    assert (await store.read(incident_tables.newest_incidents))[0] == (after,)


async def test_incidents_are_read_page_by_page_and_old_ones_are_deleted(store):
    def keep(connection):
        for number in range(5):
            recorder = Recorder("one")
            recorder.note(sample(number * 10_000, "late"))
            for second in range(int(GAP_S) + 2):
                recorder.note(sample(number * 10_000 + 1 + second))
            flow = (f"A->{number % 2}", "A", f"{number % 2}")
            incident_tables.keep(
                connection, {flow: recorder.take()}, observer="one", now_at=START + number * 10_000 + 400
            )
            found = incident_tables.newest_incidents(connection)[0]
            incident_tables.add_note(connection, found[0].incident, Note(START, "Ada", "seen"))

    await store.write(keep)
    page, count = await store.read(lambda c: incident_tables.newest_incidents(c, offset=1, limit=2))
    assert ([round(one.started_at - START) for one in page], count) == ([30_000, 20_000], 5)
    assert (await store.read(lambda c: incident_tables.newest_incidents(c, flow="A->1")))[1] == 2
    assert (await store.read(lambda c: incident_tables.newest_incidents(c, open_only=True)))[1] == 0
    some = await store.read(lambda c: incident_tables.incidents_between(c, START + 5000, START + 15_000))
    assert [round(one.started_at - START) for one in some] == [10_000]
    await store.write(
        lambda c: incident_tables.delete_old(c, incidents_before=START + 25_000, history_before=0)
    )
    left, count = await store.read(incident_tables.newest_incidents)
    assert ([round(one.started_at - START) for one in left], count) == ([40_000, 30_000], 2)
    assert all(one.notes for one in left)
