"""Windows of records: all that was asked for, in as many answers as large records take."""

from __future__ import annotations

import pytest

from checksum.anchors import reading as anchor_reading
from checksum.anchors.reading import Side
from tests.checksum.pretend_clusters import Clusters, PretendReader
from tests.checksum.pretend_mirror import MARKER, Mirrored


class OfLargeRecords(PretendReader):
    """Answers with four records at a time, as a picker does with those of 250 kB."""

    questions = 0

    def pick(self, wanted):
        self.questions += 1
        return super().pick({place: (first, min(count, 4)) for place, (first, count) in wanted.items()})


def mirror(count, *, markers=()):
    mirrored = Mirrored()
    mirrored.write(count)
    for at in markers:
        mirrored.source.records[at] = MARKER
    mirrored.copy()
    mirrored.flush()
    return mirrored


def side(reader):
    return Side(reader, {"t": "t"}, frozenset())


@pytest.mark.parametrize(
    ("first", "count", "offsets"),
    [
        (0, 10, range(10)),
        (0, 4, range(4)),
        (95, 10, range(95, 100)),
        (100, 10, ()),
        (3, 6, [3, 4, 5, 8, 9, 10]),  # 6 and 7 hold no record
    ],
)
def test_a_window_of_large_records_comes_in_several_answers(first, count, offsets):
    markers = (6, 7) if first == 3 else ()
    reader = OfLargeRecords({("t", 0): mirror(100, markers=markers).source})
    found = side(reader).windows({("t", 0): (first, count)})
    assert [record.offset for record in found["t", 0]] == list(offsets)


def test_a_place_that_has_answered_is_not_asked_again():
    logs = {("t", 0): mirror(100).source, ("t", 1): mirror(3).source}
    reader = OfLargeRecords(logs)
    found = side(reader).windows({("t", 0): (0, 12), ("t", 1): (0, 12)})
    assert [len(found["t", number]) for number in (0, 1)] == [12, 3]
    assert (reader.questions, reader.picked) == (3, 15)


def test_of_large_records_no_more_come_than_it_takes():
    reader = OfLargeRecords({("t", 0): mirror(100).source})
    assert len(side(reader).windows({("t", 0): (0, 400)})["t", 0]) == 40
    small = PretendReader({("t", 0): mirror(100).source})
    assert len(side(small).windows({("t", 0): (0, 400)})["t", 0]) == 100


def test_so_many_questions_are_asked_and_no_more(monkeypatch):
    monkeypatch.setattr(anchor_reading, "MOST_QUESTIONS", 3)
    reader = OfLargeRecords({("t", 0): mirror(100).source})
    assert len(side(reader).windows({("t", 0): (0, 400)})["t", 0]) == 12
    assert reader.questions == 3


def test_a_partition_of_large_records_is_compared_without_offset_syncs():
    clusters = Clusters({("t", 0): mirror(100)})
    clusters.source = OfLargeRecords(clusters.source.logs)
    clusters.target = OfLargeRecords(clusters.target.logs)
    plan = clusters.plan(pairs=lambda _topic, _partition: ())
    (held,) = plan.topics[0].partitions
    assert (held.source.span, held.target.span, plan.left_out) == (100, 100, ())
