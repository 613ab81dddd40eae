"""What a worker's topics show of its tasks: when it was written, by the clock of Mirrorwatch, and when all of it is read."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.ingest import worker_topic
from lagmon.ingest.worker_topic import WorkerTopic
from lagmon.mirrors.progress.intake import OffsetsIntake
from lagmon.mirrors.tasks.worker import AssignmentsIntake, StatesIntake
from runtime.kafka.bulk import Batch
from tests.lagmon.mirror_flows import Mirrored, S, told

FAILED = json.dumps({"state": "FAILED", "trace": "RecordTooLargeException", "worker_id": "w"}).encode()


class World:
    """A flow whose worker's clock is behind ours; its offsets and states are read as they come."""

    def __init__(self, behind_s):
        self.one, self.behind_ms = Mirrored(flush_s=10.0), behind_s * S
        self.one.poll()
        self.intake = OffsetsIntake([(self.one.flow.order, self.one.flow.windows)])
        self.reader = WorkerTopic(
            None,
            StatesIntake([self.one.flow], str),
            cluster="B",
            topic="mm2-status.A.internal",
            host=self.one.b,
            lock=threading.Lock(),
            clock=SimpleNamespace(wall_s=lambda: self.one.now / 1000),
        )

    def go(self, seconds, *, moves=(0, 1)):
        for _ in range(0, seconds, 10):
            self.one.now += 10 * S
            for partition in (0, 1):
                self.one.write(100, partition=partition, copied=partition in moves)
            about = [{"cluster": "A", "partition": one, "topic": "orders"} for one in moves]
            if moves:
                self.intake.take(
                    [json.dumps(["MirrorSourceConnector", one]).encode() for one in about],
                    [json.dumps({"offset": self.one.ends["orders", one] - 1}).encode() for one in moves],
                    [self.one.now - self.behind_ms] * len(moves),
                    read_ms=self.one.now,
                    live=True,
                )
            self.one.poll()
            self.one.snapshot()

    def read(self, monkeypatch, *batches):
        """Have a reader begin, which hands over these batches."""
        left = list(batches)
        records = SimpleNamespace(
            open=lambda _: None,
            take=lambda **_: left.pop(0),
            positions=dict,
            close=lambda: None,
        )
        monkeypatch.setattr(worker_topic, "Bulk", lambda *_, **__: records)
        self.reader._ending = SimpleNamespace(is_set=lambda: not left)
        self.reader._read(1)

    def batch(self, *, ends=None, ago_s=0):
        key = b"status-task-MirrorSourceConnector-0"
        return Batch([key], [FAILED], times_ms=[self.one.now - self.behind_ms - ago_s * S], ends=ends or {})

    @property
    def failed_ms(self):
        (trouble,) = self.one.flow.states.in_state("FAILED")
        return trouble.at_ms


AT_THE_END = Batch([], [], ends={0: 0})


def test_which_task_has_what_is_known_once_all_is_read_that_the_topic_held(monkeypatch):
    world = World(0)
    flow = world.one.flow
    world.reader = WorkerTopic(
        None,
        AssignmentsIntake([flow]),
        cluster="B",
        topic="mm2-configs.A.internal",
        host=world.one.b,
        lock=threading.Lock(),
        clock=SimpleNamespace(wall_s=lambda: world.one.now / 1000),
    )
    said = {"properties": {"task.assigned.partitions": "orders-0", "sasl.jaas.config": "hidden"}}
    keys = [b"task-MirrorSourceConnector-0", b"commit-MirrorSourceConnector"]
    batch = Batch(
        keys,
        [json.dumps(each).encode() for each in (said, {"tasks": 1})],
        times_ms=[world.one.now] * 2,
        ends={},
    )
    world.read(monkeypatch, batch)
    assert flow.assignments.assigned_tasks([("orders", 0)]) is None
    world.read(monkeypatch, batch, AT_THE_END)
    assert flow.assignments.assigned_tasks([("orders", 0)]) == {("orders", 0): 0}
    assert flow.assignments.dealt_ms == world.one.now


@pytest.mark.parametrize("behind_s", [-300, 0, 300])
@pytest.mark.parametrize("moves", [(), (1,)])
def test_a_task_that_fails_is_the_cause_whatever_its_worker_s_clock_says(monkeypatch, behind_s, moves):
    world = World(behind_s)
    world.go(200)
    world.one.now += S
    world.read(monkeypatch, AT_THE_END, world.batch())
    assert world.failed_ms == world.one.now
    for _ in range(6):
        world.go(20, moves=moves)
        assert told(world.one) == (Verdict.STALLED, Cause.TASK_FAILED)


def test_what_was_there_before_is_of_its_own_time_until_the_clocks_are_known(monkeypatch):
    world = World(300)
    world.read(monkeypatch, world.batch(ends={0: 1}, ago_s=60))
    assert world.failed_ms == world.one.now - 360 * S


def test_a_reader_that_starts_again_knows_the_difference_of_the_clocks(monkeypatch):
    world = World(300)
    world.read(monkeypatch, AT_THE_END, world.batch())
    failed_ms = world.failed_ms
    world.one.flow.states.forget()
    world.one.now += 60 * S
    world.read(monkeypatch, world.batch(ends={0: 1}, ago_s=60))
    assert world.failed_ms == failed_ms


def test_a_record_without_a_time_is_of_when_it_is_read(monkeypatch):
    world = World(0)
    world.read(monkeypatch, Batch([b"status-task-MirrorSourceConnector-0"], [FAILED], times_ms=[-1]))
    assert world.failed_ms == world.one.now
