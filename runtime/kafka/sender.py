"""The canary's producer: sends each record once, and stamps its report on the thread that receives it.

librdkafka's own message timeout would break that: it starts a new producer epoch and sends the other records
in flight again, which the broker accepts as new. So no message times out in the client. If the oldest report
is missing for too long, the whole client is dropped with all its records, and a new one replaces it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from runtime.kafka.failures import Symptoms, explain, listening_logger
from runtime.kafka.properties.msk_tokens import with_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

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
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - the client's names for its own errors
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    }
)


class Delivered(NamedTuple):
    """The cluster has acknowledged the record; where, is None after a retry of what was written already."""

    tag: object
    offset: int | None
    at_ns: int


@dataclass(frozen=True, slots=True)
class NotDelivered:
    """The record was refused, or (`in_doubt`) may be in the log although no acknowledgement came."""

    tag: object
    error: MirrorwatchError
    in_doubt: bool
    ended: bool  # it was given up with the producer, whose end is told apart
    at_ns: int


@dataclass(frozen=True, slots=True)
class SenderFault:
    """The producer of this cluster has met an error after which it sends nothing more."""

    cluster: str
    error: MirrorwatchError
    at_ns: int


Report = Delivered | NotDelivered | SenderFault


@dataclass(slots=True)
class _Client:
    """A producer, and what it was given and has not reported: tag and monotonic ns, oldest first."""

    producer: Any
    under_way: dict[int, tuple[object, int]] = field(default_factory=dict)
    hung: bool = False  # and was given up for that


class Sender:
    """An idempotent producer with a thread of its own for its reports; `sink` is called on that thread.

    Every record that `send` took is reported once: where its cluster hangs, in doubt, soon after
    `message_timeout_s`, with all that was sent since.
    """

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
        self._client: _Client | None = None
        self._numbers = count()
        self._lock = threading.Lock()  # around what the sending thread and ours both change
        self.broken = False  # the client has met an error after which it sends nothing more
        self._thread = threading.Thread(target=self._run, name=f"sender-{name}", daemon=True)

    def start(self) -> None:
        """Make the client; it connects by itself when the cluster is there.

        Raises MirrorwatchError if the client rejects its settings.
        """
        try:
            self._client = self._make()
        except KafkaException as error:
            raise explain(
                error.args[0], cluster=self._cluster, doing="making a producer", symptoms=self._symptoms
            ) from error
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
        """Queue a record; false if it was not sent, because the queue is full or the client is closed."""
        with self._lock:  # or a client could be given up between these lines
            client = self._client
            if client is None or self._ending.is_set():
                return False
            number = next(self._numbers)
            client.under_way[number] = tag, self._clock.monotonic_ns()
            try:
                client.producer.produce(
                    topic,
                    partition=partition,
                    key=key,
                    value=value,
                    headers=list(headers),
                    on_delivery=partial(self._report, client, number),
                )
            except BufferError:
                del client.under_way[number]
                return False
            except KafkaException as error:
                del client.under_way[number]
                failure = error.args[0]
            else:
                return True
        if failure.code() == KafkaError._FATAL:  # noqa: SLF001 - the client's name for it
            self._break(failure)
        return False

    def stop(self) -> None:
        """Stop the thread; queued records are dropped."""
        self._ending.set()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread's end; false if it is not there within the timeout."""
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def flush(self, timeout_s: float) -> int:
        """Wait for reports; return how many records have none."""
        client = self._client
        if client is None:
            return 0
        with suppress(KafkaException):
            client.producer.flush(timeout_s)
        return len(client.under_way)

    def _make(self) -> _Client:
        config: dict[str, Any] = {
            **with_tokens(self._settings.librdkafka, self._symptoms),
            "client.id": f"mirrorwatch-{self._name}",
            "enable.idempotence": True,
            "linger.ms": 0,
            "message.timeout.ms": 0,  # never, see above
            "queue.buffering.max.messages": 100_000,
            "queue.buffering.max.kbytes": 65_536,
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1000,
            "allow.auto.create.topics": False,  # a deleted topic must not come back with a broker's defaults
            "error_cb": self._symptoms.hear_error,
        }
        if self._throttled is not None:
            config["throttle_cb"] = self._throttled
        return _Client(Producer(config, logger=listening_logger(self._symptoms)))

    def _run(self) -> None:
        while not self._ending.is_set():
            client = self._client
            assert client is not None
            try:
                client.producer.poll(POLL_S)
                if self._hangs(client):
                    self._replace(client)
            except KafkaException as error:  # the client's way to tell of what ends it
                self._break(error.args[0])
                self._ending.wait(POLL_S)
        with self._lock:  # so that the last client ends here, and not on the thread of whoever drops us
            client, self._client = self._client, None
        assert client is not None
        self._give_up(client)

    def _hangs(self, client: _Client) -> bool:
        """Return whether the oldest record has waited for its report for too long."""
        with self._lock:
            _, sent_ns = next(iter(client.under_way.values()), (None, None))
        waited_ns = 0 if sent_ns is None else self._clock.monotonic_ns() - sent_ns
        return waited_ns >= self._message_timeout_s * 1e9

    def _replace(self, client: _Client) -> None:
        """Replace the client, and report all records of the old one."""
        fresh = self._make()
        with self._lock:
            self._client = fresh
        client.hung = True
        self._give_up(client)

    def _give_up(self, client: _Client) -> None:
        """Have the client report all that it holds: nothing of it is sent once more."""
        with suppress(KafkaException):
            client.producer.purge()
            client.producer.flush(_LAST_REPORTS_S)
        for number in tuple(client.under_way):  # of which the client itself says nothing
            self._report(client, number, KafkaError(KafkaError._PURGE_INFLIGHT), None)  # noqa: SLF001

    def _break(self, error: Any) -> None:
        """Report once that this producer cannot send any more."""
        if not self.broken:
            self.broken = True
            failure = explain(
                error, cluster=self._cluster, doing="producing to the canary's topic", symptoms=self._symptoms
            )
            self._sink(SenderFault(self._cluster, failure, self._clock.monotonic_ns()))

    def _report(self, client: _Client, number: int, error: Any, message: Any) -> None:
        at_ns = self._clock.monotonic_ns()
        with self._lock:
            tag, sent_ns = client.under_way.pop(number, (None, None))
        if sent_ns is None:
            return  # another thread was quicker
        if error is None:
            self._symptoms.clear()
            self._sink(Delivered(tag, message.offset(), at_ns))
            return
        given_up = error.code() in _GIVEN_UP
        if given_up and client.hung:
            error = KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001 - what the client would call it
        failure = explain(
            error, cluster=self._cluster, doing="producing to the canary's topic", symptoms=self._symptoms
        )
        if error.fatal():
            self._break(error)
        in_doubt = error.code() not in _NOT_WRITTEN
        ended = given_up and not client.hung  # because we end, or because it has met what ends it
        self._sink(NotDelivered(tag, failure, in_doubt=in_doubt, ended=ended, at_ns=at_ns))
