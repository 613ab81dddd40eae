"""Which task is assigned to which partitions, by a worker's records, and which stalls that explains."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.mm2.handling import Handling
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.wire.status import TaskState
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.tasks import assigned_tasks as mirror_carriers
from lagmon.mirrors.tasks import assignments as mirror_assignments
from lagmon.mirrors.tasks.assignments import MirrorAssignments
from lagmon.mirrors.tasks.states import FAILED, Start, Trouble
from lagmon.mirrors.tasks.worker import AssignmentsIntake
from tests.lagmon.mirror_flows import S, busy, busy_for_a_minute, told

MINE = "MirrorSourceConnector"
PLACES = [("orders", 0), ("orders", 1)]


def given_to(assignments, task, said, at_ms=0):
    value = json.dumps({"properties": {"task.assigned.partitions": said}}).encode()
    assignments.take(f"task-{assignments.connector}-{task}".encode(), value, at_ms)


def committed(assignments, tasks, at_ms=0):
    key = f"commit-{assignments.connector}".encode()
    assignments.take(key, json.dumps({"tasks": tasks}).encode(), at_ms)


def dealt(assignments, *said, at_ms=0):
    for task, each in enumerate(said):
        given_to(assignments, task, each, at_ms)
    committed(assignments, len(said), at_ms)
    assignments.caught_up()


@pytest.fixture
def assignments():
    one = MirrorAssignments(MINE)
    dealt(one, "orders-0,heartbeats-0", "orders-1", at_ms=1000)
    return one


def test_each_partition_has_the_task_that_the_newest_commit_gives_it(assignments):
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0, ("orders", 1): 1}
    assert assignments.assigned_tasks([("other", 0)]) == {}
    given_to(assignments, 0, "orders-1,heartbeats-0", 2000)
    given_to(assignments, 1, "orders-0", 2000)
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0, ("orders", 1): 1}  # not committed yet
    committed(assignments, 2, 2001)
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 1, ("orders", 1): 0}
    assert assignments.dealt_ms == 2001


def test_what_was_given_to_more_tasks_than_there_are_is_left_over(assignments):
    committed(assignments, 1, 3000)
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0}


def test_where_there_are_no_tasks_nothing_is_reported_for_a_partition(assignments):
    committed(assignments, 0, 4000)
    assert assignments.assigned_tasks(PLACES) is None
    dealt(assignments, "orders-0")
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0}
    dealt(assignments, "", "")  # as of a connector that keeps under another name what its tasks carry
    assert assignments.assigned_tasks(PLACES) is None
    dealt(assignments, "orders-0", "")
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0}
    assignments.take(f"connector-{MINE}".encode(), None, 5000)
    assert assignments.assigned_tasks(PLACES) is None


def test_the_same_once_more_holds_since_it_was_first_dealt_out(assignments):
    dealt(assignments, "orders-0,heartbeats-0", "orders-1", at_ms=9000)
    assert assignments.dealt_ms == 1000


def test_nothing_is_known_before_all_is_read_or_where_some_is_missing(assignments):
    one = MirrorAssignments(MINE)
    given_to(one, 0, "orders-0")
    committed(one, 1)
    assert one.assigned_tasks(PLACES) is None
    one.caught_up()
    assert one.assigned_tasks(PLACES) == {("orders", 0): 0}
    committed(assignments, 3)
    assert assignments.assigned_tasks(PLACES) is None
    assignments.forget()
    dealt(assignments, "orders-0")
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0}
    assignments.forget()
    assert assignments.assigned_tasks(PLACES) is None


def test_of_more_than_is_kept_nothing_is_known(assignments, monkeypatch):
    monkeypatch.setattr(mirror_assignments, "MOST_CHARACTERS", 30)
    dealt(assignments, "orders-0," * 3, "orders-1," * 3)
    assert assignments.assigned_tasks(PLACES) is None
    dealt(assignments, "orders-0", "orders-1")
    assert assignments.assigned_tasks(PLACES) == {("orders", 0): 0, ("orders", 1): 1}


def test_what_could_not_be_read_is_not_taken_for_what_was_there_before(assignments):
    with pytest.raises(MalformedError):
        assignments.take(f"task-{MINE}-0".encode(), b"{", 2000)
    assert assignments.assigned_tasks(PLACES) == {
        ("orders", 0): 0,
        ("orders", 1): 1,
    }  # which holds until a commit
    given_to(assignments, 1, "other-0", 2000)
    committed(assignments, 2, 2000)
    assert assignments.assigned_tasks(PLACES) is None


def test_what_was_asked_before_is_known_beside_what_is_new(assignments):
    assert assignments.assigned_tasks(PLACES[:1]) == {("orders", 0): 0}
    assert assignments.assigned_tasks([*PLACES, ("order", 0), ("rders", 0), ("orders", 10)]) == {
        ("orders", 0): 0,
        ("orders", 1): 1,
    }


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["a", "a-1", "b"]), st.integers(0, 30)), st.integers(0, 4), min_size=1
    ),
    st.integers(0, 90),
)
def test_whatever_is_dealt_out_is_found(tasks, first):
    one = MirrorAssignments("east")
    dealt(one, *(",".join(f"{t}-{p}" for (t, p), its in tasks.items() if its == task) for task in range(5)))
    places = [*tasks, ("c", 0), ("a-1-1", 0)]
    assert one.assigned_tasks(places[:first]) == {
        place: tasks[place] for place in places[:first] if place in tasks
    }
    assert one.assigned_tasks(places) == tasks


def told_of(*flows):
    return AssignmentsIntake([SimpleNamespace(assignments=one) for one in flows])


def test_of_one_topic_each_flow_takes_what_its_connectors_tasks_have():
    flows = [MirrorAssignments(name) for name in ("east", "east-1", "east-checkpoint")]
    told = told_of(*flows)
    for name, said in (("east", "a-0"), ("east-1", "b-0"), ("east-checkpoint", "c-0")):
        for key, value in (
            (f"task-{name}-0", {"properties": {"task.assigned.partitions": said}}),
            (f"commit-{name}", {"tasks": 1}),
        ):
            told.take(key.encode(), json.dumps(value).encode(), 0)
    places = [("a", 0), ("b", 0)]
    assert [one.assigned_tasks(places) for one in flows] == [None] * 3
    told.caught_up()
    assert [one.assigned_tasks(places) for one in flows] == [{("a", 0): 0}, {("b", 0): 0}, {}]
    told.ended()
    assert [one.assigned_tasks(places) for one in flows] == [None] * 3


def test_what_one_flow_cannot_read_the_others_do():
    flows = [MirrorAssignments(MINE), MirrorAssignments(MINE)]
    told = told_of(*flows)
    told.caught_up()
    for one in flows:
        dealt(one, "a-0")
    with pytest.raises(MalformedError):
        told.take(f"task-{MINE}-0".encode(), b"{", 0)
    told.take(f"commit-{MINE}".encode(), b'{"tasks":1}', 0)
    assert [one.assigned_tasks([("a", 0)]) for one in flows] == [None, None]


# --- what it makes of a standstill


def stands(*assigned, moves=(0,), ago_s=0):
    """Return a flow of which partition 1 stands for 90 s (both where none `moves`), dealt out as that begins."""
    one = busy_for_a_minute()
    dealt(one.flow.assignments, *assigned, at_ms=one.now - ago_s * S)
    return one.go(90, each=lambda: busy(one, moves=moves))


def test_the_task_is_named_that_has_what_is_stalled():
    one = stands("orders-0", "orders-1,heartbeats-0", ago_s=3600)
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert f"It is assigned to task 1 of {MINE}." in one.verdict().sentence


def test_what_no_task_has_is_not_mirrored():
    one = stands("orders-0", "heartbeats-0")
    started_ms = one.now - 90 * S
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    sentence = one.verdict().sentence
    assert (
        f"No task of {MINE} is assigned to it (assignment of {instant_text(started_ms)}): the mirror's topics and"
        " topics.exclude leave it out, or it no longer sees it on A."
    ) in sentence
    dealt(one.flow.assignments, "orders-0", "orders-1", at_ms=one.now)
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)


def test_what_moved_on_after_no_task_had_it_is_stalled_for_another_reason():
    one = stands("orders-0", "heartbeats-0", ago_s=3600)
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert "carries" not in one.verdict().sentence


def test_a_mirror_of_which_nothing_moves_is_down_whatever_its_tasks_have():
    one = stands("heartbeats-0", moves=())
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_a_task_that_does_not_run_explains_only_what_a_task_has():
    one = stands("orders-0,orders-1")
    one.flow.states.take(TaskState(MINE, 0, "UNASSIGNED", ""), one.now - 60 * S)
    assert told(one) == (Verdict.STALLED, Cause.TASK_FAILED)
    one = stands("orders-0", "orders-1")
    one.flow.states.take(TaskState(MINE, 0, "UNASSIGNED", ""), one.now - 60 * S)
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)  # it is assigned to what makes progress
    one = stands("orders-0")
    one.flow.states.take(TaskState(MINE, 0, "UNASSIGNED", ""), one.now - 60 * S)
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)


def test_a_worker_that_joins_again_is_no_cause_until_it_had_time_to_show_progress():
    one = stands("orders-0", "orders-1")
    one.flow.states.take(TaskState(MINE, None, "UNASSIGNED", ""), one.now)
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)
    one.go(90, each=lambda: busy(one, moves=(0,)))
    assert told(one) == (Verdict.STALLED, Cause.TASK_FAILED)


@pytest.mark.parametrize(
    ("failed", "cause"), [(0, Cause.TASK_STUCK), (1, Cause.TASK_FAILED), (2, Cause.TASK_STUCK)]
)
@pytest.mark.parametrize("start", [Start.WRITTEN, Start.BEFORE])
def test_a_task_that_has_failed_explains_what_it_has_and_nothing_else(failed, cause, start):
    one = stands("orders-0", "orders-1", "heartbeats-0", ago_s=3600)
    if start is Start.WRITTEN:
        one.flow.states.take(TaskState(MINE, failed, FAILED, ""), one.now - 60 * S)
    else:
        one.flow.states.take_rest([Trouble(failed, FAILED, one.now, "", start)], one.now)
    assert told(one) == (Verdict.STALLED, cause)
    assert f"Task {failed} of {MINE} is FAILED" in one.verdict().sentence  # a fact in any case
    named = f"It is assigned to task 1 of {MINE}." in one.verdict().sentence
    assert named == (cause is Cause.TASK_STUCK)


def test_a_connector_that_has_failed_may_explain_whatever_is_stalled():
    one = stands("orders-0", "orders-1", "heartbeats-0", ago_s=3600)
    one.flow.states.take(TaskState(MINE, None, FAILED, ""), one.now - 60 * S)
    assert told(one) == (Verdict.STALLED, Cause.TASK_FAILED)


def test_what_no_task_has_is_not_laid_at_the_door_of_one_that_has_failed():
    one = stands("orders-0", "heartbeats-0")
    one.flow.states.take(TaskState(MINE, 1, FAILED, ""), one.now - 60 * S)
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)


@pytest.mark.parametrize(
    ("tasks", "verdict"),
    [
        (("orders-0", "orders-1"), (Verdict.UNKNOWN, None)),  # task 1 has its time to copy what came
        (("orders-1", "orders-0"), (Verdict.STALLED, Cause.TASK_FAILED)),
        ((), (Verdict.STALLED, Cause.TASK_FAILED)),  # nobody knows who carries it
    ],
)
def test_records_that_came_for_a_task_that_runs_do_not_wait_for_one_that_has_failed(tasks, verdict):
    one = busy_for_a_minute()
    if tasks:
        dealt(one.flow.assignments, *tasks, at_ms=one.now - 3600 * S)
    one.flow.states.take(TaskState(MINE, 0, FAILED, ""), one.now)
    one.go(300)
    assert told(one) == (Verdict.HEALTHY, None)
    one.write(5, partition=1, copied=False)
    one.poll()
    assert told(one) == verdict


@pytest.mark.parametrize(("drops", "cause"), [(("mask",), Cause.FILTERED), ((), Cause.UNEXPLAINED)])
def test_a_task_that_goes_on_with_others_is_not_stalled(drops, cause):
    one = stands("heartbeats-0", "orders-0,orders-1", ago_s=3600)
    flow = replace(one.flow.order.flow, handling=Handling(drops=drops))
    one.flow.order = replace(one.flow.order, flow=flow)
    assert told(one) == (Verdict.STALLED, cause)
    sentence = one.verdict().sentence
    said = f"It is assigned to task 1 of {MINE}. That task replicates other partitions, so it does not hang"
    assert said in sentence
    assert ("the mirror applies mask" in sentence) == ("mirrorwatch checksum" in sentence) == bool(drops)


def test_a_task_moves_only_what_it_moved_after_these_were_stalled_and_were_dealt_out():
    one = stands("orders-0,orders-1", ago_s=3600)
    assert told(one) == (Verdict.STALLED, Cause.UNEXPLAINED)
    one.go(90, each=lambda: busy(one, moves=()))  # the task stands by now, and all that it carries
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    one = stands("orders-0", "orders-1", ago_s=3600)
    dealt(one.flow.assignments, "orders-0,orders-1", "heartbeats-0", at_ms=one.now)
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)  # it has not had its time yet
    one.go(60, each=lambda: busy(one, moves=(0,)))
    assert told(one) == (Verdict.STALLED, Cause.UNEXPLAINED)


def test_a_task_that_comes_back_is_not_said_to_go_on_before_it_has_written_of_others_for_a_while():
    one = stands("orders-0,orders-1", moves=(), ago_s=3600)
    one.go(300, each=lambda: busy(one, moves=()))
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    one.commit(partition=0)  # all that has come meanwhile, before the other partition's
    one.poll()
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)
    one.go(30, each=lambda: busy(one, moves=(0,)))
    assert told(one) == (Verdict.STALLED, Cause.UNEXPLAINED)


def test_what_cannot_be_written_is_not_reported_as_skipped(monkeypatch):
    one = stands("orders-0,orders-1", ago_s=3600)
    assert told(one) == (Verdict.STALLED, Cause.UNEXPLAINED)
    monkeypatch.setattr(mirror_carriers, "STALE_MS", -1)  # as where who leads the copy does not answer
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)


def test_of_two_tasks_both_have_to_go_on_with_others():
    one = busy_for_a_minute()
    for number in (0, 1):
        one.ends["payments", number] = one.target_ends["A.payments", number] = 0
    one.a.note_topics({**one.a.topics, "payments": 2}, one.now)
    one.b.note_topics({**one.b.topics, "A.payments": 2}, one.now)

    def go(moves):
        for topic, number in one.ends:
            one.write(100, topic, number, copied=(topic, number) in moves)
            if (topic, number) in moves:
                one.commit(topic, number)

    every = list(one.ends)
    one.go(60, each=lambda: go(every))
    dealt(one.flow.assignments, "orders-0,orders-1", "payments-0,payments-1", at_ms=one.now)
    one.go(120, each=lambda: go([("orders", 0), ("payments", 0)]))
    assert told(one) == (Verdict.STALLED, Cause.UNEXPLAINED)
    assert "Those tasks replicate other partitions, so they do not hang: " in one.verdict().sentence
    one.go(120, each=lambda: go([("orders", 0)]))
    assert told(one) == (Verdict.STALLED, Cause.TASK_STUCK)
