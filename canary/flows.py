"""What the canary is told of a flow by the composition root, and what it keeps of it while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canary.watch import FlowWatch


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


@dataclass(slots=True)
class WatchedFlow:
    """A flow with its watch."""

    flow: CanaryFlow
    watch: FlowWatch
