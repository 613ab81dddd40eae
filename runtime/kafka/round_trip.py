"""One record to a cluster and back from the same one: whether the cluster itself takes and gives records."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from runtime.kafka.failures import Symptoms, explain, listening_logger
from runtime.kafka.tap import consumer_config

if TYPE_CHECKING:
    from fleet.errors import MirrorwatchError
    from runtime.clock import Clock
    from runtime.kafka.translation import ClientSettings

_SLICE_S = 0.05


class RoundTripOutcome(StrEnum):
    """How one control probe ended."""

    GOOD = "good"
    OVERDUE = "overdue"  # acknowledged, but not read back in time
    PRODUCE_FAILED = "produce_failed"
    PRODUCE_UNKNOWN = "produce_unknown"  # no acknowledgement in time


@dataclass(frozen=True, slots=True)
class RoundTripResult:
    """The outcome, how long it took, and what the client said if it failed."""

    outcome: RoundTripOutcome
    took_s: float
    error: MirrorwatchError | None


class RoundTrip:
    """A producer and a consumer of one topic with one partition; both wait for the cluster by themselves."""

    def __init__(self, settings: ClientSettings, *, cluster: str, topic: str, clock: Clock) -> None:
        self._settings = settings
        self._cluster = cluster
        self._topic = topic
        self._clock = clock
        self._producer: Any = None
        self._consumer: Any = None
        self._number = 0
        self._symptoms = Symptoms()

    async def open(self, *, from_offset: int, timeout_s: float) -> None:
        """Make both clients; reading starts at this offset."""
        await asyncio.to_thread(self._open, from_offset, timeout_s)

    async def once(self, nonce: bytes, *, timeout_s: float) -> RoundTripResult:
        """Send one record and wait for it to be acknowledged and read back, each within the timeout."""
        return await asyncio.to_thread(self._once, nonce, timeout_s)

    async def close(self) -> None:
        """Close both clients; what was not acknowledged is given up."""
        await asyncio.to_thread(self._close)

    def _open(self, from_offset: int, timeout_s: float) -> None:
        self._producer = Producer(
            {
                **self._settings.librdkafka,
                "client.id": f"mirrorwatch-{self._cluster}-control",
                "linger.ms": 0,
                "acks": "all",
                "message.timeout.ms": max(int(timeout_s * 1000), 100),
                "reconnect.backoff.ms": 100,
                "reconnect.backoff.max.ms": 1000,
                "error_cb": self._symptoms.hear_error,
            },
            logger=listening_logger(self._symptoms),
        )
        config = consumer_config(self._settings, client_id=f"mirrorwatch-{self._cluster}-control")
        self._consumer = Consumer(
            config | {"enable.partition.eof": False, "error_cb": self._symptoms.hear_error},
            logger=listening_logger(self._symptoms),
        )
        self._consumer.assign([TopicPartition(self._topic, 0, from_offset)])

    def _close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer.poll(0)
            self._producer = None
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _once(self, nonce: bytes, timeout_s: float) -> RoundTripResult:
        began_ns = self._clock.monotonic_ns()
        self._number += 1
        value = nonce + b":" + str(self._number).encode()
        reports: list[Any] = []
        self._producer.produce(
            self._topic, value=value, partition=0, on_delivery=lambda e, _: reports.append(e)
        )
        while not reports and self._since_s(began_ns) < timeout_s + 1.0:
            self._producer.poll(_SLICE_S)
        if not reports or reports[0] is not None:
            return self._not_produced(reports[0] if reports else None, began_ns)
        produced_s = self._since_s(began_ns)
        error = KafkaError(KafkaError._TIMED_OUT)  # noqa: SLF001 - what the client would call it
        while self._since_s(began_ns) < produced_s + timeout_s:
            message = self._consumer.poll(_SLICE_S)
            if message is None:
                continue
            if message.error() is not None:
                error = message.error()
            elif message.value() == value:
                self._symptoms.clear()
                return RoundTripResult(RoundTripOutcome.GOOD, self._since_s(began_ns), None)
        return RoundTripResult(
            RoundTripOutcome.OVERDUE, self._since_s(began_ns), self._explained(error, "reading from")
        )

    def _not_produced(self, error: Any, began_ns: int) -> RoundTripResult:
        timed_out = KafkaError._MSG_TIMED_OUT  # noqa: SLF001 - the client's name for it
        error = error or KafkaError(timed_out)
        unknown = error.code() == timed_out
        outcome = RoundTripOutcome.PRODUCE_UNKNOWN if unknown else RoundTripOutcome.PRODUCE_FAILED
        return RoundTripResult(outcome, self._since_s(began_ns), self._explained(error, "producing to"))

    def _explained(self, error: Any, doing: str) -> MirrorwatchError:
        return explain(error, cluster=self._cluster, doing=f"{doing} {self._topic}", symptoms=self._symptoms)

    def _since_s(self, began_ns: int) -> float:
        return (self._clock.monotonic_ns() - began_ns) / 1e9
