"""Tail: one consumer that reads a few small topics of one cluster now and then.

It fetches in the background; `take` returns new records without waiting. It uses no consumer group, commits
nothing, and reads only partition 0 of each topic: MirrorMaker's small topics have no other.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from runtime.kafka.consumer_client import make_consumer
from runtime.kafka.failures import Symptoms, explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings

FROM_START = OFFSET_BEGINNING
# librdkafka's way to say "so many before the end" (RD_KAFKA_OFFSET_TAIL_BASE): a few, since the last offset
# may be a transaction's marker or a record that says nothing.
FROM_NEWEST = -2000 - 10

MAX_TAKEN = 2000  # items of one look: the rest waits for the next
MAX_TAKEN_BYTES = 1 << 19  # and what they may hold: they are read on the event loop


@dataclass(frozen=True, slots=True)
class TailRecord:
    """A record as it was read."""

    topic: str
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class TailEnd:
    """The topic was read to its end, which was `position` at that moment."""

    topic: str
    position: int


@dataclass(frozen=True, slots=True)
class TailFault:
    """The client reported an error; `topic` is empty where it concerns them all."""

    topic: str
    error: MirrorwatchError


Tailed = TailRecord | TailEnd | TailFault


class Tail:
    """What touches the client holds one lock: one that is closed under a thread takes the process with it."""

    def __init__(self, settings: ClientSettings, *, cluster: str, name: str) -> None:
        self._settings = settings
        self._cluster = cluster
        self._name = name
        self._consumer: Any = None
        self._symptoms = Symptoms()
        self._turn = threading.Lock()

    async def begin(self, places: Mapping[str, int]) -> None:
        """Read these topics from these offsets on, FROM_START or FROM_NEWEST included, and no others.

        The client is a new one each time: an old one would hold on to the ids of topics that were made anew.
        Raises MirrorwatchError if the client rejects its settings.
        """
        try:
            await asyncio.to_thread(self._begin, dict(places))
        except KafkaException as error:
            raise explain(error.args[0], cluster=self._cluster, doing="making a client") from error

    async def take(self) -> list[Tailed]:
        """Return new records, in the order of each topic, without waiting."""
        return await asyncio.to_thread(self._take)

    async def close(self) -> None:
        """Close the client."""
        await asyncio.to_thread(self._close)

    def _begin(self, places: dict[str, int]) -> None:
        self._close()
        if not places:
            return
        with self._turn:
            self._consumer = make_consumer(
                self._settings,
                cluster=self._cluster,
                client_id=f"mirrorwatch-{self._name}",
                symptoms=self._symptoms,
                fetch_wait_max_ms=1000,
                queued_max_messages_kbytes=4096,
            )
            self._consumer.assign([TopicPartition(topic, 0, offset) for topic, offset in places.items()])

    def _close(self) -> None:
        with self._turn:
            consumer, self._consumer = self._consumer, None
            if consumer is not None:
                consumer.close()

    def _take(self) -> list[Tailed]:
        found: list[Tailed] = []
        taken = 0
        with self._turn:
            while self._consumer is not None and len(found) < MAX_TAKEN and taken < MAX_TAKEN_BYTES:
                message = self._consumer.poll(0)
                if message is None:
                    break
                taken += len(message.value() or b"")
                found.append(self._read(message))
        return found

    def _read(self, message: Any) -> Tailed:
        error, topic = message.error(), message.topic() or ""
        if error is None:
            self._symptoms.clear()
            return TailRecord(topic, message.offset(), message.key(), message.value())
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
            return TailEnd(topic, message.offset())
        failure = explain(
            error, cluster=self._cluster, doing=f"reading {topic or 'topics'}", symptoms=self._symptoms
        )
        return TailFault(topic, failure)
