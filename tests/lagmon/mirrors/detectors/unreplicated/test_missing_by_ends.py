"""Records missing between two idle states are a suspicion, and no verdict."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.answers.findings import HELD_MS
from tests.lagmon.mirror_flows import Mirrored, S


@pytest.fixture
def flow():
    """Give a flow with traffic that pauses now and then, at rest for 30 s."""
    one = Mirrored()
    one.poll()
    one.go(30, each=lambda: busy(one))
    return one.go(30)


def busy(one, *, dropped=0):
    for partition in (0, 1):
        one.write(100, partition=partition)
        if partition == 0:
            one.target_ends["A.orders", 0] -= dropped
        one.commit(partition=partition)


def found(one):
    return [
        (each.partition, each.records, each.first_offset, each.last_offset)
        for each in one.snapshot().findings
    ]


def test_what_the_mirror_passed_and_the_target_lacks_is_a_suspicion(flow):
    flow.go(20, each=lambda: busy(flow, dropped=3))
    flow.go(30)
    assert found(flow) == [(0, 60, 3000, 4999)]
    (one,) = flow.snapshot().findings
    assert (one.code, one.proved) == (Cause.FILTERED, False)
    assert "passed 2,000 offsets (3000 to 4999)" in one.sentence
    assert "At least 60 records of" in one.sentence
    assert flow.verdict().verdict is Verdict.HEALTHY
    assert "may be missing" not in flow.verdict().sentence
    flow.go(HELD_MS // S + 10, step=10)
    assert found(flow) == []


def test_traffic_alone_and_duplicates_are_none(flow):
    for dropped in (0, -5):
        flow.go(20, each=lambda dropped=dropped: busy(flow, dropped=dropped))
        flow.go(30)
        assert found(flow) == []


def test_a_target_that_comes_after_its_offset_is_not_behind(flow):
    # The source's end and N are read after the target's end was: at that look 50 copies are not to be seen.
    flow.go(20, each=lambda: busy(flow))
    late = dict(flow.target_ends)
    flow.target_ends["A.orders", 0] -= 50
    flow.poll()
    for _ in range(3):
        flow.now += 5 * S
        flow.snapshot()
    flow.target_ends = late
    flow.go(30)
    assert found(flow) == []


@pytest.mark.parametrize("why", ["compacted", "transactions"])
def test_where_it_has_another_cause_nothing_is_reported(flow, why):
    if why == "compacted":
        flow.flow.note_settings("A", "orders", {"cleanup.policy": "compact,delete"})
    else:
        place = np.array([flow.a.places.of("orders")[0]], np.int32)
        flow.a.heads.note_stable(place, np.array([10]))  # a transaction was open once
        flow.now += 5 * S
        flow.snapshot()
    flow.go(20, each=lambda: busy(flow, dropped=3))
    flow.go(30)
    assert found(flow) == []


def test_a_recreated_topic_starts_again(flow):
    for topic_id in ("one", "two"):
        flow.now += S
        flow.flow.note_ids("B", {"A.orders": topic_id}, flow.now)
    flow.target_ends["A.orders", 0] = flow.target_ends["A.orders", 1] = 0
    flow.go(20, each=lambda: busy(flow))
    flow.go(30)
    assert [one for one in flow.snapshot().findings if not one.proved] == []


@pytest.mark.parametrize("is_compacted", [False, True])
@pytest.mark.parametrize(
    ("written", "records", "said"),
    [(0, (50, 50), "50 records may be missing"), (30, (20, 50), "Between 20 and 50 records may be missing")],
)
def test_a_target_that_is_shorter_has_lost_its_end_and_nothing_stayed_behind(
    flow, is_compacted, written, records, said
):
    """An unclean election on the target takes copies that the mirror does not send again."""
    if is_compacted:
        flow.flow.note_settings("A", "orders", {"cleanup.policy": "compact"})
    flow.target_ends["A.orders", 0] -= 50
    flow.write(written)
    flow.commit()
    flow.go(40)
    (one,) = flow.snapshot().findings
    assert (one.code, one.proved, one.side, one.partition) == (Cause.UNEXPLAINED, False, "target", 0)
    assert (one.records, one.records_most, one.first_offset) == (*records, None)
    assert f"ended at 3000, seen at 2026-09-21 14:14:20 UTC, and ends at {2950 + written} now" in one.sentence
    assert said in one.sentence
    assert flow.verdict().verdict is Verdict.HEALTHY


def test_a_recreated_target_has_not_lost_its_end(flow):
    flow.flow.note_ids("B", {"A.orders": "first"}, flow.now)
    flow.target_ends["A.orders", 0] = 0
    flow.go(20)
    assert [one.code for one in flow.snapshot().findings] == [Cause.UNEXPLAINED]
    flow.flow.note_ids("B", {"A.orders": "second"}, flow.now)
    assert Cause.UNEXPLAINED not in [one.code for one in flow.snapshot().findings]
