"""Error budgets kept up to date from the store: by what is new, and as the report counts them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from alerts.minutes import tables as minute_tables
from alerts.objectives import Exclusion
from alerts.objectives.objective import Objective, ObjectiveKind
from canary.persistence import tables
from canary.tracker.minutes import COLUMNS
from fleet.probe_history import DAY_MINUTES
from mirrorwatch.history.budget_keeping import BudgetKeeping
from mirrorwatch.history.reporting import figures_by_flow
from mirrorwatch.history.tallying import first_minute_of
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store
from tests.runtime.fake_clock import FakeClock

DAY = 20_000
NOON = DAY * DAY_MINUTES + 720
OBJECTIVE = Objective(
    flow="A->B",
    source="A",
    target="B",
    kind=ObjectiveKind.AVAILABILITY,
    target_ratio=0.9,
    period_s=4 * 86_400.0,
)


class Reporter:
    def __init__(self):
        self.problems = {}

    def problem(self, where, sentence):
        self.problems[where] = sentence

    def settled(self, where):
        self.problems.pop(where, None)


@pytest.fixture
async def store(tmp_path):
    found = Store(f"sqlite:///{tmp_path}/mw.db", migrations=MIGRATIONS)
    await found.open()
    yield found
    await found.close()


async def play(store, minutes, *, lost=0):
    row = dict.fromkeys(COLUMNS, 0) | {"expected": 10, "settled": 10, "good": 10 - lost, "lost": lost}
    rows = {("A->B", "a1", minute): tuple(row.values()) for minute in minutes}
    await store.write(partial(tables.keep_minutes, rows=rows, replica="r", incarnation="a1"))


async def test_each_round_adds_what_is_new_and_a_new_hour_reads_all_again(store):
    until = NOON
    keeping = BudgetKeeping(
        store, objectives=[OBJECTIVE], until=lambda _now: until, clock=FakeClock(), reporter=Reporter()
    )
    (one,) = keeping.objectives
    assert (one.objective, one.budget_left_ratio) == (OBJECTIVE, None)
    await play(store, range(NOON - 10, NOON))
    await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == 1.0
    until = NOON + 10
    await play(store, range(NOON, NOON + 10), lost=1)
    await keeping.go_round()
    # Half of the budget of what was observed: 20 minutes of four days and the started one.
    spent = 0.5 * 20 / (4 * DAY_MINUTES + 730)
    assert keeping.objectives[0].budget_left_ratio == pytest.approx(1 - spent)
    excluded = Exclusion(0, "A->B", NOON, NOON + 10, "a", "b")
    await store.write(partial(minute_tables.exclude, one=excluded, made_at=0.0))
    until = NOON + 61
    await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == 1.0


async def test_a_bad_minute_of_a_new_flow_does_not_spend_the_budget_of_its_period(store):
    strict = replace(OBJECTIVE, target_ratio=0.999)
    keeping = BudgetKeeping(
        store, objectives=[strict], until=lambda _now: NOON, clock=FakeClock(), reporter=Reporter()
    )
    await play(store, range(NOON - 30, NOON - 1))
    await play(store, [NOON - 1], lost=10)
    await keeping.go_round()
    # A minute of the 6.5 that four and a half days may have.
    assert keeping.objectives[0].budget_left_ratio == pytest.approx(1 - 1 / (0.001 * (4 * DAY_MINUTES + 720)))


async def test_all_of_the_period_observed_is_the_budget_of_what_was_observed(store):
    keeping = BudgetKeeping(
        store, objectives=[OBJECTIVE], until=lambda _now: NOON, clock=FakeClock(), reporter=Reporter()
    )
    await play(store, range(NOON - 4 * DAY_MINUTES - 720, NOON), lost=2)
    await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == pytest.approx(-1.0)


async def test_a_canary_that_sends_less_than_a_probe_a_minute_observes_all_the_time(store):
    rare = replace(OBJECTIVE, minutes_per_probe=5.0)
    keeping = BudgetKeeping(
        store, objectives=[rare], until=lambda _now: NOON, clock=FakeClock(), reporter=Reporter()
    )
    await play(store, range(NOON - 4 * DAY_MINUTES - 720, NOON, 5), lost=2)
    await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == pytest.approx(-1.0)


@pytest.mark.parametrize("rounds", [(NOON,), (NOON - 30, NOON - 20, NOON - 1, NOON)])
async def test_more_partitions_of_a_rare_canary_do_not_multiply_the_observed_time(store, rounds):
    rare = replace(OBJECTIVE, minutes_per_probe=10.0)
    now = iter(rounds)
    keeping = BudgetKeeping(
        store, objectives=[rare], until=lambda _now: next(now), clock=FakeClock(), reporter=Reporter()
    )
    # A probe a minute, for a day and a half of four and a half: a third of the budget of that time.
    await play(store, range(NOON - 720, NOON), lost=1)
    await play(store, range(NOON - 2160, NOON - 720))
    for _ in rounds:
        await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == pytest.approx(1 - 1 / 3 * 1.5 / 4.5)


@pytest.mark.parametrize("days", [4, 6, 7, 28])
@pytest.mark.parametrize("observed", [100, 1440, 100_000])
async def test_a_report_has_the_same_budget(store, days, observed):
    one = replace(OBJECTIVE, target_ratio=0.99, period_s=days * 86_400.0)
    keeping = BudgetKeeping(
        store, objectives=[one], until=lambda _now: NOON, clock=FakeClock(), reporter=Reporter()
    )
    await play(store, range(NOON - min(observed, 30 * DAY_MINUTES), NOON))
    await play(store, range(NOON - days * DAY_MINUTES - 300, NOON - days * DAY_MINUTES - 200), lost=10)
    await play(store, range(NOON - 5, NOON), lost=10)
    await keeping.go_round()
    (figures,) = await figures_by_flow(store, [one], [(first_minute_of(NOON, one.period_s), NOON)])
    assert figures.budget_left_ratio is not None
    assert keeping.objectives[0].budget_left_ratio == figures.budget_left_ratio


async def test_a_store_that_does_not_answer_leaves_what_is_known(store):
    reporter = Reporter()
    keeping = BudgetKeeping(
        store, objectives=[OBJECTIVE], until=lambda _now: NOON, clock=FakeClock(), reporter=reporter
    )
    await play(store, range(NOON - 10, NOON))
    await keeping.go_round()
    await store.close()
    await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == 1.0
    assert "error budgets" in reporter.problems
