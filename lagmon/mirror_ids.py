"""Ask a cluster for the ids of the topics that flows read and write there, and how long it keeps records.

Only ids tell that a topic was made anew: N stays monotone over it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError, RefusedError
from runtime.kafka.admin import ClusterAdmin

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from lagmon.cluster import ClusterLag
    from lagmon.mirror_flow import MirrorFlow
    from runtime.clock import WaitingClock
    from runtime.kafka.translation import ClientSettings

FIRST_S = 1.0  # until the cluster's topics are known
EVERY_S = 30.0
RETENTION_EVERY = 20  # rounds
CHUNK = 200  # topics in one request


class MirrorIds:
    """Asks one cluster; `locks` are those of all that is read and noted, in their order."""

    def __init__(
        self,
        alias: str,
        settings: ClientSettings,
        flows: Sequence[MirrorFlow],
        *,
        lag: ClusterLag,
        locks: Sequence[threading.Lock],
        clock: WaitingClock,
        tell: Callable[[str], None],
    ) -> None:
        self.alias = alias
        self._settings = settings
        self._flows = list(flows)
        self._lag = lag
        self._locks = list(locks)
        self._clock = clock
        self._tell = tell
        self._rounds = 0
        self._may_read_settings = True

    async def run(self, stopping: asyncio.Event) -> None:
        """Ask again and again until told to stop; raises our own error where the cluster is away."""
        admin = ClusterAdmin(self._settings, cluster=self.alias)
        await admin.open()
        try:
            while not stopping.is_set():
                names = self._wanted()
                await self._ask(admin, names)
                if names and self._may_read_settings and self._rounds % RETENTION_EVERY == 0:
                    await self._ask_retention(admin)
                self._rounds += 1 if names else 0
                await self._clock.wait(stopping, timeout_s=EVERY_S if names else FIRST_S)
        finally:
            await admin.close()

    def _wanted(self) -> list[str]:
        """Return the topics that are there and belong to a flow."""
        there = self._lag.topics
        found: set[str] = set()
        for flow in self._flows:
            if flow.order.flow.source == self.alias:
                found |= flow.topics.remote.keys() & there.keys()
            if flow.order.flow.target == self.alias:
                found |= set(flow.topics.remote.values()) & there.keys()
        return sorted(found)

    async def _ask(self, admin: ClusterAdmin, names: list[str]) -> None:
        for first in range(0, len(names), CHUNK):
            found = await admin.describe_topics(names[first : first + CHUNK])
            ids = {name: topic.topic_id for name, topic in found.items() if topic is not None}
            await asyncio.to_thread(self._note, ids)

    def _note(self, ids: dict[str, str]) -> None:
        now_ms = int(self._clock.wall_s() * 1000)
        for lock in self._locks:
            lock.acquire()
        try:
            for name, topic_id in ids.items():
                self._lag.note_id(name, topic_id, now_ms)
            for flow in self._flows:
                flow.note_ids(self.alias, ids, now_ms)
        finally:
            for lock in reversed(self._locks):
                lock.release()

    async def _ask_retention(self, admin: ClusterAdmin) -> None:
        for flow in self._flows:
            if flow.order.flow.source != self.alias:
                continue
            for topic in sorted(flow.topics.remote.keys() & self._lag.topics.keys()):
                try:
                    settings = await admin.describe_topic_config(topic)
                except RefusedError as error:
                    self._may_read_settings = False
                    self._tell(f"{error}: how soon retention overtakes a mirror is not told")
                    return
                except MirrorwatchError:
                    continue  # the topic is gone, or the next round has better luck
                flow.note_retention(topic, settings)
