"""Read a few records from given offsets, of many partitions at a time.

One consumer by assignment, never a group; it commits nothing. It blocks, so run it on a thread. Offsets are
requested by the same consumer, so that an end is what it can read up to: with `committed`, the last stable
offset. If a partition returns nothing for too long, UnavailableError is raised, since a partial answer would
look like missing records. A broker's quota makes answers slow, but never incomplete.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from fleet.errors import UnavailableError
from runtime.kafka.consumer_client import make_consumer
from runtime.kafka.diagnosis import CHANGES_LEADERS
from runtime.kafka.failures import Symptoms, explain
from runtime.kafka.tap import headers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

LONGEST_S = 60.0  # until the next of the records that are asked for of a partition
PLACES_AT_ONCE = 200  # partitions that are assigned together: each may bring a fetch before it is paused
_OFFSETS_AT_ONCE = 250
_OFFSETS_S = 20.0
MOST_BYTES = 1_000_000  # of one partition in a question: behind the record that reaches it no more is taken
_FETCH_BYTES = 65_536  # of one partition at a time; a larger record comes whole all the same
_RECORDS_AT_ONCE = 500
_WAIT_S = 0.1
_FIRST, _NEXT = -2, -1  # the protocol's own numbers in a time's place (ListOffsets)
_CHANGES_LEADERS = frozenset(CHANGES_LEADERS.split())


Place = tuple[str, int]
"""Topic and partition."""


class PickedRecord(NamedTuple):
    """A record as it was read; `timestamp_ms` is -1 where it has none, `stamped` where the log gave it."""

    offset: int
    timestamp_ms: int
    stamped: bool
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


@dataclass(slots=True)
class Picked:
    """Records of one partition in order; `ended`: behind the last of them there was none.

    `lost`: the offset lies outside the log. `size_bytes` is that of keys and values.
    """

    records: list[PickedRecord] = field(default_factory=list)
    ended: bool = False
    lost: bool = False
    size_bytes: int = 0


class Picker:
    """Reads one cluster; `committed` leaves out aborted and open transactions."""

    def __init__(
        self, settings: ClientSettings, *, cluster: str, name: str, clock: Clock, committed: bool
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._name = name
        self._clock = clock
        self._committed = committed
        self._symptoms = Symptoms()
        self._consumer: Any = None

    def open(self) -> None:
        """Create the client; raises MirrorwatchError if its settings are refused."""
        self._consumer = make_consumer(
            self._settings,
            cluster=self._cluster,
            client_id=self._name,
            symptoms=self._symptoms,
            auto_offset_reset="error",  # what the log has lost is not replaced by something else
            isolation_level="read_committed" if self._committed else "read_uncommitted",
            fetch_wait_max_ms=50,
            max_partition_fetch_bytes=_FETCH_BYTES,
            queued_max_messages_kbytes=1024,
        )

    def close(self) -> None:
        """Close the client."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the log start offset of each partition."""
        return self._known(self._offsets(dict.fromkeys(places, _FIRST)))

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the offset up to which each partition can be read."""
        return self._known(self._offsets(dict.fromkeys(places, _NEXT)))

    def since(self, times_ms: Mapping[Place, int]) -> dict[Place, int]:
        """Return the offset of the first record stamped at or after each partition's time, where one is."""
        return {place: at for place, at in self._offsets(times_ms).items() if at >= 0}

    def pick(
        self, wanted: Mapping[Place, tuple[int, int]], *, longest_s: float = LONGEST_S
    ) -> dict[Place, Picked]:
        """Return the records of each partition from an offset on: `wanted` is (offset, how many at most)."""
        found: dict[Place, Picked] = {}
        places = sorted(wanted)
        try:
            for at in range(0, len(places), PLACES_AT_ONCE):
                some = {place: wanted[place] for place in places[at : at + PLACES_AT_ONCE]}
                found |= self._pick(some, longest_s)
        except KafkaException as error:
            raise self._explained(error.args[0], places[0][0]) from error
        return found

    def _pick(self, wanted: Mapping[Place, tuple[int, int]], longest_s: float) -> dict[Place, Picked]:
        found = {place: Picked() for place in wanted}
        until_ns = self._in_ns(longest_s)
        left = {place: until_ns for place, (_, count) in wanted.items() if count > 0}  # until when of each
        self._consumer.assign([TopicPartition(*place, wanted[place][0]) for place in left])
        # What was paused before stays so over an assignment, and would answer no more.
        self._consumer.resume([TopicPartition(*place) for place in left])
        while left:
            first = min(left, key=lambda place: (left[place], place))
            if self._clock.monotonic_ns() > left[first]:
                topic, number = first
                raise UnavailableError(
                    f"cluster {self._cluster}: reading partition {number} of {topic}, one of {len(left)}, had"
                    f" no answer within {longest_s:g} s; check whether its leader is up"
                )
            answered: list[TopicPartition] = []
            for message in self._consumer.consume(_RECORDS_AT_ONCE, _WAIT_S):
                place = message.topic(), message.partition()
                if place not in left:
                    continue
                if message.error() is None:
                    left[place] = self._in_ns(longest_s)
                if self._take(message, found[place], wanted[place][1]):
                    del left[place]
                    answered.append(TopicPartition(*place))
            if answered:
                self._consumer.pause(answered)
        self._consumer.unassign()
        return found

    def _in_ns(self, seconds: float) -> int:
        return self._clock.monotonic_ns() + int(seconds * 1e9)

    def _take(self, message: Any, found: Picked, count: int) -> bool:
        """Process records of a partition; return whether it is complete."""
        error = message.error()
        if error is None:
            kind, at_ms = message.timestamp()
            stamped = kind == TIMESTAMP_LOG_APPEND_TIME
            at_ms = -1 if kind == TIMESTAMP_NOT_AVAILABLE else at_ms
            held = (
                message.offset(),
                at_ms,
                stamped,
                message.key(),
                message.value(),
                list(headers_of(message) or ()),
            )
            found.records.append(PickedRecord(*held))
            found.size_bytes += len(message.key() or b"") + len(message.value() or b"")
            return len(found.records) >= count or found.size_bytes >= MOST_BYTES
        code = error.code()
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
            found.ended = True
        elif code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):  # noqa: SLF001
            found.lost = True
        elif error.name() in _CHANGES_LEADERS:
            return False
        else:
            raise self._explained(error, message.topic())
        return True

    def _offsets(self, times_ms: Mapping[Place, int]) -> dict[Place, int]:
        wanted = [TopicPartition(*place, at) for place, at in sorted(times_ms.items())]
        found: dict[Place, int] = {}
        for at in range(0, len(wanted), _OFFSETS_AT_ONCE):
            some = wanted[at : at + _OFFSETS_AT_ONCE]
            found |= {(one.topic, one.partition): one.offset for one in self._answers(some)}
        return found

    def _answers(self, wanted: list[TopicPartition]) -> list[TopicPartition]:
        """Ask until there is an answer, or none for so long: a topic that is new changes its leader, too."""
        until_ns = self._in_ns(_OFFSETS_S)
        while True:
            try:
                answers: list[TopicPartition] = self._consumer.offsets_for_times(wanted, timeout=_OFFSETS_S)
                topic, error = next(
                    ((one.topic, one.error) for one in answers if one.error is not None), ("", None)
                )
            except KafkaException as failure:
                topic, error = wanted[0].topic, failure.args[0]
            if error is None:
                return answers
            if error.name() not in _CHANGES_LEADERS or self._clock.monotonic_ns() > until_ns:
                raise self._explained(error, topic)
            self._consumer.poll(_WAIT_S)

    def _known(self, found: dict[Place, int]) -> dict[Place, int]:
        silent = sorted(place for place, offset in found.items() if offset < 0)
        if silent:
            topic, number = silent[0]
            raise UnavailableError(
                f"cluster {self._cluster}: the leader of partition {number} of {topic} sent no offset;"
                " see whether that broker is up"
            )
        return found

    def _explained(self, error: KafkaError, topic: str) -> MirrorwatchError:
        self._consumer.poll(0)  # let the client say what it has heard of its connections
        return explain(error, cluster=self._cluster, doing=f"reading {topic}", symptoms=self._symptoms)
