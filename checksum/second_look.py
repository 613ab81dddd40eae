"""Read again what two digests say differs, twice, and keep only what both looks saw.

It blocks, and belongs on a thread. What is read is bounded: a block that is larger than MOST_OFFSETS, or
comes when MOST_IN_ALL were read, stays as the digests tell it. After the last look it is asked where the logs
begin: what retention took meanwhile is no difference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from checksum.cell_rows import planned_partitions
from checksum.joining import after_reading, settled
from checksum.latest_by_key import latest_differences
from checksum.look_ups import LookUps
from checksum.narrow import ReadBlock, differences
from checksum.retention import LogStarts, Unverified, without_expired
from checksum.stretches import read_records
from checksum.verdicts import confirmed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.anchor_reading import Reader
    from checksum.comparison import Comparison
    from checksum.findings import Finding, ReadAgain
    from checksum.joining import Known
    from checksum.plan_shape import Plan

MOST_OFFSETS = 250_000  # of one block and side: a record that was read takes half a kilobyte
MOST_IN_ALL = 4_000_000  # offsets of both sides in one look
PAUSE_S = 5.0  # between the looks


class Readers(NamedTuple):
    """Who reads: both sides as the plan says, and the source with and without what was aborted."""

    source: Reader
    target: Reader
    everything: Reader
    committed: Reader


class Pause(Protocol):
    """Waits for so many seconds."""

    def __call__(self, seconds: float, /) -> object:
        """Wait."""
        ...


def looked_twice(
    comparison: Comparison, readers: Readers, *, pause: Pause
) -> tuple[Known, tuple[Unverified, ...]]:
    """Return what is known after the second look, and what retention took.

    Raises UnavailableError and RefusedError where a cluster does not answer or does not let us.
    """
    plan = comparison.plan
    known, _ = without_expired(comparison.known, plan, log_starts(plan, readers))
    first = _look(replace(comparison, known=known), readers)
    found = first
    if first.findings:
        pause(PAUSE_S)
        second = _look(replace(comparison, known=known), readers)
        found = replace(second, findings=tuple(confirmed(first.findings, second.findings)))
    # What retention took before is gone from the findings; asked of all that the digests told, it is told.
    starts = log_starts(plan, readers)
    _, unverified = without_expired(comparison.known, plan, starts)
    found, more = without_expired(found, plan, starts)
    return found, _widest((*unverified, *more))


def log_starts(plan: Plan, readers: Readers) -> dict[tuple[str, int], LogStarts]:
    """Return where the logs of every partition of a plan begin now."""
    names = {topic.topic: topic.target_topic for topic in plan.topics}
    places = list(planned_partitions(plan))
    source = readers.source.starts(places)
    target = readers.target.starts([(names[topic], number) for topic, number in places])
    return {
        (name, number): LogStarts(source[name, number], target[names[name], number])
        for name, number in places
    }


def _look(comparison: Comparison, readers: Readers) -> Known:
    plan, left = comparison.plan, MOST_IN_ALL
    read: list[ReadAgain] = []
    findings: list[Finding] = []
    for block in comparison.to_read:
        size = block.source.span + block.target.span
        if max(block.source.span, block.target.span) > MOST_OFFSETS or size > left:
            continue
        left -= size
        read.append(block)
        findings += _differences(block, plan, readers)
    known = after_reading(comparison.known, read, findings, plan, comparison.source)
    answers = LookUps(plan, everything=readers.everything, committed=readers.committed)
    held = {id(one.finding): answers.held(one) for one in known.look_ups}
    told = [settled(one, held[id(one)]) if id(one) in held else one for one in known.findings]
    return replace(known, findings=tuple(told), look_ups=())


def _differences(block: ReadAgain, plan: Plan, readers: Readers) -> list[Finding]:
    planned = planned_partitions(plan)[block.topic, block.partition]
    topic = planned.topic
    source, target = (
        read_records(reader, (name, block.partition), offsets, topic=topic, plan=plan)
        for reader, name, offsets in (
            (readers.source, topic.topic, block.source),
            (readers.target, topic.target_topic, block.target),
        )
    )
    if topic.compacted:
        return latest_differences(block.topic, block.partition, source, target, timestamps=topic.timestamps)
    return differences(ReadBlock(block, planned, plan.cells, plan.bucket_ms, source, target))


def _widest(unverified: Iterable[Unverified]) -> tuple[Unverified, ...]:
    """Return what retention took of each partition once, as far as it reaches."""
    found: dict[tuple[str, int], Unverified] = {}
    for one in unverified:
        known = found.get((one.topic, one.partition))
        if known is None or known.source.until < one.source.until:
            found[one.topic, one.partition] = one
    return tuple(found[where] for where in sorted(found))
