"""The blocks of offsets to read again on both sides. Pure.

Between two cuts (anchors/distances.py) the records of both sides belong together, unless some moved across a
cut. So blocks between cuts are read completely, and joined until they hold all records of each differing
cell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from checksum.anchors.distances import Block, Distances
from checksum.compare.findings import ReadAgain
from checksum.digest.cell_rows import Side
from checksum.plan.shape import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.compare.differing_cells import Differing, PartitionCells
    from checksum.compare.findings import Finding, Single


def blocks_to_read(
    cells: PartitionCells, singles: Sequence[Single], altered: Sequence[Finding], why: str
) -> list[ReadAgain]:
    """Return the blocks with these singles and all undecoded cells, joined if they overlap.

    `altered` are records of the partition that are proved to be altered, each with an offset on both sides.
    """
    distances = Distances(cells.planned.partition)
    topic, partition = cells.planned.topic.topic, cells.planned.partition.partition
    found: list[ReadAgain] = []
    for single in singles:
        # If equal records exist, only the other side's may show which of them it is.
        others = None if single.offset is not None else single.others
        block = _block({single.side: single.offsets, _other(single.side): others}, distances)
        lacks = single.copies if single.side is Side.SOURCE else 0
        found.append(
            ReadAgain(
                topic,
                partition,
                *block,
                why,
                hashes=frozenset({single.hash}),
                lacking=lacks,
                surplus=single.copies - lacks,
            )
        )
    for cell in cells.undecoded:
        block, open_cells = _block(_ranges(cell), distances), frozenset({cell.key[2:]})
        # Equal counts but different records: at least one is missing.
        lacking, surplus = max(-cell.surplus, 0 if cell.surplus else 1), max(cell.surplus, 0)
        found.append(ReadAgain(topic, partition, *block, why, open_cells, lacking=lacking, surplus=surplus))
    # Without gaps and other differences, records at other places are certainly out of order.
    certain = cells.dense and not found
    for cell in cells.moved:
        block = _block(_ranges(cell), distances)
        found.append(ReadAgain(topic, partition, *block, why, certain=certain))
    found.sort(key=lambda one: (one.source.first, one.target.first))
    return [_with_altered(_joined(several), altered) for several in _overlapping(found)]


def whole(cells: PartitionCells, why: str) -> ReadAgain:
    """Return everything that is compared of a compacted partition.

    Compaction may explain the difference (latest_by_key), so nothing is certainly wrong.
    """
    held = cells.planned.partition
    return ReadAgain(cells.planned.topic.topic, held.partition, held.source, held.target, why, certain=False)


def _other(side: Side) -> Side:
    return Side.TARGET if side is Side.SOURCE else Side.SOURCE


def _ranges(cell: Differing) -> dict[Side, OffsetRange | None]:
    return {side: cell.offsets(side) for side in Side}


def _block(ranges: Mapping[Side, OffsetRange | None], distances: Distances) -> Block:
    held = [distances.block(offsets, side) for side, offsets in ranges.items() if offsets is not None]
    return Block(spanned(*(one.source for one in held)), spanned(*(one.target for one in held)))


def _holds(offsets: OffsetRange, offset: int) -> bool:
    return offsets.first <= offset < offsets.until


def _with_altered(block: ReadAgain, altered: Sequence[Finding]) -> ReadAgain:
    """Return the block with the altered records in it."""
    pairs, hashes = [], set(block.hashes)
    for one in altered:
        assert one.source is not None
        assert one.target is not None
        assert one.target_hash is not None
        source, target = one.source.first, one.target.first
        if _holds(block.source, source) and _holds(block.target, target):
            pairs.append((source, target))
            hashes |= {one.hash, one.target_hash}
    return replace(block, altered=tuple(pairs), hashes=frozenset(hashes))


def _overlapping(blocks: Iterable[ReadAgain]) -> list[list[ReadAgain]]:
    """Group blocks, given in order, that overlap."""
    found: list[list[ReadAgain]] = []
    source_until = target_until = 0
    for one in blocks:
        if found and (one.source.first < source_until or one.target.first < target_until):
            found[-1].append(one)
            source_until = max(source_until, one.source.until)
            target_until = max(target_until, one.target.until)
        else:
            found.append([one])
            source_until, target_until = one.source.until, one.target.until
    return found


def _joined(blocks: Sequence[ReadAgain]) -> ReadAgain:
    return replace(
        blocks[0],
        source=spanned(*(one.source for one in blocks)),
        target=spanned(*(one.target for one in blocks)),
        cells=frozenset[tuple[int, int]]().union(*(one.cells for one in blocks)),
        hashes=frozenset[int]().union(*(one.hashes for one in blocks)),
        certain=any(one.certain for one in blocks),
        lacking=sum(one.lacking for one in blocks),
        surplus=sum(one.surplus for one in blocks),
    )


def spanned(*ranges: OffsetRange) -> OffsetRange:
    """Return the smallest range that holds all of these."""
    return OffsetRange(min(one.first for one in ranges), max(one.until for one in ranges))
