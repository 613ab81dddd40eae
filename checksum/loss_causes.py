"""Why a record is lost, where its size or the mirror's own settings tell. Pure.

interface.md: `filtered` is on the source and absent on the target, with newer ones there, the same topic ids,
a log start that is not past it and no failure reported; `record_rejected` the same, and larger than what the
target takes. All but the last of these is so for whatever a plan compares: its ranges end at a pair that both
sides hold, of topics with these ids. A mirror that goes on at failures (errors.tolerance) reports none, and
one without a transform has nothing that would leave a record out: there it stays unexplained.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from checksum.findings import RecordVerdict
from fleet.quantity import count_text
from fleet.vocabulary import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.findings import Finding
    from checksum.plan_shape import Plan
    from fleet.flow import Flow

    Record = tuple[str, int, int]  # topic (the source's name), partition, offset

BATCH_BYTES = 68  # of a batch of one record at least, beside key, value and headers (KIP-98)


class Limit(NamedTuple):
    """How many bytes a record may have, and a clause that says who says so."""

    size_bytes: int
    clause: str


def limits_of(flow: Flow, plan: Plan, settings: Mapping[str, Mapping[str, str]]) -> dict[str, Limit]:
    """Return the least limit of each topic of the source; `settings` are those of topics on the target."""
    found: dict[str, Limit] = {}
    for topic in plan.topics:
        limits: list[Limit] = []
        most = settings.get(topic.target_topic, {}).get("max.message.bytes", "")
        if most.isdecimal():
            clause = f"{topic.target_topic} on {plan.target} takes no more than {most} (max.message.bytes)"
            limits.append(Limit(int(most), clause))
        if flow.max_request_bytes is not None:
            most = str(flow.max_request_bytes)
            clause = f"the mirror's producer sends no more than {most} (max.request.size)"
            limits.append(Limit(flow.max_request_bytes, clause))
        if limits:
            found[topic.topic] = min(limits)
    return found


def lost_records(findings: Iterable[Finding]) -> list[Record]:
    """Return each record that is lost and whose offset is known."""
    return [
        (one.topic, one.partition, one.source.first)
        for one in findings
        if one.verdict is RecordVerdict.LOST and one.source is not None and one.source.span == 1
    ]


def with_causes(
    findings: Iterable[Finding], flow: Flow, limits: Mapping[str, Limit], sizes: Mapping[Record, int]
) -> tuple[Finding, ...]:
    """Return the findings; a lost record's has its cause, and why, where something tells it.

    `sizes` are the bytes of keys, values and headers.
    """
    return tuple(
        _with_cause(one, flow, limits.get(one.topic), sizes) if one.verdict is RecordVerdict.LOST else one
        for one in findings
    )


def _with_cause(one: Finding, flow: Flow, limit: Limit | None, sizes: Mapping[Record, int]) -> Finding:
    size = sizes.get((one.topic, one.partition, one.source.first)) if one.source is not None else None
    if size is not None and limit is not None and size + BATCH_BYTES > limit.size_bytes:
        why = f"sent by itself it takes {count_text(size + BATCH_BYTES, 'byte')}, and {limit.clause}"
        return replace(one, cause=Cause.RECORD_REJECTED, why=why)
    if flow.transforms and not flow.skips_failed:
        names = ", ".join(flow.transforms)
        several = "transforms" if len(flow.transforms) > 1 else "transform"
        return replace(one, cause=Cause.FILTERED, why=f"the mirror applies the {several} {names}")
    return one
