"""Mirrors that are no MirrorMaker 2, judged by their group's commits or by equal offsets: real programs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from deploy.local.groups import set_offsets
from deploy.local.process import Process
from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.lag.test_mirrors import PARTITIONS, Traffic, metric, said
from tests.real.service.process import ServiceProcess

PROGRAMS = Path(__file__).parents[1] / "mirror_programs"
BACK_TO = 0
SLOWLY = "150"  # records a second, with a hundred more coming: so it is back for longer than a look takes


@pytest.fixture
def traffic(kafka_pair, topic_name):
    """Give a topic of one name on both clusters, and traffic to it on A."""
    topic = topic_name("orders")
    for broker in (kafka_pair.a, kafka_pair.b):
        create_topic(broker.client_properties(), topic, partitions=PARTITIONS)
    with Traffic(kafka_pair.a.client_properties(), topic) as running:
        yield topic, running


@pytest.fixture
def started(kafka_pair, tmp_path):
    """Give a way to start one of the programs, with the addresses of A and B as its first arguments."""
    processes = []

    def start(name, *arguments):
        addresses = [
            broker.client_properties()["bootstrap.servers"] for broker in (kafka_pair.a, kafka_pair.b)
        ]
        command = [sys.executable, str(PROGRAMS / f"{name}.py"), *addresses, *arguments]
        process = Process(f"{name}-{len(processes)}", command, folder=tmp_path)
        process.start()
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.thaw()
        process.kill()


@pytest.fixture
def service(kafka_pair, traffic, topic_name, tmp_path):
    """Give a way to make a service that watches the flow A->B by its offsets alone."""

    def make(*, lag=None, **flow):
        return ServiceProcess(
            tmp_path / "service",
            topic=topic_name("canary"),
            clusters={"A": kafka_pair.a.client_properties(), "B": kafka_pair.b.client_properties()},
            flows={"A->B": {"topics": traffic[0], "policy": "identity", **flow}},
            canary={"mode": "off"},
            lag={"commits": "topic", **(lag or {})},
        )

    return make


def keeps_up(service, topic, traffic, when):
    """Wait until the flow is well by these words, with next to no lag under traffic and none without.

    How often it tells where it is has been seen by then: what stands is known sooner than by default.
    """
    said(
        service,
        rf"^Lag [0-9,]+ records? on {PARTITIONS} partitions when {when} \(every [0-9.]+ s,",
        deadline_s=90,
    )
    lags_at_most(service, topic, 60)  # a hundred records come each second
    assert metric(service, "replication_status") == 1
    traffic.pause()
    lags_at_most(service, topic, 0)
    assert metric(service, "replication_status") == 1
    traffic.resume()


def lags_at_most(service, topic, records):
    seen = []

    def look():
        seen.append(metric(service, "replication_topic_lag_records", topic=topic))
        return seen[-1] is not None and seen[-1] <= records

    try:
        eventually(look, 60, every_s=0.5)
    except AssertionError:
        raise AssertionError(f"the lag went {seen}; it says {service.flow().get('parts')}") from None


@pytest.mark.long
def test_a_mirror_that_is_a_group_keeps_up_stands_and_repeats(kafka_pair, traffic, started, service):
    topic, running = traffic
    client = kafka_pair.a.client_properties()
    group = f"brooklin-{topic}"
    program = started("group_mirror", group, topic)
    # Its group is not watched as a group, and tells of the mirror all the same.
    with service(
        lag_from="group", group="brooklin-.*", lag={"groups_exclude": "brooklin-.*, console-consumer-.*"}
    ) as watching:
        keeps_up(watching, topic, running, f"the group {group} last committed")
        assert group not in watching.get("/v3/kafka/A/consumer")[1]
        assert watching.get(f"/v3/kafka/A/consumer/{group}/lag")[0] == 404

        # It stands, and goes on.
        program.freeze()
        told = said(watching, "No other partition moves", deadline_s=100)
        assert re.search(r"lag [\d,]+ record", told)
        assert metric(watching, "replication_status") == 4
        assert metric(watching, "replication_topic_lag_records", topic=topic) > 1000
        program.thaw()
        keeps_up(watching, topic, running, f"the group {group} last committed")

        # Somebody sets its offsets back, to the beginning.
        program.stop()
        running.pause()
        set_offsets(client, group, {(topic, number): BACK_TO for number in range(PARTITIONS)})
        again = started("group_mirror", group, topic, SLOWLY)
        running.resume()
        told = said(watching, "went back from offset", deadline_s=40)
        assert f"to {BACK_TO} at" in told
        eventually(
            lambda: metric(watching, "replication_status") == 6, 180, every_s=0.5
        )  # its copies show it
        again.stop()
        started("group_mirror", group, topic)
        keeps_up(watching, topic, running, f"the group {group} last committed")
        watching.end()


def test_a_mirror_whose_group_is_not_there_says_which_names_come_close(started, traffic, service):
    topic, _ = traffic
    started("group_mirror", f"replicator-{topic}", topic)
    with service(lag_from="group", group="replikator.*") as watching:
        told = said(watching, f"Close to it: .*replicator-{topic}", deadline_s=90)
        assert "No group on A with an offset matches replikator.*" in told
        assert metric(watching, "replication_status") == 7
        watching.end()


@pytest.mark.long
def test_a_mirror_with_equal_offsets_keeps_up_stands_and_diverges(kafka_pair, traffic, started, service):
    topic, running = traffic
    program = started("equal_mirror", topic)
    with service(lag_from="equal-offsets") as watching:
        keeps_up(watching, topic, running, "B was last polled")

        program.freeze()
        told = said(watching, "No other partition moves", deadline_s=100)
        assert re.search(r"lag [\d,]+ record", told)
        assert metric(watching, "replication_status") in (4, 5)
        assert metric(watching, "replication_topic_lag_records", topic=topic) > 1000
        program.thaw()
        keeps_up(watching, topic, running, "B was last polled")

        # Another writes into a copy: it ends beyond its source, and that is not a lag of nothing.
        running.pause()
        lags_at_most(watching, topic, 0)
        with Traffic(kafka_pair.b.client_properties(), topic) as stranger:
            eventually(
                lambda: (
                    metric(watching, "replication_target_end_offset", topic=topic)
                    > metric(watching, "replication_source_end_offset", topic=topic)
                ),
                60,
                every_s=0.5,
            )
            stranger.pause()
        told = said(watching, "more than the source: it ends at", deadline_s=60)
        assert f"{topic}-" in told
        assert "another producer writes to the target topic" in told
        assert metric(watching, "replication_status") == 7
        assert metric(watching, "replication_topic_lag_records", topic=topic) in (None, 0)
        watching.end()
