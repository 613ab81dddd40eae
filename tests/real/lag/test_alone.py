"""Clusters without a flow: the groups there are watched, nothing is written, and one that is away is told.

A broker of its own is there to have its topic of commits made anew as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from confluent_kafka import Producer

from deploy.local.broker import Broker, start_together
from deploy.local.groups import set_offsets
from deploy.local.process import ROOT
from deploy.local.service import Service
from deploy.local.topics import add_partitions, admin_client, create_topic, delete_topic
from tests.eventually import eventually

DEADLINE_S = 90
ANEW_S = 180  # topics are listed once a minute, and a machine may be busy
TOPIC, GROUP, COMMITS = "orders", "billing", "__consumer_offsets"


@pytest.fixture
def lone(tmp_path):
    """Start a broker of its own, with ten records and a group that has read four, and a service on it."""
    broker = Broker("L", tmp_path / "L")
    client = broker.client_properties()
    service = Service(tmp_path / "service", {"clusters": {"L": client}})
    try:
        start_together((broker,))
        broker.wait_ready()
        create_topic(client, TOPIC)
        producer = Producer(client)
        for number in range(10):
            producer.produce(TOPIC, b"%d" % number)
        assert producer.flush(30) == 0
        del producer
        set_offsets(client, GROUP, {(TOPIC, 0): 4})
        service.start()
        yield broker, service
    finally:
        service.kill()
        broker.kill()


def get(service, path):
    """Return status and document, 0 and nothing while it does not answer."""
    try:
        with urllib.request.urlopen(service.url + path, timeout=10) as answer:  # noqa: S310 - our own loopback
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return 0, {}


def status_of(service):
    """Return exit status and words of `mirrorwatch status`."""
    done = subprocess.run(
        [sys.executable, "-m", "mirrorwatch", "status", service.url],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def lag_of(service):
    status, found = get(service, f"/api/v1/groups/L/{GROUP}")
    return found["lag_records"] if status == 200 else None


def test_groups_of_a_cluster_without_a_flow_are_watched_and_nothing_is_written_there(lone):
    broker, service = lone
    eventually(lambda: lag_of(service) == 6, DEADLINE_S, what="6 records to read")
    status, found = get(service, f"/v3/kafka/L/consumer/{GROUP}/lag")
    assert (status, found["status"]["totallag"]) == (200, 6)
    assert status_of(service)[0] == 0
    topics = set(admin_client(broker.client_properties()).list_topics(timeout=30).topics)
    assert topics == {TOPIC, COMMITS}


def test_a_cluster_that_goes_is_told_and_after_a_start_without_it_nothing_is_made_up(lone, tmp_path):
    broker, service = lone
    eventually(lambda: lag_of(service) == 6, DEADLINE_S, what="6 records to read")
    broker.kill()
    eventually(lambda: get(service, "/api/v1/groups")[1]["clusters"][0]["away"], DEADLINE_S, what="L is away")
    _, found = get(service, "/api/v1/groups")
    assert found["clusters"][0]["away"]["sentence"].startswith("L ")
    assert [one["group"] for one in found["groups"]] == [GROUP]  # what was read stands
    eventually(lambda: status_of(service)[0] == 3, DEADLINE_S, what="status 3")

    service.stop()
    for file in tmp_path.glob("service/mirrorwatch.db*"):
        file.unlink()
    service.start()
    path = f"/v3/kafka/L/consumer/{GROUP}/status"

    def said():
        status, found = get(service, path)
        return status == 503 and found["message"].startswith("the groups of L are not read yet: ")

    eventually(said, DEADLINE_S, what="503 under /v3, with the reason")
    broker.restart()
    eventually(lambda: get(service, path)[0] == 200, DEADLINE_S, what="200 under /v3")
    assert lag_of(service) == 6


@pytest.mark.long
def test_a_topic_of_commits_that_grows_and_then_is_made_anew_is_read_anew(lone):
    broker, service = lone
    client, warned = broker.client_properties(), f"cluster L: topic {COMMITS}: "
    eventually(lambda: lag_of(service) == 6, DEADLINE_S, what="6 records to read")

    def said():
        return [one["sentence"] for one in service.lines() if one.get("sentence", "").startswith(warned)]

    add_partitions(client, COMMITS, total=2)
    eventually(lambda: len(said()) == 1, ANEW_S, what="a warning", every_s=1)
    eventually(lambda: lag_of(service) == 6, DEADLINE_S, what="6 records to read, as before")
    delete_topic(client, COMMITS)
    set_offsets(client, "shipping", {(TOPIC, 0): 3})  # the broker makes it anew for that

    def groups():
        status, found = get(service, "/api/v1/groups")
        return status == 200 and [(one["group"], one["lag_records"]) for one in found["groups"]]

    eventually(lambda: groups() == [("shipping", 7)], ANEW_S, what="the one group that is left", every_s=1)
    assert "2 partitions instead of 1" in said()[0]
    assert "again from its start" in said()[-1]
