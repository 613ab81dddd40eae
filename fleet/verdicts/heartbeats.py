"""Whether a mirror runs although nothing comes: by when its heartbeats came here, never by its own clock.

Heartbeats come through the same flow, so those that go on to come show that the mirror runs without the
canary's topic. Two lots of them are needed after the instant by which the oldest waiting probe should have
been through: one alone may be a backlog that was let go at once. A lot comes with the instant of the look
before, so it may be younger than it is taken for, never older. Where none have come for longer than they
ever were apart, or none were ever read, nothing is said here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from fleet.verdicts.evidence import FlowEvidence

SILENT_S = 6.0  # three looks: no heartbeat for so long, and the mirror may well stand
_SLACK_S = 2.0  # one look

Why = tuple[Cause, str]


def why_running(flow: FlowEvidence, *, waits_s: float, grace_s: float) -> Why | None:
    """Return that the mirror runs without this topic, or that this cannot be told yet; None where it stands.

    `waits_s` is the age of the oldest probe that waits, `grace_s` within what time it should have come.
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
    """Return for how long none may come while the mirror runs: two of their usual pauses and a look."""
    pauses_s = [before_s - after_s for after_s, before_s in pairwise(came_s)]
    return max(SILENT_S, 2 * min(pauses_s, default=0.0) + _SLACK_S)
