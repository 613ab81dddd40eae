"""Why a record is lost, by its size and MirrorMaker's settings. Pure.

interface.md: `filtered` is on the source and missing on the target, with newer records there, the same topic
ids, a log start before it, and no failure reported; `record_rejected` is the same, and larger than the target
accepts. All but the last hold for every planned range: it ends at a pair that both sides have, of topics with
these ids. A MirrorMaker that stops on errors (errors.tolerance=none) would not have passed a failed record;
one that skips errors, or may, reports none. If nothing may drop a record and no limit applies, the loss stays
unexplained.

A range may end after its newest pair, if MirrorMaker continued without due records (plan/due.py): the
evidence then suggests `filtered`. `topic_recreated` is what MirrorMaker skipped of a re-created topic.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from checksum.compare.findings import RecordVerdict
from checksum.digest.cell_rows import planned_partitions
from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.compare.findings import Finding
    from checksum.plan.shape import PartitionPlan, Plan
    from fleet.mm2.handling import Handling
    from fleet.verdicts.flow import Flow

    Record = tuple[str, int, int]  # topic (the source's name), partition, offset

# The least overhead of a batch of one record as it is sent (KIP-98), and as the Java producer estimates it
# (AbstractRecords.estimateSizeInBytesUpperBound).
SENT_BYTES = 68
ESTIMATED_BYTES = 85


class Limit(NamedTuple):
    """The most bytes of key, value and headers; the overhead; and a clause with the setting."""

    most_bytes: int
    beside_bytes: int
    clause: str


def limits_of(flow: Flow, plan: Plan, settings: Mapping[str, Mapping[str, str]]) -> dict[str, Limit]:
    """Return the smallest limit of each topic of the source; `settings` are those of the target's topics.

    A topic's limit applies to the batch as sent, so it is used only if MirrorMaker certainly does not
    compress.
    """
    handling, found = flow.handling, {}
    for topic in plan.topics:
        limits: list[Limit] = []
        most = settings.get(topic.target_topic, {}).get("max.message.bytes", "")
        if most.isdecimal() and handling.compresses is False:
            clause = f"{topic.target_topic} on {plan.target} accepts at most {most} bytes (max.message.bytes)"
            limits.append(Limit(int(most) - SENT_BYTES, SENT_BYTES, clause))
        if handling.max_request_bytes is not None:
            clause = (
                f"MirrorMaker's producer sends at most {handling.max_request_bytes} bytes (max.request.size)"
            )
            limits.append(Limit(handling.max_request_bytes - ESTIMATED_BYTES, ESTIMATED_BYTES, clause))
        if limits:
            found[topic.topic] = min(limits)
    return found


def lost_records(findings: Iterable[Finding]) -> list[Record]:
    """Return each lost record whose offset is known."""
    return [
        (one.topic, one.partition, one.source.first)
        for one in findings
        if one.verdict is RecordVerdict.LOST and one.source is not None and one.source.span == 1
    ]


def before_recreation(finding: Finding, planned: PartitionPlan) -> bool:
    """Return whether a record is before the offset at which MirrorMaker started in a re-created topic."""
    return (
        planned.recreated is not None
        and finding.source is not None
        and finding.source.until <= planned.recreated[0]
    )


def may_be_left_behind(finding: Finding, planned: PartitionPlan) -> bool:
    """Return whether a record may be one without which MirrorMaker continued."""
    return (
        planned.left_behind is not None
        and finding.source is not None
        and finding.source.until > planned.left_behind
    )


def with_recreation_cause(findings: Iterable[Finding], plan: Plan) -> tuple[Finding, ...]:
    """Return the findings; records skipped in a re-created topic get that cause."""
    partitions = planned_partitions(plan)
    return tuple(
        _with_recreation_cause(one, partitions[one.topic, one.partition].partition, plan) for one in findings
    )


def _with_recreation_cause(one: Finding, held: PartitionPlan, plan: Plan) -> Finding:
    if one.verdict is not RecordVerdict.LOST or not before_recreation(one, held):
        return one
    why = f"the topic was re-created on {plan.source}, and MirrorMaker did not start at its first record"
    return replace(one, cause=Cause.TOPIC_RECREATED, why=why)


def size_matters(handling: Handling) -> bool:
    """Return whether the size of a lost record matters: MirrorMaker may have skipped it."""
    return handling.skips_failed is not False


def with_causes(
    findings: Iterable[Finding],
    handling: Handling,
    limits: Mapping[str, Limit],
    sizes: Mapping[Record, int],
) -> tuple[Finding, ...]:
    """Return the findings with the cause of lost records, and why, if known.

    `sizes` are the bytes of key, value and headers on the source, as far as they are known.
    """
    return tuple(
        _with_cause(one, handling, limits.get(one.topic), sizes)
        if one.verdict is RecordVerdict.LOST and one.cause is None
        else one
        for one in findings
    )


def _with_cause(
    one: Finding, handling: Handling, limit: Limit | None, sizes: Mapping[Record, int]
) -> Finding:
    if not size_matters(handling):
        if not handling.drops:
            return one
        several = "transforms" if len(handling.drops) > 1 else "transform"
        why = f"MirrorMaker applies the {several} {', '.join(handling.drops)} and stops on errors"
        return replace(one, cause=Cause.FILTERED, why=why)
    size = sizes.get((one.topic, one.partition, one.source.first)) if one.source is not None else None
    if size is None or limit is None or size <= limit.most_bytes:
        return one
    least = count_text(size + limit.beside_bytes, "byte")
    return replace(
        one, cause=Cause.RECORD_REJECTED, why=f"uncompressed it has at least {least}, but {limit.clause}"
    )
