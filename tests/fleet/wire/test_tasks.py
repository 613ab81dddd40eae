"""The one property of a task's configuration that is read, out of records as 3.9.2 and 4.3.0 wrote them."""

from __future__ import annotations

import json
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import MalformedError
from fleet.wire.tasks import TaskGiven, TasksCommitted, decode_task, partitions_in

TASK = b"task-MirrorSourceConnector-"
HIDDEN = "hunter2"


def properties(said, **more):
    """A task's record, shortened from a real one; only the partitions differ between tasks and versions."""
    return json.dumps(
        {
            "properties": {
                "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
                "source.consumer.ssl.key.password": HIDDEN,
                "task.index": "1",
                "task.class": "org.apache.kafka.connect.mirror.MirrorSourceTask",
                "task.assigned.partitions": said,
                **more,
            }
        },
        separators=(",", ":"),
    ).encode()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (
            TASK + b"0",
            properties("mirrorwatch-canary-0,mirrorwatch-canary-2,mirrorwatch-canary-4"),
            TaskGiven(0, "mirrorwatch-canary-0,mirrorwatch-canary-2,mirrorwatch-canary-4"),
        ),
        (
            TASK + b"1",
            properties("mirrorwatch-canary-3,mirrorwatch-canary-1,heartbeats-0"),
            TaskGiven(1, "mirrorwatch-canary-3,mirrorwatch-canary-1,heartbeats-0"),
        ),
        (TASK + b"17", properties("heartbeats-0"), TaskGiven(17, "heartbeats-0")),
        (TASK + b"99999", properties("heartbeats-0"), TaskGiven(99_999, "heartbeats-0")),
        (TASK + b"0", b'{"properties":{}}', TaskGiven(0, "")),
        (TASK + b"0", None, None),
        (b"commit-MirrorSourceConnector", b'{"tasks":2}', TasksCommitted(2)),
        (b"commit-MirrorSourceConnector", b'{"tasks":0}', TasksCommitted(0)),
        (b"commit-MirrorSourceConnector", None, TasksCommitted(0)),
        (b"connector-MirrorSourceConnector", None, TasksCommitted(0)),
        (b"connector-MirrorSourceConnector", properties(""), None),
        # What is of no concern is not even parsed.
        (b"session-key", b'{"key":"X7GNhg01","algorithm":"HmacSHA256"}', None),
        (b"task-MirrorHeartbeatConnector-0", b"{", None),
        (b"commit-MirrorCheckpointConnector", b"{", None),
        (None, b"{", None),
    ],
)
def test_what_a_record_says(key, value, expected):
    assert decode_task(key, value) == expected


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (b"task-east-mirror-1-3", properties("c-0"), TaskGiven(3, "c-0")),
        (b"commit-east-mirror-1", b'{"tasks":4}', TasksCommitted(4)),
        (b"connector-east-mirror-1", None, TasksCommitted(0)),
        (b"task-east-mirror-12-3", properties("c-0"), None),
        (b"task-east-mirror-3", properties("c-0"), None),
        (b"task-east-mirror-1-checkpoint-0", b"{", None),
        (b"task-east-mirror-1-1-0", b"{", None),
        (b"task-east-mirror-1--1", b"{", None),
        (TASK + b"0", properties("c-0"), None),
    ],
)
def test_of_several_connectors_each_has_its_own_tasks(key, value, expected):
    assert decode_task(key, value, connector="east-mirror-1") == expected


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ("", []),
        ("c-0,d-1", [("c", 0), ("d", 1)]),
        ("my-c-1,c-2-3", [("my-c", 1), ("c-2", 3)]),
        ("c-,c-x,,-1,c", []),
        ("c-" + "9" * 5000 + ",c-\u0661", []),
    ],
)
def test_which_partitions_a_task_carries(assigned, expected):
    assert list(partitions_in(assigned)) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (TASK, properties("c-0")),
        (TASK + b"x", properties("c-0")),
        (TASK + b"9" * 5000, properties("c-0")),
        (TASK + b"0" * 12 + b"1" * 4400, properties("c-0")),
        (TASK + b"100000", properties("c-0")),
        (TASK + b"0", b'{"properties":{"sasl.password":"hunter2",'),
        (TASK + b"0", b"\xff hunter2"),
        (TASK + b"0", b"[" * 100_000 + b"hunter2"),
        (TASK + b"0", b'"hunter2"'),
        (TASK + b"0", b'{"properties":"hunter2"}'),
        (TASK + b"0", b'{"properties":{"task.assigned.partitions":["hunter2"]}}'),
        (TASK + b"0", b'{"pad":"hunter2' + b"x" * (17 << 20)),
        (b"commit-MirrorSourceConnector", b'{"tasks":"hunter2"}'),
        (b"commit-MirrorSourceConnector", b'{"tasks":true}'),
        (b"commit-MirrorSourceConnector", b'{"tasks":-1}'),
        (b"commit-MirrorSourceConnector", b"{}"),
    ],
)
def test_what_is_malformed_says_so_and_carries_nothing_of_it(key, value):
    with pytest.raises(MalformedError) as caught:
        decode_task(key, value)
    chain = [caught.value]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    assert all(HIDDEN not in str(vars(error)) + str(error) for error in chain)
    assert HIDDEN not in "".join(traceback.format_exception(caught.value, chain=True))


@given(
    key=st.one_of(st.none(), st.binary(), st.binary().map(lambda rest: TASK + rest)),
    value=st.one_of(st.none(), st.binary()),
)
def test_any_bytes_are_read_or_malformed(key, value):
    try:
        found = decode_task(key, value)
    except MalformedError:
        return
    assert found is None or isinstance(found, TaskGiven | TasksCommitted)


@given(st.sets(st.tuples(st.sampled_from(["c", "c-1", "d"]), st.integers(0, 1000))))
def test_every_partition_that_is_dealt_out_is_read(dealt):
    said = ",".join(f"{topic}-{partition}" for topic, partition in dealt)
    assert decode_task(TASK + b"3", properties(said)) == TaskGiven(3, said)
    assert set(partitions_in(said)) == dealt
