"""A digest is whole when its slices cover the plan exactly; anything else is said in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.digest.cell_rows import Side
from checksum.digest.coverage import SliceRow, Stamp, coverage_gap, remaining, stamp_mismatch
from checksum.plan.pacing import Stretch
from checksum.plan.places import places_of
from tests.checksum.plan.test_places import partition, plan, topic

PLACES = places_of(plan(topic(partition(0), partition(1, source=(0, 5)))), Side.SOURCE)


def read(number, first, until, *, name="t", number_of_partition=0):
    return SliceRow(number, name, number_of_partition, first, until, until - first, 0, first, until - 1, 0, 0)


WHOLE = [read(0, 10, 60), read(0, 0, 5, number_of_partition=1)]


def test_nothing_is_left_of_a_whole_digest():
    assert remaining(PLACES, WHOLE) == []
    assert coverage_gap(PLACES, WHOLE) is None


def test_what_no_slice_has_read_is_left_in_order():
    slices = [read(1, 20, 30), read(0, 10, 15), read(2, 55, 60)]
    assert remaining(PLACES, slices) == [Stretch(0, 15, 20), Stretch(0, 30, 55), Stretch(1, 0, 5)]
    assert coverage_gap(PLACES, slices) == (
        "incomplete digest: 35 offsets in 3 ranges are missing, first t-0 from 15 to 19; digest this side "
        "again, it continues where it stopped"
    )


@pytest.mark.parametrize(
    ("slices", "told"),
    [
        ([read(0, 10, 60), read(1, 59, 60)], "slice 1 contains t-0 from 59 to 59, which is in another slice"),
        (
            [read(0, 10, 61)],
            "slice 0 contains t-0 from 10 to 60, which is in another slice or not in the plan",
        ),
        ([read(0, 9, 60)], "slice 0 contains t-0 from 9 to 59"),
        ([read(0, 30, 30)], "slice 0 contains t-0 from 30 to 29"),
        ([read(0, 10, 60, name="u")], "contains u-0, which is not in the plan"),
    ],
)
def test_slices_that_cannot_be_of_the_plan_are_told(slices, told):
    assert told in str(coverage_gap(PLACES, slices))


@given(st.sets(st.integers(11, 59)), st.data())
def test_what_is_left_and_what_was_read_are_the_plan(cuts, data):
    edges = [10, *sorted(cuts), 60]
    pieces = [read(number, *edges[number : number + 2]) for number in range(len(edges) - 1)]
    kept = data.draw(st.lists(st.sampled_from(pieces), unique=True))
    left = remaining(PLACES, kept)
    assert not isinstance(left, str)
    offsets = [one for row in kept for one in range(row.first, row.until)]
    offsets += [one for stretch in left if stretch.place == 0 for one in range(stretch.first, stretch.until)]
    assert sorted(offsets) == list(range(10, 60))


STAMP = Stamp("a" * 64, 1, Side.SOURCE)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (("a" * 64, 1, "source"), None),
        (("a" * 64, 2, "source"), "unsupported version 2, this release uses 1; digest again"),
        (("b" * 64, 1, "source"), "digest of plan bbbbbbbbbbbb, not of plan aaaaaaaaaaaa"),
        (("a" * 64, 1, "target"), "digest of the target, not of the source; name the other"),
        ((None, None, None), "unsupported version None"),
    ],
)
def test_a_foreign_digest_is_told(found, told):
    said = stamp_mismatch(STAMP, *found)
    assert said is None if told is None else told in str(said)
