"""The acts that write records of their own into a topic that nobody else writes to, and take some away."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from deploy.local import acts, topics
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deploy.local.stage import Stage

_FLUSH_S = 20.0
_KNOWN_S = 130.0  # until its offsets are written, and its id read after that
_LAST = 5  # records of each partition, at its end
_TRANSACTIONS = 20
_EACH = 10  # records of a transaction
FILLED = 400  # records of a topic, before what is done to it
_BURST = 900
_KEYS = 10
_ROLLS_S = 1.5  # after which a log whose segments last a second begins another one
_COMPACTED_S = 90.0
_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
}


def write(count: int) -> Callable[[Stage, str], None]:
    """Write so many records into the topic on the source."""
    return lambda stage, topic: _write(stage.client("A"), topic, count)


def write_transactions(stage: Stage, topic: str) -> None:
    """Write transactions into the topic on the source, every second is given up, the last too."""
    producer = _transactional(stage, topic)
    producer.init_transactions(_FLUSH_S)
    for number in range(_TRANSACTIONS):
        producer.begin_transaction()
        for each in range(_EACH):
            producer.produce(topic, f"transaction {number} record {each}", str(each))
        producer.flush(_FLUSH_S)
        if number % 2:
            producer.abort_transaction(_FLUSH_S)
        else:
            producer.commit_transaction(_FLUSH_S)


def leave_transaction_open(stage: Stage, topic: str) -> None:
    """Write records in a transaction and end without a commit or an abort, so that it stays open."""
    producer = _transactional(stage, topic)
    producer.init_transactions(_FLUSH_S)
    producer.begin_transaction()
    for each in range(_EACH):
        producer.produce(topic, f"open record {each}", str(each))
    producer.flush(_FLUSH_S)


def abort_open_transaction(stage: Stage, topic: str) -> None:
    """Start a producer with the same id: the broker then aborts the transaction that is open."""
    _transactional(stage, topic).init_transactions(_FLUSH_S)


def _transactional(stage: Stage, topic: str) -> Producer:
    longest_ms = 900_000  # the most that brokers allow by default
    name = f"drill-{topic}"
    return Producer(
        {
            **stage.client("A"),
            "log_level": 0,
            "transactional.id": name,
            "transaction.timeout.ms": longest_ms,
        }
    )


def drop_tail(stage: Stage, topic: str) -> None:
    """Have the mirror replicate all of the topic, then drop the tombstones that are written to it last."""
    _fill(stage, topic)
    acts.switch("drop", select="tombstones")(stage, topic)
    source = stage.client("A")
    producer = Producer({**source, "log_level": 0})
    for partition in range(topics.partition_count(source, topic)):
        for number in range(_LAST):
            producer.produce(topic, None, str(number), partition=partition)
    if producer.flush(_FLUSH_S) > 0:
        raise TimeoutError(f"{topic} did not take tombstones within {_FLUSH_S:g} s")


def overtake_frozen(stage: Stage, topic: str) -> None:
    """Freeze the mirror, wait until the topic has grown by as much as between two polls, and delete that."""
    stage.send("mirror", signal.SIGSTOP)
    _overtake(stage, topic, records=1500)


def overtake_killed(stage: Stage, topic: str) -> None:
    """Kill the mirror, wait until the topic has grown by more than a copy does between two polls, delete."""
    stage.end("mirror", signal.SIGKILL)
    _overtake(stage, topic, records=3000)


def _overtake(stage: Stage, topic: str, *, records: int) -> None:
    client = stage.client("A")
    before = topics.log_end(client, topic)
    wait_until(
        lambda: topics.log_end(client, topic) >= before + records, deadline_s=60, what=f"Growth of {topic}"
    )
    topics.delete_records(client, topic)


def recreate(records: int, *, away_s: float = 0.0, burst: int = 0) -> Callable[[Stage, str], None]:
    """Fill the topic, stop the mirror when it has copied that, make the topic anew with records, start it.

    Not at once: of a topic that is younger than its first offset it is not known of which log that was. The
    old one has `FILLED` records, and the new one comes so long after it went. With a `burst` so many more
    records come to the old one, and are copied, right before the mirror is stopped.
    """

    def begin(stage: Stage, topic: str) -> None:
        source = stage.client("A")
        _fill(stage, topic)
        if burst:
            write_copied(stage, topic, burst)
        stage.end("mirror", signal.SIGTERM)
        topics.recreate_topic(source, topic, away_s=away_s)
        _write(source, topic, records)
        stage.start("mirror")

    return begin


def compact_unread(stage: Stage, topic: str) -> None:
    """Stop the mirror, replace records that it has not copied until compaction takes them, start it."""
    source = stage.client("A")
    topics.alter_config(source, topic, _COMPACTED)
    _fill(stage, topic)
    stage.end("mirror", signal.SIGTERM)
    before = topics.log_ends(source, topic)[0]
    _write(source, topic, 900, keys=_KEYS)
    time.sleep(_ROLLS_S)
    _write(source, topic, _KEYS, keys=_KEYS)  # what is written last is in a segment that nothing compacts
    wait_until(
        lambda: topics.first_from(source, topic, 0, before) > before + _KEYS,
        deadline_s=_COMPACTED_S,
        what=f"Compaction of {topic}",
    )
    stage.start("mirror")


def _fill(stage: Stage, topic: str) -> None:
    """Write records, and wait until they are replicated and all that offsets tell of them is known."""
    write_copied(stage, topic, FILLED)
    time.sleep(_KNOWN_S)


def recreate_target_after_burst(stage: Stage, topic: str) -> None:
    """Write many records at once, and re-create the topic on the target as soon as they are replicated."""
    write_copied(stage, topic, _BURST)
    topics.recreate_topic(stage.client("B"), f"A.{topic}")


def write_copied(stage: Stage, topic: str, count: int) -> None:
    """Write records into the topic on the source, and wait until the target's has grown by as many."""
    target, copy = stage.client("B"), f"A.{topic}"
    before = topics.log_end(target, copy)
    _write(stage.client("A"), topic, count)
    wait_until(
        lambda: topics.log_end(target, copy) >= before + count,
        deadline_s=60,
        what=f"{count} more records of {topic} on the target",
        every_s=0.1,
    )


def _write(client: Mapping[str, str], topic: str, count: int, *, keys: int = 1 << 30) -> None:
    producer = Producer({**client, "log_level": 0})
    for number in range(count):
        producer.produce(topic, f"record {number}", str(number % keys))
        producer.poll(0)
    if producer.flush(_FLUSH_S) > 0:
        raise TimeoutError(f"{topic} did not take {count} records within {_FLUSH_S:g} s")
