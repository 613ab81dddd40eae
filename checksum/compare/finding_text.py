"""One sentence for each finding: the record, its place on both sides, and what is wrong. Pure."""

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
    """Return the sentence of a finding."""
    there = _at(plan.target, finding.target)
    original = f"{_original(finding)}{_at(plan.source, finding.source)}{_of(finding.timestamp_ms)}"
    copy = f"{_record(finding)}{there}{_of(finding.timestamp_ms)}"
    match finding.verdict:
        case RecordVerdict.LOST:
            # A MirrorMaker that started again may have replicated it after the compared range.
            why = f"; {finding.why}" if finding.why else ""
            left = ", which still has a value of this key" if finding.tombstone else ""
            sentence = f"{original} not found among the records compared on {plan.target}{left}{why}"
        case RecordVerdict.ALTERED:
            sentence = f"{original} has {_altered(finding)}{there}"
        case RecordVerdict.REORDERED:
            where = there if finding.source and finding.target else ""
            sentence = f"{original if finding.source else copy} is out of order{where}"
        case RecordVerdict.MISROUTED:
            sentence = f"{original} went to {_found_in(finding)} on {plan.target} instead"
        case RecordVerdict.DUPLICATED:
            sentence = f"{copy} is a duplicate"
        case RecordVerdict.EXTRA:
            missing = f"is not on {plan.source}"
            sentence = f"{copy} {f'was aborted on {plan.source}' if finding.aborted else missing}"
        case RecordVerdict.UNVERIFIABLE if finding.source is not None:
            sentence = f"{original} is{there}; too many equal records to check its order"
        case RecordVerdict.UNVERIFIABLE:
            sentence = (
                f"{copy} is a duplicate or was never on {plan.source}: its log there does not reach back far"
                " enough, or is too long to read"
            )
        case RecordVerdict.MATCH:
            sentence = f"{original} is on {plan.target}"
        case _:
            assert_never(finding.verdict)
    return f"{finding.topic} [{finding.partition}]: {sentence}"


def open_block_text(block: ReadAgain, plan: Plan) -> str:
    """Return what was not read again, and what its counts show."""
    found = [
        f"at least {count_text(count, 'record')} {what} on {plan.target}"
        for count, what in ((block.lacking, "missing"), (block.surplus, "too many"))
        if count
    ]
    sentence = f" ({'; '.join(found)})" if found else ""
    return (
        f"{block.topic} [{block.partition}]: offsets {_stretch(block.source)} on {plan.source} and"
        f" {_stretch(block.target)} on {plan.target} differ{sentence}; too many to read again: {block.why}"
    )


def time_text(timestamp_ms: int) -> str:
    """Return a timestamp as ISO 8601 in UTC with milliseconds, or as a number if it is out of range."""
    return moment_ms_text(timestamp_ms) or f"{timestamp_ms} ms after 1970"


def _record(finding: Finding) -> str:
    return "record" if finding.records == 1 else f"each of {finding.records} equal records"


def _original(finding: Finding) -> str:
    return "tombstone" if finding.tombstone else _record(finding)


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
    return "" if timestamp_ms is None else f" ({time_text(timestamp_ms)})"


def _altered(finding: Finding) -> str:
    parts = [_OTHER[part] for part in finding.what if part != "time"]
    if "time" in finding.what:
        other = finding.target_timestamp_ms
        parts.append("another time" if other is None else f"time {time_text(other)}")
    return " and ".join(parts) or "other content"
