"""Compare two digests: findings that they prove, and blocks to read again. Pure.

What digests alone prove, partition by partition:

- altered: a missing and an extra record have the same place by the order sums, and have the same time, or
  the source has nothing in the extra one's cell (otherwise it may be a duplicate of another record);
- lost: records are missing, none is extra, and no cell of the partition is undecoded; nor any other cell of
  the flow that could hold the record;
- misrouted: a record is missing here and extra elsewhere (flow_findings.join_moved);
- duplicated: a record is extra, and the source's cell has nothing but this record.

Everything else is read again, in blocks whose records on both sides belong together; an extra record is
looked up on the source first. The findings of reading replace these (flow_findings.after_reading).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from checksum.compare.differing_cells import PartitionCells, decoded
from checksum.compare.findings import Finding, Proof, RecordVerdict
from checksum.compare.flow_findings import flow_findings
from checksum.digest.cell_rows import CellKey, CellRow, Side, check_row, joined, planned_partitions
from checksum.digest.record_hash import second_hash
from checksum.recheck.block_ranges import blocks_to_read, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.compare.findings import ReadAgain, Single
    from checksum.compare.flow_findings import FlowFindings
    from checksum.plan.shape import Plan

OTHERS_DIFFER = "several records of one cell differ, and the digests do not show which"
BOTH_WAYS = "records are missing and others are too many, and the digests do not show which belong together"
MOVED = "the same records are at other offsets than the offset syncs say"
MAY_BE_ELSEWHERE = "a record is missing that may be in another partition, and the digests do not show it"
PINPOINT = "the digests show what is wrong; reading shows at which offsets"
COMPACTED = "the topic is compacted: the last records of its keys are compared one by one"


class _Classified(NamedTuple):
    """A partition that differs: findings of its order sums, the other singles, and why to read them."""

    cells: PartitionCells
    pairs: list[Finding]
    rest: list[Single]
    why: str


def digest_findings(
    plan: Plan, found: Mapping[tuple[str, int], PartitionCells], source: Mapping[CellKey, CellRow]
) -> FlowFindings:
    """Return what the digests prove, and what to read again; `source` is the source's digest."""
    partitions = [_classified(found[where]) for where in sorted(found) if not found[where].matches]
    others = _OtherPartitions(partitions)
    findings = [pair for one in partitions for pair in one.pairs]
    read_again = []
    for one in partitions:
        why = one.why or (MAY_BE_ELSEWHERE if any(map(others.may_hold, one.rest)) else "")
        if one.cells.planned.topic.compacted:
            read_again.append(whole(one.cells, COMPACTED))
        elif why:
            read_again += blocks_to_read(one.cells, one.rest, one.pairs, why)
        else:
            findings += [_single_finding(single, source) for single in one.rest]
    return flow_findings(plan, source, findings, read_again)


def to_pinpoint(found: Mapping[tuple[str, int], PartitionCells]) -> list[ReadAgain]:
    """Return what to read of partitions that are decided, for exact offsets and the altered parts."""
    blocks = []
    for where in sorted(found):
        one = _classified(found[where])
        if one.cells.singles and not one.why:
            blocks += blocks_to_read(one.cells, one.cells.singles, one.pairs, PINPOINT)
    return blocks


class _OtherPartitions:
    """Partitions to read again that may hold a record missing elsewhere, or lack an extra one."""

    def __init__(self, partitions: Sequence[_Classified]) -> None:
        self._cells: dict[tuple[int | None, int], set[tuple[str, int]]] = defaultdict(set)
        self._records: dict[tuple[Side, int], set[tuple[str, int]]] = defaultdict(set)
        for cells, _, rest, why in partitions:
            if not why:
                continue
            topic = cells.planned.topic
            where = (topic.topic, cells.planned.partition.partition)
            for cell in cells.undecoded:
                # Without timestamps, buckets of two partitions are unrelated.
                self._cells[cell.key.bucket if topic.timestamps else None, cell.key.cell].add(where)
            for single in rest:
                self._records[single.side, single.hash].add(where)

    def may_hold(self, single: Single) -> bool:
        """Return whether this record may be in another partition."""
        bucket = None if single.timestamp_ms is None else single.bucket
        other = Side.SOURCE if single.side is Side.TARGET else Side.TARGET
        places = self._cells.get((bucket, single.cell), set()) | self._records.get(
            (other, single.hash), set()
        )
        return bool(places - {(single.topic, single.partition)})


def _classified(cells: PartitionCells) -> _Classified:
    if cells.planned.topic.compacted:
        return _Classified(cells, [], cells.singles, COMPACTED)
    pairs, rest = _paired(cells.singles)
    why = MOVED if cells.moved else ""
    if len({single.side for single in rest}) > 1:
        why = BOTH_WAYS
    if cells.undecoded:
        why = OTHERS_DIFFER
    return _Classified(cells, pairs, rest, why)


def _paired(singles: Sequence[Single]) -> tuple[list[Finding], list[Single]]:
    """Return the altered records that the order sums prove, and the other singles."""
    by_place: dict[int, list[Single]] = defaultdict(list)
    for single in singles:
        if single.source_place is not None:
            by_place[single.source_place].append(single)
    pairs: list[Finding] = []
    used: set[int] = set()
    for both in by_place.values():
        sides = {single.side: single for single in both}
        if len(sides) == 2 and _is_one_record(sides[Side.SOURCE], sides[Side.TARGET]):
            pairs.append(_altered(sides[Side.SOURCE], sides[Side.TARGET]))
            used |= {id(single) for single in both}
    return pairs, [single for single in singles if id(single) not in used]


def _is_one_record(lacking: Single, surplus: Single) -> bool:
    """Return whether two records at one place are one that was altered."""
    same_time = lacking.timestamp_ms is not None and lacking.timestamp_ms == surplus.timestamp_ms
    return same_time or surplus.others is None


def _altered(lacking: Single, surplus: Single) -> Finding:
    return Finding(
        RecordVerdict.ALTERED,
        lacking.topic,
        lacking.partition,
        1,
        lacking.hash,
        lacking.timestamp_ms,
        lacking.offsets,
        surplus.offsets,
        Proof.DIGESTS,
        target_hash=surplus.hash,
        target_timestamp_ms=surplus.timestamp_ms,
        what=() if lacking.timestamp_ms == surplus.timestamp_ms else ("time",),
    )


def _single_finding(single: Single, source: Mapping[CellKey, CellRow]) -> Finding:
    """Return the finding of a single record, if nothing else in its partition differs."""
    lacks = single.side is Side.SOURCE
    row = source.get(_key(single))
    if lacks:
        verdict = RecordVerdict.LOST
    elif row is not None and _is_only(single.hash, row):
        verdict = RecordVerdict.DUPLICATED
    else:
        verdict = RecordVerdict.EXTRA
    return Finding(
        verdict,
        single.topic,
        single.partition,
        single.copies,
        single.hash,
        single.timestamp_ms,
        single.offsets if lacks else None,
        None if lacks else single.offsets,
        Proof.DIGESTS,
    )


def _is_only(record: int, row: CellRow) -> bool:
    """Return whether a cell has only this record, however often."""
    halves = [
        half
        for value in (record, second_hash(record))
        for half in (value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF)
    ]
    return row.content[1:5] == tuple(half * row.records for half in halves)


def _key(single: Single) -> CellKey:
    return CellKey(single.topic, single.partition, single.bucket, single.cell)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of two digests: `source` is the source's, `cells` are both by partition."""

    plan: Plan
    source: Mapping[CellKey, CellRow]
    cells: Mapping[tuple[str, int], PartitionCells]
    known: FlowFindings

    @property
    def to_read(self) -> list[ReadAgain]:
        """Return the blocks to read again: the required ones, and those that give exact offsets."""
        asked = {(one.topic, one.partition) for one in self.known.read_again}
        more = [one for one in to_pinpoint(self.cells) if (one.topic, one.partition) not in asked]
        return [*self.known.read_again, *more]


def compared(plan: Plan, source: Iterable[CellRow], target: Iterable[CellRow]) -> Comparison:
    """Compare the rows of two digests; raises MalformedError for a row that contradicts the plan."""
    partitions = planned_partitions(plan)
    sides: dict[Side, dict[CellKey, CellRow]] = {}
    for side, rows in ((Side.SOURCE, source), (Side.TARGET, target)):
        sides[side] = joined(rows)
        for row in sides[side].values():
            check_row(row, plan, partitions, side)
    cells = decoded(plan, sides[Side.SOURCE], sides[Side.TARGET])
    return Comparison(plan, sides[Side.SOURCE], cells, digest_findings(plan, cells, sides[Side.SOURCE]))
