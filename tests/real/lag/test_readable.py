"""Groups that have read all there is, before ends of logs that hold nothing to read: they have not stopped."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Producer

from deploy.local.groups import set_offsets
from deploy.local.topics import create_topic, first_from, log_ends
from lagmon.ingest.watching import LOOK_S
from lagmon.logs.position_polls import TOPICS_EVERY
from tests.eventually import eventually
from tests.real.lag.test_groups import DEADLINE_S, asked  # noqa: F401 - a fixture

# Until a topic is listed, its end was seen to stand at three looks, and the log was read behind it; 30 s for
# a machine that is busy with all the other tests.
TOLD_DUE_S = (TOPICS_EVERY + 4) * 1.1 * LOOK_S + 30
COMPACTED_DUE_S = 180  # the broker's cleaner begins every 15 s, and has one thread
STOP_DUE_S = 60 + 30  # when a group that stands would be called STOP at the latest, with two looks


OLD_RECORDS, OLD_STEP_MS = 5000, 1000  # written 1 s apart by their own words, the last an hour ago


@pytest.fixture
def old_topic(kafka_pair, topic_name):
    """Give a topic whose records are older than the service, and when each was written, epoch ms."""
    topic, client = topic_name("old"), kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=1)
    first_ms = int(time.time() * 1000) - 3600_000 - OLD_RECORDS * OLD_STEP_MS
    producer = Producer(client)
    for number in range(OLD_RECORDS):
        producer.produce(topic, b"%d" % number, partition=0, timestamp=first_ms + number * OLD_STEP_MS)
    assert producer.flush(30) == 0
    return topic, lambda offset: first_ms + offset * OLD_STEP_MS


def committed(client, group, topic, partition, offset):
    """Have a group stand at an offset."""
    set_offsets(client, group, {(topic, partition): offset})


def transactional(client, name):
    producer = Producer({**client, "transactional.id": name})
    producer.init_transactions(30)
    return producer


def ends_at(client, topic, end, partition=0):
    """Wait until all transactions are decided, and the last one's marker is the last that was written."""
    eventually(lambda: log_ends(client, topic)[partition] == end, 30, what=f"end {end}")


def becomes_told(asked, group, **numbers):  # noqa: F811
    """Wait until this is told of a group's only partition; return the row then."""

    def look():
        rows = asked.group(group).get("partitions", [])
        fits = rows and all(rows[0].get(key) == value for key, value in numbers.items())
        return rows[0] if fits else None

    try:
        return eventually(look, TOLD_DUE_S, what=f"{group} {numbers}", every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {asked.group(group)}") from None


@pytest.mark.long
def test_markers_aborted_and_compacted_records_are_no_lag(asked, topic_name):  # noqa: F811
    plain, compact = topic_name("plain"), topic_name("compact")
    create_topic(asked.client, plain, partitions=2)
    create_topic(
        asked.client,
        compact,
        partitions=2,
        config={
            "cleanup.policy": "compact",
            "segment.ms": "1000",
            "min.cleanable.dirty.ratio": "0.01",
            "min.compaction.lag.ms": "0",
            "max.compaction.lag.ms": "1000",
        },
    )
    producer = transactional(asked.client, topic_name("x"))
    for decide in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(10):
            producer.produce(plain, b"%d" % number, partition=0)
            producer.produce(plain, b"%d" % number, partition=1)
        producer.flush(30)  # or aborted records are never written
        decide(30)
    # On both partitions: 0-9 are committed, 10 their marker, 11-20 aborted, 21 their marker.
    for partition in (0, 1):
        ends_at(asked.client, plain, 22, partition)
    # Ten values of one key; what is aborted behind them begins another segment, and only the last one stays.
    for number in range(10):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(compact, b"%d" % number, key=b"k", partition=partition)
        producer.commit_transaction(30)
    time.sleep(1.5)
    producer.begin_transaction()
    for partition in (0, 1):
        producer.produce(compact, b"no", key=b"k", partition=partition)
    producer.flush(30)
    producer.abort_transaction(30)
    for partition in (0, 1):
        ends_at(asked.client, compact, 22, partition)
    done, behind, compacted = (topic_name(word) for word in ("done", "behind", "compacted"))
    half, front = topic_name("half"), topic_name("front")
    committed(asked.client, done, plain, 0, 10)
    committed(asked.client, behind, plain, 1, 9)
    committed(asked.client, compacted, compact, 0, 19)  # behind the last record that was committed
    eventually(
        lambda: first_from(asked.client, compact, 1, 5) == 18, COMPACTED_DUE_S, what="compaction", every_s=1.0
    )
    committed(asked.client, half, compact, 1, 5)
    committed(asked.client, front, compact, 1, 19)  # nearer to the end: each has a gap of its own
    told = becomes_told(asked, done, reason="nothing_readable", log_end_offset=22)
    assert (told["committed_offset"], told["first_readable_offset"]) == (10, 22)
    assert (told["lag_records"], told["lag_s"], told["status"]) == (0, 0, "OK")
    assert "The next 12 offsets hold no readable record" in told["sentence"]
    assert asked.group(done)["status"] == "OK"
    assert asked.service.metric("group_lag_records", kafka_cluster="A", group=done) == 0
    for group in (compacted, front):
        told = becomes_told(asked, group, reason="nothing_readable", first_readable_offset=22)
        assert (told["lag_records"], told["status"]) == (0, "OK")
    told = becomes_told(asked, half, first_readable_offset=18)
    assert told["lag_records"] == 4  # the one that is left, and what is behind it
    # One record is left for this one, and nobody reads it.
    stopped = asked.becomes(behind, "STOP", deadline_s=STOP_DUE_S + DEADLINE_S)
    assert stopped["partitions"][0]["first_readable_offset"] is None
    # And when that is called STOP, the others still are not.
    assert {asked.group(name)["status"] for name in (done, compacted, front)} == {"OK"}
    producer.begin_transaction()
    producer.produce(plain, b"more", partition=0)
    producer.commit_transaction(30)
    more = eventually(
        lambda: (found := asked.group(done)["partitions"][0])["log_end_offset"] == 24 and found,
        DEADLINE_S,
        what="the new end",
        every_s=0.5,
    )
    assert more["lag_records"] == 2  # the record, and the marker that was not looked at yet


@pytest.mark.long
def test_how_far_behind_a_group_is_that_stands_before_all_looks_is_read_from_its_next_record(
    old_topic,
    asked,  # noqa: F811
    topic_name,
):
    """The service begins when the records are there: without their own times it knows no more than its own age."""
    (topic, written_ms), group = old_topic, topic_name("late")
    committed(asked.client, group, topic, 0, 1000)
    told = becomes_told(asked, group, lag_s_kind="estimate", lag_records=OLD_RECORDS - 1000)
    assert told["lag_s"] == pytest.approx(time.time() - written_ms(1000) / 1000, abs=30)
    # It goes on, by far more than an eighth of the way, and the next record there is read: by the line to the
    # first look, at which the log ended at 5,000, it would be about 3,800 s instead of 5,600.
    committed(asked.client, group, topic, 0, 3000)

    def told_anew():
        row = asked.group(group)["partitions"][0]
        return (
            row["lag_s_kind"] == "estimate" and abs(time.time() - written_ms(3000) / 1000 - row["lag_s"]) < 30
        )

    eventually(told_anew, TOLD_DUE_S, what="the age of the record at 3,000", every_s=0.5)
