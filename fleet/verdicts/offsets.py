"""Rules: the current state of a flow by its offsets, which cover all its topics.

The stronger evidence decides if canary and offsets differ:

1. Missing or old data of the lag monitor proves nothing: it changes no verdict.
2. The canary times each arrival, while a mirror commits its offsets once a minute by default. If canary
   records arrive, no partition of their topic is stalled and the mirror is not down. If offsets still show
   that after the time of a commit, the mirror commits none (offsets_not_committing).
3. Offsets cover all topics, the canary its own: a stall of another topic is one that the canary cannot see.

Offsets alone decide about a flow whose canary is off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from fleet.verdicts.evidence import CanaryState, Control
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import Judgement, clause, ended, holding

if TYPE_CHECKING:
    from fleet.verdicts.evidence import FlowEvidence, LagEvidence, PartitionEvidence

_LAST_OFFSETS_S = 15.0  # a mirror that is stopped in order commits so long after its last record
RETURN_S = 30.0  # time for a mirror to recover after a cluster, or for one task after others


def says_something(lag: LagEvidence | None) -> bool:
    """Return whether offsets have a current verdict."""
    return lag is not None and lag.verdict is not Verdict.UNKNOWN


def is_quiet(lag: LagEvidence | None, now_at: float) -> bool:
    """Return whether offsets show no problem of a flow that is otherwise healthy."""
    if lag is None:
        return True
    if lag.verdict is not Verdict.HEALTHY and (
        lag.verdict is not Verdict.UNKNOWN or lag.cause is Cause.OFFSETS_NOT_COMMITTING
    ):
        return False
    return not holding(lag.findings, now_at)


def with_unread(seen: Judgement, lag: LagEvidence | None) -> Judgement:
    """Return the judgement with the partitions whose lag is unknown without a permission."""
    if lag is None or not lag.unread:
        return seen
    return replace(seen, sentence=f"{ended(seen.sentence)} {lag.unread}")


def standing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while offsets show stalled partitions, and the canary does not show that they move."""
    lag = flow.lag
    if lag is None or lag.verdict is not Verdict.STALLED or contradicted(flow):
        return None
    cause, sentence = lag.cause or Cause.UNEXPLAINED, ended(lag.sentence)
    if cause is Cause.MIRROR_DOWN or cause.of_part:
        down = _down(flow, lag, now_at)
        if down is not None:
            cause, why = down
            sentence = f"{sentence} {why}"
    return Judgement(Verdict.STALLED, cause, sentence, lag.rows)


def contradicted(flow: FlowEvidence) -> bool:
    """Return whether the canary disproves the stall that offsets show."""
    lag, canary = flow.lag, flow.canary
    if lag is None or canary.state is not CanaryState.RUNNING or canary.impaired is not None:
        return False
    if lag.standing and not {*lag.standing} - {flow.topic.source_topic}:
        return True  # the canary sees more of its own partitions, and sooner
    return lag.cause in (Cause.MIRROR_DOWN, None) and bool(_moving(flow))


def moved_elsewhere_s(flow: FlowEvidence, now_at: float, *, waits_s: float) -> float | None:
    """Return how long ago the mirror first advanced on other topics while a probe waited; None if it did not.

    A mirror that is stopped in order commits its last offsets a few seconds after its last record.
    """
    if flow.lag is None:
        return None
    ages_s = (now_at - at for at in flow.lag.moved)
    return max((age_s for age_s in ages_s if age_s < waits_s - _LAST_OFFSETS_S), default=None)


def _down(flow: FlowEvidence, lag: LagEvidence, now_at: float) -> tuple[Cause, str] | None:
    """Name a cluster that is down, or was until a moment ago, so that the mirror may not have recovered."""
    for cause, cluster in ((Cause.SOURCE_DOWN, flow.source), (Cause.TARGET_DOWN, flow.target)):
        if cluster.control is Control.FAILING:
            if flow.canary.state is CanaryState.OFF:  # then there may be no control probes
                return cause, f"{cluster.alias} does not answer."
            return cause, f"Control probes fail on {cluster.alias} too."
    for cause, cluster in ((Cause.SOURCE_DOWN, flow.source), (Cause.TARGET_DOWN, flow.target)):
        failed_at = cluster.last_failed_at
        if failed_at is not None and now_at - failed_at <= RETURN_S + lag.settles_s:
            ago = duration_text(max(0.0, now_at - failed_at))
            return cause, f"{cluster.alias} was down until {ago} ago."
    return None


def _moving(flow: FlowEvidence) -> list[PartitionEvidence]:
    """Return the partitions of the canary topic on which probes arrive."""
    canary = flow.canary
    lately_s = canary.threshold_s + canary.interval_s
    return [
        one for one in canary.partitions if one.arrival_age_s is not None and one.arrival_age_s <= lately_s
    ]


def behind(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while offsets show that a partition falls behind."""
    del now_at
    lag = flow.lag
    if lag is None or lag.verdict is not Verdict.LATE:
        return None
    return Judgement(Verdict.LATE, lag.cause or Cause.UNEXPLAINED, ended(lag.sentence), lag.rows)


def not_committing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold if records arrive and the mirror's offsets do not move for longer than a commit takes.

    After a stall records arrive at once, and offsets move with the next commit.
    """
    lag = flow.lag
    if lag is None or now_at - lag.since_at <= lag.settles_s:
        return None
    own = lag.verdict is Verdict.UNKNOWN and lag.cause is Cause.OFFSETS_NOT_COMMITTING
    if flow.canary.state is not CanaryState.RUNNING or flow.canary.impaired is not None:
        text = ended(lag.sentence)
        return Judgement(Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, text, lag.rows) if own else None
    if not own and not (lag.verdict is Verdict.STALLED and contradicted(flow)):
        return None
    if not any(one.late_age_s is None or one.late_age_s > lag.settles_s for one in _moving(flow)):
        return None
    return Judgement(
        Verdict.UNKNOWN,
        Cause.OFFSETS_NOT_COMMITTING,
        "Canary records arrive, but the mirror commits no offsets. Its progress on other topics is unknown,"
        f" and a restart would replicate records again. {ended(lag.sentence)}",
        lag.rows,
    )


def unknown_without_canary(flow: FlowEvidence, why: str) -> Judgement | None:
    """Return unknown for a flow whose canary is off (`why`); None if offsets show its state."""
    lag = flow.lag
    if lag is None or says_something(lag):
        return None
    text = f" {ended(lag.sentence)}"
    cause: Cause | None = None if lag.cause is Cause.OFFSETS_NOT_COMMITTING else lag.cause
    for down, cluster in ((Cause.SOURCE_DOWN, flow.source), (Cause.TARGET_DOWN, flow.target)):
        if cause is None and cluster.control is Control.FAILING:
            cause, text = down, f"{text} {cluster.alias} does not answer."
    return Judgement(Verdict.UNKNOWN, cause, f"{flow.flow} has no canary: {why}{text}", lag.rows)


def well_without_canary(flow: FlowEvidence) -> Judgement | None:
    """Return healthy for a flow whose canary is off, by its offsets; None for one with a canary."""
    lag = flow.lag
    if lag is None or flow.canary.state is not CanaryState.OFF:
        return None
    why = ended(flow.canary.sentence)
    without = f" There is no canary: {clause(why)}." if why else ""
    return Judgement(Verdict.HEALTHY, None, f"{ended(lag.sentence)}{without}")
