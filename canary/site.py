"""One cluster, watched: reached first, then its control probes, its topics and its tap, until the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from canary.control import ControlState, run_control
from canary.reader import Reader
from canary.report import CollectorCounts, Reporter
from canary.topics import INTERVAL_S, TopicBook, TopicChange
from fleet.errors import MirrorwatchError
from runtime.kafka.admin import ClusterAdmin, ClusterDescription

if TYPE_CHECKING:
    from canary.config import CanaryMode
    from canary.inbox import Inbox
    from runtime.clock import WaitingClock
    from runtime.kafka.translation import ClientSettings


class SiteListener(Protocol):
    """Who is told what a site sees."""

    async def topics_changed(self, site: Site, changes: list[TopicChange]) -> None:
        """Take in that topics came, went, changed their id or their partitions."""
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
        self.topics = TopicBook()
        self.reader = Reader(settings, alias=alias, clock=clock, inbox=inbox)
        self.wanted: set[str] = set()  # names of the topics to look for
        self._mode = mode
        self._nonce = nonce
        self._clock = clock
        self._reporter = reporter

    async def run(self, listener: SiteListener, stopping: asyncio.Event) -> None:
        """Reach the cluster, then watch it until `stopping`; raises our errors while it cannot be reached."""
        await self.admin.open()
        try:
            await self._reach()
            async with asyncio.TaskGroup() as group:
                group.create_task(
                    run_control(
                        self.control,
                        settings=self.settings,
                        admin=self.admin,
                        mode=self._mode,
                        nonce=self._nonce,
                        clock=self._clock,
                        stopping=stopping,
                        complain=self._reporter.problem,
                        settle=self._reporter.settled,
                    )
                )
                group.create_task(self._watch_topics(listener, stopping))
        finally:
            await self.reader.stop()
            await self.admin.close()

    async def _reach(self) -> None:
        try:
            self.description = await self.admin.describe_cluster()
        except MirrorwatchError:
            self.counts.errors["cluster"] += 1
            raise
        self.counts.last_success_at["cluster"] = self._clock.wall_s()

    async def _watch_topics(self, listener: SiteListener, stopping: asyncio.Event) -> None:
        where = f"{self.alias}: topics"
        while not stopping.is_set():
            try:
                found = await self.admin.describe_topics(self.wanted)
                changes = self.topics.take(found, self._clock.wall_s())
                if changes:
                    await listener.topics_changed(self, changes)
                await listener.look_closer(self)
            except MirrorwatchError as error:
                self.counts.errors["topics"] += 1
                self._reporter.problem(where, str(error))
            else:
                self.counts.last_success_at["topics"] = self._clock.wall_s()
                self._reporter.settled(where)
            await self._clock.wait(stopping, timeout_s=INTERVAL_S)
