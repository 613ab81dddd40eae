"""What retention took while two sides were compared is no difference, but cannot be verified. Pure.

Both logs expire, at different moments (mm2.md, Seen on 4.3.0, 9). So where the logs begin is read again after
the records were. What may have stood below is no difference: one side may have been read without it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from checksum.cell_rows import planned_partitions
from checksum.distances import Distances
from checksum.plan_shape import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checksum.findings import Finding, ReadAgain
    from checksum.joining import Known
    from checksum.plan_shape import PartitionPlan, Plan


class LogStarts(NamedTuple):
    """Where the two logs of one partition began after they were read."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Unverified:
    """Source offsets of one partition of which it is not known what became of them; why, in a sentence."""

    topic: str
    partition: int
    source: OffsetRange
    why: str


def without_expired(
    known: Known, plan: Plan, starts: Mapping[tuple[str, int], LogStarts]
) -> tuple[Known, tuple[Unverified, ...]]:
    """Return what is still known after retention, and what is not for its sake.

    A finding or a block that reaches below what both logs still hold is taken away whole, and the offsets
    from the beginning to there are unverified.
    """
    floors = _floors(plan, starts)
    until: dict[tuple[str, int], int] = defaultdict(int)
    findings: list[Finding] = []
    blocks: list[ReadAgain] = []
    for finding in known.findings:
        reached = _reached(floors, finding)
        if not reached:
            findings.append(finding)
        for where, offset in reached:
            until[where] = max(until[where], offset)
    for block in known.read_again:
        where = (block.topic, block.partition)
        if where in floors and floors[where].below(block.source, block.target):
            until[where] = max(until[where], floors[where].source, block.source.until)
        else:
            blocks.append(block)
    kept = {id(finding) for finding in findings}
    left = replace(
        known,
        findings=tuple(findings),
        read_again=tuple(blocks),
        look_ups=tuple(one for one in known.look_ups if id(one.finding) in kept),
    )
    unverified = [
        Unverified(*where, OffsetRange(floors[where].first, offset), floors[where].why)
        for where, offset in sorted(until.items())
    ]
    return left, tuple(unverified)


def never_read(
    plan: Plan, starts: Mapping[tuple[str, int], LogStarts], first_read: Mapping[tuple[str, int], int]
) -> tuple[Unverified, ...]:
    """Return the source offsets that retention took before they were read: two digests of nothing are alike.

    `first_read` is the first record of each partition that the source's digest holds; one without a record
    stands for nothing that was read. What was read before it went is compared like all else.
    """
    partitions = planned_partitions(plan)
    found = []
    for where, floor in sorted(_floors(plan, starts).items()):
        source = partitions[where].partition.source
        until = min(floor.source, first_read.get(where, source.until), source.until)
        if until > source.first:
            found.append(Unverified(*where, OffsetRange(source.first, until), floor.why))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Floor:
    """From which offsets on both logs of a partition hold what is compared; `first` is the plan's."""

    first: int
    source: int
    target: int
    why: str

    def below(self, source: OffsetRange | None, target: OffsetRange | None) -> bool:
        """Tell whether offsets of either side reach below it."""
        reaches = source is not None and source.first < self.source
        return reaches or (target is not None and target.first < self.target)


def _floors(plan: Plan, starts: Mapping[tuple[str, int], LogStarts]) -> dict[tuple[str, int], _Floor]:
    """Return the floor of each partition of which retention took something that is compared."""
    partitions = planned_partitions(plan)
    return {
        where: _floor(partitions[where].partition, begins, plan)
        for where, begins in starts.items()
        if begins.source > partitions[where].partition.source.first
        or begins.target > partitions[where].partition.target.first
    }


def _floor(partition: PartitionPlan, begins: LogStarts, plan: Plan) -> _Floor:
    source, target = Distances(partition).floor(*begins)
    why = (
        f"retention took records while they were compared: the log on {plan.source} begins at"
        f" {begins.source} now, the one on {plan.target} at {begins.target}"
    )
    return _Floor(partition.source.first, source, target, why)


def _reached(floors: Mapping[tuple[str, int], _Floor], finding: Finding) -> list[tuple[tuple[str, int], int]]:
    """Return the partitions below whose floors a finding reaches, and up to which source offset."""
    here = (finding.topic, finding.partition)
    there = finding.found_in or here
    found = []
    if here in floors and floors[here].below(finding.source, finding.target if there == here else None):
        until = finding.source.until if finding.source else 0
        found.append((here, max(floors[here].source, until)))
    if there != here and there in floors and floors[there].below(None, finding.target):
        found.append((there, floors[there].source))
    return found
