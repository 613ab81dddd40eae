"""A digest that is gone on with tells of the slices before what it would have told of its own."""

from __future__ import annotations

from checksum.digest.cell_rows import Side
from checksum.digest.coverage import SliceRow
from checksum.digest.side import SideDigest
from checksum.plan.places import places_of
from checksum.plan.shape import OffsetRange, PartitionPlan, Plan, TopicPlan


class Folder:
    path = "digest"

    def slices(self):
        return [
            SliceRow(0, "orders", 0, 0, 50, 0, 0, None, None, 1, 30),
            SliceRow(0, "orders", 1, 0, 30, 30, 900, 0, 29, 1, 30),
            SliceRow(1, "orders", 0, 50, 60, 10, 300, 50, 59, 1, 10),
        ]


def test_silent_stretches_of_slices_before_are_told_to_be_looked_at():
    parts = tuple(
        PartitionPlan(number, OffsetRange(0, 100), OffsetRange(0, 100), (), (), "offset syncs")
        for number in (0, 1)
    )
    topic = TopicPlan(
        "orders", "A.orders", "S", "T", headers=True, timestamps=True, compacted=False, partitions=parts
    )
    plan = Plan("A->B", "A", "B", 0, 4, 1000, "", "", (), (topic,), ())
    work = SideDigest(
        None,
        plan,
        Side.SOURCE,
        places=places_of(plan, Side.SOURCE),
        cluster=None,
        folder=Folder(),
        clock=None,
        pause=None,
    )
    before = next(work.run())
    assert (before.offsets, before.records, before.empty_ranges) == (90, 40, (("orders", 0, 0, 50),))
