"""Error budgets kept up to date from the store: by what is new, and as the report counts them."""

from __future__ import annotations

from functools import partial

import pytest

from alerts.minutes import tables as minute_tables
from alerts.objectives import Exclusion
from alerts.objectives.objective import Objective, ObjectiveKind
from canary.persistence import tables
from canary.tracker.minutes import COLUMNS
from fleet.probe_history import DAY_MINUTES
from mirrorwatch.history.budget_keeping import BudgetKeeping
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
    assert keeping.objectives[0].budget_left_ratio == pytest.approx(0.5)
    excluded = Exclusion(0, "A->B", NOON, NOON + 10, "a", "b")
    await store.write(partial(minute_tables.exclude, one=excluded, made_at=0.0))
    until = NOON + 61
    await keeping.go_round()
    assert keeping.objectives[0].budget_left_ratio == 1.0


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
