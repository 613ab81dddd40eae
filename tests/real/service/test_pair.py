"""Two replicas of a group on a real PostgreSQL: one leads, the other answers with its pages and takes over."""

from __future__ import annotations

import time

import pytest

from bench.replica import Replica
from bench.takeovers import CANARY, FLOW
from bench.watched_service import samples
from fleet.series.catalogue import CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS
from tests.databases import behind_a_proxy, new_database
from tests.eventually import eventually

TAKES_OVER_S = 10.0
LAST_ARRIVAL = CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS.full_name


@pytest.fixture
def cut(tmp_path, postgresql):
    """Give an empty database, and the way to it through a proxy."""
    url = new_database(postgresql)
    with behind_a_proxy(url, tmp_path) as proxy:
        yield url, proxy


@pytest.fixture
def replicas(cut, mirror, tmp_path):
    direct, proxy = cut
    running = mirror({"A->B.topics": ".*canary.*"})
    mm2 = running.properties_file
    left = Replica(tmp_path, "left", store=proxy.url, mm2=mm2, canary=CANARY)
    right = Replica(tmp_path, "right", store=direct, mm2=mm2, canary=CANARY)
    yield left, right, running
    for one in (left, right):
        one.kill()


def leads_within(replica, seconds):
    began = time.monotonic()
    eventually(lambda: replica.leads and replica.flows(), 60, what="a new leader")
    assert time.monotonic() - began < seconds


def test_the_other_replica_answers_and_takes_over(replicas, cut):
    left, right, running = replicas
    _, proxy = cut
    left.start()
    eventually(lambda: left.leads and left.flows(), 60, what="a leader")
    right.start()
    eventually(lambda: right.stands_by, 60, what="one that stands by")
    left.wait_healthy(FLOW, deadline_s=90)
    assert right.flows()[FLOW]["verdict"] == "healthy"
    assert b"<html" in right.get("/")
    series = right.get("/metrics").decode()
    assert 'mirrorwatch_replica_leader{replica_group="pair",shard="1"} 0.0' in series
    assert "mirrorwatch_flow_info{" not in series

    proxy.hold()  # the leader's packets to the store are lost, in silence
    leads_within(right, TAKES_OVER_S)
    assert left.running
    proxy.let_pass()
    eventually(lambda: not left.running, 60, what="the end of the former leader")
    assert left.exit_status == 4
    assert "another replica leads group pair" in left.logged()
    assert "Traceback" not in left.logged()

    left.start()
    eventually(lambda: left.stands_by, 60, what="one that stands by")
    running.freeze()
    frozen_at = time.time()
    eventually(lambda: right.flows()[FLOW]["verdict"] == "stalled", 60, what="a stalled flow")
    right.kill()
    leads_within(left, TAKES_OVER_S)
    assert "taking over the probes of an earlier process" in left.logged()
    # The outage goes on, and so does its age: the alert on it must not resolve.
    arrived_at = eventually(lambda: last_arrival_at(left), 20, what="the last arrival")
    assert frozen_at - 10 < arrived_at < frozen_at + 2
    running.thaw()
    eventually(lambda: last_arrival_at(left) > frozen_at + 2, 60, what="a new arrival")


def last_arrival_at(replica):
    found = samples(replica.get("/metrics"))
    return next((one.value for one in found if one.name == LAST_ARRIVAL), None)
