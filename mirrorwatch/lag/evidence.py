"""Answers of the lag monitor about a flow as evidence for its verdict. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.verdicts.evidence import LagEvidence, LagFinding
from fleet.verdicts.offsets import RETURN_S
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from mirrorwatch.service.view import EventView

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_ROWS = 10
MOST_LISTED = 100  # findings, by the monitor
_STATUSES = {
    Verdict.STALLED: ("STOP", "STALL", "ERR"),
    Verdict.LATE: ("WARN",),
    Verdict.REPEATING: ("REWIND",),
}


def evidence_of(
    document: Mapping[str, Any],
    findings: tuple[LagFinding, ...],
    *,
    now_at: float,
    down_at: float | None = None,
    moved: tuple[float, ...] = (),
) -> LagEvidence:
    """Return the evidence of one flow's document, with these findings.

    `down_at` is the last time at which no partition moved. Each task of a mirror commits offsets at its own
    time, so all tasks must have committed before a difference between partitions counts. `moved` is when
    other topics moved, by earlier documents.
    """
    verdict, cause, sentence = _present(document)
    settles = down_at is not None and now_at - down_at <= document["settles_s"]
    if verdict is Verdict.STALLED and cause is not None and cause.of_part and settles:
        cause = None
    return LagEvidence(
        verdict=verdict,
        cause=cause,
        sentence=sentence,
        since_at=document["since_ms"] / 1000,
        settles_s=document["settles_s"],
        lag_s=document["lag_s"],
        lag_s_kind=document["lag_s_kind"],
        standing=tuple(document["standing"]),
        moved=_moved(moved, document["moved_ms"], now_at),
        rows=_rows(document, verdict, cause, now_at),
        findings=findings,
        more_found=not document.get("findings_settled", True)
        or sum(one["proved"] for one in document["findings"]) >= MOST_LISTED,
        unread=document.get("unread", ""),
    )


def _moved(before: tuple[float, ...], newest_ms: int | None, now_at: float) -> tuple[float, ...]:
    """Return when offsets of other topics were committed: the last two times."""
    if newest_ms is None:
        return ()
    newest_at = newest_ms / 1000
    told = [*(at for at in before if at < newest_at), newest_at]
    earlier = [at for at in told if now_at - at >= RETURN_S]
    return (*earlier[-1:], *told[len(earlier) :])


def _present(document: Mapping[str, Any]) -> tuple[Verdict, Cause | None, str]:
    """Return the present condition of the flow; overtaken records are a finding instead."""
    standstill = document["standstill"]
    if standstill is not None:
        return Verdict.STALLED, Cause(standstill["cause"]), standstill["sentence"]
    cause = None if document["cause"] is None else Cause(document["cause"])
    return Verdict(document["verdict"]), cause, document["sentence"]


def _rows(
    document: Mapping[str, Any], verdict: Verdict, cause: Cause | None, now_at: float
) -> tuple[Evidence, ...]:
    """Return a row for each of the worst partitions, then for each incomplete topic."""
    statuses = _STATUSES.get(verdict, ())
    uncommitted = cause is Cause.OFFSETS_NOT_COMMITTING
    rows = [
        Evidence(
            part="lag",
            sentence=row["sentence"],
            at=now_at if row.get("committed_at_ms") is None else row["committed_at_ms"] / 1000,
            topic=row["topic"],
            partition=row["partition"],
            source_offset=row["next_offset"],
            target_offset=row.get("target_end_offset"),
        )
        for row in document["worst"]
        if _is_about(row, statuses, uncommitted=uncommitted)
    ]
    if document["standing"] and cause is Cause.NOT_MIRRORED:
        return tuple(rows[:MAX_ROWS])  # of partitions without a task; not of waiting topics
    rows += [
        Evidence(part="lag", sentence=one["sentence"], at=one["since_ms"] / 1000, topic=one["topic"])
        for one in document["missing"]
        if cause is not None and one["code"] == cause.value
    ]
    return tuple(rows[:MAX_ROWS])


def _is_about(row: Mapping[str, Any], statuses: Collection[str], *, uncommitted: bool) -> bool:
    """Return whether a verdict is about this partition: for one that moves, only its offset is stuck."""
    if row.get("offsets_not_committing"):
        return uncommitted
    return row["status"] in statuses


# --- events


def events_in(document: Mapping[str, Any]) -> tuple[EventView, ...]:
    """Return the events of a day, newest first."""
    return tuple(
        EventView(
            kind=str(one["kind"]),
            at=one["at_ms"] / 1000,
            last_at=one["last_ms"] / 1000,
            topic=str(one["topic"]),
            partitions=int(one["partitions"]),
            records=int(one["records"]),
            records_most=one["records_most"],
            sentence=str(one["sentence"]),
            worst=tuple(one["worst"]),
        )
        for one in document.get("events", ())
    )


# --- findings


def findings_in(document: Mapping[str, Any]) -> list[LagFinding]:
    """Return proved findings; a suspicion does not change the verdict."""
    return [
        LagFinding(
            verdict=Verdict(one["verdict"]),
            cause=Cause(one["code"]),
            topic=one["topic"],
            partition=one["partition"],
            at=one["at_ms"] / 1000,
            sentence=one["sentence"],
            records=one["records"],
            first_offset=one["first_offset"] if one["side"] == "source" else None,
            last_offset=one["last_offset"] if one["side"] == "source" else None,
            records_most=one["records_most"],
        )
        for one in document["findings"]
        if one["proved"]
    ]


def repeated_in(document: Mapping[str, Any], now_at: float) -> LagFinding:
    """Return the finding that the mirror went back, if the document has one."""
    row = next((row for row in document["worst"] if row["status"] in _STATUSES[Verdict.REPEATING]), None)
    cause = Cause(document["cause"] or Cause.DUPLICATING)
    return LagFinding(
        Verdict.REPEATING,
        cause,
        "" if row is None else row["topic"],
        None if row is None else row["partition"],
        now_at,
        document["sentence"],
        first_offset=None if row is None else row["next_offset"],
    )
