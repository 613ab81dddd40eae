"""Settings of a flow for the canary, and its state while it runs."""

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
    """One flow to probe; durations in seconds. `off` is why it is not probed, or empty."""

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
    heartbeats_topic: str = ""  # on the target; empty if none are replicated
    tasks_topic: str = (
        ""  # on the target: the configuration topic with the tasks' partitions; empty if unknown
    )
    added_headers: frozenset[str] = frozenset()  # names of those that the mirror adds by design


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
    """Return the flow with a new watch that only knows the carried partitions."""
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
