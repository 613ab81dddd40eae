"""The end of the source's log and a re-created source topic, on a real mirror, with the reference digest."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest

from checksum.compare.findings import RecordVerdict, cause_of
from checksum.digest.cell_rows import Side, joined
from checksum.digest.record_hash import Content
from checksum.inventory.connections import Wire
from checksum.inventory.waiting import WaitPolicy
from checksum.plan.building import PlanRules
from checksum.plan.flow_plan import plan_flow
from checksum.run import compare_and_recheck
from deploy.local import topics
from fleet.mm2.handling import Handling
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Cause
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.clock import SystemClock
from tests.checksum.pretend_logs import Held, row
from tests.eventually import eventually
from tests.real.checksum.test_plan import DEADLINE_S, PARTITIONS, Stage

pytestmark = pytest.mark.long
DROPPED = 5  # the last ones of each partition
WAIT_S = 15.0  # the mirror flushes offsets every second


@pytest.fixture
def stage(kafka_pair, mirror, topic_name):
    found = Stage(kafka_pair, topic_name("tail"))
    found.mirror = mirror({"A->B.topics": "tail-.*"})
    # As its configuration says: a transform that may drop records, and no tolerance.
    found.flow = Flow("A", "B", mirror_version="4.3", handling=Handling(drops=("fault",), skips_failed=False))
    return found


def audited(stage):
    """Return what a run finds, with the plan's whole wait."""
    settings = {alias: ClientSettings(client) for alias, client in stage.client.items()}
    connects = Wire(settings, client_id="mirrorwatch-checksum", clock=SystemClock())

    async def planned():
        made = await plan_flow(
            stage.flow,
            connects,
            patterns=[re.escape(stage.topic)],
            rules=PlanRules(),
            equal_offsets=False,
            clock=SystemClock(),
            wait_policy=WaitPolicy(WAIT_S, SystemClock()),
        )
        return made.plan

    plan = asyncio.run(planned())
    cells = {side: joined(rows(stage, plan, side)).values() for side in Side}
    return asyncio.run(compare_and_recheck(stage.flow, plan, cells, connects, pause=lambda _: None))


def rows(stage, plan, side):
    for topic in plan.topics:
        for one in topic.partitions:
            alias, span = ("A", one.source) if side is Side.SOURCE else ("B", one.target)
            for record in stage.records(alias, one.partition, span):
                headers = record.headers if topic.headers else None
                content = Content(record.key, record.value, record.timestamp_ms, headers)
                yield row(Held(record.offset, content), topic, one, plan, side)


def lost(audit):
    """Return by partition how many records are lost, and of which causes."""
    findings = audit.result.findings
    assert {one.verdict for one in findings} <= {RecordVerdict.LOST}
    counted = Counter(one.partition for one in findings for _ in range(one.records))
    return dict(counted), {cause_of(one) for one in findings}


def lacking(stage):
    """Return by partition how many of the source's records the target lacks, by a full read of both sides."""
    copies = {one.value for one in stage.copies()}
    return {
        number: sum(one.value not in copies for one in stage.records("A", number))
        for number in range(PARTITIONS)
    }


def test_what_a_transform_drops_at_the_end_is_lost_and_what_a_stopped_mirror_owes_is_not(stage):
    stage.write(400)
    stage.wait_copied()
    assert audited(stage).result.coverage == 1
    stage.mirror.switch.on("drop", topics=re.escape(stage.topic))
    stage.write(DROPPED * PARTITIONS)
    audit = audited(stage)
    assert lacking(stage) == dict.fromkeys(range(PARTITIONS), DROPPED)
    assert lost(audit) == (lacking(stage), {Cause.FILTERED})
    assert (audit.result.status, audit.result.coverage, audit.result.left_out) == (1, 1.0, ())
    stage.mirror.stop()
    audit = audited(stage)
    assert (audit.result.status, audit.result.findings) == (3, ())
    assert {one.records for one in audit.result.left_out} == {DROPPED}
    assert all("stopped, hung or idle" in one.why for one in audit.result.left_out)
    stage.mirror.start()
    stage.mirror.wait_ready()


def test_what_a_mirror_skips_of_a_re_created_topic_is_lost_and_counted_exactly(stage):
    stage.write(600)
    stage.wait_copied()
    stage.mirror.stop()
    topics.recreate_topic(stage.client["A"], stage.topic)
    stage.write(1600)  # longer than the old one: the mirror goes on within it
    stage.mirror.start()
    stage.mirror.wait_ready()
    newest = [stage.records("A", number)[-1].offset for number in range(PARTITIONS)]
    eventually(
        lambda: (
            [stage.syncs().of(stage.topic, number)[-1].upstream for number in range(PARTITIONS)] == newest
        ),
        DEADLINE_S,
        every_s=0.5,
        what="the newest syncs",
    )
    audit = audited(stage)
    assert lacking(stage) == {0: 300, 1: 300}
    assert lost(audit) == (lacking(stage), {Cause.TOPIC_RECREATED})
    assert (audit.result.status, audit.result.coverage) == (1, 1.0)
