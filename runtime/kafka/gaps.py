"""Find the first record from an offset on, and its time, as a consumer of committed records would read it.

One consumer by assignment, never a group; it commits nothing. It blocks, so run it on a thread. Bytes and
time are bounded: partitions without an answer by then are left out.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from fleet.errors import RefusedError
from runtime.kafka.consumer_client import make_consumer
from runtime.kafka.failures import Symptoms, explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

LONGEST_S = 1.0  # of one look
MOST_BYTES = 8_000_000  # of one look, as records hold them
_FETCH_BYTES = 65_536  # of one partition at a time: one record is enough to know
_AT_ONCE = 500
# Partitions of one client, which keeps 2 KB of each that it was ever assigned, until it is closed.
MOST_HELD = 1_000
_WAIT_S = 0.1


@dataclass(slots=True)
class Found:
    """What was found by partition: the first record, or how far there is none; by topic, why not.

    `times` are the records' timestamps as they tell them, epoch ms, -1 where one has none.
    """

    records: dict[tuple[str, int], int] = field(default_factory=dict)
    empty_to: dict[tuple[str, int], int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    times: dict[tuple[str, int], int] = field(default_factory=dict)


class Gaps:
    """Looks at partitions of one cluster; the client is made at the first look, and anew after `close`.

    And after `MOST_HELD` partitions, or it would grow until it had seen every one of the cluster.

    `committed` leaves out what transactions have aborted, as most consumers that know transactions do.
    """

    def __init__(
        self, settings: ClientSettings, *, cluster: str, name: str, clock: Clock, committed: bool = True
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._name = name
        self._clock = clock
        self._committed = committed
        self._symptoms = Symptoms()
        self._consumer: Any = None
        self._held: set[tuple[str, int]] = set()
        self._turn = threading.Lock()  # a client that is closed under a thread takes the process with it

    def look(self, starts: Mapping[tuple[str, int], int], *, longest_s: float = LONGEST_S) -> Found:
        """Search partitions, each from its offset to the current log end.

        Raises MirrorwatchError if the client fails as a whole; a broker that is down answers nothing.
        """
        with self._turn:
            if self._consumer is None:
                self._open()
            found = Found()
            until_ns = self._clock.monotonic_ns() + int(longest_s * 1e9)
            self._held.update(starts)
            try:
                self._consumer.assign([TopicPartition(*place, offset) for place, offset in starts.items()])
                # What was paused at an earlier look stays so over an assignment, and would answer no more.
                self._consumer.resume([TopicPartition(*place) for place in starts])
                self._read(starts, found, until_ns)
                self._consumer.unassign()
            except KafkaException as error:
                raise explain(
                    error.args[0],
                    cluster=self._cluster,
                    doing="reading ends of topics",
                    symptoms=self._symptoms,
                ) from error
            if len(self._held) >= MOST_HELD:
                self._let_go()
            return found

    def close(self) -> None:
        """Close the client."""
        with self._turn:
            self._let_go()

    def _let_go(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._held.clear()
        if consumer is not None:
            consumer.close()

    def _open(self) -> None:
        self._consumer = make_consumer(
            self._settings,
            cluster=self._cluster,
            client_id=f"mirrorwatch-{self._name}",
            symptoms=self._symptoms,
            auto_offset_reset="error",  # what the log has lost is no gap
            isolation_level="read_committed" if self._committed else "read_uncommitted",
            fetch_wait_max_ms=50,
            max_partition_fetch_bytes=_FETCH_BYTES,
            queued_max_messages_kbytes=1024,
        )

    def _read(self, starts: Mapping[tuple[str, int], int], found: Found, until_ns: int) -> None:
        left, taken = set(starts), 0
        while left and taken < MOST_BYTES and self._clock.monotonic_ns() < until_ns:
            answered: list[TopicPartition] = []
            for message in self._consumer.consume(_AT_ONCE, _WAIT_S):
                place = message.topic(), message.partition()
                error = message.error()
                if error is None:
                    self._symptoms.clear()
                    taken += len(message.value() or b"")
                    if place in left:
                        found.records[place] = message.offset()
                        kind, at_ms = message.timestamp()
                        found.times[place] = -1 if kind == TIMESTAMP_NOT_AVAILABLE else at_ms
                        answered.append(TopicPartition(*place))
                        left.discard(place)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
                    self._symptoms.clear()
                    if place in left:
                        found.empty_to[place] = message.offset()
                        left.discard(place)
                elif place[0] is not None:
                    self._take_fault(error, place[0], found)
                    left.discard(place)
            if answered:
                self._consumer.pause(answered)  # all at once: each time the client's own thread is asked

    def _take_fault(self, error: KafkaError, topic: str, found: Found) -> None:
        failure = explain(
            error, cluster=self._cluster, doing=f"reading the end of {topic}", symptoms=self._symptoms
        )
        if isinstance(failure, RefusedError):
            found.refused[topic] = str(failure)
