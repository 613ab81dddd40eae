"""Lost records that the target has just outside its range. Blocking; call it on a thread.

A target range has two ends beyond which the records may be (plan/shape.py):

- its start, if the source topic was re-created: MirrorMaker may have replicated some of the new topic before;
- its end, if MirrorMaker continued without due records: it may have replicated them after the plan was made.

Records that are lost there by the digests are searched beyond, by hash, before they are reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from checksum.compare.findings import RecordVerdict
from checksum.digest.cell_rows import planned_partitions
from checksum.plan.ranges import MOST_SEARCHED_BACK
from checksum.plan.shape import OffsetRange
from checksum.recheck.loss_causes import before_recreation, may_be_left_behind
from checksum.recheck.record_chunks import chunks, hashes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.anchors.reading import Place, Reader
    from checksum.compare.findings import Finding
    from checksum.digest.cell_rows import Planned
    from checksum.plan.shape import Plan


def without_found_outside(findings: Iterable[Finding], plan: Plan, target: Reader) -> list[Finding]:
    """Return the findings without lost records that the target has outside its range."""
    kept: list[Finding] = []
    outside: dict[Place, list[Finding]] = defaultdict(list)
    partitions = planned_partitions(plan)
    for one in findings:
        place = (one.topic, one.partition)
        held = partitions[place].partition
        asked = before_recreation(one, held) or may_be_left_behind(one, held)
        (outside[place] if asked and one.verdict is RecordVerdict.LOST else kept).append(one)
    for place, lost in outside.items():
        outside_counts = _count_outside(partitions[place], {one.hash for one in lost}, plan, target)
        for one in lost:
            found = min(one.records, outside_counts[one.hash])
            outside_counts[one.hash] -= found
            if found < one.records:
                kept.append(replace(one, records=one.records - found))
    return kept


def _count_outside(planned: Planned, wanted: set[int], plan: Plan, target: Reader) -> Counter[int]:
    """Return how often the target has each of these hashes just before and after its range."""
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
        most = replace(stretch, until=min(stretch.until, stretch.first + MOST_SEARCHED_BACK))
        for some in chunks(target, place, most):
            found.update(one for one in hashes(some, topic, plan) if one in wanted)
    return found
