"""One record to a cluster and back, to test whether the cluster itself works."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from runtime.kafka.consumer_client import consumer_config
from runtime.kafka.failures import Symptoms, explain, listening_logger
from runtime.kafka.properties.msk_tokens import with_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

_SLICE_S = 0.05

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class RoundTripOutcome(StrEnum):
    """How one control probe ended."""

    GOOD = "good"
    OVERDUE = "overdue"  # acknowledged, but not read back in time
    PRODUCE_FAILED = "produce_failed"
    PRODUCE_UNKNOWN = "produce_unknown"  # no acknowledgement in time


@dataclass(frozen=True, slots=True)
class RoundTripResult:
    """The outcome, how long it took, and what the client said if it failed.

    `clock_ahead_s` is how far the broker's clock is ahead of this host's, at least; negative where it is
    behind, None unless the broker stamped the record.
    """

    outcome: RoundTripOutcome
    took_s: float
    error: MirrorwatchError | None
    clock_ahead_s: float | None = None


def ahead_s(stamped_ms: int, *, sent_at: float, acknowledged_at: float) -> float:
    """Return how far a clock is ahead that stamped a record between two instants of ours (epoch s), at least.

    Negative where it is behind, 0 where it may be right.
    """
    least, most = stamped_ms / 1000 - acknowledged_at, (stamped_ms + 1) / 1000 - sent_at
    return max(least, 0.0) + min(most, 0.0)


class RoundTrip:
    """A producer and a consumer of one topic with one partition; both wait for the cluster by themselves.

    It has a thread of its own: in a pool that others use as well, a probe of one cluster would wait for those
    of dead ones, and look slow. Everything that touches the clients holds one lock, because a client that is
    closed under a thread that uses it brings the process down; a probe under way gives up soon after `close`
    was asked for.
    """

    def __init__(self, settings: ClientSettings, *, cluster: str, topic: str, clock: Clock) -> None:
        self._settings = settings
        self._cluster = cluster
        self._topic = topic
        self._clock = clock
        self._producer: Any = None
        self._consumer: Any = None
        self._number = 0
        self._symptoms = Symptoms()
        self._turn = threading.Lock()
        self._ending = threading.Event()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=f"control-{cluster}")

    async def open(self, *, from_offset: int) -> None:
        """Make both clients; reading starts at this offset.

        Raises MirrorwatchError if the client rejects its settings.
        """
        try:
            await self._on_thread(self._open, from_offset)
        except KafkaException as error:
            raise explain(
                error.args[0], cluster=self._cluster, doing="making a client", symptoms=self._symptoms
            ) from error

    async def once(self, nonce: bytes, *, timeout_s: float) -> RoundTripResult:
        """Send one record and wait for it to be acknowledged and read back, each within the timeout."""
        if self._ending.is_set():
            return self._closed(self._clock.monotonic_ns())
        return await self._on_thread(self._once, nonce, timeout_s)

    async def close(self) -> None:
        """Close both clients; what was not acknowledged is given up."""
        self._ending.set()
        await self._on_thread(self._close)
        self._threads.shutdown(wait=False)

    async def _on_thread(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _open(self, from_offset: int) -> None:
        common: dict[str, Any] = {
            "client.id": f"mirrorwatch-{self._cluster}-control",
            "error_cb": self._symptoms.hear_error,
        }
        producing = {
            "linger.ms": 0,
            "acks": "all",
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1000,
            "allow.auto.create.topics": False,
        }
        with self._turn:
            self._producer = Producer(
                {**with_tokens(self._settings.librdkafka, self._symptoms), **producing, **common},
                logger=listening_logger(self._symptoms),
            )
            config = consumer_config(self._settings, client_id="", symptoms=self._symptoms)
            config |= {"enable.partition.eof": False} | common
            self._consumer = Consumer(config, logger=listening_logger(self._symptoms))
            self._consumer.assign([TopicPartition(self._topic, 0, from_offset)])

    def _close(self) -> None:
        with self._turn:
            producer, self._producer = self._producer, None
            consumer, self._consumer = self._consumer, None
            if producer is not None:
                producer.purge()
                producer.poll(0)
            if consumer is not None:
                consumer.close()

    def _once(self, nonce: bytes, timeout_s: float) -> RoundTripResult:
        began_ns = self._clock.monotonic_ns()
        with self._turn:
            if self._producer is None or self._ending.is_set():
                return self._closed(began_ns)
            self._number += 1
            value = nonce + b":" + str(self._number).encode()
            sent_at = self._clock.wall_s()
            try:
                error = self._produce(value, until_s=timeout_s, began_ns=began_ns)
                if error is not None:
                    return self._not_produced(error, began_ns)
                acknowledged_at = self._clock.wall_s()
                until_s = self._since_s(began_ns) + timeout_s
                error, stamped_ms = self._read_back(value, until_s=until_s, began_ns=began_ns)
            except KafkaException as failure:
                return self._not_produced(failure.args[0], began_ns)
        took_s = self._since_s(began_ns)
        if error is None:
            self._symptoms.clear()
            ahead = (
                None
                if stamped_ms is None
                else ahead_s(stamped_ms, sent_at=sent_at, acknowledged_at=acknowledged_at)
            )
            return RoundTripResult(RoundTripOutcome.GOOD, took_s, None, ahead)
        return RoundTripResult(RoundTripOutcome.OVERDUE, took_s, self._explained(error, "reading from"))

    def _closed(self, began_ns: int) -> RoundTripResult:
        return self._not_produced(KafkaError(KafkaError._DESTROY), began_ns)  # noqa: SLF001 - its name

    def _produce(self, value: bytes, *, until_s: float, began_ns: int) -> Any:
        """Return the error that the record met, None once it is acknowledged."""
        reports: list[Any] = []
        self._producer.produce(
            self._topic, value=value, partition=0, on_delivery=lambda error, _: reports.append(error)
        )
        while not reports and self._since_s(began_ns) < until_s and not self._ending.is_set():
            self._producer.poll(_SLICE_S)
        if reports:
            return reports[0]
        # Given up here and now: taken later, it would only be read in the place of a newer one.
        self._producer.purge()
        self._producer.poll(0)
        return KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001 - what the client would call it

    def _read_back(self, value: bytes, *, until_s: float, began_ns: int) -> tuple[Any, int | None]:
        """Return the error that stood in the way, None once it was read; and its broker's stamp (ms)."""
        error: Any = KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001 - what the client would call it
        while self._since_s(began_ns) < until_s and not self._ending.is_set():
            message = self._consumer.poll(_SLICE_S)
            if message is None:
                continue
            if message.error() is not None:
                error = message.error()
            elif message.value() == value:
                kind, stamped_ms = message.timestamp()
                return None, stamped_ms if kind == TIMESTAMP_LOG_APPEND_TIME else None
        return error, None

    def _not_produced(self, error: Any, began_ns: int) -> RoundTripResult:
        unknown = error.code() == KafkaError._MSG_TIMED_OUT  # noqa: SLF001 - the client's name for it
        outcome = RoundTripOutcome.PRODUCE_UNKNOWN if unknown else RoundTripOutcome.PRODUCE_FAILED
        return RoundTripResult(outcome, self._since_s(began_ns), self._explained(error, "producing to"))

    def _explained(self, error: Any, doing: str) -> MirrorwatchError:
        return explain(error, cluster=self._cluster, doing=f"{doing} {self._topic}", symptoms=self._symptoms)

    def _since_s(self, began_ns: int) -> float:
        return (self._clock.monotonic_ns() - began_ns) / 1e9
