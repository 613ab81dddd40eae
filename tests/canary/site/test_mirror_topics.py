"""MirrorMaker's own topics over a client that is played: missing, made anew, refused, malformed, away."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from canary.flows import CanaryFlow
from canary.report import CollectorCounts
from canary.site.mirror_topics import INTERVAL_S, SILENT_S, TASKS_SILENT_S, MirrorTopics
from fleet.errors import RefusedError, UnavailableError
from fleet.verdicts.evidence import TaskEvidence
from fleet.wire.mirror import encode_heartbeat
from fleet.wire.records import Heartbeat, HeartbeatKey, Tombstone
from runtime.kafka.admin import TopicDescription
from runtime.kafka.tail import FROM_NEWEST, FROM_START, TailEnd, TailFault, TailRecord
from tests.runtime.fake_clock import FakeClock

BEATS, TASKS = "A.heartbeats", "mm2-configs.A.internal"
FLOW = CanaryFlow(
    "A->B",
    "A",
    "B",
    "c",
    "A.c",
    5.0,
    10.0,
    1,
    exactly_once=False,
    heartbeats_topic=BEATS,
    tasks_topic=TASKS,
)
KEY = HeartbeatKey("B", "A")


class PlayedTail:
    def __init__(self):
        self.begun = []
        self.coming = []
        self.closed = 0
        self.failing = None

    async def begin(self, places):
        if self.failing is not None:
            raise self.failing
        self.begun.append(dict(places))

    async def take(self):
        taken, self.coming = self.coming, []
        return taken

    async def close(self):
        self.closed += 1


class PlayedAdmin:
    def __init__(self):
        self.ids = {}  # by topic: its id, an error, or nothing
        self.asked = []

    async def describe_topics(self, names):
        (name,) = names
        self.asked.append(name)
        found = self.ids.get(name)
        if isinstance(found, Exception):
            raise found
        return {name: None if found is None else TopicDescription(name, found, (1,))}


@pytest.fixture
def scene():
    clock, tail, admin, counts, said = FakeClock(), PlayedTail(), PlayedAdmin(), CollectorCounts(), []
    reporter = SimpleNamespace(event=lambda sentence, **facts: said.append((sentence, facts)))
    topics = MirrorTopics("B", tail=tail, admin=admin, counts=counts, clock=clock, reporter=reporter)
    return SimpleNamespace(
        clock=clock, tail=tail, admin=admin, counts=counts, said=said, topics=topics, flows=[FLOW]
    )


async def look(scene, *coming, after_s=INTERVAL_S):
    scene.clock.advance(after_s)
    scene.tail.coming = list(coming)
    await scene.topics.poll(scene.flows)


def age_s(scene):
    return scene.topics.heartbeat_age_s("A->B", scene.clock.wall_s())


def heartbeats_s(scene):
    return scene.topics.heartbeats_s("A->B", scene.clock.monotonic_ns())


def beat(scene, offset, *, age_s=0.5, topic=BEATS):
    at_ms = int((scene.clock.wall_s() + INTERVAL_S - age_s) * 1000)
    return TailRecord(topic, offset, *encode_heartbeat(Heartbeat(KEY, at_ms)))


def task(number, partitions, offset):
    value = {"properties": {"task.assigned.partitions": partitions, "ssl.key.password": "hidden"}}
    key = f"task-MirrorSourceConnector-{number}".encode()
    return TailRecord(TASKS, offset, key, json.dumps(value).encode())


def commit(tasks, offset):
    return TailRecord(TASKS, offset, b"commit-MirrorSourceConnector", b'{"tasks":%d}' % tasks)


def errors(scene):
    return scene.counts.errors["heartbeats"]


async def test_the_newest_heartbeat_is_aged_by_the_wall_clock_and_never_below_0(scene):
    scene.admin.ids = {BEATS: "one"}
    await look(scene)
    assert age_s(scene) is None
    assert scene.tail.begun == [{BEATS: FROM_NEWEST}]
    await look(scene, beat(scene, 7, age_s=3.0), beat(scene, 8, age_s=1.5))
    assert age_s(scene) == pytest.approx(1.5)
    scene.clock.advance(10)
    assert age_s(scene) == pytest.approx(11.5)
    await look(scene, beat(scene, 9, age_s=-4.0))  # the worker's clock is ahead
    assert age_s(scene) == 0.0
    assert scene.counts.last_success_at["heartbeats"] == scene.clock.wall_s()
    assert errors(scene) == 0


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0, -3600.0])
async def test_when_heartbeats_came_is_told_by_our_own_clock(scene, ahead_s):
    scene.admin.ids = {BEATS: "one"}
    scene.flows = [replace(FLOW, tasks_topic="")]
    await look(scene)
    assert heartbeats_s(scene) == ()
    for offset in range(5):
        await look(scene, beat(scene, offset, age_s=0.5 - ahead_s))
    # Each lot came after the look before: two seconds ago, four, six.
    assert heartbeats_s(scene) == (2.0, 4.0, 6.0)
    await look(scene)
    await look(scene, TailRecord(BEATS, 5, b"\x00", b"\x00"), TailEnd(BEATS, 6))  # no heartbeat
    assert heartbeats_s(scene) == (6.0, 8.0, 10.0)
    await look(scene, beat(scene, 6), beat(scene, 7), beat(scene, 8))  # a backlog is one lot
    assert heartbeats_s(scene) == (2.0, 8.0, 10.0)


async def test_no_heartbeat_is_taken_for_younger_than_the_last_look_that_was_done(scene):
    scene.admin.ids = {BEATS: "one"}
    await look(scene)
    scene.tail.failing = UnavailableError("no client")
    scene.admin.ids = {BEATS: "one", TASKS: "three"}
    with pytest.raises(UnavailableError):
        await look(scene, after_s=TASKS_SILENT_S)
    scene.tail.failing = None
    await look(scene, beat(scene, 0))
    assert heartbeats_s(scene) == (TASKS_SILENT_S + INTERVAL_S,)
    scene.admin.ids = {}
    await look(scene, after_s=SILENT_S)
    assert heartbeats_s(scene) == ()


async def test_a_topic_that_comes_late_is_found_and_one_that_goes_tells_no_age_any_more(scene):
    for _ in range(10):
        await look(scene)
    assert scene.tail.begun == []
    assert "heartbeats" not in scene.counts.last_success_at
    assert scene.admin.asked.count(BEATS) == 4  # every SILENT_S, not every look
    scene.admin.ids = {BEATS: "one"}
    await look(scene, after_s=SILENT_S)
    await look(scene, beat(scene, 0))
    assert age_s(scene) is not None
    scene.admin.ids = {}
    await look(scene, after_s=SILENT_S)
    assert age_s(scene) is None
    assert scene.tail.begun[-1] == {}
    assert scene.said == []


async def test_while_heartbeats_come_no_one_is_asked(scene):
    scene.admin.ids = {BEATS: "one"}
    scene.flows = [replace(FLOW, tasks_topic="")]
    await look(scene)
    for offset in range(30):
        await look(scene, beat(scene, offset), TailEnd(BEATS, offset + 1))
    assert scene.admin.asked == [BEATS]
    assert len(scene.tail.begun) == 1


async def test_of_a_topic_that_was_recreated_the_newest_is_read_by_a_new_client(scene):
    scene.admin.ids = {BEATS: "one"}
    await look(scene)
    await look(scene, beat(scene, 500))
    scene.admin.ids = {BEATS: "two"}
    await look(scene, after_s=SILENT_S)
    assert scene.tail.begun[-1] == {BEATS: FROM_NEWEST}
    assert age_s(scene) is None
    await look(scene, beat(scene, 2))
    assert age_s(scene) == pytest.approx(0.5)


async def test_a_client_recreated_for_another_topic_continues_where_it_was(scene):
    scene.admin.ids = {BEATS: "one"}
    await look(scene)
    await look(scene, beat(scene, 500))
    scene.admin.ids[TASKS] = "three"
    await look(scene, after_s=TASKS_SILENT_S)
    assert scene.tail.begun[-1] == {BEATS: 501, TASKS: FROM_START}


@pytest.mark.parametrize("refused_by", ["describing", "reading"])
async def test_no_right_to_read_is_told_and_ends_by_itself(scene, refused_by):
    refusal = RefusedError("cluster B: reading A.heartbeats failed: the principal may not do this")
    if refused_by == "describing":
        scene.admin.ids = {BEATS: refusal}
        await look(scene)
    else:
        scene.admin.ids = {BEATS: "one"}
        await look(scene)
        await look(scene, TailFault(BEATS, refusal))
        await look(scene)
        assert scene.tail.begun[-1] == {}  # it is left alone for a while
    ((sentence, facts),) = scene.said
    assert sentence.startswith("cannot read MirrorMaker's heartbeats")
    assert facts == {"kafka_cluster": "B", "topic": BEATS, "why": str(refusal)}
    assert errors(scene) == 1
    assert age_s(scene) is None
    scene.admin.ids = {BEATS: refusal}
    await look(scene, after_s=3 * SILENT_S)
    assert errors(scene) == 2
    assert len(scene.said) == 1  # once
    scene.admin.ids = {BEATS: "one"}
    await look(scene, after_s=3 * SILENT_S)
    await look(scene, beat(scene, 3))
    assert age_s(scene) is not None
    await look(scene, TailFault(BEATS, refusal))
    assert len(scene.said) == 2  # it was allowed meanwhile


@pytest.mark.parametrize("error", [RefusedError("no"), UnavailableError("no")])
async def test_of_the_tasks_no_one_is_told(scene, error):
    scene.admin.ids = {TASKS: error}
    await look(scene)
    scene.admin.ids = {TASKS: "three"}
    await look(scene, after_s=3 * TASKS_SILENT_S)
    await look(scene, TailFault(TASKS, error), TailRecord(TASKS, 0, b"task-MirrorSourceConnector-0", b"{"))
    assert scene.said == []
    assert errors(scene) == 0
    assert scene.topics.tasks("A->B") == ()


async def test_what_is_malformed_is_counted_and_changes_nothing(scene):
    scene.admin.ids = {BEATS: "one"}
    await look(scene)
    await look(scene, beat(scene, 0, age_s=1.0))
    withdrawn = TailRecord(BEATS, 3, *encode_heartbeat(Tombstone(KEY)))
    await look(
        scene, TailRecord(BEATS, 1, b"\x00", b"\x00"), TailRecord(BEATS, 2, None, None), withdrawn, after_s=0
    )
    assert errors(scene) == 2
    assert age_s(scene) == pytest.approx(1.0)


async def test_a_cluster_that_is_away_is_one_error_for_each_look_and_the_age_continues(scene):
    scene.admin.ids = {BEATS: "one"}
    await look(scene)
    await look(scene, beat(scene, 0))
    away = UnavailableError("cluster B is away")
    await look(scene, TailFault("", away), TailFault("", away), TailFault(BEATS, away))
    assert errors(scene) == 1
    scene.admin.ids = {BEATS: away}
    await look(scene)
    assert errors(scene) == 2
    assert age_s(scene) == pytest.approx(0.5 + 2 * INTERVAL_S)
    assert scene.said == []
    scene.admin.ids = {BEATS: "one"}
    await look(scene, beat(scene, 1), after_s=SILENT_S)
    assert age_s(scene) < SILENT_S


async def test_tasks_hold_as_of_the_last_commit(scene):
    scene.admin.ids = {TASKS: "three"}
    await look(scene)
    assert scene.tail.begun == [{TASKS: FROM_START}]
    await look(scene, task(0, "c-0,c-2,x-1", 1), task(1, "c-1,c-3,c-d-7,heartbeats-0", 2))
    assert scene.topics.tasks("A->B") == ()
    await look(scene, commit(2, 3))
    assert scene.topics.tasks("A->B") == (
        TaskEvidence("MirrorSourceConnector-0", (0, 2)),
        TaskEvidence("MirrorSourceConnector-1", (1, 3)),
    )
    # One task fewer: what the second was given before is left over.
    await look(scene, task(0, "c-0,c-1,c-2,c-3", 4), commit(1, 5))
    assert scene.topics.tasks("A->B") == (TaskEvidence("MirrorSourceConnector-0", (0, 1, 2, 3)),)
    await look(scene, TailRecord(TASKS, 6, b"connector-MirrorSourceConnector", None))
    assert scene.topics.tasks("A->B") == ()


async def test_flows_come_go_and_change(scene):
    scene.admin.ids = {BEATS: "one", TASKS: "three", "C.heartbeats": "four", "A_heartbeats": "five"}
    await look(scene)
    await look(scene, beat(scene, 0))
    other = replace(FLOW, name="C->B", source="C", heartbeats_topic="C.heartbeats", tasks_topic="", off="no")
    scene.flows = [FLOW, other]
    await look(scene)
    assert scene.tail.begun[-1] == {BEATS: 1, TASKS: FROM_START, "C.heartbeats": FROM_NEWEST}
    scene.flows = [replace(FLOW, heartbeats_topic="A_heartbeats")]
    await look(scene, beat(scene, 1))
    assert scene.tail.begun[-1] == {"A_heartbeats": FROM_NEWEST, TASKS: FROM_START}
    assert age_s(scene) is None
    assert scene.topics.heartbeat_age_s("C->B", 0) is None
    scene.flows = []
    await look(scene)
    assert scene.tail.begun[-1] == {}


async def test_where_nothing_is_wanted_no_client_is_made_and_no_one_is_asked(scene):
    scene.flows = [replace(FLOW, heartbeats_topic="", off="not mirrored")]
    await look(scene)
    assert scene.tail.begun == []
    assert scene.admin.asked == []


async def test_a_client_that_cannot_be_made_is_tried_again_and_the_loop_ends_when_told(scene):
    scene.admin.ids = {BEATS: "one"}
    scene.tail.failing = UnavailableError("no client")
    looks = iter([False] * 6)  # both the loop and its waiting ask
    stopping = SimpleNamespace(is_set=lambda: next(looks, True))
    await scene.topics.run(lambda: scene.flows, stopping)
    assert errors(scene) == 3
    assert scene.tail.closed == 1
    scene.tail.failing = None
    await look(scene)
    assert scene.tail.begun == [{BEATS: FROM_NEWEST}]
