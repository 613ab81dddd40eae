"""Topics of a real mirror made anew on either side, left out whole and stamped anew: told from offsets alone."""

from __future__ import annotations

import re

import pytest
from confluent_kafka import Producer

from deploy.local import topics
from tests.eventually import eventually
from tests.real.lag.test_mirrors import PARTITIONS, Traffic, ends_of, metric, said
from tests.real.service.process import ServiceProcess

HARM = {"losing", "altered", "repeating"}


def write(client, topic, count):
    """Write so many records into each partition, and have them acknowledged."""
    producer = Producer(client)
    for number in range(count):
        for partition in range(PARTITIONS):
            producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(20) == 0


@pytest.fixture
def stage(kafka_pair, mirror, topic_name, tmp_path):
    """Give a function for names of topics, clients, mirror and service; another topic has traffic all along."""
    a, b = (broker.client_properties() for broker in (kafka_pair.a, kafka_pair.b))
    names = {word: topic_name(word) for word in ("moving", "orders", "timed", "left")}
    for word in ("moving", "orders", "timed"):
        topics.create_topic(a, names[word], partitions=PARTITIONS)
    running = mirror({"A->B.topics": "|".join(names.values())}, fresh=True)
    with (
        Traffic(a, names["moving"]),
        ServiceProcess(
            tmp_path / "service",
            topic=topic_name("canary"),
            mm2=running.properties_file,
            canary={"mode": "off"},
            lag={"commits": "topic"},
        ) as service,
    ):
        yield names, (a, b), running, service


def copied(client, topic, count):
    eventually(lambda: ends_of(client, topic) == dict.fromkeys(range(PARTITIONS), count), 60, every_s=0.5)


def found(service, words, *, deadline_s):
    """Wait for evidence of offsets in these words; return what was told of each partition."""

    def look():
        rows = [one["sentence"] for one in service.flow().get("evidence", ()) if one["part"] == "lag"]
        return [one for one in rows if re.search(words, one)]

    try:
        return eventually(look, deadline_s, what=words, every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {service.said_of()}") from None


def remade(service, topic, side):
    return metric(service, "topic_recreated_total", topic=topic, side=side)


@pytest.mark.long
def test_what_becomes_of_topics_is_told_from_offsets_and_ids(stage):
    names, (a, b), running, service = stage
    orders = names["orders"]
    service.becomes("healthy", deadline_s=90)
    write(a, orders, 100)
    copied(b, f"A.{orders}", 100)
    said(service, "^Lag [0-9,]+ records? on", deadline_s=60)

    # Benign: made anew under a running mirror, which copies all of the new one from its start.
    topics.recreate_topic(a, orders)
    write(a, orders, 40)
    copied(b, f"A.{orders}", 140)
    eventually(lambda: remade(service, orders, "source") == 1, 60, every_s=0.5)
    said(service, f"{orders} on A was re-created .* no loss is known", deadline_s=60)
    service.becomes("healthy", deadline_s=60)
    assert not service.verdicts() & HARM, service.said

    # The target stamps what comes anew.
    topics.alter_config(b, f"A.{names['timed']}", {"message.timestamp.type": "LogAppendTime"})
    eventually(
        lambda: write(a, names["timed"], 1) or service.flow().get("verdict") == "altered", 90, every_s=2
    )
    assert service.flow()["cause"]["code"] == "retimed"
    topics.alter_config(b, f"A.{names['timed']}", {"message.timestamp.type": None})

    # A topic of which a transformation drops every record.
    running.switch.on("drop", topics=re.escape(names["left"]))
    topics.create_topic(a, names["left"], partitions=PARTITIONS)
    write(a, names["left"], 7)
    service.becomes("losing", cause="filtered", deadline_s=240)
    dropped = rf"At least 7 records of {names['left']}-[0-9] on A \(0 to 6\) did not reach B"
    assert len(found(service, dropped, deadline_s=10)) == 3
    running.switch.off()

    # The copy goes: the mirror makes it again, and sends nothing again that it had sent.
    topics.delete_topic(b, f"A.{orders}")
    eventually(lambda: topics.partition_count(b, f"A.{orders}") == PARTITIONS, 60, every_s=0.5)
    told = found(service, f"A.{orders} on B was re-created", deadline_s=90)
    assert sorted(re.findall(r"140 records of its partition ([0-9]) are gone", " ".join(told))) == [
        "0",
        "1",
        "2",
    ]

    # The source's is made anew and grows longer than it was, while the mirror is stopped.
    running.stop()
    topics.recreate_topic(a, orders)
    write(a, orders, 55)
    running.start()
    running.wait_ready()
    told = found(
        service,
        f"{orders}-[0-9] on A was re-created .* (between )?40 (and 54 )?records, from",
        deadline_s=120,
    )
    copied(b, f"A.{orders}", 15)  # the truth: 55 less 40 in each
    eventually(
        lambda: len(found(service, f"{orders}-[0-9] on A was re-created", deadline_s=10)) == PARTITIONS, 60
    )
    service.end()


@pytest.mark.long
def test_a_task_that_failed_is_named_with_its_reason(stage):
    names, (a, _), running, service = stage
    service.becomes("healthy", deadline_s=90)
    running.switch.on("fail", topics=re.escape(names["orders"]))
    write(a, names["orders"], 1)
    flow = service.becomes("stalled", cause="task_failed", deadline_s=60)
    assert re.search("Task [0-9] of MirrorSourceConnector is FAILED since .*UTC.*: ", str(flow))
    running.switch.off()
    running.restart()
    running.wait_ready()
    service.becomes("healthy", deadline_s=120)
    service.end()
