"""Compare the digests of a flow's plan, read differences again, and return the result.

    plan (plan/flow_plan) -> a digest of each side (Digests, on Spark) -> compare_and_recheck: the result

A digest is valid only for the topic ids in the plan. They are checked before and after reading, because the
offsets of a re-created topic look like a healthy continuation. So are the cleanup policies: what compaction
deletes from a topic that was planned as not compacted looks like a loss.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from checksum.anchors.records import key_digest
from checksum.compare.digest_findings import compared
from checksum.compare.verdicts import Audit, result
from checksum.digest.cell_rows import Side
from checksum.inventory.connections import both_sides
from checksum.inventory.topics import is_compacted
from checksum.plan.shape import READ_COMMITTED, OffsetRange
from checksum.recheck.loss_evidence import with_loss_causes
from checksum.recheck.recheck import checked_twice
from checksum.recheck.record_chunks import chunks
from fleet.errors import ConfigurationError, MalformedError, Problem, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from checksum.anchors.reading import Place, Reader
    from checksum.digest.cell_rows import CellRow
    from checksum.digest.slices import Pause
    from checksum.inventory.connections import Connects
    from checksum.inventory.inventory import Admin
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow


MOST_RECORDS = 250_000  # of one stretch of a compacted topic: their keys are held in memory

EmptyRange = tuple[str, int, int, int]
"""Topic (the source's name), partition, and offsets [first, until) without records."""


class IncompleteDigestError(UnavailableError):
    """A digest lacks records that the log has; digesting again may help."""


class DigestProgress(Protocol):
    """Progress of a digest; `checksum.digest.side.Progress` without Spark."""

    @property
    def offsets(self) -> int:
        """Return how many offsets are covered."""
        ...

    @property
    def of_offsets(self) -> int:
        """Return how many offsets the plan has."""
        ...

    @property
    def partitions(self) -> int:
        """Return how many partitions are covered."""
        ...

    @property
    def of_partitions(self) -> int:
        """Return how many partitions the plan has on this side."""
        ...

    @property
    def records(self) -> int:
        """Return how many records were read."""
        ...

    @property
    def size_bytes(self) -> int:
        """Return the size of these records in bytes."""
        ...

    @property
    def empty_ranges(self) -> tuple[EmptyRange, ...]:
        """Return the stretches of the last slice without records."""
        ...


class Digests(Protocol):
    """Digests sides of plans on Spark, and returns the cells."""

    def digest(self, plan: Plan, side: Side, folder: str) -> Iterator[DigestProgress]:
        """Read what is not digested yet into the folder; yield the progress after each slice.

        Raises OutdatedPlanError if records have headers and the plan says none, and errors of the cluster and
        Spark.
        """
        ...

    def cells(self, plan: Plan, side: Side, folder: str) -> list[CellRow]:
        """Return the rows of a digest; raises ConfigurationError if it is incomplete or another one."""
        ...


async def compare_and_recheck(
    flow: Flow, plan: Plan, cells: Mapping[Side, Iterable[CellRow]], connects: Connects, *, pause: Pause
) -> Audit:
    """Compare both sides' cells, read differences again, and return the result.

    Raises ConfigurationError for cells that contradict the plan, UnavailableError if a cluster does not
    answer or a topic changed meanwhile, and RefusedError if a permission is missing.
    """
    try:
        comparison = compared(plan, cells[Side.SOURCE], cells[Side.TARGET])
    except MalformedError as error:
        problem = Problem("the digest", "", f"{error}; digest this side again into an empty folder")
        raise ConfigurationError([problem]) from error
    async with both_sides(flow, connects) as sides:
        known, unverified = await asyncio.to_thread(checked_twice, comparison, sides.readers, pause=pause)
        for side, cluster in ((Side.SOURCE, sides.source), (Side.TARGET, sides.target)):
            await same_topics(plan, side, cluster.admin)
        known = replace(known, findings=await with_loss_causes(known.findings, flow, plan, sides))
    exactly_once = flow.exactly_once
    return Audit(
        plan, result(plan, comparison.cells, known, exactly_once=exactly_once, unverified=unverified)
    )


async def check_topics(
    plan: Plan, side: Side, connects: Connects, empty_ranges: Iterable[EmptyRange] = ()
) -> None:
    """Check that a side's topics are those of the plan, and that stretches without records have none.

    Spark skips unreadable offsets silently, and two empty stretches look equal. A digest of a compacted topic
    has nothing of keys whose last record is a tombstone. Raises UnavailableError if a topic changed, and
    IncompleteDigestError if a record was skipped.
    """
    source = side is Side.SOURCE
    alias, isolation = (
        (plan.source, plan.isolation_source) if source else (plan.target, plan.isolation_target)
    )
    async with AsyncExitStack() as stack:
        await same_topics(plan, side, await connects.admin(alias, stack))
        reader = await connects.reader(alias, stack, committed=isolation == READ_COMMITTED)
        topics = {one.topic: one for one in plan.topics}
        for topic, partition, first, until in empty_ranges:
            of = topics[topic]
            place = of.topic if source else of.target_topic, partition
            find = _last_value if of.compacted else _first_record
            offset = await asyncio.to_thread(find, reader, place, OffsetRange(first, until))
            if offset is not None:
                raise IncompleteDigestError(
                    f"cluster {alias}: Spark returned no record of {place[0]}-{partition} from {first} to"
                    f" {until - 1}, but there is one at {offset}; run again"
                )


def _first_record(reader: Reader, place: Place, offsets: OffsetRange) -> int | None:
    """Return the offset of the first record of a stretch, or None."""
    records = reader.pick({place: (offsets.first, 1)})[place].records
    return records[0].offset if records and records[0].offset < offsets.until else None


def _last_value(reader: Reader, place: Place, offsets: OffsetRange) -> int | None:
    """Return the offset of a value that is its key's last record in a stretch, or None.

    None also if MOST_RECORDS do not reach the end of the stretch: later records may delete the key.
    """
    values: dict[bytes | None, int] = {}
    left = MOST_RECORDS
    for some in chunks(reader, place, offsets):
        for record in some:
            key = key_digest(record.key)
            if record.value is None:
                values.pop(key, None)
            else:
                values[key] = record.offset
        left -= len(some)
        if left <= 0 and some[-1].offset < offsets.until - 1:
            return None
    return min(values.values(), default=None)


async def same_topics(plan: Plan, side: Side, admin: Admin) -> None:
    """Raise UnavailableError if a topic of a side is not as planned."""
    changed = await changed_topic(plan, side, admin)
    if changed is not None:
        raise UnavailableError(changed)


async def changed_topic(plan: Plan, side: Side, admin: Admin) -> str | None:
    """Return how a topic changed (deleted, re-created, became compacted), or None."""
    source = side is Side.SOURCE
    alias = plan.source if source else plan.target
    wanted = {
        one.topic if source else one.target_topic: one.source_topic_id if source else one.target_topic_id
        for one in plan.topics
    }
    for name, found in (await admin.describe_topics(wanted)).items():
        if found is None:
            return f"cluster {alias}: topic {name} was deleted after the plan was made; plan again"
        if wanted[name] is not None and found.known_id not in {None, wanted[name]}:
            return (
                f"cluster {alias}: topic {name} was re-created after the plan was made (id {wanted[name]},"
                f" now {found.topic_id}); plan again"
            )
    whole = [one.topic if source else one.target_topic for one in plan.topics if not one.compacted]
    for name, settings in (await admin.describe_topic_configs(whole)).items():
        if is_compacted(settings):
            return (
                f"cluster {alias}: topic {name} became compacted after the plan was made"
                f" (cleanup.policy={settings['cleanup.policy']}); plan again"
            )
    return None
