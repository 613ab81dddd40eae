"""States of tasks from the mirror's worker: FAILED and UNASSIGNED are believed, and nothing else."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.wire.status import TaskState
from lagmon.mirrors.tasks.states import FAILED, UNASSIGNED, MirrorStates
from tests.lagmon.mirror_flows import busy, busy_for_a_minute, told

MINE, OTHER = "MirrorSourceConnector", "MirrorCheckpointConnector"


@pytest.fixture
def flow():
    return busy_for_a_minute()


def say(flow, state, task=0, *, trace="", connector=MINE):
    flow.flow.states.take(TaskState(connector, task, state, trace), flow.now)


def test_a_task_that_failed_is_reported_at_once_with_its_reason(flow):
    say(flow, FAILED, trace="org.apache.kafka.connect.errors.ConnectException: too large")
    assert told(flow) == (Verdict.STALLED, Cause.TASK_FAILED)
    assert "Task 0 of MirrorSourceConnector is FAILED since" in flow.verdict().sentence
    assert "too large. Its partitions" in flow.verdict().sentence


def test_a_failure_that_was_left_behind_alarms_nobody_where_all_moves(flow):
    say(flow, FAILED, task=3)
    flow.go(40, each=lambda: busy(flow))
    assert told(flow) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize(
    ("state", "partitions", "cause"),
    [
        (FAILED, (1,), Cause.TASK_FAILED),
        (FAILED, (), Cause.TASK_FAILED),
        (UNASSIGNED, (1,), Cause.TASK_FAILED),
        (UNASSIGNED, (), Cause.MIRROR_DOWN),
        ("RUNNING", (1,), Cause.TASK_STUCK),
        ("PAUSED", (), Cause.MIRROR_DOWN),
    ],
)
def test_what_is_stalled_is_explained_by_what_can_be_believed(flow, state, partitions, cause):
    say(flow, state)
    flow.go(90, each=lambda: busy(flow, moves=partitions))
    assert told(flow) == (Verdict.STALLED, cause)
    assert (state in flow.verdict().sentence) == (state in (FAILED, UNASSIGNED))


def test_unassigned_alone_is_no_stall(flow):
    say(flow, UNASSIGNED)
    assert told(flow) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("state", ["RUNNING", ""])
def test_a_later_state_ends_it(flow, state):
    say(flow, FAILED)
    say(flow, state)
    assert told(flow) == (Verdict.HEALTHY, None)


def test_other_connectors_of_the_worker_say_nothing_of_this_flow(flow):
    say(flow, FAILED, connector=OTHER)
    assert told(flow) == (Verdict.HEALTHY, None)


def test_what_is_reported_again_counts_from_the_first_time():
    states = MirrorStates(MINE)
    for at_ms in (1000, 5000):
        states.take(TaskState(MINE, 0, FAILED), at_ms)
    states.take(TaskState(MINE, None, FAILED), 3000)
    assert [(one.task, one.at_ms) for one in states.in_state(FAILED)] == [(None, 3000), (0, 1000)]
    assert states.sentence(FAILED).startswith("The connector of MirrorSourceConnector is FAILED since 1970")
    assert "and 1 more." in states.sentence(FAILED)
    states.forget()
    assert states.sentence(FAILED) == ""
