"""Read differences again, twice, and keep what both checks find.

Blocking; call it on a thread. Reading is limited: a block larger than MOST_OFFSETS, or after MOST_IN_ALL,
stays as the digests show it, and its named records are counted again. Most offsets of a compacted partition
may hold no record: of a larger one, records are counted while they are read. After the last check the log
starts are read: what retention deleted meanwhile is no difference.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from checksum.compare.flow_findings import after_reading, with_answers
from checksum.compare.latest_by_key import latest_differences
from checksum.compare.retention import LogStarts, Unverified, never_read, without_expired
from checksum.compare.verdicts import confirmed
from checksum.digest.cell_rows import Side, planned_partitions
from checksum.recheck.block_differences import ReadBlock, differences
from checksum.recheck.block_ranges import spanned
from checksum.recheck.lookups import Lookups
from checksum.recheck.outside_range import without_found_outside
from checksum.recheck.record_chunks import read_records
from checksum.recheck.recount import Recount
from checksum.recheck.rewritten_keys import RewrittenKeys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.anchors.reading import Reader
    from checksum.compare.digest_findings import Comparison
    from checksum.compare.findings import Finding, ReadAgain
    from checksum.compare.flow_findings import FlowFindings
    from checksum.digest.slices import Pause
    from checksum.plan.shape import OffsetRange, Plan
    from checksum.recheck.block_differences import ReadRecord

MOST_OFFSETS = 250_000  # of one block and side, or records if it is compacted: each takes half a kilobyte
MOST_IN_ALL = 4_000_000  # offsets of both sides in one check, or records of compacted partitions
NEAR = 10_000  # offsets between two blocks that are read together
PAUSE_S = 5.0  # between the checks


class Readers(NamedTuple):
    """Readers of both sides as planned, and of the source with and without aborted records."""

    source: Reader
    target: Reader
    everything: Reader
    committed: Reader


def checked_twice(
    comparison: Comparison, readers: Readers, *, pause: Pause
) -> tuple[FlowFindings, tuple[Unverified, ...]]:
    """Return what is known after the second check, and what retention deleted.

    Raises UnavailableError and RefusedError if a cluster does not answer or a permission is missing.
    """
    plan = comparison.plan
    digested = log_starts(plan, readers)
    known, _ = without_expired(comparison.known, plan, digested)
    first = _check(replace(comparison, known=known), readers)
    found = first
    if first.findings:
        pause(PAUSE_S)
        second = _check(replace(comparison, known=known), readers)
        again = Recount(plan, readers.source, readers.target)
        both = again.confirmed_by_count(confirmed(first.findings, second.findings))
        found = replace(second, findings=tuple(without_found_outside(both, plan, readers.target)))
    # Use the findings of the digests, because earlier expired ones are no longer in `found`.
    starts = log_starts(plan, readers)
    _, unverified = without_expired(comparison.known, plan, starts)
    found, more = without_expired(found, plan, starts)
    return found, _joined_by_partition(
        (*unverified, *more, *never_read(plan, digested, comparison.source.values()))
    )


def log_starts(plan: Plan, readers: Readers) -> dict[tuple[str, int], LogStarts]:
    """Return the current log start offsets of every partition of a plan."""
    names = {topic.topic: topic.target_topic for topic in plan.topics}
    places = list(planned_partitions(plan))
    source = readers.source.starts(places)
    target = readers.target.starts([(names[topic], number) for topic, number in places])
    return {
        (name, number): LogStarts(source[name, number], target[names[name], number])
        for name, number in places
    }


def _check(comparison: Comparison, readers: Readers) -> FlowFindings:
    plan, left = comparison.plan, MOST_IN_ALL
    read: list[ReadAgain] = []
    sparse: list[ReadAgain] = []
    for block in comparison.to_read:
        size = block.source.span + block.target.span
        if max(block.source.span, block.target.span) <= MOST_OFFSETS and size <= left:
            left -= size
            read.append(block)
        elif comparison.cells[block.topic, block.partition].planned.topic.compacted:
            sparse.append(block)
    again = RewrittenKeys({Side.SOURCE: readers.source, Side.TARGET: readers.target})
    findings = [
        one for blocks in read_together(read) for one in _differences(_read(blocks, plan, readers), again)
    ]
    for block in sparse:
        most, cells = min(MOST_OFFSETS, left // 2), comparison.cells[block.topic, block.partition]
        if max(cells.source_records, cells.target_records) > most:
            continue
        (one,) = _read([block], plan, readers, most=most)
        left -= len(one.source) + len(one.target)
        if max(len(one.source), len(one.target)) <= most:
            read.append(block)
            findings += _differences([one], again)
    whole = [block for block in read if (block.topic, block.partition) not in again.undecided]
    known = after_reading(comparison.known, whole, findings, plan, comparison.source)
    lookups = Lookups(plan, everything=readers.everything, committed=readers.committed)
    return with_answers(known, zip(known.lookups, lookups.answers(known.lookups), strict=True))


def read_together(blocks: Iterable[ReadAgain]) -> list[list[ReadAgain]]:
    """Return the blocks in groups that are read at once: of each partition those that are near each other.

    A request takes longer than reading what lies between two of them.
    """
    waiting = list(blocks)
    found: list[list[ReadAgain]] = []
    while waiting:
        last: dict[tuple[str, int], ReadAgain] = {}
        closed: set[tuple[str, int]] = set()
        taken: list[ReadAgain] = []
        rest: list[ReadAgain] = []
        left = 2 * MOST_OFFSETS
        for block in waiting:
            where = block.topic, block.partition
            gap = _gap(last[where], block) if where in last else 0
            size = block.source.span + block.target.span + 2 * gap
            if where in closed or gap > NEAR or (taken and size > left):
                rest.append(block)
                closed.add(where)
                continue
            taken.append(block)
            last[where] = block
            left -= size
        found.append(taken)
        waiting = rest
    return found


def _gap(one: ReadAgain, other: ReadAgain) -> int:
    """Return how many offsets lie between two blocks of a partition, at most."""
    source = max(other.source.first - one.source.until, one.source.first - other.source.until)
    target = max(other.target.first - one.target.until, one.target.first - other.target.until)
    return max(source, target, 0)


def _read(
    blocks: Sequence[ReadAgain], plan: Plan, readers: Readers, *, most: int | None = None
) -> list[ReadBlock]:
    """Return the records of these blocks; each side of a partition is read as one stretch.

    `most`: reading stops after more records than that of one side.
    """
    partitions = planned_partitions(plan)
    planned = [partitions[block.topic, block.partition] for block in blocks]
    topics = {one.topic.topic: one.topic for one in planned}
    names = {topic: one.target_topic for topic, one in topics.items()}
    here: dict[tuple[str, int], OffsetRange] = {}
    there: dict[tuple[str, int], OffsetRange] = {}
    for block in blocks:
        for place, held, wanted in (
            ((block.topic, block.partition), block.source, here),
            ((names[block.topic], block.partition), block.target, there),
        ):
            wanted[place] = spanned(held, wanted.get(place, held))
    source = read_records(readers.source, here, topics, plan, most=most)
    target = read_records(
        readers.target, there, {names[topic]: one for topic, one in topics.items()}, plan, most=most
    )
    return [
        ReadBlock(
            block,
            one,
            plan.cells,
            plan.bucket_ms,
            _within(source[block.topic, block.partition], block.source),
            _within(target[names[block.topic], block.partition], block.target),
        )
        for block, one in zip(blocks, planned, strict=True)
    ]


def _differences(blocks: Sequence[ReadBlock], again: RewrittenKeys) -> list[Finding]:
    """Return the findings of blocks that were read."""
    findings: list[Finding] = []
    for one in blocks:
        if one.planned.topic.compacted:
            place = one.asked.topic, one.asked.partition
            latest = latest_differences(*place, one.source, one.target, timestamps=one.timestamps)
            findings += again.without_replaced(one.planned, latest)
        else:
            findings += differences(one)
    return findings


def _within(records: Sequence[ReadRecord], offsets: OffsetRange) -> Sequence[ReadRecord]:
    first, until = (
        bisect_left(records, offset, key=lambda record: record.seen.offset)
        for offset in (offsets.first, offsets.until)
    )
    return records[first:until]


def _joined_by_partition(unverified: Iterable[Unverified]) -> tuple[Unverified, ...]:
    """Return what retention deleted of each partition, joined to one range."""
    found: dict[tuple[str, int], Unverified] = {}
    for one in unverified:
        known = found.setdefault((one.topic, one.partition), one)
        wider = known if known.source.until >= one.source.until else one
        found[one.topic, one.partition] = replace(wider, source=spanned(known.source, one.source))
    return tuple(found[where] for where in sorted(found))
