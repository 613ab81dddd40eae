"""Control probes: a record to a cluster and back, past no mirror, so that its faults are told apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from fleet.errors import MirrorwatchError, RefusedError, UnavailableError
from fleet.evidence import ClusterEvidence, Control
from runtime.kafka.admin import ClusterAdmin, NewTopicRequest
from runtime.kafka.round_trip import RoundTrip, RoundTripOutcome, RoundTripResult

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from runtime.clock import WaitingClock
    from runtime.kafka.translation import ClientSettings

TOPIC = "__mirrorwatch-control"
INTERVAL_S = 1.0
TIMEOUT_S = 2.0
_TOPIC_CONFIG = {"cleanup.policy": "delete", "retention.ms": "3600000"}
_MISSING_AGAIN_S = 30.0


@dataclass(slots=True)
class ControlState:
    """What is known of one cluster by its control probes."""

    alias: str
    control: Control = Control.UNKNOWN
    sentence: str = "no control probe has run yet"
    since_at: float = 0.0
    last_ok_at: float | None = None
    counts: Counter[RoundTripOutcome] = field(default_factory=Counter)

    def evidence(self) -> ClusterEvidence:
        """Return it as evidence for a verdict."""
        return ClusterEvidence(self.alias, self.control, self.sentence, self.since_at)

    def become(self, control: Control, sentence: str, at: float) -> None:
        """Change what is known, and keep since when it is so."""
        if control is not self.control:
            self.since_at = at
        self.control, self.sentence = control, sentence

    def take(self, result: RoundTripResult, at: float) -> None:
        """Count a probe and draw what follows from it.

        A cluster that refuses us is not down, as far as anyone can tell: then the control is unknown.
        """
        self.counts[result.outcome] += 1
        if result.outcome is RoundTripOutcome.GOOD:
            self.last_ok_at = at
            self.become(Control.OK, "", at)
        elif isinstance(result.error, RefusedError):
            self.become(Control.UNKNOWN, str(result.error), at)
        else:
            what = (
                "a control probe was not read back in time"
                if result.outcome is RoundTripOutcome.OVERDUE
                else "a control probe was not taken"
            )
            self.become(Control.FAILING, str(result.error or what), at)


async def run_control(
    state: ControlState,
    *,
    settings: ClientSettings,
    admin: ClusterAdmin,
    mode: CanaryMode,
    nonce: bytes,
    clock: WaitingClock,
    stopping: asyncio.Event,
    complain: Callable[[str, str], None],
    settle: Callable[[str], None],
) -> None:
    """Probe one cluster once a second until `stopping`, after making the control topic if need be."""
    where = f"{state.alias}: {TOPIC}"
    offset = None
    while offset is None and not stopping.is_set():
        try:
            offset = await _control_topic_end(admin, mode)
        except MirrorwatchError as error:
            state.become(Control.UNKNOWN, str(error), clock.wall_s())
            complain(
                where,
                f"without control probes a fault of {state.alias} looks like one of the mirror: {error}",
            )
            await clock.wait(stopping, timeout_s=_MISSING_AGAIN_S if isinstance(error, RefusedError) else 2.0)
    if offset is None:
        return
    settle(where)
    trip = RoundTrip(settings, cluster=state.alias, topic=TOPIC, clock=clock)
    await trip.open(from_offset=offset, timeout_s=TIMEOUT_S)
    try:
        while not stopping.is_set():
            result = await trip.once(nonce, timeout_s=TIMEOUT_S)
            state.take(result, clock.wall_s())
            if result.outcome is RoundTripOutcome.GOOD:
                settle(where)
            else:
                complain(where, state.sentence)
            await clock.wait(stopping, timeout_s=max(0.0, INTERVAL_S - result.took_s))
    finally:
        await trip.close()


async def _control_topic_end(admin: ClusterAdmin, mode: CanaryMode) -> int:
    """Return where to begin reading the control topic, made before if it is to be made."""
    topic = (await admin.describe_topics([TOPIC]))[TOPIC]
    if topic is None:
        if mode is CanaryMode.PRECREATED:
            raise UnavailableError(
                f"the topic {TOPIC} does not exist and mode: precreated forbids making it; create it with one"
                " partition and retention.ms=3600000"
            )
        await admin.create_topic(NewTopicRequest(TOPIC, 1, _TOPIC_CONFIG))
        return 0
    return (await admin.end_offsets(TOPIC, [0]))[0]
