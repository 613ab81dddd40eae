"""Up to which offset a partition is verified after a run, which is where the next run starts. Pure.

The position moves to the end of the plan's range once both sides were read and every record was reported: it
matches, or is in a finding, or is `unverified` with a reason. The next run does not report a finding again.

Records stay unresolved behind the position only if no later run could resolve them: retention deleted them,
their block is too large to read, or the original of an extra record may have expired. If this run only
reached its reading limit before a block, the position stays at the start of the range and counts that
(`held`); the next run compares the range again, with its findings. After MOST_HELD runs in a row it moves
anyway: a growing range would one day exceed the size limit and block all topics. The range of a compacted
topic always starts at the same offset, which may be before its position: there the position stays, and never
moves back.

The position of a topic or partition that was left out of the plan stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.digest.cell_rows import planned_partitions
from checksum.history.entries import VerifiedTo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checksum.compare.verdicts import Result
    from checksum.digest.cell_rows import Planned
    from checksum.history.entries import Place
    from checksum.plan.shape import Plan

MOST_HELD = 3


def verified_to(
    plan: Plan, found: Result, before: Mapping[Place, VerifiedTo], *, at_ms: int, most_offsets: int
) -> dict[Place, VerifiedTo]:
    """Return the positions after a run; `before` are those that its plan was made with.

    `most_offsets` is how many offsets are read again of one block and side.
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
    """Return the earlier position if this range continues it: same topics, and logs not truncated."""
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
