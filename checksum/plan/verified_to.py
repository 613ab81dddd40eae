"""Up to where a partition is verified after a run: where the next one begins. Pure.

The mark of a partition moves to the end of the plan's range when all of it was read on both sides, which a
comparison takes for granted, and each record in it was told of: it matches, or is in a finding, or is in the
document as `unverified`, with the reason. What a finding told is not told again by the next run.

What stays untold apart behind a mark is only what no later run could tell either: what retention took, a
block that is larger than any look reads, an extra record whose original may have expired. Where another look
could still tell, as this one merely had read as much as it may before it came to a block, the mark stays at
the beginning of the range and counts that (`held`); the next run compares the range again, with what it has
found once more. After MOST_HELD runs in a row it moves nonetheless: a range that only grows would be refused
for its size one day, and take every other topic with it. The range of a compacted topic begins at the same
offset each time, behind which its mark may be: there it is held where it is, and never goes back.

Where a topic was left out of the plan, or a partition, there is no range, and the mark stays where it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.book.entries import VerifiedTo
from checksum.digest.cell_rows import planned_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checksum.book.entries import Place
    from checksum.compare.verdicts import Result
    from checksum.digest.cell_rows import Planned
    from checksum.plan.shape import Plan

MOST_HELD = 3


def verified_to(
    plan: Plan, found: Result, before: Mapping[Place, VerifiedTo], *, at_ms: int, most_offsets: int
) -> dict[Place, VerifiedTo]:
    """Return the marks after a run; `before` are those that its plan was made with.

    `most_offsets` is how many a look reads of one block and side.
    """
    unread = {
        (block.topic, block.partition)
        for block in found.open_blocks
        if max(block.source.span, block.target.span) <= most_offsets
    }
    marks = {}
    for place, planned in planned_partitions(plan).items():
        range_of, known = planned.partition, _of_this_range(before.get(place), planned)
        held = (known.held if known else 0) + 1 if place in unread else 0
        if held == 0 or held > MOST_HELD:
            ends, held = (range_of.source.until, range_of.target.until), 0
        else:
            ends = (range_of.source.first, range_of.target.first)
            if known and planned.topic.compacted:
                ends = (max(ends[0], known.source_offset), max(ends[1], known.target_offset))
        ids = (planned.topic.source_topic_id, planned.topic.target_topic_id)
        marks[place] = VerifiedTo(*ids, *ends, at_ms, held)
    return marks


def _of_this_range(before: VerifiedTo | None, planned: Planned) -> VerifiedTo | None:
    """Return the mark where what is compared goes on from it: of the same topics, whose logs were not cut."""
    topic, range_of = planned.topic, planned.partition
    if before is None or (before.source_topic_id, before.target_topic_id) != (
        topic.source_topic_id,
        topic.target_topic_id,
    ):
        return None
    if topic.compacted:
        cut = before.source_offset > range_of.source.until or before.target_offset > range_of.target.until
    else:
        cut = before.source_offset > range_of.source.first
    return None if cut else before
