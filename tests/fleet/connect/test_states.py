"""What a Connect worker says of tasks at its REST address, by what a real one answered and by odd answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet.connect.states import parse_states
from fleet.errors import MalformedError
from fleet.wire.status import MAX_TRACE_CHARS, TaskState

GOLDEN = Path(__file__).parents[2] / "mirrorwatch" / "golden_connect" / "connect-4.3.0.json"
RECORDED = json.loads(GOLDEN.read_text("utf-8"))
ANSWER = json.loads(RECORDED["GET /connectors?expand=info&expand=status"]["body"])


def test_a_real_workers_states():
    told = parse_states(ANSWER, ["mirror-source", "failing-source", "paused-source", "gone"])
    assert told == {
        "mirror-source": (
            TaskState("mirror-source", None, "RUNNING"),
            TaskState("mirror-source", 0, "RUNNING"),
            TaskState("mirror-source", 1, "RUNNING"),
        ),
        "failing-source": (
            TaskState("failing-source", None, "RUNNING"),
            TaskState(
                "failing-source",
                0,
                "FAILED",
                "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler",
            ),
        ),
        "paused-source": (TaskState("paused-source", None, "PAUSED"),),
    }


def one(connector, *tasks):
    return {"x": {"status": {"connector": connector, "tasks": list(tasks)}}}


def test_a_trace_is_bounded_and_one_line():
    (_, task) = parse_states(
        one({"state": "RUNNING"}, {"id": 0, "state": "FAILED", "trace": "a" * 999 + "\nb"}), "x"
    )["x"]
    assert task.trace == "a" * MAX_TRACE_CHARS


@pytest.mark.parametrize(
    "odd",
    [
        [],
        ["x"],
        {"x": {}},
        {"x": {"status": {"connector": {"state": "RUNNING"}}}},
        one(None),
        one({"state": "R" * 21}),
        one({"state": "<b>"}),
        one({"state": "RUNNING"}, {"id": True, "state": "RUNNING"}),
        one({"state": "RUNNING"}, {"id": -1, "state": "RUNNING"}),
        one({"state": "RUNNING"}, {"id": 0}),
        one({"state": "RUNNING"}, 7),
    ],
)
def test_what_is_no_such_answer_is_refused(odd):
    with pytest.raises(MalformedError):
        parse_states(odd, ["x"])
