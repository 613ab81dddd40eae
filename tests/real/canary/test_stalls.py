"""A real mirror that stands, ends, comes back: what is called stalled, recovered, and never lost."""

from __future__ import annotations

import time

import pytest

from fleet.series.catalogue import COLLECTORS
from tests.eventually import eventually
from tests.real.census import census
from tests.real.service.process import ServiceProcess

ALARMS = {"losing", "altered", "repeating"}


@pytest.fixture
def watched(kafka_pair, mirror, topic_name, tmp_path):
    """Give a service that watches A->B by a canary topic of this test's own, healthy, with its mirror."""
    running = mirror()
    with ServiceProcess(tmp_path / "service", topic=topic_name("canary"), mm2=running.properties_file) as one:
        one.is_healthy()
        yield one, running


def nothing_was_lost(service, pair, topic, *, deadline_s=30.0):
    """End the service and hold its books against a full read of both sides."""
    books = service.end(deadline_s=deadline_s)["A->B"]
    found = census(pair.a, pair.b, topic)
    assert found.missing == []
    assert found.altered == 0
    assert {name: books[name] for name in ("lost", "confirmed", "returned", "corrupted", "unknown")} == {
        "lost": 0,
        "confirmed": 0,
        "returned": 0,
        "corrupted": 0,
        "unknown": 0,
    }
    assert books["duplicated"] == found.repeated
    assert len(found.source) == sent(books)
    assert not service.verdicts() & ALARMS
    return books


def sent(books):
    never_there = ("skipped", "produce_failed", "produce_unknown", "abandoned")
    return books["expected"] - sum(books[name] for name in never_there)


def closes(books):
    ends = ("good", "late", "overdue", "lost", "produce_failed", "produce_unknown", "warmup", "skipped")
    assert books["expected"] == sum(books[name] for name in (*ends, "abandoned", "unknown", "in_flight"))
    assert books["concluded"] == sum(books[name] for name in ("good", "late", "overdue", "lost"))
    assert books["overdue"] == sum(books[n] for n in ("recovered", "confirmed", "closed", "outstanding"))


def test_a_healthy_flow_in_numbers(watched, kafka_pair, topic_name):
    service, _ = watched
    flow = service.is_healthy(good=10)

    def failed(alias, collector):
        return service.metric("collector_errors_total", kafka_cluster=alias, collector=collector)

    collected = {(alias, collector): failed(alias, collector) for alias in "AB" for collector in COLLECTORS}
    closes(flow["counters"])
    assert service.get("/-/healthy")[0] == 200
    assert service.get("/-/ready")[0] == 200
    assert service.get("/api/v1/flows/A:B")[0] == 200
    assert flow["canary"]["partition_count"] == 2
    labels = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B"}
    told = service.metrics()

    def metric(name, **more):
        return told["mirrorwatch_" + name, frozenset({**labels, **more}.items())]

    assert metric("flow_verdict", verdict="healthy") == 1
    assert metric("flow_verdict", verdict="stalled") == 0
    assert sum(value for (name, _), value in told.items() if name == "mirrorwatch_flow_cause") == 0
    finished = sum(count for (name, _), count in told.items() if name == "mirrorwatch_canary_probes_total")
    assert metric("canary_expected_total") == finished + metric("canary_in_flight")
    assert metric("canary_probe_flags_total", flag="duplicated") == 0
    assert metric("canary_good_total") == metric("canary_probes_total", outcome="good") >= 18
    assert metric("canary_settled_total") >= metric("canary_good_total")
    assert metric("canary_latency_seconds_count", stage="end_to_end") >= metric("canary_good_total")
    assert metric("flow_recovery_point_age_seconds") < 2
    for alias in "AB":
        assert service.metric("kafka_cluster_up", kafka_cluster=alias) == 1
        assert service.metric("control_probes_total", kafka_cluster=alias, outcome="good") >= 1
        for collector in COLLECTORS:  # one may fail before the new topic has a leader
            assert failed(alias, collector) == collected[alias, collector] <= 1
    assert service.problems() == {}
    books = nothing_was_lost(service, kafka_pair, topic_name("canary"), deadline_s=10)
    closes(books)
    assert books["in_flight"] == books["late"] == books["overdue"] == 0
    begun = next(n for n, line in enumerate(service.lines()) if line["sentence"] == "probing")
    assert [line for line in service.lines()[begun:] if line["level"] != "info"] == []


def test_a_frozen_mirror_is_stalled_then_recovers(watched, kafka_pair, topic_name):
    service, running = watched
    began = time.monotonic()
    running.freeze()
    flow = service.becomes("stalled", cause="mirror_down", deadline_s=2.0 + 0.25 + 5.0)
    print(f"stalled after {time.monotonic() - began:.2f} s, threshold 2 s, interval 0.25 s")
    assert "both clusters are up" in flow["sentence"]
    assert {row["partition"] for row in flow["evidence"]} <= {0, 1}
    assert flow["evidence"][0]["source_offset"] is not None
    # Past the horizon, so that some are overdue before they come.
    from_then = flow["counters"]["overdue"]
    eventually(lambda: service.books()["overdue"] > from_then + 4, 20)
    assert service.books()["outstanding"] > 0
    assert service.flow()["verdict"] == "stalled"
    assert service.flow()["recovery_point_age_s"] > 8
    running.thaw()
    service.is_healthy(deadline_s=40)
    assert [one[1] for one in service.since(began)][:2] == ["healthy", "stalled"]
    assert {cause for _, verdict, cause in service.since(began) if verdict == "stalled"} == {"mirror_down"}
    books = nothing_was_lost(service, kafka_pair, topic_name("canary"))
    closes(books)
    assert books["recovered"] == books["overdue"] > 4
    assert books["late"] > 0
    assert books["outstanding"] == 0


def test_a_killed_mirror_repeats_but_loses_nothing(watched, kafka_pair, topic_name):
    service, running = watched
    began = time.monotonic()
    running.kill()
    service.becomes("stalled", cause="mirror_down", deadline_s=10)
    running.start()
    service.is_healthy(deadline_s=60)
    print(f"killed mirror: {service.since(began)}")
    books = nothing_was_lost(service, kafka_pair, topic_name("canary"))
    closes(books)
    print(f"duplicated {books['duplicated']}")


@pytest.mark.long
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_broker_that_is_down_is_the_cause(watched, kafka_pair, topic_name, side):
    service, _ = watched
    broker = kafka_pair.a if side == "source" else kafka_pair.b
    began = time.monotonic()
    try:
        broker.kill()
        service.becomes("stalled", cause=f"{side}_down", deadline_s=12)
        print(f"{side} killed: {service.since(began)}")
        eventually(lambda: service.metric("kafka_cluster_up", kafka_cluster=broker.alias) == 0, 10)
        eventually(lambda: any(where.startswith(broker.alias) for where in service.problems()), 10)
        # The listener looks by itself, and may do so after this test has.
        causes = eventually(
            lambda: {cause for _, verdict, cause in service.since(began) if verdict == "stalled"}, 5
        )
        assert causes == {f"{side}_down"}
    finally:
        broker.start()
        broker.wait_ready()
    service.is_healthy(deadline_s=60)
    eventually(lambda: service.problems() == {}, 15)
    books = service.end()["A->B"]
    closes(books)
    found = census(kafka_pair.a, kafka_pair.b, topic_name("canary"))
    assert found.missing == []
    assert books["lost"] == books["confirmed"] == books["corrupted"] == books["returned"] == 0
    assert books["duplicated"] == found.repeated
    assert not service.verdicts() & ALARMS


@pytest.mark.long
def test_orderly_restarts_lose_nothing(watched, kafka_pair, topic_name):
    service, running = watched
    for process in (running, kafka_pair.a, kafka_pair.b):
        began = time.monotonic()
        process.stop()
        process.start()
        process.wait_ready()
        service.is_healthy(deadline_s=60)
        print(f"{process.name}: {service.since(began)}")
    books = service.end()["A->B"]
    closes(books)
    found = census(kafka_pair.a, kafka_pair.b, topic_name("canary"))
    assert found.missing == []
    assert books["lost"] == books["confirmed"] == books["corrupted"] == books["returned"] == 0
    assert books["duplicated"] == found.repeated
    assert not service.verdicts() & ALARMS
