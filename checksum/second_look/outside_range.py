"""Lost records of which copies lie right outside the target's range. It blocks, and belongs on a thread.

A range of the target has two ends at which no pair of offsets proves that no copy lies beyond (plan_shape):

- its beginning, where the source topic was re-created: the mirror may have copied some of the new topic;
- its end, where the mirror had left behind what was due: it may have gone on after the plan was made.

What is lost there by the digests is looked for beyond, by its hash, before it is reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from checksum.compare.findings import RecordVerdict
from checksum.digest.cell_rows import planned_partitions
from checksum.plan.ranges import MOST_LOOKED_BACK
from checksum.plan.shape import OffsetRange
from checksum.second_look.loss_causes import before_recreation, left_behind
from checksum.second_look.stretches import chunks, hashes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.anchors.reading import Place, Reader
    from checksum.compare.findings import Finding
    from checksum.digest.cell_rows import Planned
    from checksum.plan.shape import Plan


def without_copied(findings: Iterable[Finding], plan: Plan, target: Reader) -> list[Finding]:
    """Return the findings without lost records that the target holds outside of its range."""
    kept: list[Finding] = []
    outside: dict[Place, list[Finding]] = defaultdict(list)
    partitions = planned_partitions(plan)
    for one in findings:
        place = (one.topic, one.partition)
        held = partitions[place].partition
        asked = before_recreation(one, held) or left_behind(one, held)
        (outside[place] if asked and one.verdict is RecordVerdict.LOST else kept).append(one)
    for place, lost in outside.items():
        copies = _copies(partitions[place], {one.hash for one in lost}, plan, target)
        for one in lost:
            found = min(one.records, copies[one.hash])
            copies[one.hash] -= found
            if found < one.records:
                kept.append(replace(one, records=one.records - found))
    return kept


def _copies(planned: Planned, wanted: set[int], plan: Plan, target: Reader) -> Counter[int]:
    """Return how often the target holds each of these hashes right before and right behind its range."""
    topic, held = planned.topic, planned.partition
    place = (topic.target_topic, held.partition)
    stretches = []
    if held.recreated is not None:
        stretches.append(OffsetRange(held.recreated[1], held.target.first))
    if held.left_behind is not None:
        end = target.ends([place])[place]
        stretches.append(OffsetRange(held.target.until, max(held.target.until, end)))
    found = Counter[int]()
    for stretch in stretches:
        most = replace(stretch, until=min(stretch.until, stretch.first + MOST_LOOKED_BACK))
        for some in chunks(target, place, most):
            found.update(one for one in hashes(some, topic, plan) if one in wanted)
    return found
