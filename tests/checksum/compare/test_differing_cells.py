"""What two cells that differ give away, and what they keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.compare import differing_cells as module
from checksum.compare.differing_cells import decoded
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content, record_hash
from checksum.plan.shape import OffsetRange
from tests.checksum.pretend_logs import Held, Partition, digest, plan_of

TIMES = [100 + number for number in range(40)]


def content(number):
    return Content(b"key-%d" % number, b"value", TIMES[number])


def log(*numbers, first=0):
    return [Held(first + place, content(number)) for place, number in enumerate(numbers)]


def compared(partition, *, cells=1, bucket_ms=1000, timestamps=True):
    topics = {"t": [partition]}
    plan = plan_of(topics, cells=cells, bucket_ms=bucket_ms, timestamps=timestamps)
    sides = [digest(topics, plan, side) for side in Side]
    return decoded(plan, *sides)["t", 0]


def only(items):
    (one,) = items
    return one


def test_equal_logs_match():
    found = compared(Partition(log(0, 1, 2), log(0, 1, 2, first=50), [(0, 50), (2, 52)]))
    assert found.matches
    assert (found.source_records, found.target_records) == (3, 3)


@pytest.mark.parametrize("timestamps", [True, False])
def test_a_record_that_lacks_is_told_with_its_time_and_where_it_can_stand(timestamps):
    found = compared(Partition(log(0, 1, 2, 3), log(0, 1, 3)), timestamps=timestamps)
    single = only(found.singles)
    assert single.side is Side.SOURCE
    assert single.hash == record_hash(content(2), timestamps=timestamps)
    assert single.timestamp_ms == (TIMES[2] if timestamps else None)
    assert (single.copies, single.offsets, single.others) == (1, OffsetRange(0, 4), OffsetRange(0, 3))
    assert single.source_place is None
    assert single.offset is None
    assert not found.moved + found.undecoded


def test_a_record_alone_in_its_cell_is_told_with_its_offset():
    found = compared(Partition(log(0, 1, 2, 3), log(0, 1, 3)), bucket_ms=1)
    single = only(found.singles)
    assert single.offset == 2
    assert single.others is None


def test_sums_of_offsets_and_the_distances_tell_where_it_likely_is():
    # Offsets 0, 90 and 100 with their copies at 1000 and 1099: it lacks, with two others in its cell.
    source = [Held(offset, content(number)) for offset, number in ((0, 0), (90, 5), (100, 19))]
    target = [Held(offset, content(number)) for offset, number in ((1000, 0), (1099, 19))]
    single = only(compared(Partition(source, target, [(0, 1000), (100, 1099)])).singles)
    # 190 of offsets, less 2099 of their copies, and twice a distance of 999 or 1000.
    assert single.likely == OffsetRange(89, 92)
    assert single.offsets == OffsetRange(0, 101)


def test_sums_of_offsets_tell_where_an_extra_record_likely_is():
    source = [Held(offset, content(number)) for offset, number in ((0, 0), (100, 19))]
    target = [Held(offset, content(number)) for offset, number in ((1000, 0), (1090, 5), (1101, 19))]
    single = only(compared(Partition(source, target, [(0, 1000), (100, 1101)])).singles)
    # 3191 of copies, less 100 of offsets, and less twice a distance of 1000 or 1001.
    assert single.likely == OffsetRange(1089, 1092)
    assert single.offsets == OffsetRange(1000, 1102)


@given(
    st.integers(1, 38),
    st.lists(st.integers(0, 39), max_size=5),
    st.integers(0, 99),
    st.sampled_from([7, 1000]),
    st.sampled_from([1, 3]),
)
def test_a_single_loss_is_where_it_likely_is(number, at, first, bucket_ms, cells):
    rest = [one for one in range(40) if one != number]
    anchors = [(one, first + rest.index(one)) for one in sorted({0, 39, *at} - {number})]
    lost = Partition(log(*range(40)), log(*rest, first=first), anchors)
    single = only(compared(lost, bucket_ms=bucket_ms, cells=cells).singles)
    assert single.likely.first <= number < single.likely.until
    assert single.likely.span <= (single.others.span if single.others else 0) + 1


def test_a_record_that_is_too_many_is_told_by_its_offset_on_the_target():
    found = compared(Partition(log(0, 1), log(0, 1, 0, first=5)), bucket_ms=1)
    single = only(found.singles)
    assert single.side is Side.TARGET
    assert (single.hash, single.copies) == (record_hash(content(0)), 1)
    assert single.offsets == OffsetRange(5, 8)
    assert single.others == OffsetRange(0, 1)


def test_the_same_record_several_times_is_told_with_how_often():
    single = only(compared(Partition(log(0, 1), log(0, 1, 1, 1))).singles)
    assert (single.copies, single.hash) == (2, record_hash(content(1)))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([0, 1, 2], [0]),  # two lack
        ([0, 1], [0, 2]),  # one lacks and another is too many
        ([0, 1], [0, 2, 3]),
        ([0, 1, 2], [3, 4]),
        ([0, 0, 1], []),
    ],
)
def test_several_differences_in_a_cell_are_not_taken_for_one(source, target):
    found = compared(Partition(log(*source), log(*target)))
    assert not found.singles
    cell = only(found.undecoded)
    assert cell.surplus == len(target) - len(source)
    assert cell.offsets(Side.SOURCE) == OffsetRange(0, len(source))
    assert cell.offsets(Side.TARGET) == (OffsetRange(0, len(target)) if target else None)


@pytest.mark.parametrize(
    "name", ["h_low", "h_high", "g_low", "g_high", "third_low", "third_high", "time_sum", "cell"]
)
@pytest.mark.parametrize("by", [1, -1, 1 << 32])
def test_a_record_is_told_only_where_everything_fits_together(name, by):
    topics = {"t": [Partition(log(0, 1, 2), log(0, 2))]}
    plan = plan_of(topics, cells=7, bucket_ms=1)
    source, target = (digest(topics, plan, side) for side in Side)
    (alone,) = [row for key, row in source.items() if key not in target]
    changed = alone._replace(**{name: getattr(alone, name) + by})
    rest = {key: row for key, row in source.items() if row is not alone}
    found = decoded(plan, {**rest, changed.key: changed}, target)["t", 0]
    assert not found.singles
    assert len(found.undecoded) == 1


def test_copies_of_one_record_have_one_time():
    topics = {"t": [Partition(log(0), log(0, 1, 1))]}
    plan = plan_of(topics, cells=1, bucket_ms=1000)
    source, target = (digest(topics, plan, side) for side in Side)
    ((key, row),) = target.items()
    assert decoded(plan, source, target)["t", 0].singles
    assert not decoded(plan, source, {key: row._replace(time_sum=row.time_sum + 1)})["t", 0].singles


def test_within_a_run_the_order_sums_prove_the_place():
    altered = Partition(log(*range(20)), log(*range(20), first=30), [(0, 30), (19, 49)])
    altered.target[7] = Held(37, Content(b"other", b"value", TIMES[25]))
    found = compared(altered, cells=2, bucket_ms=20)
    places = {single.side: (single.source_place, single.offset) for single in found.singles}
    assert places == {Side.SOURCE: (7, 7), Side.TARGET: (7, 37)}
    assert not found.moved


def test_places_are_looked_for_only_so_long(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRIES", 0)
    altered = Partition(log(*range(20)), log(*range(20), first=30), [(0, 30), (19, 49)])
    altered.target[7] = Held(37, Content(b"other", b"value", TIMES[25]))
    found = compared(altered, cells=2, bucket_ms=20)
    assert [single.source_place for single in found.singles] == [None, None]
    assert len(found.moved) == 2  # not explained, so nothing is said of the order


@pytest.mark.parametrize("bucket_ms", [1, 5, 1000])
def test_records_that_changed_places_within_a_run_are_moved(bucket_ms):
    swapped = Partition(log(0, 1, 2, 3), log(0, 2, 1, 3), [(0, 0), (3, 3)])
    found = compared(swapped, bucket_ms=bucket_ms)
    assert found.moved
    assert not found.singles + found.undecoded


def test_outside_runs_the_order_is_not_told():
    assert compared(Partition(log(0, 1, 2, 3), log(0, 2, 1, 3))).matches


def test_a_partition_without_gaps_is_dense():
    assert compared(Partition(log(0, 1), log(0, 1))).dense
    assert not compared(Partition(log(0, 1), [Held(0, content(0)), Held(2, content(1))])).dense


@given(st.integers(0, 39), st.sampled_from([1, 3, 16]), st.sampled_from([7, 1000]))
def test_any_single_loss_is_told(number, cells, bucket_ms):
    rest = [one for one in range(40) if one != number]
    single = only(compared(Partition(log(*range(40)), log(*rest)), cells=cells, bucket_ms=bucket_ms).singles)
    assert (single.hash, single.timestamp_ms) == (record_hash(content(number)), TIMES[number])
    assert single.offsets.first <= number < single.offsets.until
