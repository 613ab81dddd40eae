"""Findings of partitions -> findings of the flow: misrouted records, and records to look up. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, assert_never

from checksum.compare.findings import Finding, Lookup, LookupAnswer, Proof, ReadAgain, RecordVerdict
from checksum.digest.cell_rows import CellKey, planned_partitions
from checksum.plan.shape import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.digest.cell_rows import CellRow, Planned
    from checksum.plan.shape import Plan


@dataclass(frozen=True, slots=True)
class FlowFindings:
    """The findings of a flow, blocks to read again, and records to look up on the source."""

    findings: tuple[Finding, ...]
    read_again: tuple[ReadAgain, ...] = ()
    lookups: tuple[Lookup, ...] = ()


def flow_findings(
    plan: Plan,
    source: Mapping[CellKey, CellRow],
    findings: Iterable[Finding],
    read_again: Iterable[ReadAgain] = (),
) -> FlowFindings:
    """Join the findings of partitions; `source` is the source's digest."""
    joined = join_moved(findings)
    partitions = planned_partitions(plan)
    lookups = [
        _lookup(one, plan, partitions[one.topic, one.partition], source)
        for one in joined
        if one.verdict is RecordVerdict.EXTRA
    ]
    return FlowFindings(tuple(joined), tuple(read_again), tuple(lookups))


def join_moved(findings: Iterable[Finding]) -> list[Finding]:
    """Join a record missing in one place with the same record extra in another: misrouted, or reordered.

    If an altered record equals one that is missing elsewhere, both were misrouted. If several places lack it
    or have it, it is unknown which went where, and all findings stay.
    """
    lost: dict[int, list[Finding]] = defaultdict(list)
    extra: dict[int, list[Finding]] = defaultdict(list)
    kept: list[Finding] = []
    for finding in _split(list(findings)):
        match finding.verdict:
            case RecordVerdict.LOST:
                lost[finding.hash].append(finding)
            case RecordVerdict.EXTRA:
                extra[finding.hash].append(finding)
            case _:
                kept.append(finding)
    for one in lost.keys() | extra.keys():
        here, there = lost[one], extra[one]
        if len({_place(lack) for lack in here}) == len({_place(more) for more in there}) == 1:
            kept += _matched(here, there)
        else:
            kept += [*here, *there]
    return sorted(_rejoined(kept), key=_in_order)


def _place(finding: Finding) -> tuple[str, int]:
    return finding.topic, finding.partition


def _matched(lost: Sequence[Finding], extra: Sequence[Finding]) -> list[Finding]:
    """Join one record's losses in one place with its surplus in another, as many as there are of both."""
    here, there = list(lost), list(extra)
    found: list[Finding] = []
    while here and there:
        lack, more = here.pop(0), there.pop(0)
        records = min(lack.records, more.records)
        found.append(_joined(replace(lack, records=records), more))
        if lack.records > records:
            here.insert(0, replace(lack, records=lack.records - records))
        if more.records > records:
            there.insert(0, replace(more, records=more.records - records))
    return [*found, *here, *there]


def _rejoined(findings: Sequence[Finding]) -> list[Finding]:
    """Join the two places of a record that moved from one block to another."""
    left: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    found: list[Finding] = []
    for one in findings:
        if one.verdict is not RecordVerdict.REORDERED or (one.source and one.target):
            found.append(one)
            continue
        others = left[(one.identity, one.source is None)]
        if others:
            other = others.pop()
            found.append(replace(one, source=one.source or other.source, target=one.target or other.target))
        else:
            left[(one.identity, one.source is not None)].append(one)
    return found + [one for others in left.values() for one in others]


def _split(findings: Sequence[Finding]) -> list[Finding]:
    """Split altered records of which one half is known elsewhere.

    A duplicate of such a record is extra: its partition on the source may never have held it.
    """
    lacking = {one.hash for one in findings if one.verdict in (RecordVerdict.LOST, RecordVerdict.ALTERED)}
    surplus = {one.hash for one in findings if one.verdict is RecordVerdict.EXTRA}
    surplus |= {one.target_hash for one in findings if one.target_hash is not None}

    def is_split(one: Finding) -> bool:
        is_elsewhere = one.hash in surplus or one.target_hash in lacking
        return one.verdict is RecordVerdict.ALTERED and is_elsewhere

    split = {(_place(one), one.target_hash) for one in findings if is_split(one)}
    found: list[Finding] = []
    for one in findings:
        if is_split(one):
            found += _halves(one)
        elif one.verdict is RecordVerdict.DUPLICATED and (_place(one), one.hash) in split:
            found.append(replace(one, verdict=RecordVerdict.EXTRA))
        else:
            found.append(one)
    return found


def after_reading(
    before: FlowFindings,
    read: Sequence[ReadAgain],
    findings: Iterable[Finding],
    plan: Plan,
    source: Mapping[CellKey, CellRow],
) -> FlowFindings:
    """Replace what the digests showed of some blocks by what reading them showed.

    `findings` are of all these blocks, each read completely on both sides. Misrouted records are split first,
    because one half may have been read.
    """
    apart = [half for finding in before.findings for half in _unjoined(finding)]
    by_place: dict[tuple[str, int], list[ReadAgain]] = defaultdict(list)
    for block in read:
        by_place[block.topic, block.partition].append(block)
    stretches = {place: _Blocks(blocks) for place, blocks in by_place.items()}
    kept = [
        finding
        for finding in apart
        if _place(finding) not in stretches or not stretches[_place(finding)].hold(finding)
    ]
    gone = set(read)
    rest = [block for block in before.read_again if block not in gone]
    return flow_findings(plan, source, [*kept, *findings], rest)


def with_answers(before: FlowFindings, answers: Iterable[tuple[Lookup, LookupAnswer]]) -> FlowFindings:
    """Apply the answers about extra records."""
    by_finding = {id(lookup.finding): (lookup, with_answer(lookup.finding, held)) for lookup, held in answers}
    findings = [by_finding[id(one)][1] if id(one) in by_finding else one for one in before.findings]
    left = tuple(one for one in before.lookups if id(one.finding) not in by_finding)
    return replace(before, findings=tuple(findings), lookups=left)


def with_answer(finding: Finding, held: LookupAnswer) -> Finding:
    """Return the finding about an extra record, given the answer."""
    match held:
        case LookupAnswer.COMMITTED:
            return replace(finding, verdict=RecordVerdict.DUPLICATED, proof=Proof.READING)
        case LookupAnswer.ABORTED:
            return replace(finding, aborted=True, proof=Proof.READING)
        case LookupAnswer.NO:
            return replace(finding, proof=Proof.READING)
        case LookupAnswer.NOT_KNOWN:
            return replace(finding, verdict=RecordVerdict.UNVERIFIABLE, proof=Proof.READING)
        case _:
            assert_never(held)


def _joined(lost: Finding, extra: Finding) -> Finding:
    proof = Proof.READING if Proof.READING in (lost.proof, extra.proof) else Proof.DIGESTS
    if (lost.topic, lost.partition) == (extra.topic, extra.partition):
        return replace(lost, verdict=RecordVerdict.REORDERED, target=extra.target, proof=proof)
    return replace(
        lost,
        verdict=RecordVerdict.MISROUTED,
        target=extra.target,
        proof=proof,
        found_in=(extra.topic, extra.partition),
    )


def _unjoined(finding: Finding) -> list[Finding]:
    """Return the two halves of a misrouted record; other findings as they are."""
    return _halves(finding) if finding.verdict is RecordVerdict.MISROUTED else [finding]


def _halves(finding: Finding) -> list[Finding]:
    """Return the missing and the extra half of an altered or misrouted record."""
    there = finding.found_in or (finding.topic, finding.partition)
    bare = replace(finding, found_in=None, target_hash=None, target_timestamp_ms=None, what=())
    lost = replace(bare, verdict=RecordVerdict.LOST, target=None)
    extra = replace(bare, verdict=RecordVerdict.EXTRA, topic=there[0], partition=there[1], source=None)
    if finding.target_hash is not None:
        extra = replace(extra, hash=finding.target_hash, timestamp_ms=finding.target_timestamp_ms)
    return [lost, extra]


class _Blocks:
    """Blocks of one partition; a finding belongs to one if it may be in it."""

    def __init__(self, blocks: Sequence[ReadAgain]) -> None:
        self._source = _Ranges(block.source for block in blocks)
        self._target = _Ranges(block.target for block in blocks)

    def hold(self, finding: Finding) -> bool:
        """Return whether a finding of the partition belongs to one of them."""
        return self._source.meet(finding.source) or self._target.meet(finding.target)


class _Ranges:
    """Stretches of one log, in order, with the furthest end so far."""

    def __init__(self, stretches: Iterable[OffsetRange]) -> None:
        ordered = sorted(stretches, key=lambda one: one.first)
        self._firsts = [one.first for one in ordered]
        self._untils = list(accumulate((one.until for one in ordered), max))

    def meet(self, offsets: OffsetRange | None) -> bool:
        """Return whether one of them overlaps these offsets."""
        before = bisect_left(self._firsts, offsets.until) if offsets is not None else 0
        return before > 0 and offsets is not None and offsets.first < self._untils[before - 1]


def _lookup(finding: Finding, plan: Plan, planned: Planned, source: Mapping[CellKey, CellRow]) -> Lookup:
    """Return where on the source the original of an extra record can be."""
    offsets: OffsetRange | None = planned.partition.source
    if planned.topic.timestamps and finding.timestamp_ms is not None and not planned.topic.compacted:
        bucket, cell = finding.timestamp_ms // plan.bucket_ms, finding.hash % plan.cells
        row = source.get(CellKey(finding.topic, finding.partition, bucket, cell))
        offsets = None if row is None else OffsetRange(row.first_offset, row.last_offset + 1)
    return Lookup(finding.topic, finding.partition, finding.hash, finding.timestamp_ms, offsets, finding)


def _in_order(finding: Finding) -> tuple[str, int, int, int]:
    place = finding.source or finding.target
    return finding.topic, finding.partition, place.first if place else 0, finding.hash
