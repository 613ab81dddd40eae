"""Records that retention deleted before the mirror had an offset of their partition."""

from __future__ import annotations

import pytest

from fleet.mm2.handling import Handling
from lagmon.mirrors.answers.rows import flow_document
from lagmon.mirrors.verdict import judge_flow
from tests.lagmon.mirror_flows import Mirrored
from tests.lagmon.snapshots.test_flow import note_ids, restarted

NEW = ("orders", 1)


class Added(Mirrored):
    """A partition is added to a busy topic with a short log; the mirror reads it once `finds` is true."""

    def __init__(self, **flow):
        super().__init__({"orders": 1}, refresh_topics_interval_s=600.0, **flow)
        self.finds, self.next, self.keeps, self.stores, self.markers = False, 0, 1000, True, False
        self.poll()
        self.go(60, each=self.second)
        self.a.note_topics({"orders": 2})
        self.b.note_topics({"A.orders": 2})
        self.ends[NEW], self.target_ends["A.orders", 1] = 0, 0

    def second(self):
        self.write(10)
        self.commit()
        if NEW not in self.ends:
            return
        self.ends[NEW] += 10
        self.starts[NEW] = max(self.starts.get(NEW, 0), self.ends[NEW] - self.keeps)
        if self.finds:
            self.next = max(self.next, self.starts[NEW])
            self.target_ends["A.orders", 1] += (self.ends[NEW] - self.next) // (1 + self.markers)
            self.next = self.ends[NEW]
            if self.stores:
                self.commit(partition=1)

    def found(self):
        return [(one.proved, one.records, one.records_most) for one in self.snapshot().findings]

    @property
    def total(self):
        return self.flow.detectors.retention.total["orders"]


def test_records_of_a_new_partition_that_are_deleted_before_the_mirror_finds_it_are_lost():
    one = Added()
    one.go(500, each=one.second)
    assert one.found() == [(False, 0, 4000)]  # the mirror may leave it out
    (suspected,) = one.snapshot().findings
    assert "the mirror had stored no offset of it" in suspected.sentence
    assert one.total == 0
    one.finds = True
    one.go(120, each=one.second)
    ((proved, least, most),) = one.found()
    assert (proved, 1000 < least <= 4000 <= most <= 4200) == (True, True)
    assert one.total == least
    snapshot = one.snapshot()
    document = flow_document(one.flow, snapshot, judge_flow(one.flow, snapshot), since_ms=one.now)
    assert [row["written_offset"] for row in document["overtaken"]] == [None]
    one.go(300, each=one.second)
    assert (one.found(), one.total) == ([(proved, least, most)], least)


def test_what_is_deleted_after_a_mirror_has_replicated_it_is_not_lost():
    one = Added()
    one.finds, one.stores, one.keeps = True, False, 100  # it stores its first offset late
    one.go(60, each=one.second)
    assert [proved for proved, *_ in one.found()] == [False]
    one.stores = True
    one.go(200, each=one.second)
    assert (one.found(), one.total) == ([], 0)


@pytest.mark.parametrize(
    "flow", [{"isolation_level": "read_committed"}, {"handling": Handling(drops=("some",))}]
)
def test_nothing_is_proved_where_the_mirror_may_leave_out_any_number_of_records(flow):
    one = Added(**flow)
    one.go(500, each=one.second)
    one.finds = True
    one.go(120, each=one.second)
    assert (one.found(), one.total) == ([(False, 0, 4200)], 0)


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_markers_of_transactions_are_not_lost_records(isolation_level):
    one = Added(isolation_level=isolation_level)
    one.finds, one.stores, one.keeps, one.markers = True, False, 100, True
    one.go(60, each=one.second)
    one.stores = True
    one.go(200, each=one.second)
    assert [proved for proved, *_ in one.found() if proved] == []
    assert one.total == 0


def test_a_log_start_that_is_read_after_the_first_offset_counts_too():
    one = Added()
    one.go(300, each=one.second, poll=1 << 30)
    read = one.starts.pop(NEW)  # log starts are read once a minute
    one.keeps = 1 << 30
    one.poll()
    one.snapshot()
    one.next, one.finds = read, True
    one.go(20, each=one.second)
    assert one.found() == []
    one.starts[NEW] = read
    one.go(60, each=one.second)
    ((proved, least, most),) = one.found()
    assert (proved, 0 < least <= read == most) == (True, True)


@pytest.mark.parametrize("flow", [{"offset_reset": "latest"}, {"lag_from": "group", "group": "g"}])
def test_nothing_is_expected_of_a_mirror_that_starts_at_the_log_end_or_has_other_partitions(flow):
    one = Added(**flow)
    one.go(500, each=one.second)
    assert one.found() == []


def test_the_first_log_start_is_known_over_a_restart_and_not_that_of_another_log():
    one = Added()
    one.go(300, each=one.second)
    note_ids(one, "one", "copy")
    again = restarted(one)
    again.__class__ = Added
    again.go(200, each=again.second)
    assert again.found() == [(False, 0, 4000)]
    again.finds = True
    again.go(120, each=again.second)
    third = restarted(again)
    third.poll()
    assert [third.snapshot().findings[0].records, third.flow.detectors.retention.total["orders"]] == [
        again.total
    ] * 2
    note_ids(one, "two", "copy")
    assert one.flow.first_offsets.starts == {}
