"""Topics without any replicated record: filtered, or of a task that does not run or has just continued."""

from __future__ import annotations

import json

import pytest

from fleet.mm2.handling import Handling
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.wire.status import TaskState
from lagmon.mirrors.answers.orders import order_of, read_mirror, write_mirror
from lagmon.mirrors.tasks.states import FAILED, PAUSED, UNASSIGNED, Start, Trouble
from tests.lagmon.mirror_flows import Mirrored, S, told
from tests.lagmon.mirrors.metadata.test_topics import Watched, lost


def written(one, state):
    one.flow.states.take(TaskState("MirrorSourceConnector", 1, state, "RecordTooLargeException"), one.now)


def looked(one, state):
    troubles = [Trouble(1, state, one.now, "", Start.SEEN)] if state in (FAILED, PAUSED) else []
    one.flow.states.take_rest(troubles, one.now)


@pytest.fixture
def flow():
    """Give a flow of two tasks: one copies `other`, and `orders`, whose copy is there, is the other's."""
    one = Watched(refresh_topics_interval_s=60.0)
    one.goes = {"other"}
    one.run(30)
    for partition in (0, 1):
        one.write(1000, partition=partition, copied=False)
    return one


@pytest.mark.parametrize(
    ("tell", "state", "cause"),
    [
        (written, FAILED, Cause.TASK_FAILED),
        (looked, FAILED, Cause.TASK_FAILED),
        (looked, PAUSED, Cause.NOT_MIRRORED),
        (written, UNASSIGNED, Cause.NOT_MIRRORED),
    ],
)
def test_what_waits_for_a_task_that_does_not_run_is_not_skipped(flow, tell, state, cause):
    tell(flow, state)
    for _ in range(60):
        flow.run(10)
        assert lost(flow) == []
    assert told(flow) == (Verdict.STALLED, cause)
    assert f"is {state} since" in flow.verdict().sentence or state == UNASSIGNED
    assert [(one.code, one.topic) for one in flow.snapshot().missing if one.due] == [
        ("not_mirrored", "orders")
    ]
    # It is started again, and has its time to write its first offsets.
    tell(flow, "RUNNING")
    for _ in range(5):
        flow.run(10)
        assert lost(flow) == []
    flow.goes = {"orders", "other"}
    flow.run(100)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])


def test_what_a_task_skips_that_was_started_again_is_reported_after_its_time(flow):
    written(flow, FAILED)
    flow.run(300)
    written(flow, "RUNNING")
    began = flow.now
    while not lost(flow):
        flow.run(10)
        assert flow.now - began < 120 * S
    assert flow.now - began > 60 * S
    assert told(flow) == (Verdict.HEALTHY, None)


def test_a_mirror_that_goes_on_after_a_stall_has_its_time_to_write_of_all_topics():
    flow = Watched(refresh_topics_interval_s=2.0)
    flow.stand()
    flow.copies = True
    for _ in range(5):
        flow.run(10)
        assert lost(flow) == []
    flow.goes = {"orders", "other"}
    flow.run(100)
    assert lost(flow) == []


def unread():
    """Give a flow with traffic in `orders`, none in `idle`, and records of `fresh` that the mirror cannot read.

    The mirror makes the copy; the task that is to carry it carries `idle` besides.
    """
    one = Mirrored({"orders": 2, "idle": 1}, flush_s=5.0, refresh_topics_interval_s=10.0)
    one.poll()
    one.write(10, "idle")
    one.commit("idle")
    one.go(300, each=lambda: copies_orders(one), step=5)
    one.a.note_topics({"orders": 2, "idle": 1, "fresh": 1})
    one.ends["fresh", 0] = 0
    one.go(20, each=lambda: copies_orders(one), step=5)
    one.b.note_topics({"A.orders": 2, "A.idle": 1, "A.fresh": 1})
    one.target_ends["A.fresh", 0] = 0
    return one


def copies_orders(one):
    for partition in (0, 1):
        one.write(100, partition=partition)
        one.commit(partition=partition)


def test_a_topic_that_the_mirror_cannot_read_waits_and_is_not_known_to_be_skipped():
    one = unread()
    suspected = set()
    for _ in range(60):
        one.go(5, each=lambda: [copies_orders(one), one.write(5, "fresh", copied=False)], step=5, poll=5)
        assert lost(one) == []
        suspected |= {(each.code, each.topic) for each in one.snapshot().findings}
    assert suspected == {(Cause.FILTERED, "fresh")}
    (finding,) = one.snapshot().findings
    assert "300 records" in finding.sentence
    assert "check the mirror's READ permission on the topic" in finding.sentence
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    # It may read them now, and copies them all.
    one.target_ends["A.fresh", 0] = one.ends["fresh", 0]
    one.commit("fresh")
    one.go(30, each=lambda: copies_orders(one), step=5)
    assert (told(one), one.snapshot().findings) == ((Verdict.HEALTHY, None), ())


def test_a_target_that_an_operator_made_before_the_mirror_found_the_topic_waits_for_the_mirror():
    one = Watched(refresh_topics_interval_s=600.0).run(60)
    one.a.note_topics({"orders": 2, "other": 1, "fresh": 1})
    one.ends["fresh", 0] = 0
    one.run(120)
    one.b.note_topics({"A.orders": 2, "A.other": 1, "A.fresh": 1})
    one.target_ends["A.fresh", 0] = 0
    for _ in range(48):  # until ten minutes after the topic was made
        one.write(50, "fresh", copied=False)
        one.run(10)
        assert one.snapshot().findings == ()
    one.target_ends["A.fresh", 0] = one.ends["fresh", 0]
    one.commit("fresh")
    one.run(60)
    assert (told(one), one.snapshot().findings) == ((Verdict.HEALTHY, None), ())


def test_the_lag_monitors_process_knows_which_transforms_may_drop_records():
    order = order_of(Flow("A", "B", handling=Handling(drops=("fault", "mask"))))
    assert read_mirror(json.loads(json.dumps(write_mirror(order)))).flow.handling.drops == ("fault", "mask")
