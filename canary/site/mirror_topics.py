"""MirrorMaker's own topics on one cluster: its heartbeats, and the partitions of its tasks.

They are polled every two seconds over a separate client, so that the tap's thread, which times arrivals, is
not involved. A topic is described first, and again if no record arrives: it may be created ten minutes after
the mirror's first start, be deleted, or be re-created. These records make no verdict; they help to name its
cause.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from canary.watch.heartbeats import NewestHeartbeat
from canary.watch.mirror_tasks import TaskAssignments
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
SILENT_S = 5.0  # without a record for so long, the topic may be deleted or re-created
TASKS_SILENT_S = 60.0  # of the tasks' topic, which is written when partitions are reassigned
COLLECTOR = "heartbeats"


class Describer(Protocol):
    """The needed part of a cluster's admin client."""

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each topic by its name, None where it does not exist."""
        ...


class Tailing(Protocol):
    """The needed part of a tail."""

    async def begin(self, places: Mapping[str, int]) -> None:
        """Read exactly these topics, from these offsets."""
        ...

    async def take(self) -> list[Tailed]:
        """Return new records since the last poll."""
        ...

    async def close(self) -> None:
        """Close the client."""
        ...


@dataclass(slots=True)
class MirrorReports:
    """What MirrorMaker reports about one flow, and its topics."""

    topics: tuple[str, str]
    heartbeat: NewestHeartbeat
    tasks: TaskAssignments


@dataclass(slots=True)
class _Topic:
    """One topic to read; `topic_id` is None while it is missing or may not be read."""

    name: str
    flow: str
    book: NewestHeartbeat | TaskAssignments
    topic_id: str | None = None
    position: int | None = None  # the next offset to read
    told: str = ""  # why it may not be read, as reported
    ask_ns: int = 0  # when to describe it again, unless a record arrives

    @property
    def is_heartbeats(self) -> bool:
        return isinstance(self.book, NewestHeartbeat)

    @property
    def silent_ns(self) -> int:
        return int((SILENT_S if self.is_heartbeats else TASKS_SILENT_S) * 1e9)

    @property
    def begin_at(self) -> int:
        if self.position is not None:
            return self.position
        return FROM_NEWEST if self.is_heartbeats else FROM_START

    def forget(self) -> None:
        self.topic_id = self.position = None
        self.book.clear()


class MirrorTopics:
    """Keeps what MirrorMaker reports about the flows to one cluster.

    Errors with heartbeats are counted and reported; errors with tasks are neither.
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
        self._reports: dict[str, MirrorReports] = {}  # by flow
        self._topics: dict[str, _Topic] = {}
        self._read: dict[str, str] = {}  # the ids of the topics that the client reads, by name
        self._took_ns = clock.monotonic_ns()  # when records were last processed

    def heartbeat_age_s(self, flow: str, now_at: float) -> float | None:
        """Return the age of the newest heartbeat of a flow; None if none was read or its topic is gone."""
        reports = self._reports.get(flow)
        return None if reports is None else reports.heartbeat.age_s(now_at)

    def heartbeats_s(self, flow: str, now_ns: int) -> tuple[float, ...]:
        """Return the largest possible ages of the last batches of a flow's heartbeats, newest first."""
        reports = self._reports.get(flow)
        return () if reports is None else reports.heartbeat.batch_ages_s(now_ns)

    def tasks(self, flow: str) -> tuple[TaskEvidence, ...]:
        """Return the known tasks that replicate the canary's partitions."""
        reports = self._reports.get(flow)
        return () if reports is None else reports.tasks.tasks

    async def run(self, flows: Callable[[], Iterable[CanaryFlow]], stopping: asyncio.Event) -> None:
        """Poll every two seconds until `stopping`; counts MirrorwatchErrors instead of raising them."""
        try:
            while not stopping.is_set():
                try:
                    await self.poll(flows())
                except MirrorwatchError:
                    self._counts.errors[COLLECTOR] += 1  # the tap, with the same settings, reports why
                await self._clock.wait(stopping, timeout_s=INTERVAL_S)
        finally:
            self._read = {}
            await self._tail.close()

    async def poll(self, arriving: Iterable[CanaryFlow]) -> None:
        """Describe silent topics and process new records, for the current flows."""
        self._want({flow.name: flow for flow in arriving})
        now_ns = self._clock.monotonic_ns()
        due = [one for one in self._topics.values() if one.ask_ns <= now_ns]
        await asyncio.gather(*(self._ask(one, now_ns) for one in due))
        wanted = {one.name: one.topic_id for one in self._topics.values() if one.topic_id is not None}
        if wanted != self._read:
            self._read = {}  # if the client cannot be created, nothing is read
            await self._tail.begin({name: self._topics[name].begin_at for name in wanted})
            self._read = wanted
        since_ns, self._took_ns = self._took_ns, self._clock.monotonic_ns()
        # While a cluster is down, each of its brokers reports a fault: that is one failed attempt.
        faults = sum(self._take(item) for item in await self._tail.take())
        for reports in self._reports.values():
            reports.heartbeat.end_poll(since_ns)
        self._counts.errors[COLLECTOR] += min(faults, 1)

    def _want(self, flows: Mapping[str, CanaryFlow]) -> None:
        """Follow the flows, which may be added, removed and changed while this runs."""
        named = {
            name: (flow.heartbeats_topic, "" if flow.off else flow.tasks_topic)
            for name, flow in flows.items()
        }
        gone = {name for name, reports in self._reports.items() if named.get(name) != reports.topics}
        for topic in [one for one in self._topics.values() if one.flow in gone]:
            del self._topics[topic.name]
        for name in gone:
            del self._reports[name]
        for name in named.keys() - self._reports.keys():
            reports = MirrorReports(named[name], NewestHeartbeat(), TaskAssignments(flows[name].source_topic))
            self._reports[name] = reports
            self._add(reports.topics[0], name, reports.heartbeat)
            self._add(reports.topics[1], name, reports.tasks)

    def _add(self, name: str, flow: str, book: NewestHeartbeat | TaskAssignments) -> None:
        if name:
            self._topics.setdefault(name, _Topic(name, flow, book))

    async def _ask(self, topic: _Topic, now_ns: int) -> None:
        """Describe the topic, and compare its id."""
        topic.ask_ns = now_ns + topic.silent_ns
        try:
            found = (await self._admin.describe_topics([topic.name]))[topic.name]
        except RefusedError as error:
            self._refuse(topic, error)
            return
        except UnavailableError:
            self._counts.errors[COLLECTOR] += topic.is_heartbeats
            return
        if found is None:
            topic.forget()
            topic.told = ""
            return
        if topic.topic_id not in (None, found.topic_id):
            topic.forget()
        topic.topic_id = found.topic_id

    def _take(self, item: Tailed) -> bool:
        """Process one item; return whether it is a fault of the heartbeats' client."""
        topic = self._topics.get(item.topic)
        match item:
            case TailRecord(key=key, value=value) if topic is not None:
                self._note(topic, item.offset + 1)
                topic.ask_ns = self._clock.monotonic_ns() + topic.silent_ns
                try:
                    topic.book.take(key, value)
                except MalformedError:
                    self._counts.errors[COLLECTOR] += topic.is_heartbeats
            case TailEnd(position=position) if topic is not None:
                self._note(topic, position)
            case TailFault(error=error):
                if topic is None:
                    return True
                topic.ask_ns = 0
                if isinstance(error, RefusedError):
                    self._refuse(topic, error)
                    return False
                return topic.is_heartbeats
            case _:
                pass  # of a topic that is not read any more
        return False

    def _note(self, topic: _Topic, position: int) -> None:
        topic.position = position
        if topic.is_heartbeats:
            self._counts.last_success_at[COLLECTOR] = self._clock.wall_s()
            topic.told = ""

    def _refuse(self, topic: _Topic, error: RefusedError) -> None:
        """Pause a topic that may not be read."""
        topic.forget()
        topic.ask_ns = self._clock.monotonic_ns() + 2 * topic.silent_ns
        if topic.is_heartbeats:
            self._counts.errors[COLLECTOR] += 1
        if topic.is_heartbeats and topic.told != str(error):
            topic.told = str(error)
            self._reporter.event(
                "cannot read MirrorMaker's heartbeats; the verdict does without them",
                kafka_cluster=self._alias,
                topic=topic.name,
                why=str(error),
            )
