"""What the worker's topic and its REST address say of tasks, put together: what is newer holds, task by task."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fleet.wire.status import TaskState
from lagmon.ingest.connect_states import take_states
from lagmon.mirrors.tasks.states import FAILED, PAUSED, STOPPED, UNASSIGNED, MirrorStates, Start, Trouble

NAME = "mirror-source"


def written(states, task, state, at_ms, trace=""):
    states.take(TaskState(NAME, task, state, trace), at_ms)


def looked(states, at_ms, **tasks):
    """Have it looked at: a state is told if it can be believed, with since when."""
    told = [(int(name[1:]), *state) for name, state in tasks.items()]
    states.take_rest(
        [Trouble(task, state, since_ms, "from REST", Start.SEEN) for task, state, since_ms in told], at_ms
    )


def failed(states):
    return [(one.task, one.at_ms, one.trace) for one in states.in_state(FAILED)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # the address alone: since it was seen first
        ([("look", 130, {"t0": (FAILED, 100)})], [(0, 100, "from REST")]),
        ([("look", 100, {"t0": (FAILED, 100)}), ("look", 130, {})], []),
        ([("look", 100, {"t0": (FAILED, 100)}), ("forget",)], []),
        # both agree: since the record
        ([("write", 0, FAILED, 90), ("look", 100, {"t0": (FAILED, 100)})], [(0, 90, "from the topic")]),
        ([("look", 100, {"t0": (FAILED, 100)}), ("write", 0, FAILED, 90)], [(0, 90, "from the topic")]),
        # what is newer holds
        ([("write", 0, FAILED, 90), ("look", 100, {})], []),
        ([("write", 0, FAILED, 110), ("look", 100, {})], [(0, 110, "from the topic")]),
        ([("write", 0, "RUNNING", 110), ("look", 100, {"t0": (FAILED, 100)})], []),
        ([("write", 0, "RUNNING", 90), ("look", 100, {"t0": (FAILED, 100)})], [(0, 100, "from REST")]),
        ([("write", 0, "", 110), ("look", 100, {"t0": (FAILED, 100)})], []),
        # of tasks that the look does not list there are none
        ([("write", 3, FAILED, 90), ("look", 100, {})], []),
        # what a look said is not what the topic said: once it is forgotten the topic tells alone
        ([("write", 0, FAILED, 90), ("look", 100, {}), ("forget",)], [(0, 90, "from the topic")]),
        # a topic that is read anew takes no look back, and what it told is forgotten
        ([("write", 0, "RUNNING", 110), ("look", 100, {"t0": (FAILED, 100)}), ("reread",)], [(0, 100, "from REST")]),
        ([("look", 100, {"t0": (FAILED, 100)}), ("reread",), ("write", 0, "RUNNING", 90)], [(0, 100, "from REST")]),
    ],
)  # fmt: skip
def test_what_is_newer_holds(steps, expected):
    states = MirrorStates(NAME)
    for step in steps:
        match step:
            case ("look", at_ms, tasks):
                looked(states, at_ms, **tasks)
            case ("write", task, state, at_ms):
                written(states, task, state, at_ms, "from the topic")
            case ("forget",):
                states.forget_rest()
            case ("reread",):
                states.forget()
    assert failed(states) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # a record alone: somebody may have resumed it while its worker was away
        ([("write", PAUSED, 90)], None),
        ([("write", STOPPED, 90)], None),
        ([("look", PAUSED, 100)], (PAUSED, 100, Start.SEEN)),
        # both agree: since the record
        ([("write", PAUSED, 90), ("look", PAUSED, 100)], (PAUSED, 90, Start.WRITTEN)),
        ([("look", PAUSED, 100), ("write", PAUSED, 110)], (PAUSED, 110, Start.WRITTEN)),
        ([("write", STOPPED, 90), ("look", PAUSED, 100)], (PAUSED, 100, Start.SEEN)),
        # what is newer holds
        ([("look", PAUSED, 100), ("write", "RUNNING", 110)], None),
        ([("look", "RUNNING", 100), ("write", PAUSED, 110)], None),
        ([("write", PAUSED, 90), ("look", "RUNNING", 100)], None),
        ([("write", "RUNNING", 90), ("look", PAUSED, 100)], (PAUSED, 100, Start.SEEN)),
        ([("look", PAUSED, 100), ("write", FAILED, 110)], (FAILED, 110, Start.WRITTEN)),
        ([("look", FAILED, 100), ("write", PAUSED, 110)], None),
        # what the address said is forgotten
        ([("write", PAUSED, 90), ("look", PAUSED, 100), ("forget",)], None),
    ],
)
def test_that_it_was_halted_is_believed_of_the_address_alone(steps, expected):
    states = MirrorStates(NAME)
    for step in steps:
        match step:
            case ("look", state, at_ms):
                runs = state == "RUNNING"
                states.take_rest([] if runs else [Trouble(None, state, at_ms, "", Start.SEEN)], at_ms)
            case ("write", state, at_ms):
                written(states, None, state, at_ms)
            case ("forget",):
                states.forget_rest()
    found = states.in_state(FAILED, UNASSIGNED, PAUSED, STOPPED)
    assert [(one.state, one.at_ms, one.start) for one in found] == ([] if expected is None else [expected])


def test_who_is_halted_is_the_connector_where_it_is_and_else_its_tasks():
    states = MirrorStates(NAME)
    assert (states.halted(), states.halted_sentence()) == (None, "")
    tasks = [Trouble(task, PAUSED, 1_000 * task, "", Start.SEEN) for task in (0, 1, 2)]
    states.take_rest(tasks, 9_000)
    assert states.halted_sentence() == (
        f"Task 2 of {NAME} is PAUSED since 1970-01-01 00:00:02 UTC, and 2 more: its partitions do not "
        "move until it is resumed."
    )
    states.take_rest([*tasks, Trouble(None, PAUSED, 500, "", Start.BEFORE)], 9_000)
    assert states.halted_sentence() == (
        f"The connector {NAME} is PAUSED since 1970-01-01 00:00:00 UTC or longer: it "
        "replicates nothing until it is resumed."
    )


def test_the_service_hands_on_what_it_was_told_and_what_is_not_known_any_more():
    flows = {
        name: SimpleNamespace(states=MirrorStates(name), order=SimpleNamespace(connector=connector))
        for name, connector in (("A->B", NAME), ("C->B", ""))
    }
    states = [[None, UNASSIGNED, "", 900, True], [0, FAILED, "why", 800, False], [1, PAUSED, "", 850, True]]
    told = {name: {"connector": f"{name} source", "states": states} for name in (*flows, "gone->B")}
    take_states(flows, {"at_ms": 1_000, "flows": told})
    assert failed(flows["A->B"].states) == [(0, 800, "why")]
    starts = [(one.state, one.start) for one in flows["A->B"].states.in_state(FAILED, PAUSED)]
    assert starts == [(PAUSED, Start.SEEN), (FAILED, Start.BEFORE)]
    assert "Task 0 of C->B source is FAILED since" in flows["C->B"].states.sentence(FAILED)
    assert "The connector of A->B is UNASSIGNED" in flows["A->B"].states.sentence(UNASSIGNED)
    take_states(flows, {"at_ms": 2_000, "flows": {}})
    assert [failed(flow.states) for flow in flows.values()] == [[], []]
