"""Where the logs of a cluster's partitions begin and end: thousands of them at a time, over one admin client.

It blocks, and belongs on a thread. A partition whose leader is away is not asked: the client would try to
reach it thousands of times a second meanwhile, and give -1001 without an error in the end.
"""

from __future__ import annotations

from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from fleet.errors import UnavailableError
from runtime.kafka.failures import Symptoms, explain, listening_logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.clock import Clock
    from runtime.kafka.translation import ClientSettings

CHUNK = 500  # partitions in one request
TOPICS_AT_ONCE = 500
MAX_TOPICS = 100_000
_GRACE_S = 2.0  # the client's own timeout comes first, with a better word for what is wrong


class Which(Enum):
    """What is asked of each partition."""

    START = "start"
    END = "end"  # the high watermark
    STABLE = "stable"  # the last stable offset, before which every transaction is decided


@dataclass(frozen=True, slots=True)
class Listed:
    """A topic as metadata shows it: of each partition whether its leader is there, by number."""

    name: str
    led: tuple[bool, ...]


class Positions:
    """Asks one cluster."""

    def __init__(
        self, settings: ClientSettings, *, cluster: str, name: str, clock: Clock, timeout_s: float = 10.0
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._name = name
        self._clock = clock
        self._timeout_s = timeout_s
        self._symptoms = Symptoms()
        self._client: Any = None

    def open(self) -> None:
        """Make the client; it connects when the first question is asked."""
        config: dict[str, Any] = {
            **self._settings.librdkafka,
            "client.id": f"mirrorwatch-{self._name}",
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1000,
            "error_cb": self._symptoms.hear_error,
        }
        try:
            self._client = AdminClient(config, logger=listening_logger(self._symptoms))
        except KafkaException as error:
            raise explain(error.args[0], cluster=self._cluster, doing="making a client") from error

    def close(self) -> None:
        """Let the client go."""
        self._client = None

    def topics(self) -> dict[str, Listed]:
        """Return every topic that may be seen, by name; raises UnavailableError or RefusedError."""
        doing = "reading the list of topics"
        try:
            found = self._client.list_topics(timeout=self._timeout_s)
        except KafkaException as error:
            self._client.poll(0)
            raise explain(
                error.args[0], cluster=self._cluster, doing=doing, symptoms=self._symptoms
            ) from error
        self._symptoms.clear()
        brokers = found.brokers
        return {
            name: Listed(
                name,
                tuple(
                    topic.partitions[number].leader in brokers if number in topic.partitions else False
                    for number in range(max(topic.partitions, default=-1) + 1)
                ),
            )
            for name, topic in sorted(found.topics.items())[:MAX_TOPICS]
            if topic.error is None
        }

    def ids(self, topics: Sequence[str]) -> dict[str, str]:
        """Return the ids of those of these topics that are there; raises as `topics` where none comes."""
        found: dict[str, str] = {}
        failure: Exception | None = None
        for start in range(0, len(topics), TOPICS_AT_ONCE):
            chunk = list(topics[start : start + TOPICS_AT_ONCE])
            until_ns = self._clock.monotonic_ns() + int((self._timeout_s + _GRACE_S) * 1e9)
            futures = self._client.describe_topics(TopicCollection(chunk), request_timeout=self._timeout_s)
            for name, future in futures.items():
                left_s = max(0.0, (until_ns - self._clock.monotonic_ns()) / 1e9)
                try:
                    found[name] = str(future.result(left_s).topic_id)
                except (KafkaException, LateError) as error:
                    if _code(error) != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        failure = error
        if failure is not None and not found:
            raise self._told(failure, "reading the ids of topics") from failure
        return found

    def read(self, partitions: Sequence[tuple[str, int]], which: Which) -> list[int]:
        """Return the offset asked for of each, -1 where it did not come.

        Raises UnavailableError or RefusedError with the reason of one where none came at all.
        """
        spec, isolation = _spec(which)
        found = [-1] * len(partitions)
        failure: Exception | None = None
        for start in range(0, len(partitions), CHUNK):
            chunk = partitions[start : start + CHUNK]
            asked = {TopicPartition(topic, number): spec for topic, number in chunk}
            until_ns = self._clock.monotonic_ns() + int((self._timeout_s + _GRACE_S) * 1e9)
            futures = self._client.list_offsets(
                asked, isolation_level=isolation, request_timeout=self._timeout_s
            )
            for place, future in enumerate(futures.values(), start):
                try:
                    offset = int(
                        future.result(max(0.0, (until_ns - self._clock.monotonic_ns()) / 1e9)).offset
                    )
                    found[place] = max(offset, -1)
                except (KafkaException, LateError) as error:
                    failure = error
        if failure is not None and max(found, default=-1) < 0:
            raise self._told(failure, "reading where partitions begin and end") from failure
        return found

    def _told(self, failure: Exception, doing: str) -> Exception:
        if isinstance(failure, KafkaException):
            self._client.poll(0)
            return explain(failure.args[0], cluster=self._cluster, doing=doing, symptoms=self._symptoms)
        return UnavailableError(
            f"cluster {self._cluster}: {doing} had no answer within {self._timeout_s:g} s; try again"
        )


def _code(error: Exception) -> int | None:
    return int(error.args[0].code()) if isinstance(error, KafkaException) else None


def _spec(which: Which) -> tuple[Any, Any]:
    match which:
        case Which.START:
            return OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED  # type: ignore[no-untyped-call]
        case Which.END:
            return OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED  # type: ignore[no-untyped-call]
        case Which.STABLE:
            return OffsetSpec.latest(), IsolationLevel.READ_COMMITTED  # type: ignore[no-untyped-call]
