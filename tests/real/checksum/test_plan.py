"""What a checksum plans to compare of a real mirror, against a full read of both sides."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from confluent_kafka import Producer

from checksum.anchors.sync_topic import read_sync_topic
from checksum.inventory.inventory import Cluster, EarlierState, make_plan
from checksum.plan.building import PlanRules, isolations
from checksum.plan.facts import Verified
from checksum.plan.shape import READ_COMMITTED, Anchored, OffsetRange
from deploy.local import topics
from fleet.verdicts.flow import Flow
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.picking import Picker
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.clock import SystemClock
from tests.eventually import eventually

PARTITIONS = 2
DEADLINE_S = 60
FLUSH_S = 20.0
MOST = 10_000  # records of a partition, far more than a test writes


class Stage:
    """A topic of its own on A that is mirrored to B, what stands on both sides, and plans to compare it."""

    def __init__(self, pair, topic):
        self.topic, self.remote = topic, f"A.{topic}"
        self.flow = Flow("A", "B", mirror_version="4.3")
        self.client = {"A": pair.a.client_properties(), "B": pair.b.client_properties()}
        self.written = 0
        topics.create_topic(self.client["A"], topic, partitions=PARTITIONS)

    def write(self, count):
        producer = Producer({**self.client["A"], "log_level": 0})
        for number in range(count):
            self._produce(producer, number % PARTITIONS)
        assert producer.flush(FLUSH_S) == 0

    def write_transactions(self, *committed):
        """Write transactions of three records, each committed or given up."""
        producer = Producer({**self.client["A"], "log_level": 0, "transactional.id": self.topic})
        producer.init_transactions(FLUSH_S)
        for one in committed:
            producer.begin_transaction()
            for partition in (0, 1, 0):
                self._produce(producer, partition)
            producer.flush(FLUSH_S)
            (producer.commit_transaction if one else producer.abort_transaction)(FLUSH_S)

    def _produce(self, producer, partition):
        self.written += 1
        producer.produce(self.topic, b"value %d" % self.written, b"key", partition)
        producer.poll(0)

    def wait_copied(self, *, syncs=True):
        """Wait until every record is on the target and, with `syncs`, the newest of each has its sync."""
        there = self.client["B"]
        eventually(lambda: topics.partition_count(there, self.remote) == PARTITIONS, DEADLINE_S, every_s=0.2)
        eventually(lambda: len(self.copies()) >= self.written, DEADLINE_S, every_s=0.2)

        def synced():
            known = self.syncs()
            found = [known.of(self.topic, partition)[-1:] for partition in range(PARTITIONS)]
            newest = [self.records("A", partition)[-1].offset for partition in range(PARTITIONS)]
            return [pair.upstream for pairs in found for pair in pairs] == newest

        if syncs:
            eventually(synced, DEADLINE_S, what="the newest syncs", every_s=0.5)

    def copies(self):
        return [one for partition in range(PARTITIONS) for one in self.records("B", partition)]

    def syncs(self, ended=None):
        return read_sync_topic(
            ClientSettings(self.client["A"]),
            cluster="A",
            topic=self.flow.offset_syncs_topic,
            clock=SystemClock(),
            wanted=lambda name: name == self.topic,
            ended=ended,
        )

    def records(self, alias, partition, offsets=None, *, committed=False):
        """Return the records of a partition on this side, all or those of a range."""
        picker = Picker(
            ClientSettings(self.client[alias]),
            cluster=alias,
            name="truth",
            clock=SystemClock(),
            committed=committed,
        )
        picker.open()
        try:
            place = (self.topic if alias == "A" else self.remote), partition
            first = offsets.first if offsets is not None else picker.starts([place])[place]
            until = offsets.until if offsets is not None else MOST
            found = picker.pick({place: (first, MOST)})[place].records
            return [one for one in found if one.offset < until]
        finally:
            picker.close()

    def plan(self, *, known=None, flow=None):
        flow = flow or self.flow
        known = known or EarlierState(self.syncs().of)

        async def plan():
            sides = []
            for alias, isolation in zip(("A", "B"), isolations(flow), strict=True):
                settings = ClientSettings(self.client[alias])
                admin = ClusterAdmin(settings, cluster=alias)
                picker = Picker(
                    settings,
                    cluster=alias,
                    name="mirrorwatch-checksum",
                    clock=SystemClock(),
                    committed=isolation == READ_COMMITTED,
                )
                await admin.open()
                await asyncio.to_thread(picker.open)
                sides.append(Cluster(admin, picker))
            try:
                made = await make_plan(
                    flow, *sides, patterns=[self.topic], known=known, rules=PlanRules(), now_ms=1
                )
                return made.plan
            finally:
                for side in sides:
                    await asyncio.to_thread(side.reader.close)
                    await side.admin.close()

        return asyncio.run(plan())

    def check(self, plan):
        """See that each side's range holds the same records, and each run the same at the same distance."""
        (topic,) = plan.topics
        for one in topic.partitions:
            here = [(r.key, r.value, r.timestamp_ms) for r in self.records("A", one.partition, one.source)]
            copies = self.records("B", one.partition, one.target)
            there = [
                (r.key, r.value, r.timestamp_ms if topic.timestamps else at[2])
                for r, at in zip(copies, here, strict=False)
            ]
            assert Counter(here) == Counter(there)
            assert len(copies) == len(here)
            for run in one.runs:
                up = self.records("A", one.partition, OffsetRange(run.first, run.until))
                down = self.records(
                    "B", one.partition, OffsetRange(run.first + run.delta, run.until + run.delta)
                )
                assert [(r.offset + run.delta, r.value) for r in up] == [(r.offset, r.value) for r in down]
        return topic.partitions


@pytest.fixture
def stage(kafka_pair, mirror, topic_name):
    """Give a topic whose mirror runs."""
    found = Stage(kafka_pair, topic_name("audited"))
    found.mirror = mirror({"A->B.topics": "audited-.*"})  # the same for every test here
    return found


def spans(stage, partitions):
    """Return by partition the share of the source's log that is compared: (first, until, end of the log)."""
    ends = {one: stage.records("A", one)[-1].offset + 1 for one in range(PARTITIONS)}
    return {one.partition: (one.source.first, one.source.until, ends[one.partition]) for one in partitions}


def test_everything_is_compared_with_markers_and_aborted_records_and_then_what_is_new(stage):
    stage.write(500)
    stage.write_transactions(True, False, True)
    stage.write(20)
    stage.wait_copied()
    plan = stage.plan()
    partitions = stage.check(plan)
    assert plan.left_out == ()
    assert all(first == 0 and until >= end for first, until, end in spans(stage, partitions).values())
    assert all(one.runs and one.anchored is Anchored.OFFSET_SYNCS for one in partitions)
    (topic,) = plan.topics
    assert topic.source_topic_id == topics.topic_id(stage.client["A"], stage.topic)
    assert topic.target_topic_id == topics.topic_id(stage.client["B"], stage.remote)

    ended = {
        (stage.topic, one.partition): Verified(
            one.source.until, one.target.until, topic.source_topic_id, topic.target_topic_id
        )
        for one in partitions
    }
    known = EarlierState(stage.syncs().of, ended)
    assert (stage.plan(known=known).topics, stage.plan(known=known).left_out) == ((), ())
    stage.write(300)
    stage.wait_copied()
    again = stage.plan(known=EarlierState(stage.syncs().of, ended))
    for one in stage.check(again):
        assert one.source.first == ended[stage.topic, one.partition].source_until
    assert again.left_out == ()


def test_a_tail_of_markers_is_part_of_it(stage):
    stage.write(50)
    stage.write_transactions(True)
    stage.wait_copied()
    plan = stage.plan()
    assert plan.left_out == ()
    for one in stage.check(plan):
        # Behind the last record stands the marker of its transaction.
        assert one.source.until == stage.records("A", one.partition)[-1].offset + 2


def test_what_either_log_has_lost_is_left_out_and_the_rest_is_compared(stage):
    stage.write(600)
    stage.wait_copied()
    syncs = stage.syncs()
    topics.delete_records(stage.client["A"], stage.topic, before={0: 40})
    topics.delete_records(stage.client["B"], stage.remote, before={1: 120})
    plan = stage.plan(known=EarlierState(syncs.of))
    found = spans(stage, stage.check(plan))
    # By equal records at equal times, so that no record which both logs hold is left out.
    assert found == {0: (40, 300, 300), 1: (120, 300, 300)}
    assert [(one.partition, one.records, one.later) for one in plan.left_out] == [(1, 120, False)]


def test_without_any_sync_it_is_found_by_time(stage):
    stage.write(400)
    stage.wait_copied(syncs=False)
    topics.delete_records(stage.client["A"], stage.topic, before={0: 30, 1: 30})
    plan = stage.plan(known=EarlierState(lambda *_: ()))
    partitions = stage.check(plan)
    assert spans(stage, partitions) == {0: (30, 200, 200), 1: (30, 200, 200)}
    assert {one.anchored for one in partitions} == {Anchored.TIMESTAMPS}


def test_a_target_that_stamps_records_is_compared_by_segments(stage):
    stage.write(2)
    stage.wait_copied()
    topics.alter_config(stage.client["B"], stage.remote, {"message.timestamp.type": "LogAppendTime"})
    stage.write(500)
    stage.wait_copied()
    plan = stage.plan()
    (topic,) = plan.topics
    assert not topic.timestamps
    for one in stage.check(plan):
        assert len(one.segments) >= 2
        for up, down in one.segments:
            values = [
                stage.records(alias, one.partition, OffsetRange(at, at + 1))[0].value
                for alias, at in (("A", up), ("B", down))
            ]
            assert values[0] == values[1]


@pytest.mark.long
def test_a_source_that_was_made_anew_is_not_taken_for_the_old_one(stage):
    stage.write(300)
    stage.wait_copied()
    ids = [topics.topic_id(stage.client["A"], stage.topic), topics.topic_id(stage.client["B"], stage.remote)]
    ended = {(stage.topic, number): Verified(150, 150, *ids) for number in range(PARTITIONS)}
    stage.mirror.stop()
    topics.recreate_topic(stage.client["A"], stage.topic)
    stage.write(1000)  # longer than the old one: the mirror goes on in its middle
    stage.mirror.start()
    stage.mirror.wait_ready()
    eventually(lambda: stage.copies()[-1].value == stage.records("A", 1)[-1].value, DEADLINE_S, every_s=0.2)
    eventually(
        lambda: stage.syncs().of(stage.topic, 1)[-1].upstream == stage.records("A", 1)[-1].offset,
        DEADLINE_S,
        every_s=0.5,
    )
    syncs = stage.syncs(ended={place: one.source_until for place, one in ended.items()})
    plan = stage.plan(known=EarlierState(syncs.of, ended))
    assert plan.left_out == ()
    for one in plan.topics[0].partitions:
        assert (one.source.first, one.target.first) == (0, 150)
        assert one.recreated is not None
        assert one.recreated[0] == 150
    assert sum(one.source.span for topic in plan.topics for one in topic.partitions) == 1000
