"""MirrorMaker's own topics on one cluster: its heartbeats, and which of its tasks carries which partitions.

Looked at every two seconds over a client of its own, so that the tap's thread, which times arrivals, has
nothing to do with it. A topic is asked for by name at first, and again when nothing comes from it: it may be
made ten minutes after the mirror's first start, go, or be made anew. What is read here makes no verdict: it
helps to name the cause of one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from canary.watch.heartbeats import NewestHeartbeat
from canary.watch.mirror_tasks import TaskBook
from fleet.errors import MalformedError, MirrorwatchError, RefusedError, UnavailableError
from runtime.kafka.tail import FROM_NEWEST, FROM_START, TailEnd, TailFault, TailRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.flows import CanaryFlow
    from canary.report import CollectorCounts, Reporter
    from fleet.verdicts.evidence import TaskEvidence
    from runtime.kafka.admin import TopicDescription
    from runtime.kafka.tail import Tailed
    from runtime.process.clock import WaitingClock

INTERVAL_S = 2.0
SILENT_S = 5.0  # nothing came for so long: the topic may be gone or another one
TASKS_SILENT_S = 60.0  # of the tasks' topic, which is written when partitions are dealt out anew
COLLECTOR = "heartbeats"


class Describer(Protocol):
    """The part of a cluster's admin client that is needed here."""

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each topic by its name, None where it does not exist."""
        ...


class Tailing(Protocol):
    """The part of a tail that is needed here."""

    async def begin(self, places: Mapping[str, int]) -> None:
        """Read these topics from these offsets on, and no others."""
        ...

    async def take(self) -> list[Tailed]:
        """Return what has come since the last look."""
        ...

    async def close(self) -> None:
        """Let the client go."""
        ...


@dataclass(slots=True)
class FlowSaid:
    """What MirrorMaker says of one flow, and in which topics."""

    topics: tuple[str, str]
    heartbeat: NewestHeartbeat
    tasks: TaskBook


@dataclass(slots=True)
class _Topic:
    """One topic that is wanted; `topic_id` is None while it is not there or may not be read."""

    name: str
    flow: str
    book: NewestHeartbeat | TaskBook
    topic_id: str | None = None
    position: int | None = None  # the next offset to read
    told: str = ""  # why it may not be read, as it was told
    ask_ns: int = 0  # when to ask for it again, unless something comes

    @property
    def beats(self) -> bool:
        return isinstance(self.book, NewestHeartbeat)

    @property
    def silent_ns(self) -> int:
        return int((SILENT_S if self.beats else TASKS_SILENT_S) * 1e9)

    @property
    def begin_at(self) -> int:
        if self.position is not None:
            return self.position
        return FROM_NEWEST if self.beats else FROM_START

    def forget(self) -> None:
        self.topic_id = self.position = None
        self.book.clear()


class OwnTopics:
    """Keeps what MirrorMaker says of the flows to one cluster.

    What cannot be read of the heartbeats is counted and told; of the tasks nobody is told.
    """

    def __init__(
        self,
        alias: str,
        *,
        tail: Tailing,
        admin: Describer,
        counts: CollectorCounts,
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        self._alias = alias
        self._tail = tail
        self._admin = admin
        self._counts = counts
        self._clock = clock
        self._reporter = reporter
        self._said: dict[str, FlowSaid] = {}  # by flow
        self._topics: dict[str, _Topic] = {}
        self._read: dict[str, str] = {}  # the ids of the topics that the client reads, by name
        self._took_ns = clock.monotonic_ns()  # when what had come was last taken in

    def heartbeat_age_s(self, flow: str, now_at: float) -> float | None:
        """Return the age of the newest heartbeat of a flow; None where none was read or the topic is gone."""
        said = self._said.get(flow)
        return None if said is None else said.heartbeat.age_s(now_at)

    def heartbeats_s(self, flow: str, now_ns: int) -> tuple[float, ...]:
        """Return how long ago the last lots of a flow's heartbeats came at most, newest first."""
        said = self._said.get(flow)
        return () if said is None else said.heartbeat.lots_s(now_ns)

    def tasks(self, flow: str) -> tuple[TaskEvidence, ...]:
        """Return the tasks that carry the canary's partitions, as far as that is known."""
        said = self._said.get(flow)
        return () if said is None else said.tasks.tasks

    async def run(self, flows: Callable[[], Iterable[CanaryFlow]], stopping: asyncio.Event) -> None:
        """Look every two seconds until `stopping`; raises none of our errors, but counts them."""
        try:
            while not stopping.is_set():
                try:
                    await self.look(flows())
                except MirrorwatchError:
                    self._counts.errors[COLLECTOR] += 1  # the tap, with the same settings, tells why
                await self._clock.wait(stopping, timeout_s=INTERVAL_S)
        finally:
            self._read = {}
            await self._tail.close()

    async def look(self, arriving: Iterable[CanaryFlow]) -> None:
        """Ask for what has been silent, and take in what has come, of the flows that there are now."""
        self._want({flow.name: flow for flow in arriving})
        now_ns = self._clock.monotonic_ns()
        due = [one for one in self._topics.values() if one.ask_ns <= now_ns]
        await asyncio.gather(*(self._ask(one, now_ns) for one in due))
        wanted = {one.name: one.topic_id for one in self._topics.values() if one.topic_id is not None}
        if wanted != self._read:
            self._read = {}  # of a client that cannot be made nothing is read
            await self._tail.begin({name: self._topics[name].begin_at for name in wanted})
            self._read = wanted
        since_ns, self._took_ns = self._took_ns, self._clock.monotonic_ns()
        # While a cluster is away each of its brokers complains: that is one failed attempt.
        faults = sum(self._take(item) for item in await self._tail.take())
        for said in self._said.values():
            said.heartbeat.end_look(since_ns)
        self._counts.errors[COLLECTOR] += min(faults, 1)

    def _want(self, flows: Mapping[str, CanaryFlow]) -> None:
        """Follow the flows, which may be added, dropped and changed while this runs."""
        named = {
            name: (flow.heartbeats_topic, "" if flow.off else flow.tasks_topic)
            for name, flow in flows.items()
        }
        gone = {name for name, said in self._said.items() if named.get(name) != said.topics}
        for topic in [one for one in self._topics.values() if one.flow in gone]:
            del self._topics[topic.name]
        for name in gone:
            del self._said[name]
        for name in named.keys() - self._said.keys():
            said = FlowSaid(named[name], NewestHeartbeat(), TaskBook(flows[name].source_topic))
            self._said[name] = said
            self._add(said.topics[0], name, said.heartbeat)
            self._add(said.topics[1], name, said.tasks)

    def _add(self, name: str, flow: str, book: NewestHeartbeat | TaskBook) -> None:
        if name:
            self._topics.setdefault(name, _Topic(name, flow, book))

    async def _ask(self, topic: _Topic, now_ns: int) -> None:
        """Ask whether the topic is there, and whether it is the one that it was."""
        topic.ask_ns = now_ns + topic.silent_ns
        try:
            found = (await self._admin.describe_topics([topic.name]))[topic.name]
        except RefusedError as error:
            self._refuse(topic, error)
            return
        except UnavailableError:
            self._counts.errors[COLLECTOR] += topic.beats
            return
        if found is None:
            topic.forget()
            topic.told = ""
            return
        if topic.topic_id not in (None, found.topic_id):
            topic.forget()
        topic.topic_id = found.topic_id

    def _take(self, item: Tailed) -> bool:
        """Take in one item; tell whether it is a fault of the heartbeats' client."""
        topic = self._topics.get(item.topic)
        match item:
            case TailRecord(key=key, value=value) if topic is not None:
                self._note(topic, item.offset + 1)
                topic.ask_ns = self._clock.monotonic_ns() + topic.silent_ns
                try:
                    topic.book.take(key, value)
                except MalformedError:
                    self._counts.errors[COLLECTOR] += topic.beats
            case TailEnd(position=position) if topic is not None:
                self._note(topic, position)
            case TailFault(error=error):
                if topic is None:
                    return True
                topic.ask_ns = 0
                if isinstance(error, RefusedError):
                    self._refuse(topic, error)
                    return False
                return topic.beats
            case _:
                pass  # of a topic that nobody wants any more
        return False

    def _note(self, topic: _Topic, position: int) -> None:
        topic.position = position
        if topic.beats:
            self._counts.last_success_at[COLLECTOR] = self._clock.wall_s()
            topic.told = ""

    def _refuse(self, topic: _Topic, error: RefusedError) -> None:
        """Leave a topic that may not be read alone for a while."""
        topic.forget()
        topic.ask_ns = self._clock.monotonic_ns() + 2 * topic.silent_ns
        if topic.beats:
            self._counts.errors[COLLECTOR] += 1
        if topic.beats and topic.told != str(error):
            topic.told = str(error)
            self._reporter.event(
                "cannot read MirrorMaker's heartbeats; the verdict does without them",
                kafka_cluster=self._alias,
                topic=topic.name,
                why=str(error),
            )
