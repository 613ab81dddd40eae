"""The distance from a mirror's offset to its target's end: bounded by every poll, and exact when idle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.mirrors.target_ends.distance import DistanceBounds, PastPoll
from tests.lagmon.mirror_flows import Mirrored, S


class Followed:
    """A flow with the bounds of its first partition, whose copy ends `ahead` records past its offset."""

    def __init__(self, ahead=0):
        self.one, self.bounds, self.mirrored = Mirrored({"orders": 1}), DistanceBounds(), 0
        self.one.target_ends["A.orders", 0] = ahead
        self.one.poll()

    def copy(self, count):
        """Copy so many of what is there."""
        count = min(count, self.one.ends["orders", 0] - self.mirrored)
        self.mirrored += count
        self.one.target_ends["A.orders", 0] += count

    def copy_all(self, count):
        """Have so many records written, copied and committed."""
        self.one.write(count, copied=False)
        self.copy(count)
        self.commit()

    def rest(self):
        """Look three times while nothing happens."""
        for _ in range(3):
            self.wait(10)
            self.poll()

    def commit(self):
        if self.mirrored:
            self.one.commit(to=self.mirrored)

    def note(self):
        self.bounds.note(self.one.flow, self.one.snapshot().partitions)

    def poll(self):
        self.one.poll()
        self.note()

    def wait(self, seconds):
        self.one.now += int(seconds * S)

    def most_at(self, end):
        return self.bounds.most_at(self.one.flow, self.one.slot(), end)

    def found(self):
        slot = self.one.slot()
        span = None if slot is None else self.bounds.of(self.one.flow, slot)
        return None if span is None else (span.low, span.high)


def test_nothing_is_known_before_an_offset_with_a_poll_after_it():
    one = Followed()
    assert one.found() is None
    one.one.write(10, copied=False)
    one.copy(10)
    one.commit()
    one.note()
    assert one.found() is None
    for _ in range(2):
        one.wait(10)
        one.poll()
    assert one.found() == (0, 0)


@pytest.mark.parametrize("ahead", [0, 7, 1000])
def test_at_rest_it_is_one_number(ahead):
    one = Followed(ahead)
    one.copy_all(100)
    one.rest()
    assert one.found() == (ahead, ahead)


def test_polls_from_before_a_restart_bound_it_though_the_mirror_is_stalled_since():
    one = Followed(7)
    one.copy_all(20)
    one.rest()
    one.one.write(50, copied=False)  # of which it copies none
    for _ in range(30):
        one.wait(10)
        one.one.poll()
    one.bounds = DistanceBounds()
    one.note()
    assert one.found() == (7, 7)


def test_traffic_that_stopped_between_two_polls_does_not_mislead():
    # The copy's end goes along no line between two looks: all came at once, just after the first.
    one = Followed()
    for _ in range(6):
        one.poll()
        one.one.write(60, copied=False)
        one.copy(60)
        for _ in range(10):
            one.wait(1)
            one.commit()
    one.poll()
    one.wait(5)
    one.note()
    low, high = one.found()
    assert low <= 0 <= high
    one.wait(10)
    one.poll()
    one.wait(10)
    one.poll()
    assert one.found() == (0, 0)


@pytest.mark.parametrize(
    ("gaps", "records", "end", "most"),
    [
        (4, 800, 1000, 900),  # at the same end nothing came since
        (0, 0, 1000, 900),
        (0, 800, 9000, 8900),
        (4, 800, 1001, 902),  # 0.005, and twice its root of 0.07
        (4, 800, 1800, 1708),
        (4, 800, 1801, 1710),
        (0, 0, 1001, None),
        (4, 800, 999, None),  # it holds less than it did
    ],
)
def test_markers_come_no_more_often_than_they_may_have_come_before(gaps, records, end, most):
    assert PastPoll(900, 1000, gaps, records).most_at(end) == most


def test_where_the_mirror_was_at_most_is_reported_by_polls_at_the_same_end():
    one = Followed()
    one.copy_all(100)
    one.rest()
    assert one.most_at(100) == 100
    assert one.most_at(101) == 103  # each record may have a marker behind it, and one before
    one.copy_all(100)
    one.rest()
    assert one.most_at(250) == 250
    one.bounds.forget(one.one.slot())
    assert one.found() is None
    assert one.most_at(250) is None


def test_a_target_that_lacks_records_starts_again():
    one = Followed()
    one.copy_all(100)
    one.rest()
    one.one.write(50, copied=False)
    one.mirrored += 50  # the mirror left them out
    one.commit()
    one.rest()
    assert one.found() == (-50, -50)


def test_a_slot_of_another_partition_starts_again():
    one = Followed()
    one.copy_all(100)
    one.rest()
    one.one.flow.windows.forget("orders", 0)
    one.commit()
    one.wait(5)
    one.note()
    assert one.found() is None


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 500)),
        st.tuples(st.just("copy"), st.integers(1, 500)),
        st.tuples(st.just("commit"), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([0.2, 1.1, 5, 30])),
        st.tuples(st.just("poll"), st.none()),
        st.tuples(st.just("note"), st.none()),
    ),
    min_size=5,
    max_size=60,
)


@given(steps=STEPS, ahead=st.integers(0, 50))
@settings(max_examples=150, deadline=None)
def test_the_truth_is_always_within(steps, ahead):
    one = Followed(ahead)
    for what, value in steps:
        if what == "write":
            one.one.write(value, copied=False)
        elif what in ("copy", "wait"):
            getattr(one, what)(value)
        else:
            getattr(one, what)()
        found = one.found()
        assert found is None or found[0] <= ahead <= found[1]


def test_a_slot_of_another_partition_leaves_the_others_bounds_alone():
    one = Followed(7)
    one.copy_all(100)
    one.rest()
    assert one.found() == (7, 7)
    for second in range(150):  # never at rest again: looks that are looked back at tell less
        one.one.write(50, copied=False)
        one.copy(50)
        one.wait(1)
        if second % 5 == 0:
            one.commit()
        if second % 10 == 7:
            one.poll()
    one.one.flow.windows.take("added", 0, 5, one.one.now, live=True)
    one.wait(10)
    one.poll()
    assert one.found() == (7, 7)


def test_what_is_written_while_ends_are_read_bounds_no_poll():
    # The look begins at 0 s and reads at 6 s what came until then; an offset of 4 s is from before that.
    one = Followed()
    one.copy_all(100)
    one.wait(10)
    began = one.one.now
    for _ in range(6):
        one.wait(1)
        one.one.write(100, copied=False)
        one.copy(100)
        if one.one.now == began + 4 * S:
            one.commit()
    place, end = one.one.b.places.of("A.orders"), np.array([one.one.target_ends["A.orders", 0]])
    one.one.b.note_polled(np.array(place, np.int32), end, end, began, read_ms=one.one.now)
    one.note()
    one.wait(4)
    one.one.flow.read_to_ms = one.one.now
    one.note()
    one.wait(6)
    one.one.write(100, copied=False)
    one.copy(100)
    one.poll()
    low, high = one.found()
    assert low <= 0 <= high


def test_polls_are_not_bounded_by_offsets_that_are_read_in_part():
    one = Followed()
    one.copy_all(100)
    for _ in range(3):
        one.wait(10)
        one.one.poll()
    one.bounds, one.one.flow.read_to_ms = DistanceBounds(), -1
    one.note()
    assert one.found() is None
    one.wait(5)
    one.one.flow.read_to_ms = one.one.now
    one.note()
    assert one.found() == (0, 0)
