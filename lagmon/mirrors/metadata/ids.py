"""Ask a cluster for the ids and settings of the topics that flows read and write there.

Only ids tell that a topic was made anew: N stays monotone over it. They are asked for as often as the ends
are, so that what a mirror made of it can be told from few offsets; settings of some topics in each round.
Ids of the topics in which workers keep offsets and states are asked for as well, for those that read them.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError, RefusedError
from lagmon.cluster.late_ids import in_time
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS
from lagmon.mirrors.metadata.id_rounds import ids_every_s
from runtime.kafka.admin import ClusterAdmin

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from lagmon.cluster.state import ClusterLag
    from lagmon.mirrors.flow import MirrorFlow
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

FIRST_S = 1.0  # until the cluster's topics are known
CHUNK = 200  # topics in one request
SETTINGS_OF = 50  # topics in a round: 1,000 of them take 200 s
REFUSED_MS = 600_000  # until the settings of a topic that were refused are asked for again: brokers log it


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
        self._settings_read = 0  # how far, in the list of topics
        self._refused_ms: dict[str, int] = {}  # by topic: when its settings were refused last

    async def run(self, stopping: asyncio.Event) -> None:
        """Ask again and again until told to stop; raises our own error where the cluster is away."""
        admin = ClusterAdmin(self._settings, cluster=self.alias)
        await admin.open()
        try:
            while not stopping.is_set():
                names = self._wanted()
                await self._ask(admin, [*names, *self._of_workers()])
                if names:
                    await self._ask_settings(admin, names)
                await self._clock.wait(stopping, timeout_s=ids_every_s(len(names)) if names else FIRST_S)
        finally:
            await admin.close()

    def _wanted(self) -> list[str]:
        """Return the topics that are there and that a flow carries, from here or to here."""
        there = self._lag.topics
        found: set[str] = set()
        for flow in self._flows:
            if flow.order.flow.source == self.alias:
                found |= flow.topics.remote.keys() & there.keys()
            if flow.order.flow.target == self.alias:
                found |= set(flow.topics.remote.values()) & there.keys()
        return sorted(found)

    def _of_workers(self) -> list[str]:
        """Return the topics that are there of the flows' workers: their offsets, states and tasks."""
        orders = [flow.order for flow in self._flows if flow.order.lag_from == CONNECT_OFFSETS]
        kept = {
            topic
            for order in orders
            if order.offsets_cluster == self.alias
            for topic in (order.offsets_topic, order.status_topic, order.config_topic)
        }
        return sorted(kept & self._lag.topics.keys())

    async def _ask(self, admin: ClusterAdmin, names: list[str]) -> None:
        for first in range(0, len(names), CHUNK):
            asked_ms = int(self._clock.wall_s() * 1000)
            found = await admin.describe_topics(names[first : first + CHUNK])
            # Of brokers that know of no ids, all topics have the same one: the first real one is no change.
            ids = {name: topic.known_id for name, topic in found.items() if topic and topic.known_id}
            await asyncio.to_thread(self.note_ids, ids, asked_ms)

    def note_ids(self, told: dict[str, str], asked_ms: int) -> None:
        """Take note of ids that were asked for at an instant, here or by the looks at the same cluster."""
        now_ms = int(self._clock.wall_s() * 1000)
        with self._held():
            ids = in_time(self._lag, told, asked_ms)
            for flow in self._flows:  # first: what was known of the old topic is forgotten next
                flow.note_ids(self.alias, ids, now_ms)
            for name, topic_id in ids.items():
                self._lag.note_id(name, topic_id, now_ms)

    def _note_settings(self, found: dict[str, dict[str, str]], asked_ms: int) -> None:
        with self._held():
            for name, settings in found.items():
                for flow in self._flows:
                    flow.note_settings(self.alias, name, settings, asked_ms=asked_ms)

    def _held(self) -> AbstractContextManager[object]:
        stack = ExitStack()
        for lock in self._locks:
            stack.enter_context(lock)
        return stack

    async def _ask_settings(self, admin: ClusterAdmin, names: list[str]) -> None:
        """Read the settings of the next topics in turn; that some are refused is told once."""
        first, found = self._settings_read % len(names), {}
        now_ms = int(self._clock.wall_s() * 1000)
        there = set(names)
        self._refused_ms = {name: at_ms for name, at_ms in self._refused_ms.items() if name in there}
        for name in names[first : first + SETTINGS_OF]:
            if name in self._refused_ms and now_ms - self._refused_ms[name] < REFUSED_MS:
                continue
            try:
                found[name] = await admin.describe_topic_config(name)
                self._refused_ms.pop(name, None)
            except RefusedError as error:
                if not self._refused_ms:
                    self._tell(
                        f"{error}: of such topics it is not told how soon retention overtakes a mirror, nor"
                        f" whether a target stamps records anew; grant DescribeConfigs on the topics of"
                        f" {self.alias}"
                    )
                self._refused_ms[name] = now_ms
            except MirrorwatchError:
                continue  # the topic is gone, or the next round has better luck
        await asyncio.to_thread(self._note_settings, found, now_ms)
        following = first + SETTINGS_OF
        self._settings_read = following if following < len(names) else 0
