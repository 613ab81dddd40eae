"""A tap: one consumer on a plain thread that stamps each record as `poll()` returns it.

No consumer group, nothing committed: partitions are assigned by hand and read from their leaders. A plain
thread sees arrivals a fraction of a millisecond after they can be had, which an event loop does not.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from runtime.kafka.failures import Symptoms, explain, listening_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fleet.errors import MirrorwatchError
    from runtime.clock import Clock
    from runtime.kafka.translation import ClientSettings

POLL_S = 0.1  # how long a poll waits; a record ends it at once


@dataclass(frozen=True, slots=True)
class Place:
    """Where to start reading a partition: the offset of the first record wanted."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class TappedRecord:
    """A record as it was read, `end_offset` being the partition's end as the client knew it (-1: not yet)."""

    tap: str
    topic: str
    partition: int
    offset: int
    end_offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None
    at_ns: int


@dataclass(frozen=True, slots=True)
class TappedEnd:
    """The tap has read a partition to its end, which was `position` at that moment."""

    tap: str
    topic: str
    partition: int
    position: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class TapFault:
    """The tap's client reported an error; most pass by themselves when the cluster is back."""

    tap: str
    topic: str  # empty where it concerns them all
    error: MirrorwatchError
    lasting: bool  # it reads no more: the tap has to be made anew
    at_ns: int


Tapped = TappedRecord | TappedEnd | TapFault


class Tap:
    """Reads the given partitions of one cluster until it is stopped; `sink` is called on its thread."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        name: str,
        cluster: str,
        clock: Clock,
        sink: Callable[[Tapped], None],
    ) -> None:
        self._settings = settings
        self._name = name
        self._cluster = cluster
        self._clock = clock
        self._sink = sink
        self._symptoms = Symptoms()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.last_poll_ns = 0  # when the thread was last seen alive

    def start(self, places: Sequence[Place]) -> None:
        """Begin to read; raises nothing for a cluster that is away, since the client waits for it."""
        self.last_poll_ns = self._clock.monotonic_ns()
        self._thread = threading.Thread(
            target=self._run, args=(tuple(places),), name=f"tap-{self._name}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; `join` waits for it."""
        self._ending.set()

    def join(self, timeout_s: float) -> bool:
        """Wait until the consumer is closed; false if it is not within the timeout."""
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self, places: tuple[Place, ...]) -> None:
        config = consumer_config(self._settings, client_id=f"mirrorwatch-{self._name}")
        config["error_cb"] = self._symptoms.hear_error
        consumer = None
        try:
            consumer = Consumer(config, logger=listening_logger(self._symptoms))
            consumer.assign([TopicPartition(place.topic, place.partition, place.offset) for place in places])
            while not self._ending.is_set():
                message = consumer.poll(POLL_S)
                at_ns = self.last_poll_ns = self._clock.monotonic_ns()
                if message is not None:
                    self._sink(self._read(consumer, message, at_ns))
        except KafkaException as error:
            failure = explain(
                error.args[0],
                cluster=self._cluster,
                doing="reading the canary's topics",
                symptoms=self._symptoms,
            )
            self._sink(TapFault(self._name, "", failure, lasting=True, at_ns=self._clock.monotonic_ns()))
        finally:
            if consumer is not None:
                consumer.close()

    def _read(self, consumer: Any, message: Any, at_ns: int) -> Tapped:
        error = message.error()
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is None:
            self._symptoms.clear()
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            return TappedRecord(
                self._name,
                topic,
                partition,
                offset,
                end,
                message.key(),
                message.value(),
                _headers(message),
                at_ns,
            )
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
            return TappedEnd(self._name, topic, partition, offset, at_ns)
        failure = explain(
            error,
            cluster=self._cluster,
            doing=f"reading {topic or 'the canary topics'}",
            symptoms=self._symptoms,
        )
        return TapFault(self._name, topic or "", failure, lasting=bool(error.fatal()), at_ns=at_ns)


def _headers(message: Any) -> list[tuple[str, bytes | None]] | None:
    """Return a record's headers; one whose name is no UTF-8, which any writer can send, ends no reading."""
    try:
        found: list[tuple[str, bytes | None]] | None = message.headers()
    except (UnicodeDecodeError, SystemError):
        return [("\N{REPLACEMENT CHARACTER}", None)]
    return found


def consumer_config(settings: ClientSettings, *, client_id: str) -> dict[str, Any]:
    """Return the settings of a consumer that reads what it is told to, soon, and remembers nothing."""
    return {
        **settings.librdkafka,
        "client.id": client_id,
        "group.id": "mirrorwatch-not-a-group",  # the client wants one; it is never joined nor committed to
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 100,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 1000,
        "queued.max.messages.kbytes": 16384,
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": False,
    }
