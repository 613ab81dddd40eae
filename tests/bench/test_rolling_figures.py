"""What the rolling restarts call a false loss and how long a verdict stood, on made-up days."""

from __future__ import annotations

import itertools

import pytest

from bench.rolling import steps
from bench.rolling_figures import flow_figures, verdict_seconds
from bench.topic_truth import Truth
from bench.watched_service import Change
from canary.tracker.counters import Counters


def truth(*missing):
    return Truth(
        source_records=10,
        source_repeated=0,
        target_records=10 - len(missing),
        target_repeated=0,
        target_altered=0,
        missing=frozenset(missing),
    )


def figures(books, found, listed=()):
    return flow_figures(books.as_dict(), found, listed, [], between=(0.0, 60.0))


@pytest.mark.parametrize(
    ("books", "missing", "listed", "wrong"),
    [
        (Counters(expected=10, good=10), [], [], 0),
        (Counters(expected=10, good=9, lost=1), [(0, 4)], [(0, 4)], 0),
        (Counters(expected=10, good=9, lost=1), [], [], 1),
        (Counters(expected=10, good=8, lost=1, overdue=1, confirmed=1), [(0, 4)], [], 1),
        (Counters(expected=10, good=8, lost=1, overdue=1, confirmed=1), [], [], 2),
        (Counters(expected=10, good=9, lost=1), [(0, 4)], [(0, 5)], 1),  # as many, but another one
        (
            Counters(expected=10, good=9, overdue=1, outstanding=1),
            [(0, 4)],
            [],
            0,
        ),  # missing, and not called lost
    ],
)
def test_a_loss_is_false_where_an_intact_copy_is_there(books, missing, listed, wrong):
    assert figures(books, truth(*missing), listed)["false_losses"] == wrong


def test_what_never_got_to_the_source_is_not_looked_for_there():
    books = Counters(expected=10, good=4, skipped=3, produce_failed=1, produce_unknown=1, abandoned=1)
    assert figures(books, truth())["probes_on_source_by_the_books"] == 4


def test_a_verdict_stands_until_the_next_one_and_only_within_the_time_measured():
    said = [
        Change("A->B", -5.0, "unknown", "none", ""),
        Change("A->B", -1.0, "healthy", "none", ""),
        Change("A->B", 10.0, "stalled", "target_down", ""),
        Change("A->B", 14.0, "healthy", "none", ""),
    ]
    assert verdict_seconds(said, between=(0.0, 20.0)) == {"healthy": 16.0, "stalled target_down": 4.0}


def test_every_kind_of_maintenance_comes_on_both_sides_within_three_rounds():
    names = [step.name for step in itertools.islice(steps(), 44)]
    assert set(names) == {
        "broker restarted",
        "broker killed",
        "broker replaced",
        "leaders elected",
        "replicas moved",
        "mirror restarted",
        "mirror killed",
    }
    assert names.count("broker killed") * 2 == names.count("broker restarted")
