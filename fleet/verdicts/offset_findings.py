"""Rules: records that offsets, topic IDs and settings prove lost, altered or repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import Bounds, between_text, duration_text
from fleet.verdicts.offsets import says_something
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from fleet.verdicts.words import MAX_ROWS, Judgement, clause, ended, holding, pause_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.verdicts.evidence import FlowEvidence, LagEvidence, LagFinding

    _Counts = dict[tuple[str, int | None], "Bounds | None"]

SHOWN_PARTITIONS = 5
_DOES = {
    Verdict.LOSING: "are lost between {source} and {target}",
    Verdict.ALTERED: "differ between {source} and {target}",
    Verdict.REPEATING: "are replicated to {target} again",
}


def found(flow: FlowEvidence, now_at: float, verdict: Verdict) -> Judgement | None:
    """Hold while findings of offsets with this verdict hold.

    They do not stop replication, so a current problem is shown too.
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


def lost_records(lag: LagEvidence, now_at: float, *, without: str) -> Bounds:
    """Return the number of records lost by findings that hold, for HOLD_S, without those of one topic.

    It has no upper bound if nothing holds and offsets have no current verdict.
    """
    held = _losing(lag, now_at)
    is_all = not lag.more_found and (bool(held) or says_something(lag))
    return _sum([_bounds(one) for one in held if one.topic != without], is_all=is_all)


def lost_by_time(lag: LagEvidence, now_at: float, *, without: str) -> tuple[tuple[float, Bounds], ...]:
    """Return the parts of `lost_records` that have a number, each with when its evidence was last seen."""
    losing = ((one.at, _bounds(one)) for one in _losing(lag, now_at) if one.topic != without)
    return tuple((at, bounds) for at, bounds in losing if bounds is not None)


def _losing(lag: LagEvidence, now_at: float) -> list[LagFinding]:
    return _once([one for one in holding(lag.findings, now_at) if one.verdict is Verdict.LOSING])


def of_canary_topic(flow: FlowEvidence, now_at: float, verdict: Verdict) -> Cause | None:
    """Return the cause of the newest such finding in the canary topic."""
    lag, topic = flow.lag, flow.topic.source_topic
    held = [] if lag is None else [one for one in holding(lag.findings, now_at) if one.topic == topic]
    held = sorted((one for one in held if one.verdict is verdict), key=_when)
    return held[-1].cause if held else None


def _once(found: Sequence[LagFinding]) -> list[LagFinding]:
    """Return findings, oldest first, without those that have no number if an equal one has."""
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
    is_all = not flow.lag.more_found
    does = _DOES[newest.verdict].format(source=flow.source.alias, target=flow.target.alias)
    by_cause: dict[Cause, list[LagFinding]] = {}
    for one in reversed(held):
        by_cause.setdefault(one.cause, []).insert(0, one)
    if len(by_cause) == 1:
        return f"By offsets, {_records_of(held, is_all=is_all)} {does}: {_why(flow, held)}.{last}"
    each = " ".join(_of_one_cause(flow, some, is_all=is_all) for some in by_cause.values())
    return f"By offsets, {_total(_counts(held), is_all=is_all)} {does}. {each}{last}"


def _of_one_cause(flow: FlowEvidence, held: Sequence[LagFinding], *, is_all: bool) -> str:
    """Return a sentence about the findings of one cause among several."""
    if len(held) == 1:
        return ended(held[0].sentence)
    records = _records_of(held, is_all=is_all)
    return f"{records[0].upper()}{records[1:]}: {_why(flow, held)}."


def _why(flow: FlowEvidence, held: Sequence[LagFinding]) -> str:
    newest = held[-1]
    if newest.cause is None or not newest.cause.lost:
        return clause(newest.sentence)
    return newest.cause.lost.format(source=flow.source.alias, target=flow.target.alias)


def _bounds(one: LagFinding) -> Bounds | None:
    return None if one.records is None else Bounds(one.records, one.records_most)


def _sum(parts: Sequence[Bounds | None], *, is_all: bool) -> Bounds:
    """Add up numbers and their bounds; without an upper bound if a part is missing or has no number."""
    most = 0 if is_all else None
    for part in parts:
        most = None if most is None or part is None or part.most is None else most + part.most
    return Bounds(sum(part.least for part in parts if part is not None), most)


def _counts(held: Sequence[LagFinding]) -> _Counts:
    """Return the number of records by topic and partition, None if unknown."""
    counts: _Counts = {}
    for one in held:
        name, count = (one.topic, one.partition), _bounds(one)
        before = counts.get(name, Bounds(0, 0))
        counts[name] = None if count is None or before is None else _sum([before, count], is_all=True)
    return counts


def _total(counts: _Counts, *, is_all: bool) -> str:
    if all(count is None for count in counts.values()):
        return "records"
    return between_text(*_sum(list(counts.values()), is_all=is_all), "record")


def _records_of(held: Sequence[LagFinding], *, is_all: bool) -> str:
    """Write the number of records by partition: `168 records (123 of t-0, 45 of t-1)`.

    `is_all` is whether all findings are listed.
    """
    counts = _counts(held)
    where = [
        (topic if partition is None else f"{topic}-{partition}", count)
        for (topic, partition), count in sorted(counts.items(), key=lambda item: -_least(item[1]))
    ]
    shown = ", ".join(
        place if count is None else f"{between_text(*count)} of {place}"
        for place, count in where[:SHOWN_PARTITIONS]
    )
    more = len(where) - SHOWN_PARTITIONS
    return f"{_total(counts, is_all=is_all)} ({shown}{f' and {more} more' if more > 0 else ''})"


def _least(count: Bounds | None) -> int:
    return 0 if count is None else count.least


def _rows(held: Sequence[LagFinding]) -> tuple[Evidence, ...]:
    """Return a row for each of the newest findings, those with the newest one's cause first."""
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
