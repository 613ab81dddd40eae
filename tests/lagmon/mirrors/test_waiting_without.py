"""Partitions without an offset of the mirror: a record waits, a transaction marker does not."""

from __future__ import annotations

import pytest

from fleet.mm2.handling import Handling
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.logs.readable import MOST_OFFSETS
from tests.lagmon.mirror_flows import Mirrored, told


def quiet(*, record=False, offsets=1, **flow):
    """Return a flow whose topic `orders` goes on, and `marked` has a few idle offsets from the start."""
    one = Mirrored({"orders": 1, "marked": 1}, refresh_topics_interval_s=60.0, **flow)
    one.write(offsets, "marked", record=record, copied=False)
    one.poll()
    return one


def goes_on(one, seconds):
    """Return each verdict and its number of findings, every ten seconds."""
    said = []

    def each():
        one.write(10)
        one.commit()

    for _ in range(seconds // 10):
        one.go(10, each=each)
        verdict = one.verdict()
        said.append((verdict.verdict, verdict.cause, len(one.snapshot().findings)))
    return said


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("lag_from", ["connect-offsets", "offset-syncs"])
def test_a_partition_of_a_marker_alone_waits_for_nothing(isolation, lag_from):
    one = quiet(isolation_level=isolation, lag_from=lag_from)
    said = goes_on(one, 1000)
    assert {each[:2] for each in said[12:]} == {(Verdict.HEALTHY, None)}
    assert one.flow.partitions_without() == [("marked", 0, 0)]


@pytest.mark.parametrize("drops", [(), ("Filter",)])
def test_a_marker_is_neither_filtered_nor_lost(drops):
    said = goes_on(quiet(handling=Handling(drops=drops)), 1000)
    assert Verdict.LOSING not in {verdict for verdict, *_ in said}
    assert {count for *_, count in said} == {0}


def test_a_record_waits_also_in_an_idle_log():
    one = quiet(record=True)
    goes_on(one, 300)
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    assert one.flow.waiting_without() == {("marked", 0): (0, 1)}


def test_a_record_after_markers_waits_from_there_on():
    one = quiet(offsets=5)
    one.write(3, "marked", copied=False)
    goes_on(one, 300)
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    assert one.flow.waiting_without() == {("marked", 0): (5, 3)}


@pytest.mark.parametrize(("offsets", "waits"), [(MOST_OFFSETS, 0), (MOST_OFFSETS + 1, MOST_OFFSETS + 1)])
def test_a_short_idle_log_that_may_not_be_read_may_hold_markers_alone(offsets, waits):
    one = quiet(offsets=offsets, record=True)
    one.refused = {"marked"}
    goes_on(one, 60)
    assert one.flow.partitions_without() == [("marked", 0, waits)]
    one.write(1, "marked", copied=False)
    one.poll()
    assert one.flow.partitions_without() == [("marked", 0, offsets + 1)]  # it grows


@pytest.mark.parametrize(("waited", "waits"), [(False, 0), (True, 1)])
def test_after_a_restart_a_log_that_is_not_read_yet_waits_if_it_did_before(waited, waits):
    one = quiet(record=True, reads=False)
    one.now += 10_000
    one.poll(), one.snapshot()
    if waited:
        one.flow.topics.missing_since["not_mirrored", "marked"] = one.now
    assert one.flow.partitions_without() == [("orders", 0, 0), ("marked", 0, waits)]


def test_before_the_offsets_are_read_no_log_is_read_for_want_of_one():
    one = quiet(record=True, reads=False)
    one.flow.read_to_ms = -1
    one.snapshot()
    assert one.a.tails_due(one.now, committed=False) == []
    one.poll(), one.snapshot()
    assert [due.first for due in one.a.tails_due(one.now, committed=False)] == [0]
