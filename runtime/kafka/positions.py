"""Log start and log end offsets of thousands of partitions at a time.

It blocks, so run it on a thread. A request has the partitions of one leader (see `quick_offsets`). If it
fails, an Admin client queries each partition separately. A partition whose leader is down, or was silent
recently, is skipped (see `leaders`).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, overload

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec

from fleet.errors import MirrorwatchError, UnavailableError
from fleet.portions import portions
from runtime.kafka.admin_client import make_admin_client
from runtime.kafka.failures import Symptoms, explain
from runtime.kafka.leaders import Leaders
from runtime.kafka.quick_offsets import AT_ONCE, FIRST, NEXT, QuickOffsets
from runtime.kafka.topic_ids import known_id

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

TOPICS_AT_ONCE = 50  # whose ids are asked for together
PARTITIONS_AT_ONCE = 1_000  # that these have: an answer takes 2 KB of each, in several objects
MAX_TOPICS = 100_000
# Of a topic that was deleted since it was listed, as a broker says it and as the client does.
_GONE = frozenset(
    (
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - the client's names for it
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    )
)
# What a broker says is an answer, and so is that nobody leads by the cluster's list: whoever was asked is not
# silent by that. But for what is said of one that is not there.
_NO_LEADER = KafkaError._NOENT  # noqa: SLF001 - the client's name for it
_AWAY = frozenset(
    (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.REQUEST_TIMED_OUT, KafkaError.NETWORK_EXCEPTION)
)
_GRACE_S = 2.0  # the client's own timeout comes first, with a better word for what is wrong


class Which(Enum):
    """The offset to read of each partition."""

    START = "start"
    END = "end"  # the high watermark
    STABLE = "stable"  # the last stable offset, before which every transaction is decided


@dataclass(frozen=True, slots=True)
class Listed:
    """A topic as metadata shows it: of each partition the leader, by number; None where none is there."""

    name: str
    leaders: tuple[int | None, ...]


class Partitions(Sequence[tuple[str, int]]):
    """Topics and numbers of many partitions, in a fifth of the room that a list of pairs takes."""

    def __init__(self, partitions: Iterable[tuple[str, int]] = ()) -> None:
        self._topics: list[str] = []
        self._numbers = array("i")
        for topic, number in partitions:
            self.append(topic, number)

    def append(self, topic: str, number: int) -> None:
        """Put one more behind the others."""
        self._topics.append(topic)
        self._numbers.append(number)

    def __len__(self) -> int:
        return len(self._topics)

    @overload
    def __getitem__(self, index: int) -> tuple[str, int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, int]]: ...

    def __getitem__(self, index: int | slice) -> tuple[str, int] | list[tuple[str, int]]:
        if isinstance(index, slice):
            return list(zip(self._topics[index], self._numbers[index], strict=True))
        return self._topics[index], self._numbers[index]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return zip(self._topics, self._numbers, strict=True)


@dataclass(slots=True)
class _Question:
    """Partitions of one leader that are asked about together; None: the leader is not known."""

    leader: int | None
    rows: array[int]  # where each stands in what was asked for
    places: Partitions


class Positions:
    """Queries one cluster."""

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
        self._quick: dict[bool, QuickOffsets] = {}  # by whether ends are of what is committed
        self._leaders = Leaders()
        self._leaders_of: dict[str, tuple[int | None, ...]] = {}  # by topic, as listed last
        self._asked: Partitions | None = None
        self._questions: list[_Question] = []  # for what was asked last: it is asked again and again
        self.cluster_id = ""  # as the cluster itself tells it, "" until its topics are read

    def open(self) -> None:
        """Create the clients; they connect at the first request."""
        self._client = make_admin_client(
            self._settings, cluster=self._cluster, name=self._name, symptoms=self._symptoms
        )
        for committed in (False, True):
            self._quick[committed] = QuickOffsets(
                self._settings,
                cluster=self._cluster,
                name=self._name,
                committed=committed,
                symptoms=self._symptoms,
            )

    def close(self) -> None:
        """Close the clients."""
        self._client = None
        while self._quick:
            self._quick.popitem()[1].close()

    def topics(self) -> dict[str, Listed]:
        """Return every topic that may be seen, by name; raises UnavailableError or RefusedError."""
        doing = "reading the list of topics"
        # Of the clients one that keeps the leaders of all partitions anyway: that costs some megabytes.
        try:
            found = self._quick[False].cluster(timeout_s=self._timeout_s)
        except KafkaException as error:
            self._listen()
            raise explain(
                error.args[0], cluster=self._cluster, doing=doing, symptoms=self._symptoms
            ) from error
        self._listen()  # errors of a past outage must not explain the next one
        self._symptoms.clear()
        self.cluster_id = str(found.cluster_id or "")
        listed = {
            name: Listed(name, _leaders(topic.partitions, found.brokers))
            for name, topic in sorted(found.topics.items())[:MAX_TOPICS]
            if topic.error is None
        }
        leaders_of = {name: topic.leaders for name, topic in listed.items()}
        if leaders_of != self._leaders_of:
            self._leaders_of, self._asked = leaders_of, None  # what is asked next has other leaders
        return listed

    def ids(self, topics: Sequence[str]) -> dict[str, str]:
        """Return the ids of those of these topics that are there and have one.

        Raises as `topics` where no topic is answered.
        """
        found: dict[str, str | None] = {}
        failure: Exception | None = None
        partitions = ((name, len(self._leaders_of.get(name, ()))) for name in topics)
        for chunk in portions(partitions, most=PARTITIONS_AT_ONCE, most_names=TOPICS_AT_ONCE):
            until_ns = self._clock.monotonic_ns() + int((self._timeout_s + _GRACE_S) * 1e9)
            futures = self._client.describe_topics(TopicCollection(chunk), request_timeout=self._timeout_s)
            for name, future in futures.items():
                left_s = max(0.0, (until_ns - self._clock.monotonic_ns()) / 1e9)
                try:
                    found[name] = known_id(str(future.result(left_s).topic_id))
                except (KafkaException, LateError) as error:
                    if _code(error) not in _GONE:
                        failure = error
        if failure is not None and not found:
            raise self._told(failure, "reading the ids of topics") from failure
        return {name: topic_id for name, topic_id in found.items() if topic_id is not None}

    def read(self, partitions: Sequence[tuple[str, int]], which: Which) -> list[int]:
        """Return the offset asked for of each, -1 where it did not come.

        Raises UnavailableError or RefusedError with the reason of one where none came at all. Of `Partitions`
        the newest are kept in mind: to ask for the same ones again is cheaper.
        """
        if partitions is self._asked:
            questions = self._questions
        else:
            questions = self._grouped(partitions)
            if isinstance(partitions, Partitions):
                self._asked, self._questions = partitions, questions
        found = [-1] * len(partitions)
        failure: Exception | None = None
        for question in questions:
            now_ns = self._clock.monotonic_ns()
            if question.leader is not None and self._leaders.is_silent(question.leader, now_ns):
                failure = failure or self._silent(question.leader)
                continue
            offsets, why = self._ask(question, which)
            failure = why or failure
            for row, offset in zip(question.rows, offsets, strict=True):
                found[row] = offset
            if question.leader is not None:
                answered = max(offsets) >= 0 or why is None or _is_answer(why)
                self._leaders.note_one(question.leader, answered=answered, now_ns=self._clock.monotonic_ns())
        self._listen()
        if isinstance(failure, MirrorwatchError) and max(found, default=-1) < 0:
            raise failure
        if failure is not None and max(found, default=-1) < 0:
            raise self._told(failure, "reading where partitions begin and end") from failure
        return found

    def _listen(self) -> None:
        """Let the clients say what they have heard of their connections."""
        self._client.poll(0)
        for quick in self._quick.values():
            quick.listen()

    def _grouped(self, partitions: Sequence[tuple[str, int]]) -> list[_Question]:
        """Return the questions that these partitions are asked about in."""
        open_ones: dict[int | None, _Question] = {}
        found = []
        for row, (topic, number) in enumerate(partitions):
            leaders = self._leaders_of.get(topic, ())
            leader = leaders[number] if number < len(leaders) else None
            question = open_ones.get(leader)
            if question is None or len(question.rows) == AT_ONCE:
                question = open_ones[leader] = _Question(leader, array("i"), Partitions())
                found.append(question)
            question.rows.append(row)
            question.places.append(topic, number)
        return found

    def _ask(self, question: _Question, which: Which) -> tuple[list[int], Exception | None]:
        """Return the offsets of a question's partitions, -1 where none came, and a reason for that."""
        quick = self._quick[which is Which.STABLE]
        places = question.places
        try:
            what = FIRST if which is Which.START else NEXT
            found = quick.ask(places, what, timeout_s=self._timeout_s / 2)
        except KafkaException as error:
            found = [-1] * len(places)
            if _code(error) == KafkaError._TIMED_OUT:  # noqa: SLF001 - the client's name for it
                return found, error
        missing = [row for row, offset in enumerate(found) if offset < 0]
        if not missing:
            return found, None
        # The partition is new or has another leader, which this client does not know yet; or it is gone.
        unanswered = [places[row] for row in missing]
        quick.learn({topic for topic, _ in unanswered})
        singly, failure = self._ask_singly(unanswered, which)
        for row, offset in zip(missing, singly, strict=True):
            found[row] = offset
        return found, failure

    def _ask_singly(
        self, places: Sequence[tuple[str, int]], which: Which
    ) -> tuple[list[int], Exception | None]:
        spec, isolation = _spec(which)
        failure: Exception | None = None
        until_ns = self._clock.monotonic_ns() + int((self._timeout_s + _GRACE_S) * 1e9)
        futures = self._client.list_offsets(
            {TopicPartition(topic, number): spec for topic, number in places},
            isolation_level=isolation,
            request_timeout=self._timeout_s,
        )
        found = [-1] * len(places)
        for place, future in enumerate(futures.values()):
            try:
                left_s = max(0.0, (until_ns - self._clock.monotonic_ns()) / 1e9)
                found[place] = max(int(future.result(left_s).offset), -1)
            except (KafkaException, LateError) as error:
                if _code(error) not in _GONE:
                    failure = error
        return found, failure

    def _silent(self, leader: int) -> UnavailableError:
        return UnavailableError(
            f"cluster {self._cluster}: broker {leader} did not answer a moment ago; check whether it is up"
        )

    def _told(self, failure: Exception, doing: str) -> Exception:
        if isinstance(failure, KafkaException):
            self._listen()
            return explain(failure.args[0], cluster=self._cluster, doing=doing, symptoms=self._symptoms)
        return UnavailableError(
            f"cluster {self._cluster}: {doing} had no answer within {self._timeout_s:g} s; try again"
        )


def _leaders(partitions: Mapping[int, Any], brokers: Container[int]) -> tuple[int | None, ...]:
    """Return the leader of each partition, of those brokers that are there."""
    led = {number: one.leader for number, one in partitions.items()}
    found = (led.get(number, -1) for number in range(max(led, default=-1) + 1))
    return tuple(leader if leader in brokers else None for leader in found)


def _code(error: Exception) -> int | None:
    return int(error.args[0].code()) if isinstance(error, KafkaException) else None


def _is_answer(error: Exception) -> bool:
    code = _code(error)
    return code == _NO_LEADER or (code is not None and code > 0 and code not in _AWAY)


def _spec(which: Which) -> tuple[Any, Any]:
    match which:
        case Which.START:
            return OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED  # type: ignore[no-untyped-call]
        case Which.END:
            return OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED  # type: ignore[no-untyped-call]
        case Which.STABLE:
            return OffsetSpec.latest(), IsolationLevel.READ_COMMITTED  # type: ignore[no-untyped-call]
