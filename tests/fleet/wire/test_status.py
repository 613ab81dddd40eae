"""The records of a Connect worker's status topic."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.wire.status import MAX_TRACE_CHARS, TaskState, decode_status

TASK = b"status-task-my-mirror-0"


def value(state="FAILED", **more):
    return json.dumps({"state": state, "worker_id": "w:8083", "generation": 3, **more}).encode()


@pytest.mark.parametrize(
    ("key", "content", "expected"),
    [
        (TASK, value("RUNNING"), TaskState("my-mirror", 0, "RUNNING")),
        (TASK, value(trace="a.b.C: why\n\tat d.E"), TaskState("my-mirror", 0, "FAILED", "a.b.C: why")),
        (TASK, value(trace="x" * 1000), TaskState("my-mirror", 0, "FAILED", "x" * MAX_TRACE_CHARS)),
        (TASK, value(trace=None), TaskState("my-mirror", 0, "FAILED")),
        (TASK, None, TaskState("my-mirror", 0, "")),
        (TASK, b"null", TaskState("my-mirror", 0, "")),
        (b"status-connector-my-mirror-0", value("PAUSED"), TaskState("my-mirror-0", None, "PAUSED")),
        (b"status-topic-t:connector-c", value(), None),
        (b"", None, None),
        (None, None, None),
    ],
)
def test_a_record(key, content, expected):
    assert decode_status(key, content) == expected


@pytest.mark.parametrize(
    ("key", "content"),
    [
        (b"status-task-0", value()),
        (b"status-task-c-x", value()),
        ("status-task-c-²".encode(), value()),
        (b"status-task-c-1234567", value()),
        (b"status-task-\xff-0", value()),
        (TASK, b"{"),
        (TASK, b"\xff"),
        (TASK, b"[]"),
        (TASK, b"{}"),
        (TASK, b"[" * 100_000),
        (TASK, value("")),
        (TASK, value("two words")),
        (TASK, value("A" * 21)),
        (TASK, value(trace=["a"])),
        (TASK, b" " * ((1 << 20) + 1)),
    ],
)
def test_what_cannot_be_read(key, content):
    with pytest.raises(MalformedError) as error:
        decode_status(key, content)
    assert str(error.value).endswith(".")
    assert error.value.__cause__ is None or isinstance(error.value.__cause__, UnicodeError)


@given(st.one_of(st.none(), st.binary(max_size=60)), st.one_of(st.none(), st.binary(max_size=60)))
def test_anything_is_read_or_refused(key, content):
    for each in (key, b"status-task-c-1", b"status-connector-c"):
        try:
            decode_status(each, content)
        except MalformedError:
            continue


def test_half_a_character_in_a_trace_is_replaced():
    value = b'{"state": "FAILED", "trace": "bad \\ud800 record\\nat x"}'
    told = decode_status(b"status-task-MirrorSourceConnector-0", value)
    assert told.trace == "bad ? record"


def test_no_part_of_a_secret_is_left_where_a_trace_is_cut():
    trace = "x" * (MAX_TRACE_CHARS - 4) + "hunter2 was refused"
    value = json.dumps({"state": "FAILED", "trace": trace}).encode()
    told = decode_status(b"status-task-m-0", value, clean=lambda text: text.replace("hunter2", "***"))
    assert told.trace == "x" * (MAX_TRACE_CHARS - 4) + "*** "
