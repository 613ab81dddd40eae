"""The rules about what offsets, topic ids and settings have proved: records lost, altered or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.judgement_words import MAX_ROWS, Judgement, clause, ended, holding, pause_s
from fleet.quantity import count_text, duration_text
from fleet.vocabulary import Cause, Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.evidence import FlowEvidence, LagEvidence, LagFinding

    _Counts = dict[tuple[str, int | None], int | None]

SHOWN_PARTITIONS = 5
_WHY = {
    Cause.OVERTAKEN: "the log on {source} starts after them, so they were deleted before they were read",
    Cause.TOPIC_RECREATED: "a topic was made anew",
    Cause.FILTERED: "something on the way drops them",
}
_DOES = {
    Verdict.LOSING: "have not come and will not come to {target}",
    Verdict.ALTERED: "are not on {target} as they are on {source}",
    Verdict.REPEATING: "come to {target} again",
}


def found(flow: FlowEvidence, now_at: float, verdict: Verdict) -> Judgement | None:
    """Hold while what was lost, altered or repeated by offsets holds (verdict says which).

    It keeps nothing from coming, so what is wrong beside it is told as well.
    """
    lag = flow.lag
    if lag is None:
        return None
    held = _once([one for one in holding(lag.findings, now_at) if one.verdict is verdict])
    if held:
        return Judgement(
            verdict, held[-1].cause, _found_sentence(flow, held, now_at), _rows(held), ended=True
        )
    if lag.verdict is verdict:
        return Judgement(verdict, lag.cause or Cause.UNEXPLAINED, ended(lag.sentence), lag.rows, ended=True)
    return None


def lost_records(lag: LagEvidence, now_at: float, *, without: str) -> int:
    """Return how many records are known to be lost by findings that hold, at least; none of one topic."""
    held = _once([one for one in holding(lag.findings, now_at) if one.verdict is Verdict.LOSING])
    return sum(one.records or 0 for one in held if one.topic != without)


def of_canary_topic(flow: FlowEvidence, now_at: float, verdict: Verdict) -> Cause | None:
    """Return the cause of the newest such finding in the canary's own topic."""
    lag, topic = flow.lag, flow.topic.source_topic
    held = [] if lag is None else [one for one in holding(lag.findings, now_at) if one.topic == topic]
    held = sorted((one for one in held if one.verdict is verdict), key=_when)
    return held[-1].cause if held else None


def _once(found: Sequence[LagFinding]) -> list[LagFinding]:
    """Return findings, oldest first; one without a number is left out beside one of the same that has it."""
    counted = {(one.cause, one.topic, one.partition) for one in found if one.records is not None}
    kept = [
        one
        for one in found
        if one.records is not None or (one.cause, one.topic, one.partition) not in counted
    ]
    return sorted(kept, key=_when)


def _when(finding: LagFinding) -> float:
    return finding.at


def _found_sentence(flow: FlowEvidence, held: Sequence[LagFinding], now_at: float) -> str:
    newest = held[-1]
    ago_s = now_at - newest.at
    assert flow.lag is not None
    pause = max(pause_s(flow.canary.interval_s, flow.canary.horizon_s), flow.lag.settles_s)
    last = f" The last was found {duration_text(ago_s)} ago." if ago_s > pause else ""
    if len(held) == 1:
        return f"{ended(newest.sentence)}{last}"
    least = flow.lag.more_found or any(one.records_most is not None for one in held)
    does = _DOES[newest.verdict].format(source=flow.source.alias, target=flow.target.alias)
    by_cause: dict[Cause, list[LagFinding]] = {}
    for one in reversed(held):
        by_cause.setdefault(one.cause, []).insert(0, one)
    if len(by_cause) == 1:
        return f"By offsets, {_records_of(held, least=least)} {does}: {_why(flow, held)}.{last}"
    each = " ".join(_of_one_cause(flow, some, least=least) for some in by_cause.values())
    return f"By offsets, {_total(_counts(held), least=least)} {does}. {each}{last}"


def _of_one_cause(flow: FlowEvidence, held: Sequence[LagFinding], *, least: bool) -> str:
    """Return a sentence on those of one cause, beside others."""
    if len(held) == 1:
        return ended(held[0].sentence)
    told = _records_of(held, least=least)
    return f"{told[0].upper()}{told[1:]}: {_why(flow, held)}."


def _why(flow: FlowEvidence, held: Sequence[LagFinding]) -> str:
    newest = held[-1]
    if newest.cause not in _WHY:
        return clause(newest.sentence)
    return _WHY[newest.cause].format(source=flow.source.alias, target=flow.target.alias)


def _counts(held: Sequence[LagFinding]) -> _Counts:
    """Return how many records there are by topic and partition, None where that is not known."""
    counts: _Counts = {}
    for one in held:
        before = counts.get((one.topic, one.partition), 0)
        counts[one.topic, one.partition] = (
            None if one.records is None or before is None else before + one.records
        )
    return counts


def _total(counts: _Counts, *, least: bool) -> str:
    known = [count for count in counts.values() if count is not None]
    if not known:
        return "records"
    return f"{'at least ' if least or len(known) < len(counts) else ''}{count_text(sum(known), 'record')}"


def _records_of(held: Sequence[LagFinding], *, least: bool) -> str:
    """Write how many records there are and where: `168 records (123 of t-0, 45 of t-1)`.

    `least` tells that not all are known.
    """
    counts = _counts(held)
    where = [
        (topic if partition is None else f"{topic}-{partition}", count)
        for (topic, partition), count in sorted(counts.items(), key=lambda item: -(item[1] or 0))
    ]
    shown = ", ".join(
        place if count is None else f"{count:,} of {place}" for place, count in where[:SHOWN_PARTITIONS]
    )
    more = len(where) - SHOWN_PARTITIONS
    return f"{_total(counts, least=least)} ({shown}{f' and {more} more' if more > 0 else ''})"


def _rows(held: Sequence[LagFinding]) -> tuple[Evidence, ...]:
    """Return a row for each of the newest, those of the newest one's cause first."""
    ranked = list(reversed(held))
    ranked.sort(key=lambda one: one.cause is not held[-1].cause)
    return tuple(
        Evidence(
            part="lag",
            sentence=one.sentence,
            at=one.at,
            topic=one.topic,
            partition=one.partition,
            source_offset=one.first_offset,
        )
        for one in ranked[:MAX_ROWS]
    )
