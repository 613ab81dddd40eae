"""Rules: canary records that were lost, altered or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from fleet.verdicts.evidence import CanaryState, FindingKind
from fleet.verdicts.nameless import not_altered, truly_altered
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import (
    Judgement,
    clause,
    ended,
    findings_of,
    is_over,
    last_found,
    partitions_text,
    pause_s,
    probes_text,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.verdicts.evidence import CanaryEvidence, Finding, FlowEvidence, TopicEvidence

NOTICE_S = 10.0  # a re-created topic is seen within this time
REFUSED_S = 60.0  # a loss is proved within this time after the target rejected the record
MANY_BURSTS = 10  # so many bursts of duplicates within a horizon of each other are not restarts


def losing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes are lost or misrouted."""
    misrouted = findings_of(flow, now_at, FindingKind.MISROUTED)
    lost = not_altered(flow, now_at)
    if misrouted:
        return _misrouted(flow, misrouted, lost, now_at)
    if not lost:
        return None
    partitions = {finding.partition for finding in lost}
    one = sum(finding.count for finding in lost) == 1
    cause, why = _loss_cause(flow, lost[-1], now_at, one=one)
    return Judgement(
        Verdict.LOSING,
        cause,
        f"{probes_text(flow, lost, now_at).capitalize()} lost ({partitions_text(partitions)}): {why}."
        f"{last_found(flow, lost[-1], now_at)}",
        rows_of(lost),
        ended=is_over(flow, lost[-1], now_at),
    )


def _misrouted(
    flow: FlowEvidence, misrouted: Sequence[Finding], lost: Sequence[Finding], now_at: float
) -> Judgement:
    where = partitions_text({finding.partition for finding in misrouted})
    newest = misrouted[-1]
    routes = "routed" if is_over(flow, newest, now_at) else "routes"
    return Judgement(
        Verdict.LOSING,
        Cause.MISROUTED,
        f"{probes_text(flow, misrouted, now_at).capitalize()} misrouted, found in {where} of"
        f" {flow.topic.target_topic} on {flow.target.alias}: the mirror {routes} records elsewhere, as by a"
        " transform."
        f"{last_found(flow, newest, now_at)}",
        rows_of([*misrouted, *lost]),
        ended=is_over(flow, newest, now_at),
    )


def _loss_cause(flow: FlowEvidence, newest: Finding, now_at: float, *, one: bool) -> tuple[Cause, str]:
    """Return why probes are lost, by the newest of them: an earlier cause may be over."""
    if newest.overtaken:
        them, they = ("it", "it was") if one else ("them", "they were")
        start = f"the log on {flow.source.alias} starts after {them}"
        return Cause.OVERTAKEN, f"{start}, so {they} deleted before the mirror read {them}"
    for alias, at in (
        (flow.source.alias, flow.topic.source_recreated_at),
        (flow.target.alias, flow.topic.target_recreated_at),
    ):
        if at is not None and -NOTICE_S <= newest.at - at <= flow.canary.horizon_s + NOTICE_S:
            return Cause.TOPIC_RECREATED, f"the topic was re-created on {alias}"
    if _refused_then(flow.topic, newest.at):
        why = f"{flow.topic.target_topic} on {flow.target.alias} rejected such records until a moment ago"
        return Cause.RECORD_REJECTED, clause(flow.topic.target_refuses) or why
    drops = "dropped" if is_over(flow, newest, now_at) else "drops"
    return (
        Cause.FILTERED,
        f"newer ones arrived, so the mirror {drops} records, as by a transform or errors.tolerance=all",
    )


def _refused_then(topic: TopicEvidence, lost_at: float) -> bool:
    """Return whether the target topic rejected records when a loss was proved, or until shortly before.

    Settings that reject records are seen up to `settings_within_s` late, and at every read while they last.
    """
    since_at, at = topic.target_refused_since, topic.target_refused_at
    if at is None or lost_at - at > REFUSED_S:
        return False
    return since_at is None or since_at - topic.settings_within_s <= lost_at


def altered(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while replicated probes differ from the source."""
    altered = truly_altered(flow, now_at)
    if not altered:
        return None
    count = sum(finding.count for finding in altered)
    where = "In it" if count == 1 else "In the newest"
    return Judgement(
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        f"{probes_text(flow, altered, now_at).capitalize()} changed on {flow.target.alias}. {where},"
        f" {ended(altered[-1].sentence)} Look for a transform, or for a converter other than"
        f" ByteArrayConverter.{last_found(flow, altered[-1], now_at)}",
        rows_of(altered),
        ended=is_over(flow, altered[-1], now_at),
    )


def repeating(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes return to the source, or are replicated again and again."""
    looped = findings_of(flow, now_at, FindingKind.LOOPED)
    if flow.canary.state is CanaryState.LATCHED:
        sentence = flow.canary.sentence or f"A canary record returned to {flow.source.alias}"
        return Judgement(Verdict.REPEATING, Cause.LOOPING, ended(sentence), rows_of(looped))
    if looped:
        return Judgement(
            Verdict.REPEATING,
            Cause.LOOPING,
            f"Canary records return to {flow.source.alias}, where they were sent: the mirrors form a loop and"
            " keep topic names. Exclude the topics from one of these mirrors, or use"
            f" DefaultReplicationPolicy for all of them.{last_found(flow, looped[-1], now_at)}",
            rows_of(looped),
            ended=is_over(flow, looped[-1], now_at),
        )
    doubled = findings_of(flow, now_at, FindingKind.SECOND_WRITER)
    if doubled:
        return _two_writers(flow, doubled, now_at)
    repeated = findings_of(flow, now_at, FindingKind.DUPLICATED)
    why = _no_restart(flow, repeated)
    if why is None:
        return None
    return Judgement(
        Verdict.REPEATING,
        Cause.DUPLICATING,
        f"{probes_text(flow, repeated, now_at).capitalize()} arrived on {flow.target.alias} more than once,"
        f" {why}. Look for a second mirror of this flow.{last_found(flow, repeated[-1], now_at)}",
        rows_of(repeated),
        ended=is_over(flow, repeated[-1], now_at),
    )


def _two_writers(flow: FlowEvidence, doubled: Sequence[Finding], now_at: float) -> Judgement:
    where = partitions_text({finding.partition for finding in doubled})
    over = is_over(flow, doubled[-1], now_at)
    return Judgement(
        Verdict.REPEATING,
        Cause.DUPLICATING,
        f"Two mirrors {'replicated' if over else 'replicate'} {flow.flow} at once:"
        f" {probes_text(flow, doubled, now_at)} ({where}) arrived on {flow.target.alias} twice, each sent"
        f" after the second arrival of the one before. Look for a second mirror of this flow."
        f"{last_found(flow, doubled[-1], now_at)}",
        rows_of(doubled),
        ended=over,
    )


def _no_restart(flow: FlowEvidence, repeated: Sequence[Finding]) -> str | None:
    """Return a clause if there are more duplicates than after a restart; otherwise None.

    A restart repeats records without a committed offset, in one burst. Duplicates for longer than a horizon
    are not from a restart, and neither are many bursts. A rolling restart gives a few bursts.
    """
    if not repeated:
        return None
    if flow.exactly_once:
        return "although the mirror is configured for exactly-once delivery"
    for first_at, last_at, bursts in _spans(repeated, flow.canary):
        lasted_s = last_at - first_at
        if lasted_s > flow.canary.horizon_s:
            if bursts >= MANY_BURSTS:
                return f"repeatedly for {duration_text(lasted_s)}"
            return f"for {duration_text(lasted_s)} without a pause, longer than after a restart"
    return None


def _spans(findings: Sequence[Finding], canary: CanaryEvidence) -> list[tuple[float, float, int]]:
    """Return start, end and number of bursts of each span of findings.

    A burst ends after three intervals without a finding. Many bursts within a horizon of each other are one
    span; otherwise each burst is a span.
    """
    stretches = sorted((finding.began_at, finding.at) for finding in findings)
    bursts = _joined(stretches, pause_s(canary.interval_s, canary.horizon_s))
    alone = [(first, last, 1) for first, last in bursts]
    together = [
        (first, last, sum(first <= one[0] <= last for one in bursts))
        for first, last in _joined(bursts, canary.horizon_s)
    ]
    return alone + [one for one in together if one[2] >= MANY_BURSTS]


def _joined(stretches: Sequence[tuple[float, float]], gap_s: float) -> list[tuple[float, float]]:
    """Join periods, sorted by their start, that are at most gap_s apart."""
    joined: list[tuple[float, float]] = []
    for first, last in stretches:
        if joined and first - joined[-1][1] <= gap_s:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
