"""The canary's producer beside a broker that hangs for longer than its reports may take."""

from __future__ import annotations

import time
from collections import Counter

from deploy.local import topics
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.sender import Delivered, NotDelivered, Sender
from runtime.process.clock import SystemClock
from tests.eventually import eventually
from tests.real.census import read_all

PARTITIONS = 2


def test_a_broker_that_hangs_gets_no_record_twice(kafka_pair, topic_name):
    topic, broker = topic_name(), kafka_pair.a
    topics.create_topic(broker.client_properties(), topic, partitions=PARTITIONS)
    said = []
    sender = Sender(
        ClientSettings(broker.client_properties()),
        name="t",
        cluster="A",
        clock=SystemClock(),
        sink=said.append,
        message_timeout_s=1.5,
    )
    sender.start()
    sent = 0

    def send_for(seconds):
        nonlocal sent
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            key = b"%d" % sent
            assert sender.send(topic, sent % PARTITIONS, key=key, value=b"v", headers=(), tag=key)
            sent += 1
            time.sleep(0.01)

    send_for(1.0)
    broker.freeze()
    try:
        send_for(4.0)
    finally:
        broker.thaw()
    send_for(2.0)
    eventually(lambda: len(said) == sent, 30, what="All reports")
    sender.stop()
    assert sender.join(10.0)

    assert len({report.tag for report in said}) == sent
    doubtful = [report for report in said if isinstance(report, NotDelivered)]
    assert doubtful
    assert all(report.in_doubt and not report.ended for report in doubtful)
    found = Counter()
    for copy in read_all(broker, topic):
        found[copy.key] += 1
    assert max(found.values()) == 1
    assert {report.tag for report in said if isinstance(report, Delivered)} <= set(found)
