"""The rules about what offsets show of this moment: the same verdicts, for every topic that a flow carries.

The stronger evidence decides where canary and offsets differ:

1. What is missing or too old in the lag monitor says nothing: no verdict gets better or worse by it.
2. The canary times each arrival, while a mirror writes its offsets once a minute by default: what the canary
   sees moving stands in no partition of its own topic, and the mirror as a whole is not down. Offsets that go
   on to say so are not being written (offsets_not_committing), once they had the time to be.
3. Offsets know all topics, the canary its own: what stands elsewhere is a stall that the canary cannot see.

A flow whose canary is off is judged by offsets alone.
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

_LAST_OFFSETS_S = 15.0  # how long after its last copy a mirror that is stopped in order writes offsets
RETURN_S = 30.0  # how long a mirror may take to come back: after a cluster did, or one task after others


def says_something(lag: LagEvidence | None) -> bool:
    """Tell whether offsets have a verdict of this moment."""
    return lag is not None and lag.verdict is not Verdict.UNKNOWN


def is_quiet(lag: LagEvidence | None, now_at: float) -> bool:
    """Tell whether offsets say nothing that would make a flow that is plainly well anything else."""
    if lag is None:
        return True
    if lag.verdict is not Verdict.HEALTHY and (
        lag.verdict is not Verdict.UNKNOWN or lag.cause is Cause.OFFSETS_NOT_COMMITTING
    ):
        return False
    return not holding(lag.findings, now_at)


def with_unread(seen: Judgement, lag: LagEvidence | None) -> Judgement:
    """Add to what the canary has seen of which partitions lag is unknown for want of a permission."""
    if lag is None or not lag.unread:
        return seen
    return replace(seen, sentence=f"{ended(seen.sentence)} {lag.unread}")


def standing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while partitions stand by offsets, and the canary does not show that they move."""
    lag = flow.lag
    if lag is None or lag.verdict is not Verdict.STALLED or contradicted(flow):
        return None
    cause, sentence = lag.cause or Cause.UNEXPLAINED, ended(lag.sentence)
    if cause is Cause.MIRROR_DOWN or cause.of_part:
        down = _down(flow, lag, now_at)
        if down is not None:
            cause, told = down
            sentence = f"{sentence} {told}"
    return Judgement(Verdict.STALLED, cause, sentence, lag.rows)


def contradicted(flow: FlowEvidence) -> bool:
    """Tell whether the canary shows that what stands by offsets does not stand."""
    lag, canary = flow.lag, flow.canary
    if lag is None or canary.state is not CanaryState.RUNNING or canary.impaired is not None:
        return False
    if lag.standing and not {*lag.standing} - {flow.topic.source_topic}:
        return True  # of its own partitions the canary knows more, and sooner
    return lag.cause in (Cause.MIRROR_DOWN, None) and bool(_moving(flow))


def moved_elsewhere_s(flow: FlowEvidence, now_at: float, *, waits_s: float) -> float | None:
    """Return how long ago the mirror went on with other topics after a probe began to wait; None: it did not.

    A mirror that is stopped in order writes its last offsets a few seconds after it has copied the last.
    """
    if flow.lag is None:
        return None
    ages_s = (now_at - at for at in flow.lag.moved)
    return max((age_s for age_s in ages_s if age_s < waits_s - _LAST_OFFSETS_S), default=None)


def _down(flow: FlowEvidence, lag: LagEvidence, now_at: float) -> tuple[Cause, str] | None:
    """Name a cluster that is away, or was until a moment ago: what the mirror does since will show."""
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
    """Return the canary's partitions in which probes arrive."""
    canary = flow.canary
    lately_s = canary.threshold_s + canary.interval_s
    return [
        one for one in canary.partitions if one.arrival_age_s is not None and one.arrival_age_s <= lately_s
    ]


def behind(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while some partition falls behind by offsets."""
    del now_at
    lag = flow.lag
    if lag is None or lag.verdict is not Verdict.LATE:
        return None
    return Judgement(Verdict.LATE, lag.cause or Cause.UNEXPLAINED, ended(lag.sentence), lag.rows)


def not_committing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold where records come and the mirror's own position stands, for longer than that takes to show.

    After a standstill records come at once, and offsets with the next that the mirror writes.
    """
    lag = flow.lag
    if lag is None or now_at - lag.since_at <= lag.settles_s:
        return None
    own = lag.verdict is Verdict.UNKNOWN and lag.cause is Cause.OFFSETS_NOT_COMMITTING
    if flow.canary.state is not CanaryState.RUNNING or flow.canary.impaired is not None:
        told = ended(lag.sentence)
        return Judgement(Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, told, lag.rows) if own else None
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
    """Return what is not known of a flow whose canary is off (`why`); None where offsets tell how it is."""
    lag = flow.lag
    if lag is None or says_something(lag):
        return None
    told = f" {ended(lag.sentence)}"
    cause: Cause | None = None if lag.cause is Cause.OFFSETS_NOT_COMMITTING else lag.cause
    for down, cluster in ((Cause.SOURCE_DOWN, flow.source), (Cause.TARGET_DOWN, flow.target)):
        if cause is None and cluster.control is Control.FAILING:
            cause, told = down, f"{told} {cluster.alias} does not answer."
    return Judgement(Verdict.UNKNOWN, cause, f"{flow.flow} has no canary: {why}{told}", lag.rows)


def well_without_canary(flow: FlowEvidence) -> Judgement | None:
    """Return that a flow whose canary is off is well by its offsets; None for one that has a canary."""
    lag = flow.lag
    if lag is None or flow.canary.state is not CanaryState.OFF:
        return None
    why = ended(flow.canary.sentence)
    told = f" There is no canary: {clause(why)}." if why else ""
    return Judgement(Verdict.HEALTHY, None, f"{ended(lag.sentence)}{told}")
