"""Where the ranges of a compacted topic begin, and those of a mirror that did not begin at the beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checksum.anchors.pairs import Logs, Usable, equal_pairs
from checksum.plan.facts import PartitionFacts, Verified
from checksum.plan.ranges import (
    candidates,
)
from checksum.plan.shape import Anchored, OffsetRange
from tests.checksum.plan.test_ranges import healthy, verified, whys
from tests.checksum.pretend_mirror import Mirrored


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("known", [True, False])
def test_what_a_mirror_that_began_with_what_was_new_left_behind_is_left_out(compacted, known):
    mirrored = Mirrored()
    mirrored.write(100)
    mirrored.position = 100
    mirrored.write(50)
    mirrored.copy()
    mirrored.flush()
    plan, left, _ = mirrored.plan(compacted=compacted, **({"offset_reset": "latest"} if known else {}))
    # A mirror of which nobody says that it was to pass them over lost them.
    assert plan.source == OffsetRange(100 if known else 0, 150)
    assert plan.target == OffsetRange(0, 50)
    why = (
        "older than the first replicated record; with auto.offset.reset=latest it is unknown which of them"
        " MirrorMaker had to replicate"
    )
    assert whys(left) == ([(100, False, why)] if known else [])


def test_where_it_began_at_the_beginning_all_the_same_nothing_is_left_out():
    plan, left, _ = healthy().plan(offset_reset="latest")
    assert (plan.source, plan.target, left) == (OffsetRange(0, 250), OffsetRange(0, 250), ())


def test_a_compacted_topic_is_compared_whole():
    mirrored = healthy()
    plan, left, _ = mirrored.plan(compacted=True)
    assert (plan.source, plan.target) == (OffsetRange(0, 250), OffsetRange(0, 250))
    assert (plan.runs, plan.segments, left) == ((), (), ())
    assert mirrored.plan(compacted=True, verified=verified(plan, mirrored))[:2] == (None, ())
    mirrored.write(5)
    mirrored.copy()
    mirrored.flush()
    again, _, _ = mirrored.plan(compacted=True, verified=verified(plan, mirrored))
    assert again.source == OffsetRange(0, 255)


@pytest.mark.parametrize(
    ("source", "target", "first", "left"),
    [
        (0, 20, 22, 22),
        (20, 0, 22, 2),
        (25, 30, 33, 8),
        (30, 25, 33, 3),
        (22, 22, 22, 0),
    ],
)
def test_a_compacted_topic_of_which_retention_took_some_begins_at_a_pair_that_both_hold(
    source, target, first, left
):
    mirrored = healthy(60, lag_max=10)
    mirrored.expire(source=source, target=target)
    plan, untold, _ = mirrored.plan(compacted=True)
    assert (plan.source, plan.target) == (OffsetRange(first, 60), OffsetRange(first, 60))
    assert [(one.records, one.later) for one in untold] == ([(left, False)] if left else [])
    # A key's last record may stand anywhere, so the next run begins there again.
    mirrored.write(20)
    mirrored.copy()
    mirrored.flush()
    again, untold, _ = mirrored.plan(compacted=True, verified=verified(plan, mirrored))
    assert (again.source, untold) == (OffsetRange(first, 80), ())


def test_a_compacted_topic_of_a_mirror_that_keeps_offsets_begins_where_both_logs_have_begun():
    logs = Logs(25, 60, 30, 60)
    facts = PartitionFacts("t", 0, logs, Usable(equal_pairs(logs)), Anchored.EQUAL_OFFSETS, compacted=True)
    assert candidates(facts).start == (30, 30)
    assert candidates(replace(facts, verified=Verified(50, 50, None, None))).start == (30, 30)
