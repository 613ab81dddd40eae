"""The sending half on one source cluster: the canary's topic, its schedule, and its producer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.events import Event, Scheduled, Sent, Skipped
from canary.plan import Schedule, Tick, settings_text
from canary.stamp import Stamp, encode
from fleet.errors import MirrorwatchError, UnavailableError
from runtime.kafka.admin import NewTopicRequest, TopicDescription
from runtime.kafka.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from canary.config import CanaryConfig
    from canary.inbox import Inbox
    from canary.site import Site
    from runtime.clock import WaitingClock

LATE_TICK_S = 1.0  # a tick that is handled later than this after it was due is not sent any more
JOIN_S = 5.0
# Kafka deletes whole segments, and the one that is written to never: without segment.ms a day is eight.
TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "86400000", "segment.ms": "21600000"}


@dataclass(frozen=True, slots=True)
class Tag:
    """Which probe a producer's report is about."""

    alias: str
    topic_id: str
    partition: int
    sequence: int


class Probing:
    """Sends the probes of one source cluster and tells each step through `tell`."""

    def __init__(
        self,
        site: Site,
        config: CanaryConfig,
        *,
        installation: str,
        incarnation: str,
        clock: WaitingClock,
        inbox: Inbox,
        tell: Callable[[str, Event], None],
    ) -> None:
        self.alias = site.alias
        self.topic: TopicDescription | None = None  # the one that is probed
        self.sentence = "the source cluster was not reached yet"  # why nothing is sent
        self._site = site
        self._config = config
        self._installation = installation
        self._incarnation = incarnation
        self._clock = clock
        self._inbox = inbox
        self._tell = tell
        self._sender: Sender | None = None
        self._schedule: Schedule | None = None
        self._sequences: dict[tuple[str, int], int] = {}

    async def make_topic(self, partitions: int) -> None:
        """Make the canary's topic; raises our errors, and keeps the sentence that says why it is not made."""
        try:
            if self._config.mode is not CanaryMode.CREATE:
                raise UnavailableError(
                    f"the topic {self._config.topic} does not exist on {self.alias} and mode: precreated"
                    f" forbids making it; create it with {partitions} partitions or more and"
                    f" {settings_text(TOPIC_CONFIG)}"
                )
            await self._site.admin.create_topic(NewTopicRequest(self._config.topic, partitions, TOPIC_CONFIG))
        except MirrorwatchError as error:
            self.sentence = str(error)
            raise

    def fits(self, topic: TopicDescription) -> bool:
        """Tell whether probes go to exactly this topic, by a producer that still sends."""
        now = self.topic
        return (
            now is not None
            and (now.topic_id, now.partitions) == (topic.topic_id, topic.partitions)
            and (self._sender is not None and not self._sender.broken)
        )

    async def begin(self, topic: TopicDescription) -> None:
        """Send probes to this topic from now on, over a new producer: an old one would hold on to old ids.

        Raises our error where the client does not accept its settings.
        """
        await self.stop()
        name = f"{self.alias}-canary"
        sender = Sender(
            self._site.settings,
            name=name,
            cluster=self.alias,
            clock=self._clock,
            sink=self._inbox.put,
            message_timeout_s=max(1.0, min(30.0, self._config.horizon / 2)),
        )
        try:
            await asyncio.to_thread(sender.start)
        except MirrorwatchError as error:
            self.sentence = str(error)
            raise
        self._sender, self.topic, self.sentence = sender, topic, ""
        self._schedule = Schedule(
            start_ns=self._clock.monotonic_ns(),
            interval_ns=int(self._config.interval * 1e9),
            partitions=topic.partitions,
        )

    async def stop(self, sentence: str = "") -> None:
        """Send no more from this moment on, and say why; what is under way has a second to be reported."""
        self.sentence = sentence or self.sentence
        sender, self._sender, self._schedule, self.topic = self._sender, None, None, None
        if sender is not None:
            await asyncio.to_thread(_end, sender)

    @property
    def next_ns(self) -> int | None:
        """Return when the next probe is due, None while nothing is sent."""
        return None if self._schedule is None else self._schedule.next_ns

    def tick(self) -> None:
        """Send every probe that is due."""
        if self._schedule is None or self.topic is None:
            return
        for tick in self._schedule.due(self._clock.monotonic_ns()):
            self._probe(tick, self.topic)

    def _probe(self, tick: Tick, topic: TopicDescription) -> None:
        key = (topic.topic_id, tick.partition)
        sequence = self._sequences.get(key, 0)
        self._sequences[key] = sequence + 1
        self._tell(self.alias, Scheduled(topic.topic_id, tick.partition, sequence, tick.at_ns))
        now_ns = self._clock.monotonic_ns()
        sent = now_ns - tick.at_ns <= LATE_TICK_S * 1e9 and self._send(topic, tick.partition, sequence)
        if sent:
            self._tell(self.alias, Sent(topic.topic_id, tick.partition, sequence, now_ns))
        else:
            self._tell(self.alias, Skipped(topic.topic_id, tick.partition, sequence))

    def _send(self, topic: TopicDescription, partition: int, sequence: int) -> bool:
        record = encode(
            Stamp(
                installation=self._installation,
                incarnation=self._incarnation,
                sequence=sequence,
                topic_id=topic.topic_id,
                topic=topic.name,
                partition=partition,
                sent_at_ms=int(self._clock.wall_s() * 1000),
            )
        )
        assert self._sender is not None
        return self._sender.send(
            topic.name,
            partition,
            key=record.key,
            value=record.value,
            headers=record.headers,
            tag=Tag(self.alias, topic.topic_id, partition, sequence),
        )


def _end(sender: Sender) -> None:
    sender.flush(1.0)
    sender.stop()
    sender.join(JOIN_S)
