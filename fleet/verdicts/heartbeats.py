"""Whether heartbeats show that a stalled mirror runs: by the time of arrival, not by the mirror's clock.

Heartbeats are replicated by the same flow. If they continue to arrive, the mirror runs without the canary
topic. This requires arrivals in two polls after the oldest waiting probe should have arrived: one alone may
be a backlog. An arrival has the time of the poll before, so its age is an upper bound. Without heartbeats, or
after a longer pause than usual, they prove nothing.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from fleet.verdicts.evidence import FlowEvidence

SILENT_S = 6.0  # three polls: after so long without a heartbeat the mirror may hang
_SLACK_S = 2.0  # one poll

Why = tuple[Cause, str]


def why_running(flow: FlowEvidence, *, waits_s: float, grace_s: float) -> Why | None:
    """Return that the mirror runs without this topic, or that this is not clear yet; None if it hangs.

    `waits_s` is the age of the oldest waiting probe, `grace_s` the time within which it should have arrived.
    """
    came_s, target = flow.heartbeats_s, flow.target.alias
    since_s = [age_s for age_s in came_s if age_s <= waits_s - grace_s]
    if not since_s or since_s[0] > _patience_s(came_s):
        return None
    if len(since_s) < 2:
        what = f"one heartbeat of the mirror arrived on {target} since"
        return Cause.UNEXPLAINED, f"{what}, and the next ones show whether it runs"
    runs = f"the mirror runs, as its heartbeats arrive on {target}, but no record of"
    runs += f" {flow.topic.source_topic} does"
    if waits_s < flow.topic.settings_within_s:
        what = f"the next poll of settings shows whether {flow.topic.target_topic} accepts them"
        return Cause.UNEXPLAINED, f"{runs}; {what}"
    return Cause.NOT_MIRRORED, (
        f"{runs}; the mirror excludes the topic, drops all its records, or the tasks of the topic hang"
    )


def _patience_s(came_s: tuple[float, ...]) -> float:
    """Return how long a running mirror may write no heartbeat: two usual pauses and a poll."""
    pauses_s = [before_s - after_s for after_s, before_s in pairwise(came_s)]
    return max(SILENT_S, 2 * min(pauses_s, default=0.0) + _SLACK_S)
