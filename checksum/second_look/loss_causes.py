"""Why a record is lost, where its size and the mirror's own settings tell. Pure.

interface.md: `filtered` is on the source and absent on the target, with newer ones there, the same topic ids,
a log start that is not past it and no failure reported; `record_rejected` the same, and larger than what the
target takes. All but the last of these is so for whatever a plan compares: its ranges end at a pair that both
sides hold, of topics with these ids. A mirror that stops at failures (errors.tolerance=none) would not have
gone on behind a record that failed; one that passes over them, or may do so, reports none. Where nothing on
the way may leave a record out, and no limit is in its way, it stays unexplained.

A range may end behind its newest pair, where the mirror went on without what was due (plan/due.py): then the
evidence suggests `filtered`. `topic_recreated` is what the mirror skipped of a topic that was re-created.
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

# Beside key, value and headers, at least: of a batch of one record as it is sent (KIP-98), and as the Java
# producer estimates it (AbstractRecords.estimateSizeInBytesUpperBound).
SENT_BYTES = 68
ESTIMATED_BYTES = 85


class Limit(NamedTuple):
    """How large key, value and headers may be together; what is beside them; and who says so, a clause."""

    most_bytes: int
    beside_bytes: int
    clause: str


def limits_of(flow: Flow, plan: Plan, settings: Mapping[str, Mapping[str, str]]) -> dict[str, Limit]:
    """Return the least limit of each topic of the source; `settings` are those of topics on the target.

    What a topic takes is compared with what is sent, so that it says nothing where the mirror compresses, or
    may do so.
    """
    handling, found = flow.handling, {}
    for topic in plan.topics:
        limits: list[Limit] = []
        most = settings.get(topic.target_topic, {}).get("max.message.bytes", "")
        if most.isdecimal() and handling.compresses is False:
            clause = f"{topic.target_topic} on {plan.target} takes no more than {most} (max.message.bytes)"
            limits.append(Limit(int(most) - SENT_BYTES, SENT_BYTES, clause))
        if handling.max_request_bytes is not None:
            clause = (
                f"the mirror's producer sends no more than {handling.max_request_bytes} (max.request.size)"
            )
            limits.append(Limit(handling.max_request_bytes - ESTIMATED_BYTES, ESTIMATED_BYTES, clause))
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


def before_recreation(finding: Finding, planned: PartitionPlan) -> bool:
    """Tell whether a record lies before the offset at which the mirror went on in a re-created topic."""
    return (
        planned.recreated is not None
        and finding.source is not None
        and finding.source.until <= planned.recreated[0]
    )


def left_behind(finding: Finding, planned: PartitionPlan) -> bool:
    """Tell whether a record may lie where the mirror had left behind what was due."""
    return (
        planned.left_behind is not None
        and finding.source is not None
        and finding.source.until > planned.left_behind
    )


def recreated(findings: Iterable[Finding], plan: Plan) -> tuple[Finding, ...]:
    """Return the findings; what is lost since the mirror went on within a re-created topic has that cause."""
    partitions = planned_partitions(plan)
    return tuple(_recreated(one, partitions[one.topic, one.partition].partition, plan) for one in findings)


def _recreated(one: Finding, held: PartitionPlan, plan: Plan) -> Finding:
    if one.verdict is not RecordVerdict.LOST or not before_recreation(one, held):
        return one
    why = f"the topic was re-created on {plan.source}, and the mirror did not start at its beginning"
    return replace(one, cause=Cause.TOPIC_RECREATED, why=why)


def size_tells(handling: Handling) -> bool:
    """Tell whether it matters how large a lost record is: the mirror may have passed over it."""
    return handling.skips_failed is not False


def with_causes(
    findings: Iterable[Finding],
    handling: Handling,
    limits: Mapping[str, Limit],
    sizes: Mapping[Record, int],
) -> tuple[Finding, ...]:
    """Return the findings; a lost record's has its cause, and why, where something tells it.

    `sizes` are the bytes of keys, values and headers on the source, as far as they are known.
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
    if not size_tells(handling):
        if not handling.drops:
            return one
        several = "transforms" if len(handling.drops) > 1 else "transform"
        why = f"the mirror applies the {several} {', '.join(handling.drops)}, and stops at what fails"
        return replace(one, cause=Cause.FILTERED, why=why)
    size = sizes.get((one.topic, one.partition, one.source.first)) if one.source is not None else None
    if size is None or limit is None or size <= limit.most_bytes:
        return one
    least = count_text(size + limit.beside_bytes, "byte")
    return replace(
        one, cause=Cause.RECORD_REJECTED, why=f"sent as it is it takes {least} at least, and {limit.clause}"
    )
