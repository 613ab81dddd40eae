"""Records that retention deleted during the comparison: no difference, but not verified. Pure.

Both logs expire, at different times (mm2.md, Seen on 4.3.0, 9). So the log start offsets are read again after
the records. What was below them is no difference: one side may have been read without it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from checksum.anchors.distances import Distances
from checksum.digest.cell_rows import planned_partitions
from checksum.plan.shape import OffsetRange
from fleet.quantity import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.compare.findings import Finding, ReadAgain
    from checksum.compare.flow_findings import FlowFindings
    from checksum.digest.cell_rows import CellRow
    from checksum.plan.shape import PartitionPlan, Plan


class LogStarts(NamedTuple):
    """The log start offsets of one partition after reading."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Unverified:
    """Source offsets of one partition that could not be verified, and why."""

    topic: str
    partition: int
    source: OffsetRange
    why: str


def without_expired(
    known: FlowFindings, plan: Plan, starts: Mapping[tuple[str, int], LogStarts]
) -> tuple[FlowFindings, tuple[Unverified, ...]]:
    """Return what is certain despite retention, and what is unverified because of it.

    A finding or a block that reaches below what both logs still hold is dropped, and the offsets up to its
    end are unverified.
    """
    floors = _floors(plan, starts)
    until: dict[tuple[str, int], int] = defaultdict(int)
    findings: list[Finding] = []
    blocks: list[ReadAgain] = []
    for finding in known.findings:
        reached = _partitions_below(floors, finding)
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
        lookups=tuple(one for one in known.lookups if id(one.finding) in kept),
    )
    unverified = [
        Unverified(*where, OffsetRange(floors[where].first, offset), floors[where].why)
        for where, offset in sorted(until.items())
    ]
    return left, tuple(unverified)


def never_read(
    plan: Plan, starts: Mapping[tuple[str, int], LogStarts], source: Iterable[CellRow]
) -> tuple[Unverified, ...]:
    """Return the source offsets that retention may have deleted before they were read.

    What neither digest has is equal in both, and what only the source's lacks may be lost on the target.
    Retention may overtake a digest anywhere, and a log has gaps of its own. So below the log start, only the
    offsets before the first gap and after the last one were certainly read.
    """
    held_of = {where: one.partition.source for where, one in planned_partitions(plan).items()}
    taken = {where: one for where, one in starts.items() if one.source > held_of[where].first}
    rows: dict[tuple[str, int], list[CellRow]] = defaultdict(list)
    for row in source:
        if (row.topic, row.partition) in taken:
            rows[row.topic, row.partition].append(row)
    found = []
    for where, begins in sorted(taken.items()):
        held = held_of[where]
        left = _without_gapless(
            OffsetRange(held.first, min(begins.source, held.until)), _gapless_ranges(rows[where])
        )
        if left.span > 0:
            records = sum(row.records for row in rows[where])
            why = (
                "retention may have deleted them before they were read: the log now starts at"
                f" {begins.source} on {plan.source} and at {begins.target} on {plan.target}; the digest of"
                f" {plan.source} has {count_text(records, 'record')} of {count_text(held.span, 'offset')}"
            )
            found.append(Unverified(*where, left, why))
    return tuple(found)


def _gapless_ranges(rows: Iterable[CellRow]) -> list[OffsetRange]:
    """Return ranges of offsets in which every offset has a record in the digest, in order.

    Records of cells are interleaved, so overlapping cells are counted together.
    """
    found: list[tuple[OffsetRange, int]] = []
    for row in sorted(rows, key=lambda row: row.first_offset):
        offsets, records = OffsetRange(row.first_offset, row.last_offset + 1), row.records
        if found and offsets.first < found[-1][0].until:
            before, counted = found.pop()
            offsets = OffsetRange(before.first, max(before.until, offsets.until))
            records += counted
        found.append((offsets, records))
    return [offsets for offsets, records in found if records == offsets.span]


def _without_gapless(gone: OffsetRange, whole: Iterable[OffsetRange]) -> OffsetRange:
    """Return the offsets without those that were read at both ends; `whole` in order."""
    first, until = gone.first, gone.until
    pieces = list(whole)
    for one in pieces:
        if one.first <= first < one.until:
            first = one.until
    for one in reversed(pieces):
        if one.first < until <= one.until:
            until = one.first
    return OffsetRange(first, max(first, until))


@dataclass(frozen=True, slots=True)
class _Floor:
    """The first offsets that both logs of a partition still hold; `first` is the plan's."""

    first: int
    source: int
    target: int
    why: str

    def below(self, source: OffsetRange | None, target: OffsetRange | None) -> bool:
        """Return whether offsets of either side reach below it."""
        reaches = source is not None and source.first < self.source
        return reaches or (target is not None and target.first < self.target)


def _floors(plan: Plan, starts: Mapping[tuple[str, int], LogStarts]) -> dict[tuple[str, int], _Floor]:
    """Return the floor of each partition in which retention deleted compared records."""
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
        f"retention deleted records during the comparison: the log now starts at {begins.source} on"
        f" {plan.source} and at {begins.target} on {plan.target}"
    )
    return _Floor(partition.source.first, source, target, why)


def _partitions_below(
    floors: Mapping[tuple[str, int], _Floor], finding: Finding
) -> list[tuple[tuple[str, int], int]]:
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
