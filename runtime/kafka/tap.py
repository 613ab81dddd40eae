"""Tap: one consumer on a plain thread that stamps each record as `poll()` returns it.

It uses no consumer group and commits nothing: partitions are assigned and read from their leaders. A plain
thread sees an arrival a fraction of a millisecond after it is available; an event loop does not. If the time
matters little, a lazy tap reads many records at once at a fraction of the cost; a record may then be stamped
up to twice LAZY_S late.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from runtime.kafka.consumer_client import consumer_config
from runtime.kafka.failures import Symptoms, explain, listening_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

POLL_S = 0.1  # how long a poll waits; a record ends it at once
LAZY_S = 0.1  # how long a lazy tap lets records gather, at the broker and then here
LAZY_BYTES = 1_000_000  # as many are not waited with
LAZY_RECORDS = 500


@dataclass(frozen=True, slots=True)
class Place:
    """Where to start reading a partition: the offset of the first record wanted."""

    topic: str
    partition: int
    offset: int


class TappedRecord(NamedTuple):
    """A record as it was read, `end_offset` being the partition's end as the client knew it.

    It is -1 where the client did not know it yet, and in what a lazy tap reads.
    """

    tap: str
    topic: str
    partition: int
    offset: int
    end_offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None
    at_ns: int


class TappedEnd(NamedTuple):
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
    lasting: bool  # it reads no more: the tap must be re-created
    at_ns: int


Tapped = TappedRecord | TappedEnd | TapFault


class Tap:
    """Reads the given partitions of one cluster until it is stopped; `sink` is called on its thread.

    `lazy` where it matters little when exactly a record could be had.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        name: str,
        cluster: str,
        clock: Clock,
        sink: Callable[[Tapped], None],
        lazy: bool = False,
        throttled: Callable[[Any], None] | None = None,
    ) -> None:
        self._settings = settings
        self._name = name
        self._cluster = cluster
        self._clock = clock
        self._sink = sink
        self.lazy = lazy
        self._throttled = throttled
        self._symptoms = Symptoms()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self.last_poll_ns = 0  # when the thread was last seen alive

    def start(self, places: Sequence[Place]) -> None:
        """Start reading; the client waits for a cluster that is down."""
        self.last_poll_ns = self._clock.monotonic_ns()
        self._thread = threading.Thread(
            target=self._run, args=(tuple(places),), name=f"tap-{self._name}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end; `join` waits for it."""
        self._ending.set()

    @property
    def dead(self) -> bool:
        """Return whether its thread has ended unexpectedly."""
        thread = self._thread
        return thread is not None and not thread.is_alive() and not self._ending.is_set()

    def join(self, timeout_s: float) -> bool:
        """Wait until the consumer is closed; false if it is not within the timeout."""
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self, places: tuple[Place, ...]) -> None:
        follow = self._follow_lazily if self.lazy else self._follow
        consumer = None
        try:
            consumer = Consumer(self._settings_of_its_own(), logger=listening_logger(self._symptoms))
            consumer.assign([TopicPartition(place.topic, place.partition, place.offset) for place in places])
            follow(consumer)
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

    def _settings_of_its_own(self) -> dict[str, Any]:
        # The same for every tap of the cluster: a quota may be set on it.
        config = consumer_config(
            self._settings, client_id=f"mirrorwatch-{self._cluster}-tap", symptoms=self._symptoms
        )
        config["error_cb"] = self._symptoms.hear_error
        if self._throttled is not None:
            config["throttle_cb"] = self._throttled
        if self.lazy:
            config |= {"fetch.min.bytes": LAZY_BYTES, "fetch.wait.max.ms": int(LAZY_S * 1000)}
        return config

    def _follow(self, consumer: Any) -> None:
        """Read each record as soon as it can be had."""
        ending, monotonic_ns, sink = self._ending.is_set, self._clock.monotonic_ns, self._sink
        while not ending():
            message = consumer.poll(POLL_S)
            at_ns = self.last_poll_ns = monotonic_ns()
            if message is not None:
                sink(self._read(consumer, message, at_ns))

    def _follow_lazily(self, consumer: Any) -> None:
        """Read what has gathered, several times a second."""
        while not self._ending.is_set():
            messages = consumer.consume(LAZY_RECORDS, LAZY_S)
            at_ns = self.last_poll_ns = self._clock.monotonic_ns()
            for message in messages:
                self._sink(self._read(consumer, message, at_ns))

    def _read(self, consumer: Any, message: Any, at_ns: int) -> Tapped:
        error = message.error()
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error is None:
            self._symptoms.clear()
            end = -1
            if not self.lazy:
                _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            return TappedRecord(
                self._name,
                topic,
                partition,
                offset,
                end,
                message.key(),
                message.value(),
                headers_of(message),
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


def headers_of(message: Any) -> list[tuple[str, bytes | None]] | None:
    """Return a record's headers; one whose name is no UTF-8, which any writer can send, ends no reading."""
    try:
        found: list[tuple[str, bytes | None]] | None = message.headers()
    except (UnicodeDecodeError, SystemError):
        return [("\N{REPLACEMENT CHARACTER}", None)]
    return found
