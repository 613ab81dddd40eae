"""The service as a process: signals, a sudden end and another start, clusters that are down at its start."""

from __future__ import annotations

import signal
import time

import pytest
from confluent_kafka import KafkaException

from deploy.local.broker import Broker
from deploy.local.ports import free_port
from deploy.local.service import cause_of
from tests.eventually import eventually
from tests.real.census import census
from tests.real.service.process import ServiceProcess, kept_as_carried


@pytest.fixture
def topic(topic_name):
    return topic_name("canary")


@pytest.fixture
def service(mirror, topic, tmp_path):
    """Give a service that watches A->B by a canary topic of this test's own, just started."""
    running = mirror()
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as one:
        yield one


@pytest.mark.long
def test_sigterm_while_the_source_is_down_abandons_only_what_was_never_taken(service, kafka_pair, topic):
    service.is_healthy()
    try:
        kafka_pair.a.freeze()
        time.sleep(1.0)  # some probes are sent that nobody takes
        began = time.monotonic()
        books = service.end(deadline_s=20)["A->B"]
        print(f"ended {time.monotonic() - began:.1f} s after the signal, with the source frozen")
        assert time.monotonic() - began < 15
    finally:
        kafka_pair.a.thaw()
    assert books["abandoned"] > 0
    # What the source had acknowledged just before, a mirror that is behind may not have fetched: it stays in flight.
    assert books["lost"] == books["unknown"] == 0
    kafka_pair.a.wait_ready()

    def all_is_there():
        try:
            return not census(kafka_pair.a, kafka_pair.b, topic).missing
        except KafkaException:  # its partitions have no leader for a moment after it was thawed
            return False

    eventually(all_is_there, 30)
    stamps = [copy.stamp for copy in census(kafka_pair.a, kafka_pair.b, topic).source]
    acked = books["expected"] - books["abandoned"] - books["skipped"]
    # A frozen source may have taken some whose acknowledgement never left it: these were abandoned.
    assert acked <= len(stamps) <= acked + books["abandoned"]


def test_a_second_signal_while_it_drains_gives_130(service, kafka_pair):
    service.is_healthy(good=1)
    try:
        kafka_pair.b.freeze()
        time.sleep(0.5)
        service.signal(signal.SIGTERM)
        eventually(lambda: "stopping" in service.logged(), 5)
        service.signal(signal.SIGINT)
        assert service.wait(deadline_s=2) == 130
    finally:
        kafka_pair.b.thaw()
    assert "Traceback" not in service.logged()


def test_a_sudden_end_and_a_new_start_lose_nothing_and_need_no_warm_up(service, kafka_pair, topic):
    service.is_healthy()
    # It is written every second, more seldom by a machine that has much to do: what was not is not known again.
    partitions = service.flow()["canary"]["partition_count"]
    eventually(lambda: kept_as_carried(service.config.parent) == partitions, 20, what="carried, in the store")
    first = service.books()
    service.kill()
    service.start()
    service.is_healthy()
    books = service.end()["A->B"]
    assert first["warmup"] > 0
    assert books["warmup"] == 0
    found = census(kafka_pair.a, kafka_pair.b, topic)
    assert found.missing == []
    assert books["lost"] == books["confirmed"] == books["corrupted"] == books["foreign"] == 0
    assert books["duplicated"] == found.repeated == 0
    incarnations = {copy.stamp["incarnation"] for copy in found.source}
    assert len(incarnations) == 2
    assert len({copy.stamp["installation"] for copy in found.source}) == 1
    assert not service.verdicts() & {"losing", "altered", "repeating", "stalled"}


@pytest.mark.long
def test_it_starts_with_clusters_down_and_takes_them_in_when_they_come(kafka_pair, mirror, topic, tmp_path):
    running = mirror()
    late = Broker("D", tmp_path / "D")
    clusters = {
        "D": {"bootstrap.servers": late.bootstrap},
        "E": {"bootstrap.servers": f"127.0.0.1:{free_port()}"},
    }
    flows = {"D->B": {}, "A->E": {}, "D->E": {}}
    try:
        with ServiceProcess(
            tmp_path / "service", topic=topic, mm2=running.properties_file, clusters=clusters, flows=flows
        ) as service:
            eventually(lambda: service.get("/-/healthy")[0] == 200, 20)
            eventually(lambda: service.get("/-/ready")[0] == 200, 20)
            service.is_healthy(flow="A->B")  # with D and E dead from the beginning
            for alias in "DE":
                assert service.metric("kafka_cluster_up", kafka_cluster=alias) == 0
                errors = service.metric("collector_errors_total", kafka_cluster=alias, collector="cluster")
                assert errors >= 1
                assert len(service.warned(alias)) == 1
                assert alias in service.problems()
            assert service.flow("D->E")["verdict"] == "unknown"
            assert cause_of(service.flow("D->E")) in (None, "source_down")
            late.start()
            late.wait_ready()
            eventually(lambda: service.metric("kafka_cluster_up", kafka_cluster="D") == 1, 40)
            eventually(lambda: service.flow("D->B")["canary"]["state"] == "running", 20)
            assert "D" not in service.problems()
            service.is_healthy(flow="A->B")
            began = time.monotonic()
            service.end()
            print(f"ended {time.monotonic() - began:.1f} s after the signal, with one cluster dead")
            assert time.monotonic() - began < 15
            over = [line["sentence"] for line in service.lines() if line.get("where") == "D"]
            assert len(over) == 2
            assert over[1].startswith("over after ")
            assert not service.verdicts("A->B") & {"losing", "altered", "repeating", "stalled"}
    finally:
        late.kill()
