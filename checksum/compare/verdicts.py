"""Findings of an audit -> its result: records by verdict, coverage, what changes the exit status. Pure.

*Coverage* is the share of source offsets whose fate is known, of all that are due: what the plan compares,
and what it left out (of the target, where the source has no such partition). What is not due yet is counted
by itself. Offsets, not records: a gap in a log is verified like a record.

Delivery (checksum.md, Alignment, 11): under at-least-once, duplicates and records of aborted transactions are
expected after every crash of a mirror. They are told and counted, and change no status; under exactly-once
they are findings like others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from checksum.compare.findings import Finding, ReadAgain, RecordVerdict
from checksum.compare.retention import Unverified

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.compare.decode import PartitionCells
    from checksum.compare.joining import Known
    from checksum.plan.shape import LeftOut, Plan

_Placed = TypeVar("_Placed", Finding, ReadAgain, Unverified)

FINE, FINDING, INCOMPLETE = 0, 1, 3
"""Exit statuses, as in interface.md."""

_WRONG_HERE = (
    RecordVerdict.LOST,
    RecordVerdict.ALTERED,
    RecordVerdict.REORDERED,
    RecordVerdict.MISROUTED,
)
"""Verdicts about a record of the source."""

_Claim = tuple[RecordVerdict, bool]
"""A verdict, and whether the source holds the record in a transaction that was aborted."""

_CLAIMS: tuple[_Claim, ...] = (
    (RecordVerdict.DUPLICATED, False),
    (RecordVerdict.EXTRA, True),
    (RecordVerdict.UNVERIFIABLE, False),
    (RecordVerdict.EXTRA, False),
)
"""What can be claimed of a record that the target has too often; first what the source was seen to hold."""


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """What an audit says of one partition.

    `records` counts records by verdict; `match` and `unverifiable` are of the source, the latter at most. A
    tombstone of a compacted topic that is lost counts as lost, and is none of the source's records.
    What is not told apart, as it was not read again, is unverifiable. `offsets` were to be compared on the
    source, `verified` of them were.
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
    """What an audit says of a flow.

    `findings` change the exit status, `told` do not, under the flow's delivery. `unsettled` are extra records
    of which it is not known whether they are second copies, which would change none, and equal ones of which
    it is not known whether they stand in order. `open_blocks` were not read again, and `differing` of them
    hold a record that is lost, altered or in another order for sure. `left_out` are places that hold
    something: of an empty one nothing is unverified. `not_due` is how many offsets of the source are not due
    yet: a later run compares them.
    """

    findings: tuple[Finding, ...]
    told: tuple[Finding, ...]
    unsettled: tuple[Finding, ...]
    open_blocks: tuple[ReadAgain, ...]
    differing: tuple[ReadAgain, ...]
    partitions: tuple[PartitionResult, ...]
    left_out: tuple[LeftOut, ...]
    not_due: int = 0

    @property
    def coverage(self) -> float:
        """Return the share of offsets that was verified, 0 to 1; 1 where there was nothing to compare."""
        return coverage(self.partitions, self.left_out)

    @property
    def status(self) -> int:
        """Return the exit status: a finding goes before what is incomplete."""
        if self.findings or self.differing:
            return FINDING
        return FINE if self.coverage == 1 and not (self.open_blocks or self.unsettled) else INCOMPLETE


def result(
    plan: Plan,
    cells: Mapping[tuple[str, int], PartitionCells],
    known: Known,
    *,
    exactly_once: bool,
    unverified: Iterable[Unverified] = (),
) -> Result:
    """Return the result of an audit by what is known at its end; `unverified` is what retention took."""
    asked = set() if exactly_once else {id(look_up.finding) for look_up in known.look_ups}
    unsettled = [
        one for one in known.findings if id(one) in asked or one.verdict is RecordVerdict.UNVERIFIABLE
    ]
    open_ids = {id(one) for one in unsettled}
    others = [one for one in known.findings if id(one) not in open_ids]
    findings, gone, blocks = _by_place(known.findings), _by_place(unverified), _by_place(known.read_again)
    return Result(
        tuple(one for one in others if counts(one, exactly_once=exactly_once)),
        tuple(one for one in others if not counts(one, exactly_once=exactly_once)),
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


def counts(finding: Finding, *, exactly_once: bool) -> bool:
    """Tell whether a finding changes the exit status."""
    expected = finding.verdict is RecordVerdict.DUPLICATED or finding.aborted
    return exactly_once or not expected


def coverage(partitions: Sequence[PartitionResult], left_out: Sequence[LeftOut]) -> float:
    """Return the share of offsets that was verified of all that were to be compared."""
    verified = sum(one.verified for one in partitions)
    whole = sum(one.offsets for one in partitions) + sum(one.records for one in left_out)
    return verified / whole if whole else 1.0


def confirmed(first: Sequence[Finding], second: Sequence[Finding]) -> list[Finding]:
    """Return those findings of the second look that the first look had as well, as many as it had of each.

    What one look alone saw was a matter of the moment: a copy still on its way, a log that was being cut.
    Whether the source holds a record that is there too often may have another answer in each look, as more
    has to be read for it in one: the record stays, with the answer that claims less.
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
                least = min(least, other, key=_how_much)
        kept.append(one if least == claim else replace(one, verdict=least[0], aborted=least[1]))
    return kept


def _identity(finding: Finding) -> tuple[object, ...]:
    """Return by what a finding is known in another look, whatever the source told of a record too many."""
    verdict, *others = finding.identity
    too_often = _claim(finding) in _CLAIMS and finding.source is None
    return ("too often" if too_often else verdict, *others)


def _claim(finding: Finding) -> _Claim:
    return finding.verdict, finding.aborted


def _how_much(claim: _Claim) -> int:
    return _CLAIMS.index(claim) if claim in _CLAIMS else 0


def _differs(block: ReadAgain, *, exactly_once: bool) -> bool:
    """Tell whether a block that was not read holds a finding for sure; a mere surplus may be duplicates."""
    return block.certain and (exactly_once or block.lacking > 0 or not block.surplus)


def _is_no_match(finding: Finding) -> bool:
    """Tell whether a finding is about a record of the source, which then is no match."""
    in_order_or_not = finding.verdict is RecordVerdict.UNVERIFIABLE and finding.source is not None
    return finding.verdict in _WRONG_HERE or in_order_or_not


def _by_place(several: Iterable[_Placed]) -> dict[tuple[str, int], list[_Placed]]:
    """Return them by topic and partition, each in the order in which they came."""
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
    hidden = _spanned(unverified)
    records = Counter[RecordVerdict]()
    for one in findings:
        records[one.verdict] += one.records
    # A compacted topic's records are the values that its keys have: a tombstone is none of them.
    wrong = sum(one.records for one in findings if _is_no_match(one) and not one.tombstone)
    # What is hidden may be gaps: there are never more records than there are.
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


def _spanned(unverified: Sequence[Unverified]) -> int:
    """Return how many offsets these are, each counted once."""
    total, until = 0, None
    for one in sorted(unverified, key=lambda one: one.source.first):
        first = one.source.first if until is None else max(one.source.first, until)
        total += max(one.source.until - first, 0)
        until = one.source.until if until is None else max(until, one.source.until)
    return total
