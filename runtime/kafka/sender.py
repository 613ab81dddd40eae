"""The canary's producer: each record is sent once, and its report is stamped on the thread that gets it."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from runtime.kafka.failures import Symptoms, explain, listening_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.errors import MirrorwatchError
    from runtime.clock import Clock
    from runtime.kafka.translation import ClientSettings

POLL_S = 0.1
_LAST_REPORTS_S = 1.0  # what is given up is reported within this
_GIVEN_UP = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001 - its names
# Errors after which the record is certainly not in the log; after any other it may be.
_NOT_WRITTEN = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.POLICY_VIOLATION,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._PURGE_QUEUE,  # noqa: SLF001 - the client's names for its own errors
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    }
)


class Delivered(NamedTuple):
    """The cluster has acknowledged the record."""

    tag: object
    offset: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """The record was refused, or (`in_doubt`) may be in the log although no acknowledgement came."""

    tag: object
    error: MirrorwatchError
    in_doubt: bool
    ended: bool  # it was given up because the producer was told to end: no fault of the cluster
    at_ns: int


@dataclass(frozen=True, slots=True)
class SenderFault:
    """The producer of this cluster has met an error after which it sends nothing more."""

    cluster: str
    error: MirrorwatchError
    at_ns: int


Report = Delivered | NotDelivered | SenderFault


class Sender:
    """An idempotent producer with a thread of its own for its reports; `sink` is called on that thread."""

    def __init__(
        self,
        settings: ClientSettings,
        *,
        name: str,
        cluster: str,
        clock: Clock,
        sink: Callable[[Report], None],
        message_timeout_s: float,
        throttled: Callable[[Any], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._sink = sink
        self._symptoms = Symptoms()
        self._ending = threading.Event()
        self._settings = settings
        self._name = name
        self._message_timeout_s = message_timeout_s
        self._throttled = throttled
        self._producer: Any = None
        self.broken = False  # the client has met an error after which it sends nothing more
        self._thread = threading.Thread(target=self._run, name=f"sender-{name}", daemon=True)

    def start(self) -> None:
        """Make the client; it connects by itself when the cluster is there.

        Raises our own error where the client does not accept its settings.
        """
        config: dict[str, Any] = {
            **self._settings.librdkafka,
            "client.id": f"mirrorwatch-{self._name}",
            "enable.idempotence": True,
            "linger.ms": 0,
            "message.timeout.ms": int(self._message_timeout_s * 1000),
            "queue.buffering.max.messages": 100_000,
            "queue.buffering.max.kbytes": 65_536,
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1000,
            "allow.auto.create.topics": False,  # a deleted topic must not come back with a broker's defaults
            "error_cb": self._symptoms.hear_error,
        }
        if self._throttled is not None:
            config["throttle_cb"] = self._throttled
        try:
            self._producer = Producer(config, logger=listening_logger(self._symptoms))
        except KafkaException as error:
            raise explain(error.args[0], cluster=self._cluster, doing="making a producer") from error
        self._thread.start()

    def send(
        self,
        topic: str,
        partition: int,
        *,
        key: bytes,
        value: bytes,
        headers: tuple[tuple[str, bytes], ...],
        tag: object,
    ) -> bool:
        """Hand a record over; false where the queue is full or the client is closed: it was not sent."""
        producer = self._producer
        if producer is None or self._ending.is_set():
            return False
        try:
            producer.produce(
                topic,
                partition=partition,
                key=key,
                value=value,
                headers=list(headers),
                on_delivery=partial(self._report, tag),
            )
        except BufferError:
            return False
        except KafkaException as error:
            if error.args[0].code() == KafkaError._FATAL:  # noqa: SLF001 - the client's name for it
                self._break(error.args[0])
            return False
        return True

    def stop(self) -> None:
        """Ask the thread to end; what is still queued is given up."""
        self._ending.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread's end; false if it is not there within the timeout."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def flush(self, timeout_s: float) -> int:
        """Wait for what was sent to be reported; return how many records still are not."""
        producer = self._producer
        try:
            return int(producer.flush(timeout_s)) if producer is not None else 0
        except KafkaException:
            return len(producer)

    def _run(self) -> None:
        producer = self._producer
        while not self._ending.is_set():
            try:
                producer.poll(POLL_S)
            except KafkaException as error:  # the client's way to tell of what ends it
                self._break(error.args[0])
                self._ending.wait(POLL_S)
        with suppress(KafkaException):
            producer.purge()
            producer.flush(_LAST_REPORTS_S)
        self._producer = None  # so that the client ends here, and not on the thread of whoever drops us

    def _break(self, error: Any) -> None:
        """Tell once that this producer is of no more use."""
        if not self.broken:
            self.broken = True
            failure = explain(
                error, cluster=self._cluster, doing="producing to the canary's topic", symptoms=self._symptoms
            )
            self._sink(SenderFault(self._cluster, failure, self._clock.monotonic_ns()))

    def _report(self, tag: object, error: Any, message: Any) -> None:
        at_ns = self._clock.monotonic_ns()
        if error is None:
            self._symptoms.clear()
            self._sink(Delivered(tag, message.offset(), at_ns))
            return
        failure = explain(
            error, cluster=self._cluster, doing=f"producing to {message.topic()}", symptoms=self._symptoms
        )
        if error.fatal():
            self._break(error)
        in_doubt = error.code() not in _NOT_WRITTEN
        ended = error.code() in _GIVEN_UP
        self._sink(NotDelivered(tag, failure, in_doubt=in_doubt, ended=ended, at_ns=at_ns))
