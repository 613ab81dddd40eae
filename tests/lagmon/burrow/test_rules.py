"""Burrow's rules against vectors worked out from Burrow's own source."""

from __future__ import annotations

import pytest

from lagmon.burrow.rules import BurrowPolicy, Commit, burrow_group, burrow_partition
from lagmon.groups.rules.words import STATUS_OF, Reason, Status
from tests.lagmon.burrow_vectors import GROUPS, PARTITIONS, by_name, partitions_of, policy_of, ring_of

NOW = 1_700_000_000_000


@pytest.mark.parametrize("vector", PARTITIONS, ids=by_name)
def test_a_partition_is_judged_as_burrow_does(vector):
    verdict = burrow_partition(ring_of(vector), vector["ends"], vector["now_ms"], policy_of(vector))
    assert verdict.status.name == vector["status"]
    assert verdict.complete == vector["complete"]
    assert verdict.current_lag == vector["current_lag"]


@pytest.mark.parametrize("vector", GROUPS, ids=by_name)
def test_a_group_is_judged_as_burrow_does(vector):
    found = burrow_group(partitions_of(vector), vector["last_commit_ms"], vector["now_ms"], policy_of(vector))
    assert found.status.name == vector["status"]
    assert found.complete == vector["complete"]
    assert found.max_lag == vector["max_lag"]
    assert found.total_lag == vector["total_lag"]


def test_the_vectors_reach_every_reason():
    reasons = {
        burrow_partition(ring_of(one), one["ends"], one["now_ms"], policy_of(one)).reason
        for one in PARTITIONS
    }
    reasons |= {
        burrow_group(partitions_of(one), one["last_commit_ms"], one["now_ms"], policy_of(one)).reason
        for one in GROUPS
    }
    assert reasons == {reason for reason in STATUS_OF if reason.name.startswith("BURROW_")}


def test_a_partition_is_never_not_found_nor_unknown_nor_a_bare_error():
    statuses = {vector["status"] for vector in PARTITIONS}
    assert statuses == {"OK", "WARN", "STOP", "STALL", "REWIND"}


SENTENCES = [
    (
        "lag one above the allowed one",
        (
            "Lag 6 at offset 190. Last commit at 2023-11-14 22:13:20 UTC, longer ago than the 9 s between the "
            "oldest and the newest stored commit."
        ),
    ),
    ("lag equal to the allowed one", "Lag 5, within the allowed lag of 5."),
    (
        "two steps back, neither recovered",
        "Group went back from offset 100 to 90 at 2023-11-14 22:13:18 UTC and has not reached 100 again.",
    ),
    (
        "standing still, once at the allowed lag",
        "One stored commit had lag 2, within the allowed lag of 2.",
    ),
    ("standing still with lag", "Lag 5 at offset 100. All stored commits have this offset."),
    ("moving, lag rising", "Lag rose from 5 to 7 over the stored commits and never fell."),
    ("moving, lag falling once", "Lag 7. The group makes progress."),
]


@pytest.mark.parametrize(("name", "sentence"), SENTENCES)
def test_a_verdict_says_why(name, sentence):
    vector = next(one for one in PARTITIONS if one["name"] == name)
    verdict = burrow_partition(ring_of(vector), vector["ends"], vector["now_ms"], policy_of(vector))
    assert verdict.sentence == sentence


def test_a_group_says_how_many_partitions_are_not_well():
    vector = next(one for one in GROUPS if one["name"] == "one stopped: told as ERR")
    found = burrow_group(partitions_of(vector), vector["last_commit_ms"], vector["now_ms"], policy_of(vector))
    assert found.sentence == "2 of 3 partitions are not OK."


def test_a_group_is_told_by_its_own_numbers_and_not_by_order_of_names():
    one = burrow_partition([Commit(1, NOW, 0)], [4], NOW, BurrowPolicy())
    other = burrow_partition([Commit(1, NOW, 0)], [9], NOW, BurrowPolicy())
    assert burrow_group([one, other], NOW, NOW, BurrowPolicy()).max_lag == 1
    assert burrow_group([other, one], NOW, NOW, BurrowPolicy()).max_lag == 0


def test_statuses_have_burrows_numbers():
    assert [status.name for status in Status][:7] == [
        "NOTFOUND",
        "OK",
        "WARN",
        "ERR",
        "STOP",
        "STALL",
        "REWIND",
    ]
    assert Status.UNKNOWN == 7
    assert STATUS_OF[Reason.BURROW_GROUP_EXPIRED] is Status.NOTFOUND
