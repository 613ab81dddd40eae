"""Headroom by speed: the steps of a log start against the offsets that the mirror reads."""

from __future__ import annotations

import pytest

from lagmon.exposition.mirrors import MirrorSeries
from lagmon.groups.rules.words import How
from lagmon.mirrors.answers.rows import row_document
from lagmon.mirrors.headroom.partition import mirror_per_s
from tests.lagmon.mirror_flows import Mirrored


@pytest.fixture
def flow():
    """Give a mirror that reads half of 100 records a second, on a log that keeps no more than 3,000 of them."""
    one = Mirrored({"orders": 1})
    one.poll()
    return one.go(100, each=lambda: slow(one))


def slow(one):
    one.write(100, copied=False)
    one.commit(to=one.ends["orders", 0] // 2)
    one.starts["orders", 0] = max(0, one.ends["orders", 0] - 10_000)


def row(one):
    return row_document(one.flow, one.snapshot(), one.slot())


def test_a_log_that_was_never_deleted_from_has_no_speed(flow):
    assert (row(flow)["headroom_records"], row(flow)["headroom_s"]) == (5_000, None)
    assert flow.flow.starts.moving == frozenset()


def test_two_steps_of_the_start_show_when_it_overtakes_the_mirror(flow):
    flow.go(10, each=lambda: slow(flow))
    assert row(flow)["headroom_from"] == How.NOT_KNOWN  # one step has no speed
    flow.go(30, each=lambda: slow(flow))
    # The start goes by 100 a second and the mirror by 50: 7,000 - 4,000 records in 60 s.
    assert row(flow)["headroom_records"] == 3_000
    assert row(flow)["headroom_s"] == pytest.approx(60, rel=0.05)
    assert row(flow)["headroom_from"] == How.BY_SPEED


def test_the_sooner_of_both_is_the_series(flow):
    flow.go(40, each=lambda: slow(flow))
    telling = MirrorSeries([flow.flow], per_partition=False, max_series=10)

    def series():
        values = telling.values({"A->B": (flow.snapshot(), flow.verdict())})
        told = {family.series.name: found.tolist() for family, found in values.items()}
        return told["replication_topic_retention_headroom_seconds"][0]

    assert series() == pytest.approx(60, rel=0.05)
    flow.flow.note_retention("orders", {"retention.ms": "80000"})
    # The record to be read next is 70 s old.
    assert series() == pytest.approx(10, abs=2)


def test_a_stalled_mirror_reads_less_the_longer_it_does(flow):
    slot = flow.slot()
    assert mirror_per_s(flow.flow.windows, slot, flow.now) == pytest.approx(50, rel=0.02)
    moving = mirror_per_s(flow.flow.windows, slot, flow.now + 60_000)
    assert 0 < moving < 20
    assert mirror_per_s(Mirrored({"orders": 1}).flow.windows, 0, flow.now) is None


def test_steps_of_a_partition_go_with_it(flow):
    flow.go(40, each=lambda: slow(flow))
    assert flow.flow.starts.moving == {("orders", 0)}
    flow.flow.windows.forget("orders", 0)
    flow.snapshot()
    assert flow.flow.starts.moving == frozenset()
