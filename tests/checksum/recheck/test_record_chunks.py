"""Stretches of a log are read whole, in order, and no further."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from checksum.digest.record_hash import Content, record_hash
from checksum.plan.shape import OffsetRange
from checksum.recheck import record_chunks
from tests.checksum.pretend_clusters import PretendReader
from tests.checksum.pretend_logs import Partition, plan_of
from tests.checksum.pretend_mirror import MARKER, Log, Record

PLACE = ("t", 0)


@given(
    gaps=st.lists(st.booleans(), min_size=8, max_size=24),
    start=st.integers(0, 8),
    first=st.integers(0, 26),
    span=st.integers(0, 26),
    at_once=st.integers(1, 9),
)
def test_every_record_of_a_stretch_comes_once(gaps, start, first, span, at_once):
    records = [MARKER if gap else Record(at, None, b"v", at) for at, gap in enumerate(gaps)]
    reader = PretendReader({PLACE: Log(records, min(start, len(records)))})
    with patch.object(record_chunks, "CHUNK_RECORDS", at_once):
        some = list(record_chunks.chunks(reader, PLACE, OffsetRange(first, first + span)))
    found = [one.offset for chunk in some for one in chunk]
    assert all(len(chunk) <= at_once for chunk in some)
    assert found == [
        at
        for at, record in enumerate(records)
        if record is not MARKER and at >= start and first <= at < first + span
    ]


def test_ranges_of_several_places_are_read_side_by_side():
    places = [(topic, number) for topic in ("t", "u") for number in range(2)]
    lengths = dict(zip(places, (5, 12, 0, 7), strict=True))
    reader = PretendReader(
        {place: Log([Record(at, None, b"v", at) for at in range(count)]) for place, count in lengths.items()}
    )
    asked = []
    pick = reader.pick
    reader.pick = lambda wanted: asked.append(len(wanted)) or pick(wanted)
    with patch.object(record_chunks, "CHUNK_RECORDS", 4):
        found = {place: [] for place in places}
        wanted = {place: OffsetRange(1, 10) for place in places}
        for place, some in record_chunks.chunks_of_several(reader, wanted):
            found[place] += [one.offset for one in some]
    assert found == {place: list(range(1, min(10, count))) for place, count in lengths.items()}
    assert asked == [4, 3, 1]


def test_hashes_are_those_of_the_digest():
    headers = (("trace", b"1"), ("kept", None))
    reader = PretendReader({PLACE: Log([Record(0, b"k", None, 77, headers), Record(1, None, b"v", 78)])})
    for timestamps in (True, False):
        plan = plan_of({"t": [Partition()]}, timestamps=timestamps)
        for kept in (True, False):
            topic = replace(plan.topics[0], headers=kept)
            (found,) = record_chunks.read_records(
                reader, {PLACE: OffsetRange(0, 9)}, {"t": topic}, plan
            ).values()
            assert [each.hash for each in found] == [
                record_hash(Content(b"k", None, 77, headers if kept else None), timestamps=timestamps),
                record_hash(Content(None, b"v", 78, None), timestamps=timestamps),
            ]
            assert [each.seen.has_headers for each in found] == [kept, False]


def test_headers_that_are_left_out_count_neither_for_the_hash_nor_for_likeness():
    one, other = (
        record_chunks.read_records(
            PretendReader({PLACE: Log([Record(0, b"k", b"v", 77, headers)])}),
            {PLACE: OffsetRange(0, 1)},
            {"t": plan.topics[0]},
            plan,
        )[PLACE][0]
        for plan in [replace(plan_of({"t": [Partition()]}), excluded_headers=("trace",))]
        for headers in ((("trace", b"1"), ("kept", None)), (("trace", b"2"), ("kept", None)))
    )
    assert (one.hash, one.seen.headers) == (other.hash, other.seen.headers)
