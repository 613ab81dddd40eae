"""Read the ids and settings of the topics that flows use on one cluster.

Only an id shows that a topic was re-created: N stays monotone over it. So ids are read as often as log ends:
then a few offsets show how the mirror continued. Each round also reads the settings of some topics. The ids
of the topics in which workers keep offsets and states are read too, for their readers.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError, RefusedError
from lagmon.cluster.late_ids import in_time
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS
from lagmon.mirrors.metadata.topics import ids_every_s
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
REFUSED_MS = 600_000  # until refused settings are requested again: brokers log each refusal


class MirrorIds:
    """Reads from one cluster; `locks` guard all that is read and noted, in their order."""

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
        self._settings_read = 0  # position in the list of topics
        self._refused_ms: dict[str, int] = {}  # by topic: when its settings were last refused

    async def run(self, stopping: asyncio.Event) -> None:
        """Read again and again until stopped; raises a MirrorwatchError if the cluster is unavailable."""
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
        """Return the existing topics that a flow replicates from or to this cluster."""
        there = self._lag.topics
        found: set[str] = set()
        for flow in self._flows:
            if flow.order.flow.source == self.alias:
                found |= flow.topics.remote.keys() & there.keys()
            if flow.order.flow.target == self.alias:
                found |= set(flow.topics.remote.values()) & there.keys()
        return sorted(found)

    def _of_workers(self) -> list[str]:
        """Return the existing topics of the flows' workers: offsets, states and tasks."""
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
            # Brokers without ids give all topics the same one: the first real id is no change.
            ids = {name: topic.known_id for name, topic in found.items() if topic and topic.known_id}
            await asyncio.to_thread(self.note_ids, ids, asked_ms)

    def note_ids(self, ids: dict[str, str], asked_ms: int) -> None:
        """Note ids that were read at an instant, here or by the polls of the same cluster."""
        now_ms = int(self._clock.wall_s() * 1000)
        with self._held():
            ids = in_time(self._lag, ids, asked_ms)
            for flow in self._flows:  # first: the cluster forgets the old topic next
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
        """Read the settings of the next topics in turn; report refusals once."""
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
                        f"{error}: without them Mirrorwatch cannot show retention headroom, nor"
                        " whether a target topic stamps records; grant DescribeConfigs on the topics of"
                        f" {self.alias}"
                    )
                self._refused_ms[name] = now_ms
            except MirrorwatchError:
                continue  # the topic is removed, or the next round succeeds
        await asyncio.to_thread(self._note_settings, found, now_ms)
        following = first + SETTINGS_OF
        self._settings_read = following if following < len(names) else 0
