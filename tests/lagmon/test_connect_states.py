"""What the worker's topic and its REST address say of tasks, put together: what is newer holds, task by task."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fleet.wire_status import TaskState
from lagmon.connect_states import take_states
from lagmon.mirror_states import FAILED, UNASSIGNED, MirrorStates, Trouble

NAME = "mirror-source"


def written(states, task, state, at_ms, trace=""):
    states.take(TaskState(NAME, task, state, trace), at_ms)


def looked(states, at_ms, **tasks):
    """Have it looked at: a state is told if it can be believed, with since when."""
    told = [(int(name[1:]), *state) for name, state in tasks.items()]
    states.look([Trouble(task, state, since_ms, "from REST") for task, state, since_ms in told], at_ms)


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
                states.forget_look()
            case ("reread",):
                states.forget()
    assert failed(states) == expected


def test_the_service_hands_on_what_it_was_told_and_what_is_not_known_any_more():
    flows = {
        name: SimpleNamespace(states=MirrorStates(name), order=SimpleNamespace(connector=connector))
        for name, connector in (("A->B", NAME), ("C->B", ""))
    }
    states = [[None, UNASSIGNED, "", 900], [0, FAILED, "why", 800]]
    told = {name: {"connector": f"{name} source", "states": states} for name in (*flows, "gone->B")}
    take_states(flows, {"at_ms": 1_000, "flows": told})
    assert failed(flows["A->B"].states) == [(0, 800, "why")]
    assert "Task 0 of C->B source is FAILED since" in flows["C->B"].states.sentence(FAILED)
    assert "The connector of A->B is UNASSIGNED" in flows["A->B"].states.sentence(UNASSIGNED)
    take_states(flows, {"at_ms": 2_000, "flows": {}})
    assert [failed(flow.states) for flow in flows.values()] == [[], []]
