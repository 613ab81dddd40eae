"""A real mirror that drops or changes canaries, and strangers in the canary's topic: exactly those are told."""

from __future__ import annotations

import random
import re

import pytest
from confluent_kafka import Producer

from tests.eventually import eventually
from tests.real.census import census
from tests.real.service.process import ServiceProcess

FLOW = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B"}


@pytest.fixture
def topic(topic_name):
    return topic_name("canary")


@pytest.fixture
def watched(mirror, topic, tmp_path):
    """Give a service that watches A->B by a canary topic of this test's own, healthy, with its mirror."""
    running = mirror()
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as one:
        one.is_healthy()
        yield one, running


def test_dropped_canaries_are_lost_and_no_others(watched, kafka_pair, topic):
    service, running = watched
    running.switch.on("drop", topics=re.escape(topic), modulus=3)
    flow = service.becomes("losing", cause="filtered", deadline_s=10)
    eventually(lambda: service.books()["lost"] >= 8, 15)
    running.switch.off()
    before = service.books()["good"]
    eventually(lambda: service.books()["good"] >= before + 10, 15)
    assert service.flow()["verdict"] == "losing"  # it holds although all comes through again
    listed = {(one["partition"], one["source_offset"]) for one in service.flow()["losses"]}
    books = service.end()["A->B"]
    found = census(kafka_pair.a, kafka_pair.b, topic)
    assert found.missing
    assert books["lost"] == len(found.missing)
    assert books["confirmed"] == books["overdue"] == books["returned"] == books["corrupted"] == 0
    assert books["in_flight"] == 0
    missing = {(copy.partition, copy.offset) for copy in found.missing}
    assert listed
    assert listed <= missing
    rows = {(row["partition"], row["source_offset"]) for row in flow["evidence"]}
    assert rows
    assert rows <= missing
    assert service.verdicts() <= {"unknown", "healthy", "losing"}


@pytest.mark.parametrize("mode", ["alter", "unheader"])
def test_changed_canaries_are_altered(watched, kafka_pair, topic, mode):
    service, running = watched
    running.switch.on(mode, topics=re.escape(topic), modulus=3)
    flow = service.becomes("altered", cause="transformed", deadline_s=10)
    assert flow["evidence"][0]["target_offset"] is not None
    eventually(lambda: service.books()["corrupted"] >= 6, 15)
    running.switch.off()
    before = service.books()["good"]
    eventually(lambda: service.books()["good"] >= before + 8, 15)
    books = service.end()["A->B"]
    found = census(kafka_pair.a, kafka_pair.b, topic)
    assert books["corrupted"] == found.altered
    # A changed copy delivers nothing: without an intact one the probe is lost, which is no verdict of its own.
    assert books["lost"] == len(found.missing) == found.altered
    assert "losing" not in service.verdicts()


def test_strangers_in_the_topic_disturb_nothing(watched, kafka_pair, topic):
    service, _ = watched
    begun = service.flow()["counters"]
    producer = Producer({**kafka_pair.a.client_properties(), "linger.ms": 5})
    chance = random.Random(7)
    for number in range(3000):
        producer.produce(
            topic,
            partition=number % 2,
            key=chance.choice([None, b"", chance.randbytes(chance.randrange(40))]),
            value=chance.choice(
                [
                    None,
                    b"",
                    chance.randbytes(chance.randrange(2000)),
                    b'{"mirrorwatch":1' + chance.randbytes(20),
                    b'{"mirrorwatch":' + b"[" * 3000,
                ]
            ),
            headers=chance.choice(
                [None, [], [("mirrorwatch-canary", None)], [("ü\n<b>", chance.randbytes(9))]]
            ),
        )
    assert producer.flush(20) == 0
    eventually(lambda: service.books()["good"] >= begun["good"] + 12, 20)
    books = service.end()["A->B"]
    found = census(kafka_pair.a, kafka_pair.b, topic)
    assert len(found.target) >= 3000
    assert books["lost"] == books["overdue"] == books["duplicated"] == books["unknown"] == 0
    assert books["corrupted"] == found.altered == 0  # the mirror copied every byte of them
    assert service.verdicts() <= {"unknown", "healthy"}


def test_a_standstill_is_told_beside_a_loss_of_a_while_ago(watched, topic):
    """A verdict that holds for a quarter of an hour must not hide that nothing comes any more."""
    service, running = watched
    running.switch.on("drop", topics=re.escape(topic), modulus=3)
    service.becomes("losing", cause="filtered", deadline_s=10)
    running.switch.off()
    ended = eventually(lambda: service.flow() if "was found" in service.flow()["sentence"] else None, 30)
    assert re.search(r"dropped records, .*\. The last was found .* ago\.$", ended["sentence"])
    assert ended["also"] is None
    running.freeze()
    stands = eventually(lambda: service.flow() if service.flow()["also"] else None, 30)
    assert (stands["verdict"], stands["also"]["verdict"]) == ("losing", "stalled")
    eventually(lambda: service.metric("flow_cause", **FLOW, cause="mirror_down") == 1, 30)
    # A loss is current for a minute.
    eventually(lambda: service.metric("flow_cause", **FLOW, cause="filtered") == 0, 90)
    assert service.metric("flow_condition", **FLOW, condition="stalled") == 1
    assert service.metric("flow_verdict", **FLOW, verdict="losing") == 1
    assert service.metric("flow_verdict", **FLOW, verdict="stalled") == 0
    assert any("has waited on A" in row["sentence"] for row in service.flow()["evidence"])
    running.thaw()
    eventually(lambda: service.flow()["also"] is None, 30)
    assert service.flow()["verdict"] == "losing"
    service.end()
    beside = [line for line in service.lines() if "also" in line]
    told = [line["also"] for line in beside]
    # What waited at the mirror may arrive too late before all is well again.
    assert (told[0], told[-1]) == ("stalled", "none")
    assert set(told[1:-1]) <= {"stalled", "late", "unknown", "none"}
    assert beside[-1]["sentence"] == f"A->B is no longer {told[-2]}; its verdict is still losing."
