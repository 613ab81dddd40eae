"""One sentence for each finding: which record, where it stands on both sides, and what became of it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from checksum.compare.findings import RecordVerdict
from fleet.dialect import moment_ms_text
from fleet.quantity import count_text

if TYPE_CHECKING:
    from checksum.compare.findings import Finding, ReadAgain
    from checksum.plan.shape import OffsetRange, Plan

_OTHER = {"key": "another key", "value": "another value", "headers": "other headers"}


def finding_text(finding: Finding, plan: Plan) -> str:
    """Say what is wrong with a record."""
    there = _at(plan.target, finding.target)
    original = f"{_original(finding)}{_at(plan.source, finding.source)}{_of(finding.timestamp_ms)}"
    copy = f"{_record(finding)}{there}{_of(finding.timestamp_ms)}"
    match finding.verdict:
        case RecordVerdict.LOST:
            # A mirror that went back may have copied it behind what was compared.
            why = f"; {finding.why}" if finding.why else ""
            left = ", which holds a value of its key" if finding.tombstone else ""
            told = f"{original} is not among the copies that were compared on {plan.target}{left}{why}"
        case RecordVerdict.ALTERED:
            told = f"{original} stands{there} with {_altered(finding)}"
        case RecordVerdict.REORDERED:
            stands = f" stands{there}," if finding.source and finding.target else " is"
            told = f"{original if finding.source else copy}{stands} out of order"
        case RecordVerdict.MISROUTED:
            told = f"{original} is not there on {plan.target}; it stands in {_found_in(finding)}"
        case RecordVerdict.DUPLICATED:
            told = f"{copy} is there once too often"
        case RecordVerdict.EXTRA:
            aborted = " but in a transaction that was aborted" if finding.aborted else ""
            told = f"{copy} is not on {plan.source}{aborted}"
        case RecordVerdict.UNVERIFIABLE if finding.source is not None:
            told = f"{original} stands{there}, and has so many equals that nobody can tell if it is in order"
        case RecordVerdict.UNVERIFIABLE:
            told = (
                f"{copy} may be a second copy, or never have been on {plan.source}: its log does not reach"
                " that far back, or too much of it would have to be read"
            )
        case RecordVerdict.MATCH:
            told = f"{original} is on {plan.target}"
        case _:
            assert_never(finding.verdict)
    return f"{finding.topic} [{finding.partition}]: {told}"


def open_block_text(block: ReadAgain, plan: Plan) -> str:
    """Say what was not read again, and what counts alone tell of it."""
    found = [
        f"{plan.target} {verb} {count_text(count, 'record')} at least"
        for count, verb in ((block.lacking, "lacks"), (block.surplus, "has too many:"))
        if count
    ]
    told = f" ({'; '.join(found)})" if found else ""
    return (
        f"{block.topic} [{block.partition}]: {plan.source} {_stretch(block.source)} and {plan.target}"
        f" {_stretch(block.target)} differ{told}, and are too many to be read again: {block.why}"
    )


def time_text(timestamp_ms: int) -> str:
    """Return a record's time as ISO 8601 in UTC with milliseconds; what no calendar holds, as its number."""
    return moment_ms_text(timestamp_ms) or f"{timestamp_ms} ms after 1970"


def _record(finding: Finding) -> str:
    return "the record" if finding.records == 1 else f"each of {finding.records} equal records"


def _original(finding: Finding) -> str:
    return "the deletion (tombstone)" if finding.tombstone else _record(finding)


def _at(alias: str, offsets: OffsetRange | None) -> str:
    on = f" on {alias}" if alias else ""
    return "" if offsets is None else f" at {_offsets(offsets)}{on}"


def _offsets(offsets: OffsetRange) -> str:
    if offsets.span == 1:
        return f"offset {offsets.first}"
    return f"one of the offsets {offsets.first} to {offsets.until - 1}"


def _found_in(finding: Finding) -> str:
    topic, partition = finding.found_in or (finding.topic, finding.partition)
    return f"{topic} [{partition}]{_at('', finding.target)}"


def _stretch(offsets: OffsetRange) -> str:
    return f"[{offsets.first}, {offsets.until})"


def _of(timestamp_ms: int | None) -> str:
    return "" if timestamp_ms is None else f", of {time_text(timestamp_ms)},"


def _altered(finding: Finding) -> str:
    parts = [_OTHER[part] for part in finding.what if part != "time"]
    if "time" in finding.what:
        other = finding.target_timestamp_ms
        parts.append("another time" if other is None else f"the time {time_text(other)}")
    return " and ".join(parts) or "another content"
