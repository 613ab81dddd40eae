"""Another configuration for a service that runs: what is the same goes on untouched, the rest comes and goes."""

from __future__ import annotations

import signal
from collections import defaultdict
from itertools import pairwise

import pytest

from tests.eventually import eventually
from tests.real.census import read_all
from tests.real.orders import change, post
from tests.real.service.process import QUICK, ServiceProcess

INTERVAL_MS = 250
OTHERS = ("produce_failed", "produce_unknown", "warmup", "skipped", "abandoned", "unknown", "in_flight")
MAY_FALL = {"in_flight", "outstanding"}


@pytest.fixture
def clusters(mirror, kafka_pair):
    mirror(flows=("A->B", "B->A"))
    return {"A": kafka_pair.a.client_properties(), "B": kafka_pair.b.client_properties()}


def reload(service, how):
    change(service, how)
    service.signal(signal.SIGHUP)


def flows_of(service):
    return {flow["flow"] for flow in service.answer().get("flows", ())}


def went_on(before, after):
    return all(after[name] >= count for name, count in before.items() if name not in MAY_FALL)


def assert_no_gap(broker, topic):
    """Each partition's probes of an incarnation are numbered and due without a gap."""
    probes = defaultdict(list)
    for copy in read_all(broker, topic):
        stamp = copy.stamp
        probes[stamp["incarnation"], stamp["partition"]].append((stamp["sequence"], stamp["due_at_ms"]))
    assert len({incarnation for incarnation, _ in probes}) == 1
    for found in probes.values():
        for (sequence, due_at_ms), (next_sequence, next_due_at_ms) in pairwise(sorted(found)):
            assert next_sequence == sequence + 1
            assert abs(next_due_at_ms - due_at_ms - INTERVAL_MS) <= 2


def test_flows_come_and_go_and_a_broken_file_changes_nothing(clusters, kafka_pair, topic_name, tmp_path):
    assert QUICK["interval"] == f"{INTERVAL_MS}ms"
    topic = topic_name("canary")
    with ServiceProcess(tmp_path / "service", topic=topic, clusters=clusters, flows={"A->B": {}}) as service:
        before = service.is_healthy()["counters"]
        reload(service, lambda document: document["flows"].update({"B->A": {}}))
        eventually(lambda: flows_of(service) == {"A->B", "B->A"}, 20)
        service.is_healthy(flow="B->A")
        after = service.is_healthy()["counters"]
        assert went_on(before, after)
        assert after["skipped"] == after["duplicated"] == 0
        assert service.get("/-/ready")[0] == 200
        assert_no_gap(kafka_pair.a, topic)

        before = service.flow("B->A")["counters"]
        reload(service, lambda document: document["flows"].pop("A->B"))
        eventually(lambda: flows_of(service) == {"B->A"}, 20)
        # The failover audit may have answered for it a moment before.
        eventually(lambda: not any(("flow", "A->B") in labels for _, labels in service.metrics()), 20)
        (ended,) = [line for line in service.lines() if line["sentence"] == "final counters"]
        assert ended["flow"] == "A->B"
        assert ended["in_flight"] == 0
        assert ended["expected"] == ended["concluded"] + sum(ended[name] for name in OTHERS)
        assert ended["lost"] == ended["overdue"] == 0
        service.is_healthy(flow="B->A")
        sent = len(read_all(kafka_pair.a, topic))

        whole = service.config.read_text(encoding="utf-8")
        reload(service, lambda document: document.update(nonsense=1, canary={"interval": "soon"}))
        eventually(lambda: "reload" in service.problems(), 20)
        told = [line["sentence"] for line in service.lines() if line["level"] == "error"]
        assert len(told) == 2
        assert all(sentence.startswith(str(service.config)) for sentence in told)
        assert flows_of(service) == {"B->A"}
        service.config.unlink()
        service.signal(signal.SIGHUP)
        eventually(lambda: "cannot be read" in service.problems()["reload"], 20)
        service.config.write_text(whole, encoding="utf-8")
        service.signal(signal.SIGHUP)
        eventually(lambda: "reload" not in service.problems(), 20)
        assert went_on(before, service.is_healthy(flow="B->A")["counters"])
        assert len(read_all(kafka_pair.a, topic)) == sent

        reload(service, lambda document: document["flows"].update({"A->B": {}}))
        books = service.end()  # SIGTERM right behind SIGHUP
    assert books["B->A"]["lost"] == books["B->A"]["duplicated"] == 0
    assert_no_gap(kafka_pair.b, topic)


@pytest.mark.long
def test_other_clients_for_one_cluster_and_orders_over_http(clusters, topic_name, tmp_path):
    topic = topic_name("canary")
    flows = {"A->B": {}, "B->A": {}}
    with ServiceProcess(tmp_path / "service", topic=topic, clusters=clusters, flows=flows) as service:
        before = {flow: service.is_healthy(flow=flow)["counters"] for flow in flows}
        assert post(service, "/-/reload")[0] == 403
        reload(service, lambda document: document["http"].update(reload=True, tokens={"operator": "t0ken"}))
        eventually(lambda: post(service, "/-/reload")[0] == 401, 20)

        def change_clients(document):
            document["clusters"]["B"]["reconnect.backoff.max.ms"] = "2000"
            document["canary"]["topic"] = "another"

        change(service, change_clients)
        status, answer = post(service, "/-/reload", token="t0ken")
        assert (status, answer) == (
            200,
            {
                "changes": ["cluster B: clients re-created", "lag monitor: restarted"],
                "at_the_next_start": ["canary.topic: takes effect at the next start"],
            },
        )
        eventually(lambda: len([1 for line in service.lines() if line["sentence"] == "probing"]) == 3, 60)
        for flow in flows:
            after = service.is_healthy(flow=flow)["counters"]
            assert went_on(before[flow], after)
            assert after["lost"] == after["duplicated"] == after["produce_failed"] == 0
        change(service, lambda document: document["canary"].update(interval="200ms"))
        status, answer = post(service, "/-/reload", token="t0ken")
        assert answer["changes"] == [f"{flow}: restarted with new settings" for flow in flows]
        for flow in flows:
            anew = service.is_healthy(flow=flow)["counters"]
            assert anew["lost"] == anew["duplicated"] == anew["foreign"] == anew["warmup"] == 0
        change(service, lambda document: document["clusters"].pop("A"))
        status, answer = post(service, "/-/reload", token="t0ken")
        assert status == 400
        assert "unknown cluster 'A'" in " ".join(answer["problems"])
        books = service.end()
    assert {flow: books[flow]["lost"] for flow in flows} == dict.fromkeys(flows, 0)
