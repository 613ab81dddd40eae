"""Topic, schedule and producer of the canary on one source."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from canary.config import CanaryMode
from canary.site.sending import Sending
from canary.tracker.plan import Schedule, first_tick_ns, settings_text
from canary.tracker.stamp import Stamper
from fleet.errors import MirrorwatchError, UnavailableError
from runtime.kafka.sender import Sender

if TYPE_CHECKING:
    from canary.config import CanaryConfig
    from canary.inbox import Inbox
    from canary.site.site import Site
    from runtime.kafka.admin import NewTopicRequest, TopicDescription
    from runtime.process.clock import WaitingClock

JOIN_S = 5.0


class Tag(NamedTuple):
    """The probe that a producer's report is about."""

    alias: str
    topic_id: str
    partition: int
    sequence: int


class Probing:
    """Sends the probes of one source; each step goes into the inbox."""

    def __init__(
        self,
        site: Site,
        config: CanaryConfig,
        *,
        installation: str,
        incarnation: str,
        clock: WaitingClock,
        inbox: Inbox,
        sequences: dict[tuple[str, int], int],
    ) -> None:
        self.alias = site.alias
        self.topic: TopicDescription | None = None  # the one that is probed
        self.sentence = "the source cluster has not answered yet"  # why nothing is sent
        self.latched = False  # a probe came back to this source: every tick is skipped
        self._site = site
        self._config = config
        self._installation = installation
        self._incarnation = incarnation
        self._clock = clock
        self._inbox = inbox
        self._sender: Sender | None = None
        self._sending: Sending | None = None
        self._finished = False
        self._interval_s = config.interval  # from one probe of a partition to its next
        self._sequences = sequences  # the next number by topic id and partition; outlives this object

    def await_topic(self) -> None:
        """Set the sentence for a topic that does not exist yet."""
        missing = f"the topic {self._config.topic} does not exist on {self.alias} yet"
        is_made = self._config.mode is CanaryMode.CREATE
        self.sentence = f"starting: {missing}; creating it" if is_made else missing

    async def make_topic(self, request: NewTopicRequest) -> None:
        """Create the canary's topic; raises MirrorwatchError, whose text becomes `sentence`."""
        try:
            if self._config.mode is not CanaryMode.CREATE:
                raise UnavailableError(
                    f"the topic {self._config.topic} does not exist on {self.alias} (canary.mode is"
                    f" precreated); create it with {request.partitions} partitions or more and"
                    f" {settings_text(request.config)}"
                )
            await self._site.admin.create_topic(request)
        except MirrorwatchError as error:
            self.sentence = str(error)
            raise

    def fits(self, topic: TopicDescription, interval_s: float | None = None) -> bool:
        """Return whether probes go to exactly this topic by a working producer, or sending has finished."""
        now = self.topic
        return self._finished or (
            now is not None
            and (now.topic_id, now.partitions) == (topic.topic_id, topic.partitions)
            and interval_s in (None, self._interval_s)
            and (self._sender is not None and not self._sender.broken)
            and (self._sending is not None and not self._sending.ended)
        )

    async def begin(self, topic: TopicDescription, interval_s: float | None = None) -> None:
        """Send probes to this topic by a new producer, since an old one would keep old topic ids.

        Raises MirrorwatchError if the client rejects its settings.
        """
        await self.stop()
        name = f"{self.alias}-canary"
        sender = Sender(
            self._site.settings,
            name=name,
            cluster=self.alias,
            clock=self._clock,
            sink=self._inbox.put,
            message_timeout_s=report_within_s(self._config.horizon),
            throttled=self._site.throttles["sender"].hear,
        )
        try:
            await asyncio.to_thread(sender.start)
        except MirrorwatchError as error:
            self.sentence = str(error)
            raise
        if self._finished:
            await asyncio.to_thread(_end, sender)
            return
        self._sender, self.topic, self.sentence = sender, topic, ""
        self._interval_s = interval_s if interval_s is not None else self._config.interval
        interval_ns, partitions = int(self._interval_s * 1e9), topic.partitions
        start_ns = first_tick_ns(
            self._clock.monotonic_ns(), source=self.alias, interval_ns=interval_ns, partitions=partitions
        )
        schedule = Schedule(start_ns=start_ns, interval_ns=interval_ns, partitions=partitions)
        stamper = Stamper(
            installation=self._installation,
            incarnation=self._incarnation,
            topic_id=topic.topic_id,
            topic=topic.name,
        )
        self._sending = Sending(
            schedule,
            alias=self.alias,
            topic_id=topic.topic_id,
            sequences=self._sequences,
            send=partial(self._send, sender=sender, topic=topic, stamper=stamper),
            clock=self._clock,
            inbox=self._inbox,
        )
        self._sending.start()

    async def finish(self) -> None:
        """Stop sending for good, at the shutdown; sent probes may still be acknowledged."""
        self._finished = True
        await self._end_sending()

    async def stop(self, sentence: str = "") -> None:
        """Stop sending, with the reason; reports of sent probes may take another second."""
        self.sentence = sentence or self.sentence
        sender, self._sender, self.topic = self._sender, None, None
        await self._end_sending()
        if sender is not None:
            await asyncio.to_thread(_end, sender)

    async def _end_sending(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            await asyncio.to_thread(sending.stop)

    def _send(
        self,
        partition: int,
        sequence: int,
        due_at_ms: int,
        *,
        sender: Sender,
        topic: TopicDescription,
        stamper: Stamper,
    ) -> int | None:
        """Send one probe, on the sending thread, unless latched."""
        if self.latched:
            return None
        record = stamper.encode(partition, sequence, due_at_ms)
        tag = Tag(self.alias, topic.topic_id, partition, sequence)
        sent_ns = self._clock.monotonic_ns()
        sent = sender.send(
            topic.name,
            partition,
            key=record.key,
            value=record.value,
            headers=record.headers,
            tag=tag,
        )
        return sent_ns if sent else None


def report_within_s(horizon_s: float) -> float:
    """Return the producer's time-out for a probe, well before its horizon."""
    return max(1.0, min(30.0, horizon_s / 2))


def _end(sender: Sender) -> None:
    sender.flush(1.0)
    sender.stop()
    sender.join(JOIN_S)
