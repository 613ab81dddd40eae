"""What the canary is told of a flow by the composition root, and what it keeps of it while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canary.tracker.tracking import TrackerPolicy
from canary.watch.mirror_positions import MirrorPositions
from canary.watch.watch import FlowWatch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.config import CanaryConfig


@dataclass(frozen=True, slots=True)
class CanaryFlow:
    """One flow to probe; durations in seconds. `off` says why it is not probed, empty where it is."""

    name: str
    source: str
    target: str
    source_topic: str
    target_topic: str
    threshold_s: float
    warmup_s: float
    tasks_max: int
    exactly_once: bool
    off: str = ""
    heartbeats_topic: str = ""  # on the target; empty where none are mirrored
    tasks_topic: str = (
        ""  # on the target, with what the mirror's tasks are to do; empty where it is not known
    )


@dataclass(slots=True)
class WatchedFlow:
    """A flow with its watch."""

    flow: CanaryFlow
    watch: FlowWatch
    positions: MirrorPositions = field(default_factory=MirrorPositions)


def watch_flow(
    flow: CanaryFlow,
    config: CanaryConfig,
    *,
    installation: str,
    incarnation: str,
    carried: Iterable[tuple[str, int]],
    first_minute: int = 0,
) -> WatchedFlow:
    """Return the flow with a watch that has seen nothing yet, except what it is known to carry."""
    policy = TrackerPolicy(
        installation=installation,
        incarnation=incarnation,
        threshold_ns=int(flow.threshold_s * 1e9),
        horizon_ns=int(max(config.horizon, flow.threshold_s) * 1e9),
        warmup_ns=int((flow.warmup_s + config.horizon) * 1e9),
        first_minute=first_minute,
    )
    watch = FlowWatch(
        policy,
        source_topic=flow.source_topic,
        target_topic=flow.target_topic,
        interval_s=config.interval,
        carried=carried,
    )
    return WatchedFlow(flow, watch)
