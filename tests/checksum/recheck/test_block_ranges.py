"""Which offsets are read again: blocks between cuts, joined where they reach into each other."""

from __future__ import annotations

import dataclasses
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from checksum.compare.differing_cells import Differing, PartitionCells
from checksum.compare.findings import ReadAgain, Single
from checksum.digest.cell_rows import CellKey, CellRow, Planned, Side
from checksum.plan.shape import OffsetRange, PartitionPlan, TopicPlan
from checksum.recheck import block_ranges
from checksum.recheck.block_ranges import blocks_to_read

SPAN = 200


def partition(cuts=(), *, until=SPAN):
    whole = OffsetRange(0, until)
    held = PartitionPlan(0, whole, whole, (), tuple((cut, cut) for cut in cuts), "offset syncs")
    topic = TopicPlan(
        "t", "A.t", "S", "T", headers=False, timestamps=True, compacted=False, partitions=(held,)
    )
    return PartitionCells(Planned(topic, held))


def undecoded(number, source, target, surplus=0):
    key = CellKey("t", 0, number // 4, number % 4)
    here, there = (
        CellRow(*key, 3 + more, *[0] * 10, *places) for more, places in ((0, source), (surplus, target))
    )
    return Differing(key, here, there)


def single(number, side, places):
    held = OffsetRange(places[0], places[1] + 1)
    return Single(side, "t", 0, 0, 0, number, 5, 1, held, held, None)


def one_by_one(blocks):
    """Join blocks as they come, each with what was joined before."""

    def put(found, one):
        before = found[-1] if found else None
        reaches = before and (
            one.source.first < before.source.until or one.target.first < before.target.until
        )
        return [*found[:-1], both(before, one)] if reaches else [*found, one]

    return reduce(put, sorted(blocks, key=lambda one: (one.source.first, one.target.first)), [])


def both(one, other):
    ends = (
        OffsetRange(min(here.first, there.first), max(here.until, there.until))
        for here, there in ((one.source, other.source), (one.target, other.target))
    )
    return ReadAgain(
        "t",
        0,
        *ends,
        one.why,
        one.cells | other.cells,
        one.hashes | other.hashes,
        certain=one.certain or other.certain,
        lacking=one.lacking + other.lacking,
        surplus=one.surplus + other.surplus,
    )


PLACES = st.tuples(st.integers(0, SPAN - 1), st.integers(0, 40)).map(
    lambda drawn: (drawn[0], min(sum(drawn), SPAN - 1))
)


@given(
    st.sets(st.integers(1, SPAN - 1), max_size=12),
    st.lists(st.tuples(PLACES, PLACES, st.integers(-3, 3)), max_size=8),
    st.lists(st.tuples(st.sampled_from(Side), PLACES), max_size=4),
    st.lists(st.tuples(PLACES, PLACES), max_size=3),
)
def test_blocks_are_those_of_each_difference_joined_one_by_one(cuts, open_cells, singles, moved):
    def read_again(*, undecoded=(), singles=(), moved=()):
        cells = partition(sorted(cuts))
        cells.undecoded += undecoded
        cells.moved += moved
        return blocks_to_read(cells, singles, [], "why")

    open_cells = [undecoded(number, *drawn) for number, drawn in enumerate(open_cells)]
    singles = [single(number, *drawn) for number, drawn in enumerate(singles)]
    moved = [undecoded(100 + number, *drawn) for number, drawn in enumerate(moved)]
    alone = [block for one in singles for block in read_again(singles=[one])]
    alone += [block for one in open_cells for block in read_again(undecoded=[one])]
    alone += [block for one in moved for block in read_again(moved=[one])]
    assert read_again(undecoded=open_cells, singles=singles, moved=moved) == one_by_one(alone)


def test_however_many_cells_of_a_block_differ_they_are_joined_at_once(monkeypatch):
    made = []

    def replace(one, **changes):
        made.append(changes)
        return dataclasses.replace(one, **changes)

    monkeypatch.setattr(block_ranges, "replace", replace)
    cells = partition(until=10_000)
    cells.undecoded += [
        undecoded(number, (number, number + 9), (number, number + 9)) for number in range(500)
    ]
    (block,) = blocks_to_read(cells, [], [], "why")
    assert (len(block.cells), block.lacking) == (500, 500)
    assert sum("cells" in changes for changes in made) == 1
