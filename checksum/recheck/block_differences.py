"""Records of a block that was read again on both sides -> a verdict for each. Pure.

1. The longest common subsequence of both sides matches.
2. Of the rest, records that are on both sides are reordered, and so are those that are elsewhere in the
   partition by the digests. If many records are equal, so that a longer subsequence is possible, and the
   digests do not prove another order, these are unverifiable.
3. What is left between the same two matching neighbours on both sides is one altered record, if parts of it
   agree with no other, or if as many are missing as are extra.
4. What is still missing is lost. What is still extra is duplicated if the source's block has it or a record
   was altered into it; otherwise it is extra, and is looked up on the source.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from checksum.compare.findings import Finding, Proof, RecordVerdict
from checksum.digest.cell_rows import Side, bucket_of
from checksum.plan.shape import OffsetRange
from checksum.recheck.sequence_order import in_order

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from checksum.anchors.records import SeenRecord
    from checksum.compare.findings import ReadAgain
    from checksum.digest.cell_rows import Planned

_TWO_PARTS: tuple[tuple[str, ...], ...] = (("key", "time"), ("value", "time"), ("key", "value"))
_ONE_PART: tuple[tuple[str, ...], ...] = (("time",), ("key",), ("value",))
"""The parts by which an altered record is recognised: two of them, or else one."""


class ReadRecord(NamedTuple):
    """A record that was read, with its hash (record_hash, by the plan's flags for its topic)."""

    hash: int
    seen: SeenRecord


class ReadBlock(NamedTuple):
    """All records of a block, in order of offsets on each side."""

    asked: ReadAgain
    planned: Planned
    cells: int
    bucket_ms: int
    source: Sequence[ReadRecord]
    target: Sequence[ReadRecord]

    @property
    def timestamps(self) -> bool:
        """Return whether timestamps are compared."""
        return self.planned.topic.timestamps

    def elsewhere(self, record: ReadRecord, side: Side) -> bool:
        """Return whether a record that the block's other side lacks is certainly in its partition."""
        if record.hash in self.asked.hashes:
            return False
        seen = record.seen
        bucket = bucket_of(
            self.planned, self.bucket_ms, side, offset=seen.offset, timestamp_ms=seen.timestamp_ms
        )
        return (bucket, record.hash % self.cells) not in self.asked.cells


def differences(block: ReadBlock) -> list[Finding]:
    """Return a finding for each record of the block that does not match."""
    block, findings = _without_altered(block)
    matching, longest = in_order([one.hash for one in block.source], [one.hash for one in block.target])
    lacking = _without(len(block.source), [source for source, _ in matching])
    surplus = _without(len(block.target), [target for _, target in matching])
    both, lacking, surplus = _on_both_sides(block, lacking, surplus)
    proved = longest or block.asked.only_moved
    findings += _reordered(block, both) if proved else _order_unknown(block, both)
    gone, lacking, surplus = _elsewhere(block, lacking, surplus)
    # An altered record may be duplicated too.
    held = {one.hash for one in block.source} | {one.target_hash for one in findings}
    altered, lacking, surplus = _altered(block, held, matching, (lacking, surplus))
    held |= {one.target_hash for one in altered}
    findings += [*gone, *altered]
    findings += [_finding(RecordVerdict.LOST, block, block.source[index], None) for index in lacking]
    for index in surplus:
        known = block.target[index].hash in held
        verdict = RecordVerdict.DUPLICATED if known else RecordVerdict.EXTRA
        findings.append(_finding(verdict, block, None, block.target[index]))
    return findings


def _without_altered(block: ReadBlock) -> tuple[ReadBlock, list[Finding]]:
    """Remove what the digests prove to be altered, unless it is a duplicate of another record."""
    held = {one.hash for one in block.source}
    source = {one.seen.offset: one for one in block.source}
    target = {one.seen.offset: one for one in block.target}
    pairs = [
        (here, there)
        for here, there in block.asked.altered
        if here in source and there in target and target[there].hash not in held
    ]
    findings = [_finding(RecordVerdict.ALTERED, block, source[here], target[there]) for here, there in pairs]
    for here, there in pairs:
        del source[here], target[there]
    return block._replace(source=list(source.values()), target=list(target.values())), findings


def _without(count: int, taken: Sequence[int]) -> list[int]:
    out = set(taken)
    return [index for index in range(count) if index not in out]


def _on_both_sides(
    block: ReadBlock, lacking: list[int], surplus: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Return the places of records that are on both sides out of order, and the rest of each side."""
    by_hash: dict[int, list[int]] = defaultdict(list)
    for index in reversed(surplus):
        by_hash[block.target[index].hash].append(index)
    pairs = [(index, there.pop()) for index in lacking if (there := by_hash[block.source[index].hash])]
    return pairs, *_rest(pairs, lacking, surplus)


def _reordered(block: ReadBlock, both: Sequence[tuple[int, int]]) -> list[Finding]:
    return [
        _finding(RecordVerdict.REORDERED, block, block.source[here], block.target[there])
        for here, there in both
    ]


def _order_unknown(block: ReadBlock, both: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return records that may be out of order; equal ones as one finding, as they cannot be told apart."""
    equal: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for here, there in both:
        equal[block.source[here].hash].append((here, there))
    findings = []
    for pairs in equal.values():
        (here, there), (last_here, last_there) = pairs[0], pairs[-1]
        one = _finding(RecordVerdict.UNVERIFIABLE, block, block.source[here], block.target[there])
        source = OffsetRange(block.source[here].seen.offset, block.source[last_here].seen.offset + 1)
        target = OffsetRange(block.target[there].seen.offset, block.target[last_there].seen.offset + 1)
        findings.append(replace(one, records=len(pairs), source=source, target=target))
    return findings


def _elsewhere(
    block: ReadBlock, lacking: list[int], surplus: list[int]
) -> tuple[list[Finding], list[int], list[int]]:
    """Return those that are elsewhere in the partition, so out of order, and the rest of each side."""
    here = [index for index in lacking if block.elsewhere(block.source[index], Side.SOURCE)]
    there = [index for index in surplus if block.elsewhere(block.target[index], Side.TARGET)]
    findings = [
        *(_finding(RecordVerdict.REORDERED, block, block.source[index], None) for index in here),
        *(_finding(RecordVerdict.REORDERED, block, None, block.target[index]) for index in there),
    ]
    return findings, sorted({*lacking}.difference(here)), sorted({*surplus}.difference(there))


def _altered(
    block: ReadBlock,
    held: AbstractSet[int | None],
    matching: Sequence[tuple[int, int]],
    left: tuple[list[int], list[int]],
) -> tuple[list[Finding], list[int], list[int]]:
    """Return the altered records: those between the same matching neighbours on both sides.

    `held` are the hashes of which a record on the target may be a duplicate.
    """
    lacking, surplus = left
    gaps: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, indices in enumerate((lacking, surplus)):
        pegs = [pair[side] for pair in matching]
        for index in indices:
            gaps[bisect_left(pegs, index)][side].append(index)
    # A duplicate of a record of this block is not an altered record.
    copies = {index for index in surplus if block.target[index].hash in held}
    pairs = [pair for here, there in gaps.values() for pair in _pairs_of(block, here, there, copies)]
    findings = [
        _finding(RecordVerdict.ALTERED, block, block.source[source], block.target[target])
        for source, target in pairs
    ]
    return findings, *_rest(pairs, lacking, surplus)


def _pairs_of(
    block: ReadBlock, here: list[int], there: list[int], copies: AbstractSet[int]
) -> list[tuple[int, int]]:
    """Return which record became which, of those between the same neighbours."""
    first = {block.target[index].hash: index for index in reversed(there) if index not in copies}
    left, right = here, sorted(first.values())
    pairs: list[tuple[int, int]] = []
    for parts in _TWO_PARTS:
        found = _equal_in(block, left, right, parts)
        left, right = _rest(found, left, right)
        pairs += found
    for parts in _ONE_PART:
        if len(left) != len(right):
            found = _equal_in(block, left, right, parts)
            left, right = _rest(found, left, right)
            pairs += found
    if len(left) == len(right) and copies.isdisjoint(there):
        pairs += zip(left, right, strict=True)
    return pairs


def _rest(
    pairs: Sequence[tuple[int, int]], here: Sequence[int], there: Sequence[int]
) -> tuple[list[int], list[int]]:
    taken = [{pair[side] for pair in pairs} for side in (0, 1)]
    return [one for one in here if one not in taken[0]], [one for one in there if one not in taken[1]]


def _equal_in(
    block: ReadBlock, here: Sequence[int], there: Sequence[int], parts: Sequence[str]
) -> list[tuple[int, int]]:
    """Return the pairs in which all these parts agree, if as many on both sides do."""
    groups: dict[tuple[object, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, (indices, log) in enumerate(((here, block.source), (there, block.target))):
        for index in indices:
            shown = _parts_of(log[index].seen, parts, timestamps=block.timestamps)
            if shown is not None:
                groups[shown][side].append(index)
    return [
        pair
        for left, right in groups.values()
        if len(left) == len(right)
        for pair in zip(left, right, strict=True)
    ]


def _parts_of(seen: SeenRecord, parts: Sequence[str], *, timestamps: bool) -> tuple[object, ...] | None:
    """Return these parts of a record, or None if one of them is null and so proves nothing."""
    every = {"key": seen.key, "value": seen.value, "time": seen.timestamp_ms if timestamps else None}
    shown = tuple(every[part] for part in parts)
    return None if None in shown else shown


def _finding(
    verdict: RecordVerdict, block: ReadBlock, here: ReadRecord | None, there: ReadRecord | None
) -> Finding:
    one = here or there
    assert one is not None
    altered = verdict is RecordVerdict.ALTERED and here is not None and there is not None
    return Finding(
        verdict,
        block.asked.topic,
        block.asked.partition,
        1,
        one.hash,
        one.seen.timestamp_ms if block.timestamps else None,
        _at(here),
        _at(there),
        Proof.READING,
        target_hash=there.hash if altered and there else None,
        target_timestamp_ms=there.seen.timestamp_ms if altered and there and block.timestamps else None,
        what=_parts_that_differ(here.seen, there.seen, block) if altered and here and there else (),
    )


def _at(record: ReadRecord | None) -> OffsetRange | None:
    return None if record is None else OffsetRange(record.seen.offset, record.seen.offset + 1)


def _parts_that_differ(here: SeenRecord, there: SeenRecord, block: ReadBlock) -> tuple[str, ...]:
    differ = {
        "key": here.key != there.key,
        "value": here.value != there.value,
        "headers": here.headers != there.headers,
        "time": block.timestamps and here.timestamp_ms != there.timestamp_ms,
    }
    return tuple(part for part, yes in differ.items() if yes)
