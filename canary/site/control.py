"""Control probes: a record to a cluster and back, without a mirror, to detect faults of the cluster."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.tracker.latency import Histogram
from canary.tracker.plan import CONTROL_SETTINGS, settings_text
from fleet.errors import MirrorwatchError, RefusedError, UnavailableError
from fleet.quantity import duration_text
from fleet.series import catalogue as series
from fleet.verdicts.evidence import ClusterEvidence, Control
from runtime.kafka.admin import ClusterAdmin, NewTopicRequest
from runtime.kafka.round_trip import RoundTrip, RoundTripOutcome, RoundTripResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from canary.report import CollectorCounts
    from fleet.series.kinds import Sample
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

TOPIC = "__mirrorwatch-control"
INTERVAL_S = 1.0
TIMEOUT_S = 2.0
SLOW_S = 1.0  # a probe in flight for longer counts as failing
_AGAIN_S = 2.0
_REFUSED_AGAIN_S = 30.0
_DESCRIBE_S = 1.0


def _nothing() -> None:
    """Do nothing."""


@dataclass(slots=True)
class ControlState:
    """State of one cluster by its control probes."""

    alias: str
    control: Control = Control.UNKNOWN
    sentence: str = "no control probe yet"
    since_at: float = 0.0
    last_ok_at: float | None = None
    last_failed_at: float | None = None
    clock_ahead_s: float | None = None  # of the broker against this host, at least; None if unknown
    counts: Counter[RoundTripOutcome] = field(default_factory=Counter)
    round_trips: Histogram = field(default_factory=lambda: Histogram(SLOW_S))
    begun_ns: int | None = None  # of the probe in flight, monotonic
    disturbed_ns: int = -1  # when the prober was last blocked: a time-out before that means nothing
    notice: Callable[[], None] = _nothing  # detects that before a probe is judged

    def evidence(self, *, now_ns: int, now_at: float, slow_s: float = SLOW_S) -> ClusterEvidence:
        """Return the evidence for a verdict.

        A probe under way for longer than `slow_s` is failing evidence at once: a flow may pass its threshold
        before the probe has run into its own time-out, and a fault of the cluster must not look like one of
        the mirror for that long.
        """
        if self.control is Control.OK and self.begun_ns is not None:
            running_s = (now_ns - max(self.begun_ns, self.disturbed_ns)) / 1e9
            if running_s > slow_s:
                sentence = f"a control probe has been under way for {duration_text(running_s)}"
                return ClusterEvidence(
                    self.alias, Control.FAILING, sentence, now_at - running_s, self.last_ok_at, now_at
                )
        return ClusterEvidence(
            self.alias, self.control, self.sentence, self.since_at, self.last_ok_at, self.last_failed_at
        )

    def samples(self) -> Iterator[Sample]:
        """Yield what control probes count and measure as series; the clock is left out while not known."""
        for outcome in RoundTripOutcome:
            yield series.CONTROL_PROBES_TOTAL, (self.alias, outcome.value), self.counts[outcome]
        yield series.CONTROL_ROUND_TRIP_SECONDS, (self.alias,), self.round_trips.copy()
        if self.clock_ahead_s is not None:
            yield series.KAFKA_CLUSTER_CLOCK_SKEW_SECONDS, (self.alias,), self.clock_ahead_s

    def disturb(self, now_ns: int) -> None:
        """Note that the prober was blocked until now: the time of a probe in flight restarts."""
        self.disturbed_ns = now_ns

    def void(self, result: RoundTripResult) -> bool:
        """Return whether a probe's failure may be the prober's own; then forget the probe."""
        self.notice()
        voided = result.outcome is not RoundTripOutcome.GOOD and self.disturbed_ns > (self.begun_ns or 0)
        if voided:
            self.begun_ns = None
        return voided

    def take_over(self, before: ControlState) -> None:
        """Continue the counters of a state that this one replaces."""
        self.counts.update(before.counts)
        self.round_trips = before.round_trips

    def move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set by this many seconds."""
        self.since_at += by_s if self.since_at else 0.0
        self.last_ok_at = None if self.last_ok_at is None else self.last_ok_at + by_s
        self.last_failed_at = None if self.last_failed_at is None else self.last_failed_at + by_s

    def become(self, control: Control, sentence: str, at: float) -> None:
        """Set the state, and since when."""
        if control is not self.control or not self.since_at:
            self.since_at = at
        if control is Control.FAILING:
            self.last_failed_at = at
        self.control, self.sentence = control, sentence

    def take(self, result: RoundTripResult, at: float) -> None:
        """Count a probe and set the state.

        A cluster that refuses the probe is not known to be down: its state is unknown.
        """
        self.begun_ns = None
        self.counts[result.outcome] += 1
        self.clock_ahead_s = result.clock_ahead_s
        if result.outcome is RoundTripOutcome.GOOD:
            self.last_ok_at = at
            self.round_trips.observe(result.took_s)
            self.become(Control.OK, "", at)
        elif isinstance(result.error, RefusedError):
            self.become(Control.UNKNOWN, str(result.error), at)
        else:
            what = (
                "a control probe was not read back in time"
                if result.outcome is RoundTripOutcome.OVERDUE
                else "the cluster did not accept a control probe"
            )
            self.become(Control.FAILING, str(result.error or what), at)


class ControlProbes:
    """Sends control probes to one cluster; re-creates topic and clients if needed."""

    def __init__(
        self,
        state: ControlState,
        counts: CollectorCounts,
        *,
        settings: ClientSettings,
        admin: ClusterAdmin,
        mode: CanaryMode,
        nonce: bytes,
        clock: WaitingClock,
        complain: Callable[[str, str], None],
        settle: Callable[[str], None],
    ) -> None:
        self._state = state
        self._counts = counts
        self._settings = settings
        self._admin = admin
        self._mode = mode
        self._nonce = nonce
        self._clock = clock
        self._complain = complain
        self._settle = settle
        self._where = f"{state.alias}: {TOPIC}"

    async def run(self, stopping: asyncio.Event) -> None:
        """Probe once a second; report MirrorwatchErrors instead of raising them. Do nothing in mode off."""
        if self._mode is CanaryMode.OFF:
            self._state.become(Control.UNKNOWN, "canary.mode is off", self._clock.wall_s())
            return
        while not stopping.is_set():
            try:
                topic_id, offset = await self._topic()
                await self._probe(topic_id, offset, stopping)
            except MirrorwatchError as error:
                self._counts.errors["control"] += 1
                self._state.become(Control.UNKNOWN, str(error), self._clock.wall_s())
                self._complain(
                    self._where,
                    "no control probes, so a fault of the cluster would look like a fault of the mirror:"
                    f" {error}",
                )
                again_s = _AGAIN_S if isinstance(error, UnavailableError) else _REFUSED_AGAIN_S
                await self._clock.wait(stopping, timeout_s=again_s)

    async def _probe(self, topic_id: str, offset: int, stopping: asyncio.Event) -> None:
        """Probe until `stopping`, or until the control topic changes."""
        state, clock = self._state, self._clock
        trip = RoundTrip(self._settings, cluster=state.alias, topic=TOPIC, clock=clock)
        try:
            await trip.open(from_offset=offset)
            while not stopping.is_set():
                state.begun_ns = clock.monotonic_ns()
                result = await trip.once(self._nonce, timeout_s=TIMEOUT_S)
                if stopping.is_set():
                    return
                if state.void(result):
                    continue
                state.take(result, clock.wall_s())
                if result.outcome is RoundTripOutcome.GOOD:
                    self._counts.last_success_at["control"] = clock.wall_s()
                    self._settle(self._where)
                else:
                    self._counts.errors["control"] += 1
                    self._complain(self._where, state.sentence)
                    if await self._replaced(topic_id):
                        sentence = f"the topic {TOPIC} was deleted or re-created"
                        state.become(Control.UNKNOWN, sentence, clock.wall_s())
                        return
                await clock.wait(stopping, timeout_s=max(0.0, INTERVAL_S - result.took_s))
        finally:
            state.begun_ns = None
            await trip.close()

    async def _topic(self) -> tuple[str, int]:
        """Return the control topic's id and start offset; create it if configured."""
        topic = (await self._admin.describe_topics([TOPIC]))[TOPIC]
        if topic is not None:
            return topic.topic_id, (await self._admin.end_offsets(TOPIC, [0]))[0]
        if self._mode is CanaryMode.PRECREATED:
            raise UnavailableError(
                f"the topic {TOPIC} does not exist (canary.mode is precreated); create it with one"
                f" partition and {settings_text(CONTROL_SETTINGS)}"
            )
        await self._admin.create_topic(NewTopicRequest(TOPIC, 1, CONTROL_SETTINGS))
        made = (await self._admin.describe_topics([TOPIC]))[TOPIC]
        if made is None:
            raise UnavailableError(f"the topic {TOPIC} was created but is not visible yet; trying again")
        return made.topic_id, 0

    async def _replaced(self, topic_id: str) -> bool:
        """Return whether the control topic was deleted or re-created; False without a quick answer."""
        try:
            async with asyncio.timeout(_DESCRIBE_S):
                found = (await self._admin.describe_topics([TOPIC]))[TOPIC]
        except (MirrorwatchError, TimeoutError):
            return False
        return found is None or found.topic_id != topic_id
