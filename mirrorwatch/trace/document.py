"""The JSON document of `trace --json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.dialect import moment_ms_text
from mirrorwatch.trace.content import short_hash

if TYPE_CHECKING:
    from mirrorwatch.trace.arrival import Arrival
    from mirrorwatch.trace.facts import HopVerdict
    from mirrorwatch.trace.following import Trace
    from runtime.kafka.picking import PickedRecord


def trace_document(found: Trace, *, show_key: bool) -> dict[str, Any]:
    """Return the record and the verdict on each flow; instants are RFC 3339, unknown values null.

    Without `show_key` it has no payload: only sizes and a short hash.
    """
    chosen = found.chosen
    topic, partition = chosen.place
    return {
        "at": moment_ms_text(found.now_ms),
        "cluster": chosen.cluster,
        "topic": topic,
        "partition": partition,
        "offset": chosen.offset,
        "remark": chosen.remark or None,
        "record": _record(chosen.record, show_key=show_key),
        "exit_status": found.exit_status,
        "flows": [_hop(one, show_key=show_key) for one in found.hops],
    }


def _hop(one: HopVerdict, *, show_key: bool) -> dict[str, Any]:
    return {
        "flow": one.flow.name,
        "source": one.flow.source,
        "target": one.flow.target,
        "topic": one.topic,
        "partition": one.partition,
        "status": one.status,
        "sentence": one.sentence,
        "target_topic": one.remote,
        "target_partition": one.remote_partition,
        "target_offsets": list(one.offsets),
        "basis": one.basis,
        "differs": list(one.differs),
        "lag_records_most": one.lag_records,
        "arrival": _arrival(one.arrival),
        "target_record": _record(one.record, show_key=show_key),
    }


def _record(record: PickedRecord | None, *, show_key: bool) -> dict[str, Any] | None:
    if record is None:
        return None
    shown = {} if not show_key else {"key": _text(record.key)}
    return {
        **shown,
        "timestamp": moment_ms_text(None if record.timestamp_ms < 0 else record.timestamp_ms),
        "timestamp_type": "LogAppendTime" if record.stamped else "CreateTime",
        "key_bytes": _size(record.key),
        "value_bytes": _size(record.value),
        "headers": len(record.headers),
        "hash": short_hash(record),
    }


def _arrival(one: Arrival | None) -> dict[str, Any] | None:
    if one is None:
        return None
    kind = "exact" if one.exact else "at_most"
    return {"at": moment_ms_text(one.at_ms), "kind": kind, "delay_ms": one.delay_ms}


def _text(key: bytes | None) -> str | None:
    return None if key is None else key.decode(errors="backslashreplace")


def _size(payload: bytes | None) -> int | None:
    return None if payload is None else len(payload)
