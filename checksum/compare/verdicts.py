"""Findings -> the result: records by verdict, coverage, exit status. Pure.

*Coverage* is the verified share of the source offsets that are due: those in the plan, and those left out (of
the target, if the source has no such partition). Offsets that are not due yet are counted separately.
Offsets, not records: a gap in a log is verified like a record.

Delivery (checksum.md, Alignment, 11): under at-least-once, duplicates and records of aborted transactions are
expected after every crash of MirrorMaker. They are reported and counted, and do not change the status; under
exactly-once they are findings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from checksum.compare.findings import Finding, ReadAgain, RecordVerdict
from checksum.compare.retention import Unverified

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.compare.differing_cells import PartitionCells
    from checksum.compare.flow_findings import FlowFindings
    from checksum.plan.shape import LeftOut, Plan

_Placed = TypeVar("_Placed", Finding, ReadAgain, Unverified)

OK, FINDING, INCOMPLETE = 0, 1, 3
"""Exit statuses, as in interface.md."""

_WRONG_HERE = (
    RecordVerdict.LOST,
    RecordVerdict.ALTERED,
    RecordVerdict.REORDERED,
    RecordVerdict.MISROUTED,
)
"""Verdicts about a record of the source."""

_Claim = tuple[RecordVerdict, bool]
"""A verdict, and whether the record is in an aborted transaction on the source."""

_CLAIMS: tuple[_Claim, ...] = (
    (RecordVerdict.DUPLICATED, False),
    (RecordVerdict.EXTRA, True),
    (RecordVerdict.UNVERIFIABLE, False),
    (RecordVerdict.EXTRA, False),
)
"""The claims about an extra record, strongest evidence first."""


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of one partition.

    `records` counts records by verdict; `match` and `unverifiable` are of the source, the latter at most. A
    lost tombstone of a compacted topic counts as lost, but not as a record of the source. Blocks that were
    not read again are unverifiable. `offsets` were to be compared on the source, and `verified` of them were.
    """

    topic: str
    partition: int
    records: Mapping[RecordVerdict, int]
    source_records: int
    target_records: int
    offsets: int
    verified: int
    unverified: tuple[Unverified, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a flow.

    `findings` change the exit status; `expected` do not, under the flow's delivery. `unsettled` are extra
    records that may be duplicates, and equal ones that may be out of order. `open_blocks` were not read
    again, and `differing` of them certainly hold a record that is lost, altered or out of order. `left_out`
    are places with records. `not_due` is how many offsets of the source are not due yet: a later run compares
    them.
    """

    findings: tuple[Finding, ...]
    expected: tuple[Finding, ...]
    unsettled: tuple[Finding, ...]
    open_blocks: tuple[ReadAgain, ...]
    differing: tuple[ReadAgain, ...]
    partitions: tuple[PartitionResult, ...]
    left_out: tuple[LeftOut, ...]
    not_due: int = 0

    @property
    def coverage(self) -> float:
        """Return the verified share of offsets, 0 to 1; 1 if nothing was compared."""
        return coverage(self.partitions, self.left_out)

    @property
    def status(self) -> int:
        """Return the exit status: a finding before incomplete."""
        if self.findings or self.differing:
            return FINDING
        return OK if self.coverage == 1 and not (self.open_blocks or self.unsettled) else INCOMPLETE


def result(
    plan: Plan,
    cells: Mapping[tuple[str, int], PartitionCells],
    known: FlowFindings,
    *,
    exactly_once: bool,
    unverified: Iterable[Unverified] = (),
) -> Result:
    """Return the result of a flow; `unverified` is what retention deleted."""
    asked = set() if exactly_once else {id(lookup.finding) for lookup in known.lookups}
    unsettled = [
        one for one in known.findings if id(one) in asked or one.verdict is RecordVerdict.UNVERIFIABLE
    ]
    open_ids = {id(one) for one in unsettled}
    others = [one for one in known.findings if id(one) not in open_ids]
    findings, gone, blocks = _by_place(known.findings), _by_place(unverified), _by_place(known.read_again)
    return Result(
        tuple(one for one in others if changes_status(one, exactly_once=exactly_once)),
        tuple(one for one in others if not changes_status(one, exactly_once=exactly_once)),
        tuple(unsettled),
        known.read_again,
        tuple(block for block in known.read_again if _differs(block, exactly_once=exactly_once)),
        tuple(
            _partition_result(
                cells[where], findings.get(where, ()), gone.get(where, ()), blocks.get(where, ())
            )
            for where in sorted(cells)
        ),
        tuple(one for one in plan.left_out if one.records and not one.later),
        sum(one.records for one in plan.left_out if one.later),
    )


def changes_status(finding: Finding, *, exactly_once: bool) -> bool:
    """Return whether a finding changes the exit status."""
    expected = finding.verdict is RecordVerdict.DUPLICATED or finding.aborted
    return exactly_once or not expected


def coverage(partitions: Sequence[PartitionResult], left_out: Sequence[LeftOut]) -> float:
    """Return the verified share of the offsets that were to be compared."""
    verified = sum(one.verified for one in partitions)
    whole = sum(one.offsets for one in partitions) + sum(one.records for one in left_out)
    return verified / whole if whole else 1.0


def confirmed(first: Sequence[Finding], second: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the second check that the first check had as often.

    What only one check saw was temporary: a record on its way, a log being truncated. Whether the source
    holds an extra record may be answered differently, because one check may have to read more: then the
    weaker claim stays.
    """
    left: dict[tuple[object, ...], Counter[_Claim]] = defaultdict(Counter)
    for one in first:
        left[_identity(one)][_claim(one)] += one.records
    kept = []
    for one in second:
        before, claim = left[_identity(one)], _claim(one)
        if before.total() < one.records:
            continue
        wanted, least = one.records, claim
        for other in (claim, *(other for other in _CLAIMS if other != claim)):
            taken = min(before[other], wanted)
            if taken:
                before[other] -= taken
                wanted -= taken
                least = min(least, other, key=_strength)
        kept.append(one if least == claim else replace(one, verdict=least[0], aborted=least[1]))
    return kept


def _identity(finding: Finding) -> tuple[object, ...]:
    """Return by what a finding is recognised in another check, whatever the answer about an extra record."""
    verdict, *others = finding.identity
    too_often = _claim(finding) in _CLAIMS and finding.source is None
    return ("too often" if too_often else verdict, *others)


def _claim(finding: Finding) -> _Claim:
    return finding.verdict, finding.aborted


def _strength(claim: _Claim) -> int:
    return _CLAIMS.index(claim) if claim in _CLAIMS else 0


def _differs(block: ReadAgain, *, exactly_once: bool) -> bool:
    """Return whether an unread block certainly holds a finding; a mere surplus may be duplicates."""
    return block.certain and (exactly_once or block.lacking > 0 or not block.surplus)


def _differs_from_source(finding: Finding) -> bool:
    """Return whether a finding is about a record of the source, which then does not match."""
    in_order_or_not = finding.verdict is RecordVerdict.UNVERIFIABLE and finding.source is not None
    return finding.verdict in _WRONG_HERE or in_order_or_not


def _by_place(several: Iterable[_Placed]) -> dict[tuple[str, int], list[_Placed]]:
    """Group by topic and partition, in order."""
    found: dict[tuple[str, int], list[_Placed]] = defaultdict(list)
    for one in several:
        found[one.topic, one.partition].append(one)
    return found


def _partition_result(
    cells: PartitionCells,
    findings: Sequence[Finding],
    gone: Sequence[Unverified],
    open_blocks: Sequence[ReadAgain],
) -> PartitionResult:
    topic, held = cells.planned.topic.topic, cells.planned.partition
    unverified = (*gone, *(Unverified(topic, held.partition, one.source, one.why) for one in open_blocks))
    hidden = _offset_count(unverified)
    records = Counter[RecordVerdict]()
    for one in findings:
        records[one.verdict] += one.records
    # The records of a compacted topic are the values of its keys, without tombstones.
    wrong = sum(one.records for one in findings if _differs_from_source(one) and not one.tombstone)
    # Unverified offsets may be gaps, so they are capped by the records.
    hidden_records = min(hidden, max(cells.source_records - wrong, 0))
    records[RecordVerdict.UNVERIFIABLE] += hidden_records
    records[RecordVerdict.MATCH] = max(cells.source_records - wrong - hidden_records, 0)
    return PartitionResult(
        topic,
        held.partition,
        dict(records),
        cells.source_records,
        cells.target_records,
        held.source.span,
        held.source.span - hidden,
        unverified,
    )


def _offset_count(unverified: Sequence[Unverified]) -> int:
    """Return how many offsets these are, each counted once."""
    total, until = 0, None
    for one in sorted(unverified, key=lambda one: one.source.first):
        first = one.source.first if until is None else max(one.source.first, until)
        total += max(one.source.until - first, 0)
        until = one.source.until if until is None else max(until, one.source.until)
    return total


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of one flow's comparison, and its plan."""

    plan: Plan
    result: Result
