"""Targets that history supports, and where it is too short to say."""

from __future__ import annotations

import pytest

from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.reports import Tally, figures_of
from alerts.reports.suggesting import suggestion_of


def suggested(bad, *, days=10, kind=ObjectiveKind.AVAILABILITY, probes_per_s=1.0):
    objective = Objective(flow="A->B", source="A", target="B", kind=kind, target_ratio=0.5)
    valid = 86_400
    tallies = [Tally(day, 1440, valid - round(bad * valid), valid, 0, ()) for day in range(days)]
    return suggestion_of(objective, figures_of(objective, tallies, [(0, 90 * 1440)]), probes_per_s)


@pytest.mark.parametrize(
    ("bad", "target"), [(0.0, 0.9999), (0.0004, 0.999), (0.0006, 0.998), (0.04, 0.9), (0.2, 0.5)]
)
def test_a_target_leaves_half_of_its_budget(bad, target):
    assert suggested(bad).target_ratio == target


def test_a_target_at_which_three_failed_probes_page_is_not_suggested():
    assert suggested(0.0, probes_per_s=1 / 60).target_ratio == 0.995


def test_a_day_is_a_day_however_many_partitions_a_rare_canary_has():
    objective = Objective(
        flow="A->B", source="A", target="B", kind=ObjectiveKind.AVAILABILITY, target_ratio=0.5,
        minutes_per_probe=10.0,
    )  # fmt: skip
    tallies = [Tally(89, 14_400, 1440, 1440, 0, ())]
    found = suggestion_of(objective, figures_of(objective, tallies, [(0, 90 * 1440)]), 1 / 600)
    assert found.why_none == "too little history: 1.0 of 7 days observed"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (suggested(0.0, days=6), "too little history: 6.0 of 7 days observed"),
        (suggested(0.0, days=0), "too little history: 0.0 of 7 days observed"),
        (suggested(0.6), "no target fits: most of this time was bad; fix the flow first"),
        (suggested(0.0, kind=ObjectiveKind.LOSS), "loss has no target: every lost record breaks it"),
    ],
)
def test_nothing_is_guessed(found, why):
    assert (found.target_ratio, found.why_none) == (None, why)
