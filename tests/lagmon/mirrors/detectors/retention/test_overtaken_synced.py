"""Records that retention deleted unread, counted by offset syncs: right to a record or two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.verdicts.vocabulary import Cause
from tests.lagmon.mirror_flows import Mirrored, S

SYNC_EVERY = 100  # MirrorMaker's offset.lag.max


class Synced:
    """A mirror of one partition that writes offsets each minute, and a sync at each gap and each 100 records.

    Of each `each` offsets of the source the last is a transaction's marker, of none where that is 0.
    """

    def __init__(self, *, syncs=True, seen=7, each=0, **flow):
        self.one = Mirrored({"orders": 1}, flush_s=60.0, **flow)
        self.one.poll()
        self.syncs, self.seen_late_s, self.each = syncs, seen, each
        self.next = self.synced = self.second = 0
        self.previous = None
        self.runs, self.lost = True, 0
        self.markers_lost = 0  # of the offsets that are lost

    @property
    def target_end(self):
        return self.one.target_ends["A.orders", 0]

    def copy(self, to):
        """Copy all up to an offset; where the log begins later, what is before that is lost."""
        start = self.one.starts.get(("orders", 0), 0)
        if start > self.next:
            self.lost += start - self.next
            self.markers_lost += start // self.each - self.next // self.each if self.each else 0
            self.next = start
        while self.next < to:
            marker = self.each - 1 - self.next % self.each if self.each else to
            if not marker:
                self.next += 1
                continue
            if self.previous != self.next - 1 or self.target_end >= self.synced + 1 + SYNC_EVERY:
                self.sync()
            count = min(to - self.next, marker, self.synced + 1 + SYNC_EVERY - self.target_end)
            self.next += count
            self.previous = self.next - 1
            self.one.target_ends["A.orders", 0] += count

    def sync(self):
        self.synced = self.target_end
        if self.syncs:
            self.one.flow.syncs.note("orders", 0, upstream=self.next, downstream=self.synced, live=True)

    def poll(self, lag, name, end, *, start=None):
        place = np.array([lag.places.of(name)[0]], np.int32)
        lag.note_polled(place, np.array([end]), np.array([end]), self.one.now, read_ms=self.one.now)
        if start is not None:
            lag.heads.note_starts(place, np.array([start]))

    def go(self, seconds, rate, *, commits=True):
        """Let records come; the source is looked at so many seconds after its copy, so looks are never exact."""
        one = self.one
        for _ in range(seconds):
            self.second += 1
            one.now += S
            one.ends["orders", 0] += rate
            if self.runs:
                self.copy(one.ends["orders", 0])
                if commits and self.second % 60 == 0:
                    one.commit(to=self.next)
            if self.second % 10 == 0:
                self.poll(one.b, "A.orders", self.target_end)
            if self.second % 10 == self.seen_late_s:
                self.poll(one.a, "orders", one.ends["orders", 0], start=one.starts.get(("orders", 0), 0))
            one.flow.read_to_ms = one.b.listed_ms = one.now
            if self.second % 10 == 9:
                one.snapshot()
        return self

    def compact(self):
        """Let the topic be one that is compacted, as soon as it is known."""
        self.go(9, 75)
        self.one.flow.note_settings("A", "orders", {"cleanup.policy": "compact,delete"})
        return self

    def freeze_and_delete(self, *, rate, stands_s, kept, fetched=0):
        """Freeze the mirror, delete all but the newest `kept` of the records that it has not copied, thaw it.

        It copies first what it had fetched already.
        """
        self.runs = False
        self.go(stands_s, rate)
        starts = {("orders", 0): max(0, self.one.ends["orders", 0] - kept)}
        self.one.starts = starts
        self.go(20, rate)
        self.one.starts = {}
        self.copy(self.next + fetched)
        self.one.starts = starts
        self.runs = True
        return self

    @property
    def counted(self):
        return self.one.flow.detectors.retention.total["orders"]


@pytest.mark.parametrize(("syncs", "within"), [(True, 3), (False, 1500)])
def test_a_loss_of_seconds_is_counted_by_syncs_where_polls_leave_it_open(syncs, within):
    one = Synced(syncs=syncs).go(400, 75)
    one.freeze_and_delete(rate=75, stands_s=190, kept=190 * 75 - 400)
    one.go(400, 75)
    assert one.lost > 300
    assert one.lost - within <= one.counted <= one.lost
    told_of = next(found for found in one.one.snapshot().findings if found.code is Cause.OVERTAKEN)
    assert told_of.records <= one.lost <= told_of.records_most
    assert (one.counted == 0) is not syncs


@given(
    st.integers(1, 300),
    st.tuples(st.integers(130, 500), st.integers(125, 400)),
    st.integers(0, 100_000),
    st.integers(1, 9),
    st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_never_more_is_counted_than_was_lost_and_hardly_less(rate, seconds, kept, seen, twice):
    before_s, stands_s = seconds
    one = Synced(seen=seen).go(before_s, rate)
    for _ in range(1 + twice):
        one.freeze_and_delete(rate=rate, stands_s=stands_s, kept=kept)
        one.go(240, rate)
    assert one.counted <= one.lost
    if rate * before_s > 1000:
        assert one.counted >= one.lost - 4 * (1 + twice)


@given(
    st.integers(1, 300),
    st.tuples(*(st.sampled_from([0, 2, 3, 50, 1000]) for _ in range(3))),
    st.integers(125, 400),
    st.integers(0, 100_000),
)
@settings(max_examples=15, deadline=None)
def test_markers_are_counted_as_no_loss_however_their_number_changes(rate, each, stands_s, kept):
    one = Synced(each=each[0]).go(203, rate)
    one.each = each[1]
    one.go(37, rate)
    one.freeze_and_delete(rate=rate, stands_s=stands_s, kept=kept)
    one.each = each[2]
    one.go(240, rate)
    assert one.counted <= one.lost


def test_a_mirror_that_was_killed_and_replicates_some_of_it_again_lost_nothing():
    one = Synced().go(400, 75)
    one.runs = False
    one.one.starts = {("orders", 0): one.next - 500}
    one.go(190, 75)
    one.next, one.previous = (
        one.one.starts["orders", 0],
        None,
    )  # it goes on from its offset, and the log's start
    one.runs = True
    one.go(400, 75)
    assert (one.lost, one.counted) == (0, 0)


@pytest.mark.parametrize("ahead", [50_000, 5000, -5000])
def test_syncs_of_another_mirror_prove_nothing_that_the_polls_leave_no_room_for(ahead):
    one = Synced(syncs=False).go(400, 75)
    for at in range(6000, one.next, 100):
        one.one.flow.syncs.note("orders", 0, upstream=at, downstream=at + ahead, live=True)
    one.freeze_and_delete(rate=75, stands_s=190, kept=190 * 75 - 400)
    for at in range(one.one.ends["orders", 0], one.one.ends["orders", 0] + 500, 100):
        one.one.flow.syncs.note("orders", 0, upstream=at, downstream=at - 40_000, live=True)
    one.go(400, 75)
    assert one.counted == 0
    told_of = next(found for found in one.one.snapshot().findings if found.code is Cause.OVERTAKEN)
    assert (told_of.records, told_of.proved) == (0, False)
    assert told_of.records_most >= one.lost


def check_lost_records(one, *, within):
    """See that the offsets that were lost are known to so many, and the records between half of them and all.

    A marker ends one record at least, so that half of the offsets have a record where any are markers; of the
    first marker that may be one that was copied. How many more have one, nobody can tell of a log that is gone.
    """
    told_of = next(found for found in one.one.snapshot().findings if found.code is Cause.OVERTAKEN)
    offsets = told_of.last_offset - told_of.first_offset + 1
    assert one.lost - within <= offsets <= one.lost
    assert told_of.records == one.counted == (offsets // 2 if one.each else offsets)
    assert one.counted <= one.lost - one.markers_lost <= told_of.records_most <= one.lost + within
    assert (one.markers_lost > 0) is (one.each > 0)


@pytest.mark.parametrize("each", [0, 30])
def test_what_the_mirror_had_fetched_before_it_stood_is_not_lost(each):
    one = Synced(each=each).go(415, 75)
    one.freeze_and_delete(rate=75, stands_s=190, kept=190 * 75 - 1500, fetched=900)
    one.go(420, 75)
    assert 550 < one.lost < 700
    check_lost_records(one, within=40)


def test_syncs_of_another_mirror_hide_nothing_that_the_polls_prove():
    counted = []
    for foreign in (False, True):
        one = Synced(syncs=False).go(400, 75)
        one.freeze_and_delete(rate=75, stands_s=400, kept=400)
        at = one.one.ends["orders", 0]
        if foreign:
            one.one.flow.syncs.note("orders", 0, upstream=at, downstream=at - 100, live=True)
        one.go(400, 75)
        counted.append(one.counted)
    assert one.lost - 10_000 < counted[0] == counted[1] <= one.lost


@pytest.mark.parametrize("syncs", [True, False])
def test_markers_that_start_shortly_before_a_stall_are_counted_as_no_loss(syncs):
    one = Synced(syncs=syncs).go(415, 75)
    one.each = 5
    one.go(40, 75)
    stood = one.next
    one.runs = False
    one.go(190, 75)
    one.one.starts = {("orders", 0): stood - 500}  # what was deleted had been copied
    one.go(20, 75)
    one.runs = True
    one.go(420, 75)
    assert (one.lost, one.counted) == (0, 0)


def test_a_loss_is_counted_by_the_syncs_right_before_and_behind_it_among_many_markers():
    one = Synced(each=20).go(415, 75)
    one.freeze_and_delete(rate=75, stands_s=190, kept=190 * 75 - 400)
    one.go(420, 75)
    check_lost_records(one, within=10)


@pytest.mark.parametrize("why", ["aborted", "compacted"])
@pytest.mark.parametrize("gap", [30, 400])
def test_a_gap_of_any_length_that_the_mirror_had_passed_is_no_loss_by_its_syncs(why, gap):
    one = Synced(isolation_level="read_committed" if why == "aborted" else None)
    if why == "compacted":
        one.compact()
    one.go(400, 75)
    one.one.ends["orders", 0] += gap
    one.next += gap  # no record of it is copied, and no sync is written until the next one is
    one.runs = False
    one.go(190, 75)
    one.one.starts = {("orders", 0): one.next}
    one.go(60, 75)
    assert not [told for told in one.one.snapshot().findings if told.proved]
    one.runs = True
    one.go(400, 75)
    assert (one.lost, one.counted) == (0, 0)


def test_a_marker_behind_the_record_that_was_synced_last_is_no_loss():
    one = Synced(each=2).go(410, 20)
    one.runs = False
    one.go(190, 20)
    one.one.starts = {("orders", 0): one.next}
    one.go(60, 20)
    one.runs = True
    one.go(300, 20)
    assert (one.lost, one.counted) == (0, 0)


def test_of_a_topic_that_is_compacted_one_record_at_least_is_lost():
    one = Synced().compact().go(400, 75)
    one.freeze_and_delete(rate=75, stands_s=190, kept=190 * 75 - 4000)
    one.go(400, 75)
    told_of = next(told for told in one.one.snapshot().findings if told.code is Cause.OVERTAKEN)
    assert told_of.proved
    assert told_of.records == one.counted == 1
    assert told_of.records_most >= one.lost > 3000


def test_what_an_exactly_once_mirror_writes_beside_records_takes_no_loss_back():
    one = Synced(syncs=False, exactly_once=True)

    def go(seconds, *, runs=True):
        """Write an offset with each batch of a second, and the marker of its transaction."""
        one.runs = runs
        for _ in range(seconds):
            one.go(1, 10)
            if runs:
                one.one.target_ends["A.orders", 0] += 1
                one.one.commit(to=one.next)

    go(600)
    go(190, runs=False)
    one.one.starts = {("orders", 0): one.next + 1000}
    go(60, runs=False)
    proved = next(told.records for told in one.one.snapshot().findings if told.code is Cause.OVERTAKEN)
    assert 800 < proved <= 1000
    go(400)
    told_of = next(told for told in one.one.snapshot().findings if told.code is Cause.OVERTAKEN)
    assert one.lost == 1000
    assert one.counted == told_of.records == proved
    assert told_of.records_most >= 1000


def test_a_mirror_that_goes_on_at_the_logs_end_lacks_more_than_was_deleted():
    one = Synced(syncs=False, offset_reset="latest").go(400, 10)
    one.runs = False
    one.go(200, 10)
    one.one.starts = {("orders", 0): one.next + 500}
    one.go(60, 10)
    one.lost, one.next, one.previous = one.one.ends["orders", 0] - one.next, one.one.ends["orders", 0], None
    one.runs = True
    one.go(300, 10)
    told_of = next(told for told in one.one.snapshot().findings if told.code is Cause.OVERTAKEN)
    assert one.lost > 2000
    assert one.lost - 400 <= told_of.records <= one.lost <= told_of.records_most
    assert "with auto.offset.reset=latest the mirror continues at the log end" in told_of.sentence
