"""What is said of each status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lagmon.failover.readiness import Status, judge_group, judge_partition
from lagmon.failover.sentences import WORDS, bounds_text, group_sentence, partition_sentence
from tests.lagmon.failover.test_readiness import EMPTY, FACTS

CASES = [
    (
        {"committed": 200, "checkpoint_is_old": True},
        (
            "the committed offset on B is 101 in orders-0, and MirrorMaker writes no newer checkpoint;"
            " check that MirrorCheckpointConnector runs"
        ),
    ),
    ({}, "the committed offset on B is 101 in orders-0"),
    (
        {"target_committed": None},
        "the newest checkpoint is 101 in orders-0; commit it on B before the group starts",
    ),
    (
        {"target_committed": 160},
        "the committed offset on B is 160 in orders-0, after 10 records that the group has not read",
    ),
    (
        {"target_committed": 210, "committed": 205},
        (
            "the committed offset on B is 210 in orders-0; it may be after up to 9 records not read yet: offset syncs"
            " give bounds only"
        ),
    ),
    (
        {"target_start": 120},
        "the committed offset on B is 101 in orders-0, but B holds 120 to 240: auto.offset.reset would decide",
    ),
    (
        {"target_end": None, "on_target": False},
        "orders-0 is not on B; check the mirror's topics and its topic refresh",
    ),
    (
        {"target_committed": None, "checkpoint": None},
        (
            "no checkpoint for orders-0, and no commit on B; check that MirrorCheckpointConnector runs; it writes after"
            " its next refresh of groups"
        ),
    ),
    (
        {"target_committed": None, "checkpoint": None, "runs": []},
        "no checkpoint for orders-0, and no commit on B; MirrorMaker has written no offset sync of it",
    ),
    (
        {"target_committed": None, "checkpoint": None, "runs": [FACTS.runs[0][1:]], "committed": 50},
        "no checkpoint for orders-0, and no commit on B; its committed offset 50 is before the first offset sync, 100",
    ),
    (
        {"target_committed": None, "checkpoint": None, "committed": None},
        "no checkpoint for orders-0, and no commit on B; its committed offset on the source is unknown",
    ),
    ({**EMPTY, "committed": None}, "orders-0 is empty on B"),
    ({"runs": []}, "not enough data for orders-0: no offset syncs"),
    ({"target_end": None}, "not enough data for orders-0: B did not return its log offsets"),
    ({"committed": None}, "not enough data for orders-0: no committed offset of the source"),
]


@pytest.mark.parametrize(("changes", "sentence"), CASES)
def test_partition(changes, sentence):
    assert partition_sentence(judge_partition(replace(FACTS, **changes)), "B") == sentence


def test_every_status_has_words_and_a_sentence():
    assert {*WORDS} == {*Status}
    assert {judge_partition(replace(FACTS, **changes)).status for changes, _ in CASES} == {*Status}


def test_a_group_has_the_sentence_of_its_worst_partition():
    assert group_sentence(judge_group("g", [FACTS]), "B") == "the committed offset on B is 101 in orders-0."
    others = [replace(FACTS, partition=number, target_committed=160) for number in (1, 2)]
    assert group_sentence(judge_group("g", [FACTS, *others]), "B") == (
        "the committed offset on B is 160 in orders-1, after 10 records that the group has not read"
        " (1 more partition likewise)."
    )


def test_a_count_that_is_not_known():
    assert bounds_text(None) == "?"
