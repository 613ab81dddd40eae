"""How a group would start on the target, against a mirror that is played through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.quantity import Bounds
from lagmon.failover.places import runs_of
from lagmon.failover.readiness import Checkpoint, PartitionFacts, Proof, Status, judge_group, judge_partition
from lagmon.syncs.pairs import SyncPair, translate
from tests.lagmon.failover.mirror import STEPS, played

PAIRS = [SyncPair(0, number, *place, 0) for number, place in enumerate(((0, 0), (100, 100), (200, 200)))]
FACTS = PartitionFacts(
    topic="orders",
    partition=0,
    committed=150,
    source_end=260,
    replicated=240,
    checkpoint=Checkpoint(150, 101, 0),
    runs=runs_of(PAIRS),
    target_committed=101,
    target_start=0,
    target_end=240,
)


EQUAL = {
    "equal_offsets": True,
    "replicated": 240,
    "runs": [[SyncPair(0, 0, 0, 0, -1), SyncPair(0, 1, 999, 999, -1)]],
}
EMPTY = {"runs": [], "checkpoint": None, "target_committed": None, "target_end": 0}


@pytest.mark.parametrize(
    ("changes", "status", "again", "skipped"),
    [
        pytest.param({}, Status.READY, (49, 49), (0, 0), id="translated offsets are applied"),
        pytest.param({"target_committed": 150}, Status.READY, (0, 0), (0, 0), id="exact"),
        pytest.param({"target_committed": None}, Status.NOT_APPLIED, (49, 49), (0, 0), id="not applied"),
        pytest.param({"target_committed": 160}, Status.SKIPS, (0, 0), (10, 10), id="ahead"),
        pytest.param(
            {"target_committed": 210, "committed": 205}, Status.UNCERTAIN, (0, 30), (0, 9), id="loose"
        ),
        pytest.param({"target_start": 120}, Status.OUT_OF_RANGE, (30, 30), (0, 0), id="deleted by retention"),
        pytest.param({"target_committed": 999}, Status.OUT_OF_RANGE, (0, 0), (0, 90), id="beyond the end"),
        pytest.param(
            {"target_end": None, "on_target": False},
            Status.NOT_REPLICATED,
            None,
            None,
            id="no such partition",
        ),
        pytest.param({"target_end": None}, Status.UNKNOWN, None, None, id="its leader does not answer"),
        pytest.param(
            {"target_committed": None, "checkpoint": None}, Status.NO_CHECKPOINT, None, None, id="nothing"
        ),
        pytest.param({"runs": []}, Status.UNKNOWN, None, None, id="no syncs"),
        pytest.param({"committed": None}, Status.UNKNOWN, None, None, id="source not known"),
        pytest.param(
            {"committed": 200, "checkpoint_is_old": True}, Status.STALE, (99, 99), (0, 0), id="stale"
        ),
        pytest.param(
            {"committed": 195, "checkpoint_is_old": True, "target_committed": 0},
            Status.STALE,
            (195, 195),
            (0, 0),
            id="stale behind the newest sync",
        ),
        pytest.param(
            {"committed": 140, "checkpoint_is_old": True, "target_committed": 0},
            Status.READY,
            (140, 140),
            (0, 0),
            id="old, but no sync that is surely kept allows a later one",
        ),
        pytest.param({"committed": 200}, Status.READY, (99, 99), (0, 0), id="its checkpoint is young"),
        pytest.param({"compacted": True}, Status.READY, (0, 49), (0, 0), id="compacted"),
        pytest.param({"in_transactions": True}, Status.READY, (0, 99), (0, 0), id="transactions"),
        pytest.param({"replicated": 261}, Status.UNKNOWN, None, None, id="the source's log is another one"),
        pytest.param({"target_end": 200}, Status.UNKNOWN, None, None, id="the target's log is another one"),
        pytest.param(
            {"committed": None, "committed_least": 150}, Status.READY, (49, 139), (0, 0), id="at least so far"
        ),
        pytest.param(
            {"committed": 260, "replicated": 260, "target_committed": 240, "runs": []},
            Status.READY,
            (0, 0),
            (0, 0),
            id="all is read and replicated",
        ),
        pytest.param(
            {"committed": 260, "target_committed": 240},
            Status.UNCERTAIN,
            (0, 0),
            (0, 39),
            id="not all is replicated",
        ),
        pytest.param(
            {**EMPTY, "committed": 0, "source_end": 0, "replicated": 0},
            Status.READY,
            (0, 0),
            (0, 0),
            id="empty on both sides",
        ),
        pytest.param(
            {**EMPTY, "committed": None}, Status.READY, (0, 0), (0, 0), id="empty, source not known"
        ),
        pytest.param(
            {**EMPTY, "committed": 150, "replicated": None},
            Status.NO_CHECKPOINT,
            None,
            None,
            id="not replicated yet",
        ),
        pytest.param(EQUAL, Status.READY, (0, 49), (0, 0), id="equal offsets, some without a record"),
        pytest.param(
            {**EQUAL, "target_committed": 160}, Status.UNCERTAIN, (0, 0), (0, 10), id="equal offsets, ahead"
        ),
        pytest.param(
            {**EQUAL, "committed": 300, "target_committed": 230},
            Status.READY,
            (0, 10),
            (0, 0),
            id="further than a mirror of equal offsets",
        ),
    ],
)
def test_rule_table(changes, status, again, skipped):
    found = judge_partition(replace(FACTS, **changes))
    assert found.status is status
    assert (found.read_again_records, found.skipped_records) == (again, skipped)


@pytest.mark.parametrize(
    ("proof", "again", "skipped"),
    [
        (Proof("", Bounds(150, 150), 40), (40, 40), (0, 0)),  # of 49 offsets some hold nothing
        (Proof("", Bounds(90, 90), 3), (0, 0), (3, 3)),
        (Proof("", Bounds(120, 130)), (19, 29), (0, 0)),  # equal records
        (Proof("not found"), (49, 49), (0, 0)),
    ],
)
def test_a_proof_goes_before_offset_syncs(proof, again, skipped):
    found = judge_partition(FACTS, proof)
    assert (found.read_again_records, found.skipped_records) == (again, skipped)
    assert judge_group("billing", [FACTS], {("orders", 0): proof}).partitions == (found,)


def test_without_offset_syncs_a_proof_is_enough():
    facts = replace(FACTS, runs=[], checkpoint_is_old=True)
    found = judge_partition(facts, Proof("", Bounds(150, 150), 49))
    assert (found.status, found.read_again_records) == (Status.READY, (49, 49))


@pytest.mark.parametrize(
    ("changes", "at_risk"),
    [
        ({}, (0, 20)),
        ({"committed": 250}, (0, 10)),  # what the group has read is not at risk for it
        ({"committed": None}, (0, 20)),
        ({"replicated": 260}, (0, 0)),
        ({"replicated": None}, None),
        ({"source_end": None}, None),
    ],
)
def test_records_at_risk(changes, at_risk):
    assert judge_partition(replace(FACTS, **changes)).at_risk_records == at_risk


def test_a_group_has_the_worst_status_and_the_sums():
    others = [
        replace(FACTS, partition=1),
        replace(FACTS, partition=2, target_committed=160),
        replace(FACTS, topic="page-views", target_committed=None),
    ]
    found = judge_group("billing", [FACTS, *others])
    assert found.status is Status.SKIPS
    assert [(one.facts.topic, one.facts.partition) for one in found.partitions] == [
        ("orders", 2),
        ("page-views", 0),
        ("orders", 0),
        ("orders", 1),
    ]
    assert found.read_again_records == (147, 147)
    assert found.skipped_records == (10, 10)
    assert found.at_risk_records == (0, 80)
    unknown = judge_group("billing", [FACTS, replace(FACTS, runs=[])])
    assert unknown.read_again_records == Bounds(49, None)
    assert judge_group("billing", [replace(FACTS, runs=[])]).read_again_records is None


@given(STEPS, st.data())
def test_counts_hold_the_truth(steps, data):
    mirror, end = played(steps)
    committed = data.draw(st.integers(0, end))
    start = data.draw(st.integers(0, len(mirror.log)))
    if data.draw(st.booleans()):
        start = min(translate(mirror.pairs, data.draw(st.integers(0, committed))) or 0, len(mirror.log))
    found = judge_partition(
        replace(
            FACTS,
            committed=committed,
            source_end=end,
            replicated=mirror.next_offset,
            runs=runs_of(mirror.pairs),
            target_committed=start,
            target_start=0,
            target_end=len(mirror.log),
        )
    )
    if found.read_again_records is None:
        assert not mirror.pairs
        return
    again, skipped = mirror.read_again(start, committed), mirror.skipped(start, committed)
    assert found.read_again_records.least <= again <= found.read_again_records.most
    assert found.skipped_records.least <= skipped <= found.skipped_records.most
    if found.status.is_ready:
        assert skipped == 0
    if found.status is Status.SKIPS:
        assert skipped > 0
