"""A mirror of committed records before thousands of aborted ones: it is as far as these reach."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from deploy.local.topics import create_topic, delete_records, log_ends
from tests.eventually import eventually
from tests.real.lag.test_mirrors import looked_twice
from tests.real.service.process import ServiceProcess

pytestmark = pytest.mark.long

ABORTED = 6000
STANDS_S = 100  # when a mirror that stands is told to, at the latest


@pytest.fixture
def source(kafka_pair, topic_name):
    """Give a topic on A, its client's properties, and what writes so many records to it and decides."""
    topic, client = topic_name("orders"), kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=1)
    producer = Producer({**client, "transactional.id": topic_name("x")})
    producer.init_transactions(30)

    def write(count, decide):
        end = log_ends(client, topic)[0]
        producer.begin_transaction()
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=0)
        producer.flush(30)  # or aborted records are never written
        decide(30)
        eventually(lambda: log_ends(client, topic)[0] == end + count + 1, 30, what="a marker")
        return end

    return topic, client, producer, write


@pytest.fixture
def service(source, mirror, topic_name, tmp_path):
    """Give mirror and service, once the first records are mirrored."""
    topic, _, producer, write = source
    running = mirror({"A->B.topics": topic, "A->B.consumer.isolation.level": "read_committed"})
    write(100, producer.commit_transaction)
    with ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        mm2=running.properties_file,
        canary={"mode": "off"},
        lag={"commits": "topic", "per_partition": "true"},
    ) as one:
        reaches(one, lag_records=0, next_offset=100)
        yield running, one


def told(service):
    """Return what offsets tell of the flow, and of its only topic's partition; nothing while it is not known."""
    status, body = service.get("/api/v1/flows/A->B/offsets")
    flow = json.loads(body) if status == 200 else {"partitions": []}
    return {**flow, "row": next((one for one in flow["partitions"] if "orders" in one["topic"]), {})}


def reaches(service, *, deadline_s=60.0, **numbers):
    """Wait until this is told of the partition; return the flow then."""

    def look():
        flow = told(service)
        return {key: flow["row"].get(key) for key in numbers} == numbers and flow

    try:
        return eventually(look, deadline_s, what=str(numbers), every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {told(service)}") from None


def test_what_was_aborted_is_no_lag_of_a_mirror_at_rest_and_no_loss_where_it_is_deleted(source, service):
    topic, client, producer, write = source
    running, one = service
    # Behind the record at 99 and its marker at 100 come the aborted ones, and theirs at 6101.
    assert write(ABORTED, producer.abort_transaction) == 101
    verdicts = set()

    def passed():
        flow = told(one)
        verdicts.add(flow["verdict"])
        return flow["row"].get("offsets_without_records") == ABORTED + 2 and flow

    try:
        flow = eventually(passed, STANDS_S, what="a tail", every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {told(one)}") from None
    assert (verdicts, flow["row"]["lag_records"], flow["row"]["next_offset"]) == ({"healthy"}, 0, 100)
    delete_records(client, topic, before={0: 101 + ABORTED})
    reaches(one, log_start_offset=101 + ABORTED)
    assert (told(one)["verdict"], told(one)["findings"]) == ("healthy", [])

    # It goes on, and stands before as many again, with records behind them.
    first = write(100, producer.commit_transaction)
    reaches(one, lag_records=0, next_offset=first + 100)
    looked_twice(one)  # which tells where the copy ends while the mirror has all there is
    running.freeze()
    aborted = write(ABORTED, producer.abort_transaction)
    then = write(20, producer.commit_transaction)
    assert then == aborted + ABORTED + 1
    reaches(one, deadline_s=STANDS_S, status="STOP", lag_records=21)  # with the marker behind them
    delete_records(client, topic, before={0: then})
    flow = reaches(one, log_start_offset=then)
    assert (flow["verdict"], flow["cause"]["code"], flow["findings"]) == ("stalled", "mirror_down", [])

    # What is deleted of those is what may be lost, and nothing else: how far it copied among aborted records
    # and markers no look tells.
    delete_records(client, topic, before={0: then + 7})
    reaches(one, deadline_s=STANDS_S, log_start_offset=then + 7, headroom_records=-7)
    may = "up to 7 records may be lost to retention"
    eventually(lambda: may in told(one)["sentence"], STANDS_S, what=may, every_s=0.5)
    running.thaw()
    reaches(one, deadline_s=STANDS_S, status="OK", lag_records=0, next_offset=then + 20)
    found = eventually(lambda: told(one)["findings"], 150, what="what may be lost", every_s=0.5)
    assert [(each["cause"]["code"], each["records_most"], each["last_offset"]) for each in found] == [
        ("overtaken", 7, then + 6)
    ]
    assert f"as its next offset (the next record is at {then})" in found[0]["cause"]["sentence"]
    one.end()
