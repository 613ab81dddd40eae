"""By how much the clocks of writers differ from ours, whatever a record tells and however late it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.logs.writer_clocks import WriterClocks
from tests.lagmon.mirror_flows import NOW, S

FLUSH_MS = 60 * S
ABSURD = [0, 5, NOW - 3_600 * S, NOW + 3_600 * S, 4_102_444_800_000, (1 << 63) - 1]


def read(clocks, what, *, ahead_ms=0, late_ms=0, times=1, began_ms=NOW):
    """Have a writer whose clock is so far ahead write so many records, each read so late."""
    for number in range(times):
        written_ms = began_ms + number * FLUSH_MS
        clocks.note(what, written_ms + ahead_ms, written_ms + late_ms)


def test_nothing_is_known_of_what_was_never_read():
    assert WriterClocks().difference_ms("a") == 0


def test_two_writers_with_clocks_of_their_own_do_not_spoil_each_other():
    clocks = WriterClocks()
    for number in range(10):
        began_ms = NOW + number * FLUSH_MS
        read(clocks, "a", ahead_ms=120 * S, late_ms=30 + number, began_ms=began_ms)
        read(clocks, "b", late_ms=40 + number, began_ms=began_ms)
    assert (clocks.difference_ms("a"), clocks.difference_ms("b")) == (-120 * S + 30, 40)


@pytest.mark.parametrize("ahead_ms", [-120 * S, 120 * S])
def test_a_partition_that_goes_to_another_worker_is_of_its_clock_from_the_second_record_on(ahead_ms):
    clocks = WriterClocks()
    read(clocks, "a", ahead_ms=0, times=20)
    read(clocks, "a", ahead_ms=ahead_ms, times=2, began_ms=NOW + 20 * FLUSH_MS)
    assert clocks.difference_ms("a") == -ahead_ms


@pytest.mark.parametrize("absurd", ABSURD)
def test_one_absurd_time_among_many_counts_for_nothing(absurd):
    clocks = WriterClocks()
    read(clocks, "a", late_ms=20, times=3)
    clocks.note("a", absurd, NOW + 3 * FLUSH_MS)
    assert clocks.difference_ms("a") == 20
    read(clocks, "b", late_ms=30)
    assert clocks.difference_ms("b") == 20


@given(late=st.lists(st.integers(0, 9 * S), min_size=1, max_size=40), ahead_ms=st.integers(-(10**7), 10**7))
def test_the_freshest_lately_tells_the_difference_however_late_the_others_were_read(late, ahead_ms):
    clocks = WriterClocks()
    for number, late_ms in enumerate(late):
        what = f"partition {number % 3}"
        read(clocks, what, ahead_ms=ahead_ms, late_ms=late_ms, began_ms=NOW + number * S)
        assert clocks.difference_ms(what) + ahead_ms == min(late[: number + 1])


@given(times=st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 1 << 62)), max_size=400))
def test_what_is_kept_is_bounded_whatever_records_tell(times):
    clocks = WriterClocks()
    for what, told_ms in times:
        clocks.note(what, told_ms, NOW)
        assert isinstance(clocks.difference_ms(what), int)
    assert len(clocks._least_ms) <= 256
    assert len(clocks._behind_ms) <= 4


def test_what_is_forgotten_is_as_what_was_never_read():
    clocks = WriterClocks()
    read(clocks, "a", ahead_ms=60 * S, times=3)
    clocks.forget("a")
    clocks.forget("a")
    assert clocks.difference_ms("a") == 0


def test_a_clock_that_is_set_right_is_believed_after_an_hour_at_most():
    clocks = WriterClocks()
    read(clocks, "a", ahead_ms=5 * S, times=3)  # too little for another clock
    read(clocks, "a", times=3, began_ms=NOW + 7_200 * S)
    assert clocks.difference_ms("a") == 0
