"""Bulk reader: one consumer that returns thousands of records at a time, as keys and values.

For topics such as `__consumer_offsets`, of which every record is needed. A record costs two calls of the
client and no Python object of its own. It uses no consumer group, commits nothing, and reads only committed
records. It blocks, so run it on its own thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from fleet.errors import UnavailableError
from runtime.kafka.consumer_client import consumer_config
from runtime.kafka.failures import Symptoms, explain, listening_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

RECORDS = 4_000  # of one batch at most
# What the client holds ready: more is not read sooner. A record of 100 bytes takes it 400, so that they are
# counted, too, and each broker's next answer comes on top of them, whole.
_QUEUE_KBYTES = 8192
_QUEUE_RECORDS = 20_000
_FETCH_BYTES = 1_000_000
_LEAST_BYTES = 65_536  # or a broker waits with what it has while records of others are held back
_TO_END_WAIT_S = 0.05  # the client waits for all of it, unless a batch is full
_WAIT_MS = 200  # how long a broker lets records gather
SOON_MS = 20  # the same for topics that are read once: each end of a partition takes that long
_BACKOFF_MS = 10  # a queue that was full is looked at again; the client's own second makes a backlog wait


@dataclass(slots=True)
class Batch:
    """Records of one read, in the order of each partition.

    `ends` are the partitions that were read to their end, which was at this offset. `times_ms` are the
    records' own timestamps, -1 where one has none, and `offsets` their offsets; nothing where they were not
    asked for.
    """

    keys: list[bytes | None]
    values: list[bytes | None]
    times_ms: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    faults: list[MirrorwatchError] = field(default_factory=list)
    refused: MirrorwatchError | None = None  # why nothing arrives: the topic may not be read


class Bulk:
    """Reads whole partitions of one topic of one cluster; `timed` asks for their timestamps and offsets.

    `wait_ms` is how long a broker lets records gather before it answers.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        cluster: str,
        topic: str,
        name: str,
        timed: bool = False,
        wait_ms: int = _WAIT_MS,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._topic = topic
        self._name = name
        self._timed = timed
        self._wait_ms = wait_ms
        self._symptoms = Symptoms()
        self._consumer: Any = None
        self._places: list[Any] = []

    def open(self, partitions: Iterable[int], *, since: int | Mapping[int, int] = OFFSET_BEGINNING) -> None:
        """Start to read these from an offset, the same or by partition; without one from their log starts.

        Raises MirrorwatchError if the settings are refused.
        """
        try:
            self._consumer = Consumer(self._config(), logger=listening_logger(self._symptoms))
            offsets = {
                one: since if isinstance(since, int) else since.get(one, OFFSET_BEGINNING)
                for one in partitions
            }
            self._places = [TopicPartition(self._topic, one, offset) for one, offset in offsets.items()]
            self._consumer.assign(self._places)
        except KafkaException as error:
            raise explain(
                error.args[0], cluster=self._cluster, doing=self._doing, symptoms=self._symptoms
            ) from error

    def _config(self) -> dict[str, Any]:
        return {
            **consumer_config(self._settings, client_id=f"mirrorwatch-{self._name}", symptoms=self._symptoms),
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": self._wait_ms,
            "fetch.min.bytes": _LEAST_BYTES,
            "fetch.max.bytes": _FETCH_BYTES,
            "queued.max.messages.kbytes": _QUEUE_KBYTES,
            "queued.min.messages": _QUEUE_RECORDS,
            "fetch.queue.backoff.ms": _BACKOFF_MS,
            "error_cb": self._symptoms.hear_error,
        }

    def take(self, *, wait_s: float) -> Batch:
        """Return the available records; wait at most so many seconds for the first."""
        messages = self._consumer.consume(RECORDS, wait_s)
        keys = [message.key() for message in messages]
        if None not in keys and not self._timed:
            return Batch(keys, [message.value() for message in messages])
        batch = Batch([], [])
        for message in messages:
            error = message.error()
            if error is None:
                batch.keys.append(message.key())
                batch.values.append(message.value())
                if self._timed:
                    kind, at_ms = message.timestamp()
                    batch.times_ms.append(-1 if kind == TIMESTAMP_NOT_AVAILABLE else at_ms)
                    batch.offsets.append(message.offset())
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
                batch.ends[message.partition()] = message.offset()
            else:
                failure = explain(error, cluster=self._cluster, doing=self._doing, symptoms=self._symptoms)
                batch.faults.append(failure)
                if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    batch.refused = failure
        if batch.keys:
            self._symptoms.clear()
        return batch

    def positions(self) -> dict[int, int]:
        """Return by partition the offset after the last returned record."""
        found = self._consumer.position(self._places)
        return {place.partition: place.offset for place in found if place.offset >= 0}

    def close(self) -> None:
        """Close the client."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    @property
    def _doing(self) -> str:
        return f"reading {self._topic}"


def batches_to_end(
    bulk: Bulk, partitions: Iterable[int], *, reading: str, clock: Clock, longest_s: float
) -> Iterator[Batch]:
    """Yield what an opened reader of these partitions returns, until each was read to its log end.

    `reading` says what is read, such as `cluster A: cannot read orders`. Raises RefusedError if a permission
    is missing, and UnavailableError if it takes longer than `longest_s`.
    """
    until_ns = clock.monotonic_ns() + int(longest_s * 1e9)
    left = set(partitions)
    said = "; try again"
    while left:
        batch = bulk.take(wait_s=_TO_END_WAIT_S)
        if batch.refused is not None:
            raise batch.refused
        yield batch
        left -= batch.ends.keys()
        if batch.faults:
            said = f": {batch.faults[-1]}"
        if left and clock.monotonic_ns() > until_ns:
            raise UnavailableError(f"{reading} to its end within {longest_s:g} s{said}")
