"""How many records a drill has lost, by a full read of both sides, and whether what was stated agrees.

The reader is the drills' own and knows nothing of the service. It follows the source's topic from before the
fault on, since what is deleted there can't be read later. It reads the target's topic when the drill is over.
A record is known by its key, value, headers and timestamp; a partition's records keep their partition.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaException, TopicPartition

from deploy.local import topics
from fleet.quantity import between_text
from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from confluent_kafka import Message

    Contents = dict[int, Counter[bytes]]  # how often each record is in a partition

_ROUND_S = 1.0
_STOPS_S = 10.0
_READ_S = 120.0
_SETTLES_S = 90.0
_AGAIN_S = 3.0
_AGE_S = 8.0  # a record that is younger may be on its way


class Statement(NamedTuple):
    """A number of lost records that the service stated for a partition, None for the whole topic."""

    at_s: float
    partition: int | None
    records: int
    records_most: int | None


class Truth(NamedTuple):
    """How many records a partition lost: at least, and at most where the reader missed some itself."""

    least: int
    most: int


def disagreement(statements: Iterable[Statement], truths: Mapping[int, Truth]) -> str:
    """Return the first statement that is wrong, empty if there is none.

    An exact number has to be the truth, and a bound has to hold.
    """
    whole = total(truths)
    for one in statements:
        truth = whole if one.partition is None else truths.get(one.partition, Truth(0, 0))
        too_many = one.records > truth.most
        too_few = one.records_most is not None and one.records_most < truth.least
        if too_many or too_few:
            where = "the topic" if one.partition is None else f"partition {one.partition}"
            stated = between_text(one.records, one.records_most, "record")
            return f"{stated} of {where} after {one.at_s:g} s, but {between_text(*truth)} are lost"
    return ""


def total(truths: Mapping[int, Truth]) -> Truth:
    """Return how many records all partitions lost together."""
    return Truth(sum(one.least for one in truths.values()), sum(one.most for one in truths.values()))


def digest(message: Message) -> bytes:
    """Return what a record is known by."""
    parts = [message.key(), message.value(), *(part for pair in message.headers() or () for part in pair)]
    found = hashlib.blake2b(digest_size=12)
    for part in (*parts, str(message.timestamp()[1])):
        data = part.encode() if isinstance(part, str) else part
        found.update(b"-" if data is None else b"%d:" % len(data) + data)
    return found.digest()


@dataclass(slots=True)
class Log:
    """What was read of one topic of the source: by partition each offset's record, and when it was read."""

    records: dict[int, dict[int, tuple[bytes, float]]] = field(default_factory=dict)

    def contents(self, *, until: float) -> Contents:
        """Return what was read up to an instant."""
        return {
            partition: Counter(record for record, at in records.values() if at <= until)
            for partition, records in self.records.items()
        }

    def unread(self, partition: int, start: int) -> int:
        """Return how many offsets before the log's start were deleted before they were read here."""
        known = self.records.get(partition, {})
        first = min(known, default=start)
        return sum(offset not in known for offset in range(first, start))


class SourceTail(threading.Thread):
    """Reads a topic of the source from its start on, and again from the start when it is re-created."""

    def __init__(self, client: Mapping[str, str], topic: str) -> None:
        super().__init__(daemon=True, name=f"tail of {topic}")
        self._client, self._topic = dict(client), topic
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._topic_id = ""
        self._log = Log()
        self._positions: dict[int, int] = {}

    def run(self) -> None:
        """Read until it is stopped."""
        with closing(_consumer(self._client)) as consumer:
            while not self._ending.is_set():
                try:
                    self._round(consumer)
                except KafkaException:  # the cluster or the topic is away
                    self._ending.wait(_ROUND_S)

    def stop(self) -> None:
        """End it."""
        self._ending.set()
        self.join(_STOPS_S)

    def log(self) -> tuple[str, Log]:
        """Return the id of the topic that there is, and what was read of it."""
        with self._lock:
            log = Log({partition: dict(records) for partition, records in self._log.records.items()})
            return self._topic_id, log

    def catch_up(self) -> None:
        """Wait until all that the log holds now is read; raises TimeoutError where that takes too long."""
        ends = topics.log_ends(self._client, self._topic)
        latest = time.monotonic() + _READ_S
        while any(self._positions.get(number, 0) < end for number, end in enumerate(ends)):
            if time.monotonic() > latest:
                raise TimeoutError(f"{self._topic} was not read to its end within {_READ_S:g} s")
            time.sleep(0.2)

    def _round(self, consumer: Consumer) -> None:
        topic_id = topics.topic_id(self._client, self._topic)
        if topic_id != self._topic_id:
            count = topics.partition_count(self._client, self._topic)
            consumer.assign([TopicPartition(self._topic, number, 0) for number in range(count)])
            with self._lock:
                self._topic_id, self._log = topic_id, Log()
            self._positions = {}
        until, found = time.monotonic() + _ROUND_S, []
        while time.monotonic() < until:
            found += _good(consumer.consume(5000, timeout=0.1))
        if topics.topic_id(self._client, self._topic) != topic_id:
            return  # some of it may be of the new topic, which is read from its start next
        now_at = time.time()
        with self._lock:
            for message in found:
                records = self._log.records.setdefault(message.partition() or 0, {})
                records[message.offset() or 0] = digest(message), now_at
        for one in consumer.position(consumer.assignment()):
            self._positions[one.partition] = one.offset


class Reading:
    """What a drill loses of one topic; begun while the flow is well."""

    def __init__(self, clients: Mapping[str, Mapping[str, str]], topic: str) -> None:
        self._source, self._target = clients["A"], clients["B"]
        self._topic = topic
        self._tail = SourceTail(self._source, topic)
        self._tail.start()
        self._tail.catch_up()
        self._topic_id, _ = self._tail.log()
        self._missing = self._settled()

    def end(self) -> None:
        """Stop reading."""
        self._tail.stop()

    def truths(self, cause: Cause | None) -> dict[int, Truth]:
        """Return how many records each partition lost since the reading began.

        For `retimed` it is how many the target stamped.
        """
        if cause is Cause.RETIMED:
            stamped = _stamped(self._target, f"A.{self._topic}")
            return {partition: Truth(count, count) for partition, count in stamped.items()}
        self._tail.catch_up()
        missing = self._settled()
        topic_id, log = self._tail.log()
        before = self._missing if topic_id == self._topic_id else {}
        starts = _bounds(self._source, self._topic)
        found = {}
        for partition, (start, _) in starts.items():
            known = before.get(partition, Counter())
            lost = (missing.get(partition, Counter()) - known).total()
            found[partition] = Truth(lost, lost + log.unread(partition, start))
        return found

    def _settled(self) -> Contents:
        """Return which records of the source the target lacks, once that stays the same."""
        latest, before = time.monotonic() + _SETTLES_S, None
        while True:
            until = time.time() - _AGE_S
            _, log = self._tail.log()
            target = read_contents(self._target, f"A.{self._topic}")
            missing = {
                partition: records - target.get(partition, Counter())
                for partition, records in log.contents(until=until).items()
            }
            if missing == before or time.monotonic() > latest:
                return missing
            before = missing
            time.sleep(_AGAIN_S)


def read_contents(client: Mapping[str, str], topic: str) -> Contents:
    """Read all that a topic holds now."""
    found: Contents = {}
    for message in _read(client, topic):
        found.setdefault(message.partition() or 0, Counter())[digest(message)] += 1
    return found


def _stamped(client: Mapping[str, str], topic: str) -> Counter[int]:
    return Counter(
        message.partition() or 0
        for message in _read(client, topic)
        if message.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME
    )


def _read(client: Mapping[str, str], topic: str) -> list[Message]:
    bounds = {number: one for number, one in _bounds(client, topic).items() if one[1] > one[0]}
    found: list[Message] = []
    latest = time.monotonic() + _READ_S
    with closing(_consumer(client)) as consumer:
        consumer.assign([TopicPartition(topic, number, start) for number, (start, _) in bounds.items()])
        while bounds:
            if time.monotonic() > latest:
                raise TimeoutError(f"{topic} was not read to its end within {_READ_S:g} s")
            found += _good(consumer.consume(5000, timeout=0.5))
            for one in consumer.position(consumer.assignment()):
                if one.offset >= bounds.get(one.partition, (0, 1 << 62))[1]:
                    del bounds[one.partition]
    return found


def _bounds(client: Mapping[str, str], topic: str) -> dict[int, tuple[int, int]]:
    with closing(_consumer(client)) as consumer:
        return {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=20.0)
            for number in range(topics.partition_count(client, topic))
        }


def _good(messages: Iterable[Message]) -> list[Message]:
    return [message for message in messages if message.error() is None]


def _consumer(client: Mapping[str, str]) -> Consumer:
    settings: dict[str, Any] = {
        **client,
        "group.id": "drill-truth",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_uncommitted",
        "log_level": 0,
    }
    return Consumer(settings)
