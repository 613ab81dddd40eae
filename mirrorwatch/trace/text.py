"""The text output of `trace`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.dialect import moment_ms_text
from fleet.quantity import count_text
from mirrorwatch.trace.arrival import arrival_text
from mirrorwatch.trace.content import short_hash
from mirrorwatch.trace.facts import Status

if TYPE_CHECKING:
    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.trace.facts import HopVerdict
    from mirrorwatch.trace.following import Trace
    from runtime.kafka.picking import PickedRecord

_WORDS = {status: status.value.replace("_", " ") for status in Status}
_MOST_KEY_BYTES = 200


def print_trace(sheet: Sheet, found: Trace, *, show_key: bool) -> None:
    """Write the record, then each flow with the verdict on it. Payloads are never written."""
    chosen = found.chosen
    topic, number = chosen.place
    sheet.heading(f"{topic}-{number} offset {chosen.offset} on {chosen.cluster}")
    if chosen.remark:
        sheet.say(chosen.remark)
    if chosen.record is None:
        return
    sheet.fact("record", content_text(chosen.record), indent=2, width=12)
    sheet.fact("timestamp", timestamp_text(chosen.record), indent=2, width=12)
    if show_key:
        sheet.fact("key", key_text(chosen.record.key), indent=2, width=12)
    if not found.hops:
        sheet.say(f"No flow starts at {chosen.cluster}.")
    for one in found.hops:
        _print_hop(sheet, one)


def _print_hop(sheet: Sheet, one: HopVerdict) -> None:
    sheet.heading(f"{one.flow.name}: {_WORDS[one.status]}")
    sheet.say(one.sentence)
    if one.arrival is not None:
        sheet.fact("arrived", arrival_text(one.arrival), indent=2, width=12)
    if one.differs and one.record is not None:
        sheet.fact("on target", content_text(one.record), indent=2, width=12)
        sheet.fact("timestamp", timestamp_text(one.record), indent=2, width=12)


def content_text(record: PickedRecord) -> str:
    """Return sizes and a short hash of a record."""
    headers = count_text(len(record.headers), "header")
    return f"key {_size(record.key)}, value {_size(record.value)}, {headers}, hash {short_hash(record)}"


def timestamp_text(record: PickedRecord) -> str:
    """Return a record's timestamp with its kind."""
    if record.timestamp_ms < 0:
        return "none"
    kind = "LogAppendTime" if record.stamped else "CreateTime"
    return f"{moment_ms_text(record.timestamp_ms) or record.timestamp_ms} ({kind})"


def key_text(key: bytes | None) -> str:
    """Return a key as text, shortened; bytes that are not UTF-8 are escaped."""
    if key is None:
        return "null"
    more = f" and {count_text(len(key) - _MOST_KEY_BYTES, 'more byte')}" if len(key) > _MOST_KEY_BYTES else ""
    return f"{key[:_MOST_KEY_BYTES].decode(errors='backslashreplace')}{more}"


def _size(payload: bytes | None) -> str:
    return "null" if payload is None else f"{len(payload):,} B"
