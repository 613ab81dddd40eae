"""One cluster while it is watched: connect first, then control probes, topics and taps, until the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from canary.report import CollectorCounts, Reporter
from canary.site.control import ControlProbes, ControlState
from canary.site.mirror_topics import MirrorTopics
from canary.site.reader import Reader
from canary.site.throttling import report_throttling
from canary.site.topics import INTERVAL_S, KnownTopics, TopicChange
from fleet.errors import ConfigurationError, MirrorwatchError, RefusedError, UnavailableError
from fleet.series import catalogue as series
from fleet.verdicts.evidence import Control
from runtime.kafka.admin import ClusterAdmin, ClusterDescription, TopicDescription
from runtime.kafka.leaders import Leaders
from runtime.kafka.tail import Tail
from runtime.kafka.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from canary.config import CanaryMode
    from canary.flows import CanaryFlow
    from canary.inbox import Inbox
    from fleet.series.kinds import Sample
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock


class SiteListener(Protocol):
    """Receives the changes that a site finds."""

    async def topics_changed(self, site: Site, changes: list[TopicChange]) -> None:
        """Process topics that appeared, were deleted, or changed their id or partitions.

        If this raises, the next poll delivers the same changes again.
        """
        ...

    def arriving(self, site: Site) -> Iterable[CanaryFlow]:
        """Return the flows to this cluster whose MirrorMaker topics are read."""
        ...

    async def poll_details(self, site: Site) -> None:
        """Poll the cluster for everything besides topic descriptions."""
        ...


class Site:
    """All clients and state for one cluster."""

    def __init__(
        self,
        alias: str,
        settings: ClientSettings,
        *,
        mode: CanaryMode,
        nonce: bytes,
        clock: WaitingClock,
        inbox: Inbox,
        reporter: Reporter,
    ) -> None:
        self.alias = alias
        self.settings = settings
        self.admin = ClusterAdmin(settings, cluster=alias, timeout_s=5.0)
        self.control = ControlState(alias)
        self.counts = CollectorCounts()
        self.description: ClusterDescription | None = None
        self.reached = False  # since the current run started
        self.topics = KnownTopics()
        self.leaders = Leaders()
        self.refused: dict[str, str] = {}  # topics that may not be described, with the error
        self.reader = Reader(settings, alias=alias, clock=clock, inbox=inbox)
        self.throttles = {"tap": self.reader.throttle, "sender": Throttle(clock)}
        self.wanted: set[str] = set()  # names of the topics to describe
        self.mirror_topics = MirrorTopics(
            alias,
            tail=Tail(settings, cluster=alias, name=f"{alias}-heartbeats"),
            admin=self.admin,
            counts=self.counts,
            clock=clock,
            reporter=reporter,
        )
        self._undelivered: dict[str, TopicChange] = {}  # changes that the listener has not processed yet
        self._described_ns: dict[str, int] = {}  # when each topic was last described, or first wanted
        self._describe_errors: dict[str, str] = {}  # by topic: error of the last try
        self._clock = clock
        self._reporter = reporter
        self._probes = ControlProbes(
            self.control,
            self.counts,
            settings=settings,
            admin=self.admin,
            mode=mode,
            nonce=nonce,
            clock=clock,
            complain=reporter.problem,
            settle=reporter.settled,
        )

    @property
    def brokers(self) -> int:
        """Return the number of brokers, 1 if unknown."""
        return len(self.description.brokers) if self.description is not None else 1

    @property
    def unreached(self) -> str:
        """Return why the cluster could not be reached, or an empty text."""
        return self.control.sentence if not self.reached and self.control.since_at else ""

    def samples(self) -> Iterator[Sample]:
        """Yield the series of this cluster."""
        yield from self.counts.samples(self.alias)
        yield from self.control.samples()
        for client, throttle in self.throttles.items():
            yield series.CLIENT_THROTTLE_SECONDS_TOTAL, (self.alias, client), throttle.total_s
        if self.settings.certificate_expires_at is not None:
            expires_at = self.settings.certificate_expires_at
            yield series.CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS, (self.alias,), expires_at

    def take_over(self, before: Site) -> None:
        """Take over counters, topics and positions of a former site of this cluster."""
        self.topics, self.wanted, self.refused = before.topics, before.wanted, before.refused
        self.description, self._undelivered = before.description, before._undelivered
        self.control.take_over(before.control)
        self.counts.errors.update(before.counts.errors)
        self.counts.last_success_at.update(before.counts.last_success_at)
        self.counts.foreign_records += before.counts.foreign_records
        self.reader.take_over(before.reader)
        for client, throttle in self.throttles.items():
            throttle.take_over(before.throttles[client])

    def forget(self, topic: str) -> None:
        """Stop describing a topic, and forget its state."""
        self.wanted.discard(topic)
        self.topics.forget(topic)
        self.refused.pop(topic, None)
        self._undelivered.pop(topic, None)
        self._described_ns.pop(topic, None)
        self._describe_errors.pop(topic, None)

    def last_described(self, topic: str) -> tuple[int, str]:
        """Return when (monotonic ns) a topic was last described, and the error of the last try.

        If the cluster was never reached, the error is why. Time in which the cluster is down does not count.
        """
        now_ns = self._clock.monotonic_ns()
        described_ns = self._described_ns.setdefault(topic, now_ns)
        if self.control.last_failed_at is not None:
            failed_s = self._clock.wall_s() - self.control.last_failed_at
            described_ns = max(described_ns, now_ns - int(failed_s * 1e9))
        return described_ns, self._describe_errors.get(topic) or self.unreached

    def move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set by this many seconds."""
        self.control.move_instants(by_s)
        self.topics.move_instants(by_s)
        self.counts.move_instants(by_s)

    async def run(self, listener: SiteListener, stopping: asyncio.Event) -> None:
        """Reach the cluster, then watch it until `stopping`; raises MirrorwatchError if it cannot be reached.

        The reader continues afterwards, to read probes in flight; `Prober.close` stops it.
        """
        self.reached = False
        try:
            await self.admin.open()
            await self._reach()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._probes.run(stopping))
                group.create_task(self.mirror_topics.run(lambda: listener.arriving(self), stopping))
                group.create_task(self._watch_topics(listener, stopping))
        except ConfigurationError as error:
            # The client found an error that the configuration check missed; the other clusters continue.
            raise RefusedError(str(error)) from error
        finally:
            await self.admin.close()

    async def read_brokers(self) -> None:
        """Describe the cluster; raises MirrorwatchError."""
        try:
            self.description = await self.admin.describe_cluster()
        except MirrorwatchError:
            self.counts.errors["cluster"] += 1
            raise
        self.counts.last_success_at["cluster"] = self._clock.wall_s()

    async def _reach(self) -> None:
        try:
            await self.read_brokers()
        except MirrorwatchError as error:
            control = Control.FAILING if isinstance(error, UnavailableError) else Control.UNKNOWN
            self.control.become(control, str(error), self._clock.wall_s())
            raise
        self.reached = True

    async def _watch_topics(self, listener: SiteListener, stopping: asyncio.Event) -> None:
        where = f"{self.alias}: topics"
        while not stopping.is_set():
            try:
                await self._poll(listener)
            except MirrorwatchError as error:
                self.counts.errors["topics"] += 1
                self._reporter.problem(where, str(error))
            else:
                if self.wanted:  # otherwise nothing was polled
                    self.counts.last_success_at["topics"] = self._clock.wall_s()
                self._reporter.settled(where)
            report_throttling(self.alias, self.throttles, self._reporter)
            await self._clock.wait(stopping, timeout_s=INTERVAL_S)

    async def _poll(self, listener: SiteListener) -> None:
        """Describe every topic; a refused one does not hide the others."""
        asked, gone_back = sorted(self.wanted), self.reader.gone_back
        answers = await asyncio.gather(*(self._describe(name) for name in asked), return_exceptions=True)
        found: dict[str, TopicDescription | None] = {}
        failed: list[BaseException] = []
        for name, answer in zip(asked, answers, strict=True):
            if isinstance(answer, BaseException):
                failed.append(answer)
                self._describe_errors[name] = str(answer)
            elif name in self.wanted:  # it may have been removed meanwhile
                found[name] = answer
            if isinstance(answer, RefusedError):
                self.refused[name] = str(answer)
            elif not isinstance(answer, BaseException):
                self.refused.pop(name, None)
        for change in self.topics.take(found, self._clock.wall_s()):
            undelivered = self._undelivered.get(change.name)
            old = undelivered.old if undelivered is not None else change.old
            self._undelivered[change.name] = TopicChange(change.name, old, change.new)
        await self._deliver_changes(listener)
        for name in found:
            self._described_ns[name] = self._clock.monotonic_ns()
            self._describe_errors.pop(name, None)
        # What has gone back meanwhile, or was not there, may stand in a new log already.
        there = {name for name, topic in found.items() if topic is not None}
        self.reader.confirm(place for place in gone_back if place[0] in there)
        if found or not asked:
            await listener.poll_details(self)
        for error in failed:
            raise error

    async def _deliver_changes(self, listener: SiteListener) -> None:
        if not self._undelivered:
            return
        try:
            await listener.topics_changed(self, list(self._undelivered.values()))
        except MirrorwatchError as error:
            self._describe_errors.update(dict.fromkeys(self._undelivered, str(error)))
            raise
        self._undelivered.clear()

    async def _describe(self, name: str) -> TopicDescription | None:
        return (await self.admin.describe_topics([name]))[name]
