"""One cluster, watched: reached first, then its control probes, its topics and its tap, until the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from canary.report import CollectorCounts, Reporter
from canary.site.control import ControlProbes, ControlState
from canary.site.own_topics import OwnTopics
from canary.site.reader import Reader
from canary.site.throttling import tell_throttled
from canary.site.topics import INTERVAL_S, TopicBook, TopicChange
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
    """Who is told what a site sees."""

    async def topics_changed(self, site: Site, changes: list[TopicChange]) -> None:
        """Take in that topics came, went, changed their id or their partitions.

        Where this raises, the same changes are told again at the next look.
        """
        ...

    def arriving(self, site: Site) -> Iterable[CanaryFlow]:
        """Return the flows to this cluster of whose mirrors its own topics are read."""
        ...

    async def look_closer(self, site: Site) -> None:
        """Ask the cluster for what is wanted regularly, beside the topics."""
        ...


class Site:
    """Everything of ours that touches one cluster."""

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
        self.reached = False  # since the present run began
        self.topics = TopicBook()
        self.leaders = Leaders()
        self.refused: dict[str, str] = {}  # topics that we may not look at, and what the cluster said
        self.reader = Reader(settings, alias=alias, clock=clock, inbox=inbox)
        self.throttles = {"tap": self.reader.throttle, "sender": Throttle(clock)}
        self.wanted: set[str] = set()  # names of the topics to look for
        self.own_topics = OwnTopics(
            alias,
            tail=Tail(settings, cluster=alias, name=f"{alias}-heartbeats"),
            admin=self.admin,
            counts=self.counts,
            clock=clock,
            reporter=reporter,
        )
        self._untold: dict[str, TopicChange] = {}  # changes that the listener has not taken yet
        self._looked_ns: dict[str, int] = {}  # when each topic was last looked at, or was first to be
        self._look_errors: dict[str, str] = {}  # by topic: what the last look at it said
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
        """Return how many brokers the cluster has, 1 as long as that is not known."""
        return len(self.description.brokers) if self.description is not None else 1

    @property
    def unreached(self) -> str:
        """Return why the cluster was not reached, where that was tried and did not succeed; else nothing."""
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
        """Go on where another site of this cluster has ended: its counters, its topics, what it read."""
        self.topics, self.wanted, self.refused = before.topics, before.wanted, before.refused
        self.description, self._untold = before.description, before._untold
        self.control.counts.update(before.control.counts)
        self.counts.errors.update(before.counts.errors)
        self.counts.last_success_at.update(before.counts.last_success_at)
        self.counts.strangers += before.counts.strangers
        self.reader.take_over(before.reader)
        for client, throttle in self.throttles.items():
            throttle.take_over(before.throttles[client])

    def forget(self, topic: str) -> None:
        """Look no more for a topic, and know nothing of it if it is wanted again."""
        self.wanted.discard(topic)
        self.topics.forget(topic)
        self.refused.pop(topic, None)
        self._untold.pop(topic, None)
        self._looked_ns.pop(topic, None)
        self._look_errors.pop(topic, None)

    def looked(self, topic: str) -> tuple[int, str]:
        """Return when (monotonic ns) a topic was last looked at, and what the last look said if it failed.

        Where the cluster was not reached there was no look, and what it said is why.
        While the cluster is down nobody can look: that time does not count.
        """
        now_ns = self._clock.monotonic_ns()
        looked_ns = self._looked_ns.setdefault(topic, now_ns)
        if self.control.last_failed_at is not None:
            failed_s = self._clock.wall_s() - self.control.last_failed_at
            looked_ns = max(looked_ns, now_ns - int(failed_s * 1e9))
        return looked_ns, self._look_errors.get(topic) or self.unreached

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
        self.control.move_instants(by_s)
        self.topics.move_instants(by_s)
        self.counts.move_instants(by_s)

    async def run(self, listener: SiteListener, stopping: asyncio.Event) -> None:
        """Reach the cluster, then watch it until `stopping`; raises our errors while it cannot be reached.

        The reader goes on afterwards: what is on its way is still to be seen, and `close` of the prober ends
        it.
        """
        self.reached = False
        try:
            await self.admin.open()
            await self._reach()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._probes.run(stopping))
                group.create_task(self.own_topics.run(lambda: listener.arriving(self), stopping))
                group.create_task(self._watch_topics(listener, stopping))
        except ConfigurationError as error:
            # The client found what no reading of the configuration had; the other clusters go on.
            raise RefusedError(str(error)) from error
        finally:
            await self.admin.close()

    async def _reach(self) -> None:
        try:
            self.description = await self.admin.describe_cluster()
        except MirrorwatchError as error:
            self.counts.errors["cluster"] += 1
            control = Control.FAILING if isinstance(error, UnavailableError) else Control.UNKNOWN
            self.control.become(control, str(error), self._clock.wall_s())
            raise
        self.reached = True
        self.counts.last_success_at["cluster"] = self._clock.wall_s()

    async def _watch_topics(self, listener: SiteListener, stopping: asyncio.Event) -> None:
        where = f"{self.alias}: topics"
        while not stopping.is_set():
            try:
                await self._look(listener)
            except MirrorwatchError as error:
                self.counts.errors["topics"] += 1
                self._reporter.problem(where, str(error))
            else:
                if self.wanted:  # else nothing was asked, and that proves nothing
                    self.counts.last_success_at["topics"] = self._clock.wall_s()
                self._reporter.settled(where)
            tell_throttled(self.alias, self.throttles, self._reporter)
            await self._clock.wait(stopping, timeout_s=INTERVAL_S)

    async def _look(self, listener: SiteListener) -> None:
        """Look at every topic once; one that may not be looked at does not hide the others."""
        asked, gone_back = sorted(self.wanted), self.reader.gone_back
        answers = await asyncio.gather(*(self._describe(name) for name in asked), return_exceptions=True)
        found: dict[str, TopicDescription | None] = {}
        failed: list[BaseException] = []
        for name, answer in zip(asked, answers, strict=True):
            if isinstance(answer, BaseException):
                failed.append(answer)
                self._look_errors[name] = str(answer)
            elif name in self.wanted:  # it may have been dropped while it was asked for
                found[name] = answer
            if isinstance(answer, RefusedError):
                self.refused[name] = str(answer)
            elif not isinstance(answer, BaseException):
                self.refused.pop(name, None)
        for change in self.topics.take(found, self._clock.wall_s()):
            untold = self._untold.get(change.name)
            old = untold.old if untold is not None else change.old
            self._untold[change.name] = TopicChange(change.name, old, change.new)
        await self._tell_changes(listener)
        for name in found:
            self._looked_ns[name] = self._clock.monotonic_ns()
            self._look_errors.pop(name, None)
        # What has gone back meanwhile, or was not there, may stand in a new log already.
        there = {name for name, topic in found.items() if topic is not None}
        self.reader.confirm(place for place in gone_back if place[0] in there)
        if found or not asked:
            await listener.look_closer(self)
        for error in failed:
            raise error

    async def _tell_changes(self, listener: SiteListener) -> None:
        if not self._untold:
            return
        try:
            await listener.topics_changed(self, list(self._untold.values()))
        except MirrorwatchError as error:
            self._look_errors.update(dict.fromkeys(self._untold, str(error)))
            raise
        self._untold.clear()

    async def _describe(self, name: str) -> TopicDescription | None:
        return (await self.admin.describe_topics([name]))[name]
