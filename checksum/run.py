"""One pass over a flow's plan: digest both sides, compare, look twice, and say what became of the records.

    plan (planning) -> digest of each side (a Digests, on Spark) -> concluded: comparison, second look, result

A digest is of topics with the ids in the plan: they are asked for before it begins and after the last record
was read, since offsets of a topic that was made anew look like a healthy continuation. So are the cleanup
policies: what compaction takes of a topic that was planned for as not compacted looks like a loss.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from checksum.anchors.records import key_digest
from checksum.compare.audit import Audit
from checksum.compare.comparison import compared
from checksum.compare.verdicts import result
from checksum.digest.cell_rows import Side
from checksum.inventory.connections import both_sides
from checksum.inventory.topics import is_compacted
from checksum.plan.shape import READ_COMMITTED, OffsetRange
from checksum.second_look.loss_looks import explained
from checksum.second_look.second_look import looked_twice
from checksum.second_look.stretches import chunks
from fleet.errors import ConfigurationError, MalformedError, Problem, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from checksum.anchors.reading import Place, Reader
    from checksum.digest.cell_rows import CellRow
    from checksum.digest.paced import Pause
    from checksum.inventory.connections import Connects
    from checksum.inventory.inventory import Admin
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow


MOST_RECORDS = 250_000  # of a silent stretch of a compacted topic: their keys are held

Silent = tuple[str, int, int, int]
"""Topic (the source's name), partition, first and until of offsets that held no record."""


class SpoiledDigestError(UnavailableError):
    """A digest lacks what its log holds: it has to be made anew, and another run may do so at once."""


class Progressed(Protocol):
    """How far a digest is; `checksum.digest.side.Progress` without Spark."""

    @property
    def offsets(self) -> int:
        """Return how many offsets are covered."""
        ...

    @property
    def of_offsets(self) -> int:
        """Return how many there are in the plan."""
        ...

    @property
    def partitions(self) -> int:
        """Return how many partitions are covered."""
        ...

    @property
    def of_partitions(self) -> int:
        """Return how many there are in the plan on this side."""
        ...

    @property
    def records(self) -> int:
        """Return how many records came."""
        ...

    @property
    def size_bytes(self) -> int:
        """Return how many bytes these had."""
        ...

    @property
    def silent(self) -> tuple[Silent, ...]:
        """Return the stretches of the last slice that held no record."""
        ...


class Digests(Protocol):
    """Digests sides of plans, on Spark, and gives the cells of what was digested."""

    def digest(self, plan: Plan, side: Side, folder: str) -> Iterator[Progressed]:
        """Read what is not digested yet into the folder, and give the progress after each slice.

        Raises OutdatedPlanError where there are headers that the plan does not know of, and what the cluster
        and Spark have to say.
        """
        ...

    def cells(self, plan: Plan, side: Side, folder: str) -> list[CellRow]:
        """Return the rows of a whole digest; ConfigurationError where it is another, or half-written."""
        ...


async def conclude(
    flow: Flow, plan: Plan, cells: Mapping[Side, Iterable[CellRow]], connects: Connects, *, pause: Pause
) -> Audit:
    """Compare both sides' cells, read again what differs, and return what became of the records.

    Raises ConfigurationError for cells that no digest by this plan can hold, UnavailableError where a cluster
    does not answer or a topic is not the same meanwhile, RefusedError where a cluster does not let us.
    """
    try:
        comparison = compared(plan, cells[Side.SOURCE], cells[Side.TARGET])
    except MalformedError as error:
        problem = Problem("the digest", "", f"{error} Digest this side anew into an empty folder")
        raise ConfigurationError([problem]) from error
    async with both_sides(flow, connects) as sides:
        known, unverified = await asyncio.to_thread(looked_twice, comparison, sides.readers, pause=pause)
        for side, cluster in ((Side.SOURCE, sides.source), (Side.TARGET, sides.target)):
            await same_topics(plan, side, cluster.admin)
        known = replace(known, findings=await explained(known.findings, flow, plan, sides))
    exactly_once = flow.exactly_once
    return Audit(
        plan, result(plan, comparison.cells, known, exactly_once=exactly_once, unverified=unverified)
    )


async def still_there(plan: Plan, side: Side, connects: Connects, silent: Iterable[Silent] = ()) -> None:
    """See that the topics of a side are those of the plan, and that what Spark found to be silent is so.

    Spark passes over what it cannot read without a word, and an empty stretch on both sides looks the same.
    A digest of a compacted topic holds nothing of a key whose last record is a tombstone (compacted).
    Raises UnavailableError where either is not so, SpoiledDigestError for the latter.
    """
    source = side is Side.SOURCE
    alias, isolation = (
        (plan.source, plan.isolation_source) if source else (plan.target, plan.isolation_target)
    )
    async with AsyncExitStack() as stack:
        await same_topics(plan, side, await connects.admin(alias, stack))
        reader = await connects.reader(alias, stack, committed=isolation == READ_COMMITTED)
        topics = {one.topic: one for one in plan.topics}
        for topic, partition, first, until in silent:
            of = topics[topic]
            place = of.topic if source else of.target_topic, partition
            look = _last_value if of.compacted else _first_record
            offset = await asyncio.to_thread(look, reader, place, OffsetRange(first, until))
            if offset is not None:
                raise SpoiledDigestError(
                    f"cluster {alias}: Spark gave no record of {place[0]}-{partition} from {first} to"
                    f" {until - 1}, and there is one at {offset}; run again"
                )


def _first_record(reader: Reader, place: Place, offsets: OffsetRange) -> int | None:
    """Return the offset of the first record of a stretch; None: there is none."""
    records = reader.pick({place: (offsets.first, 1)})[place].records
    return records[0].offset if records and records[0].offset < offsets.until else None


def _last_value(reader: Reader, place: Place, offsets: OffsetRange) -> int | None:
    """Return the offset of a value that is the last record of its key in a stretch; None: there is none.

    Nor is any told where MOST_RECORDS do not reach the stretch's end: what follows may delete each key.
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
    """Raise UnavailableError where a topic of a side is not as the plan was made for any more."""
    changed = await changed_topic(plan, side, admin)
    if changed is not None:
        raise UnavailableError(changed)


async def changed_topic(plan: Plan, side: Side, admin: Admin) -> str | None:
    """Return what became of a topic of a side; None where all are as the plan was made for.

    One may be gone, or made anew, or be compacted though it was not.
    """
    source = side is Side.SOURCE
    alias = plan.source if source else plan.target
    wanted = {
        one.topic if source else one.target_topic: one.source_topic_id if source else one.target_topic_id
        for one in plan.topics
    }
    for name, found in (await admin.describe_topics(wanted)).items():
        if found is None:
            return f"cluster {alias}: {name} is not there any more; make the plan anew"
        if wanted[name] is not None and found.known_id not in {None, wanted[name]}:
            return (
                f"cluster {alias}: {name} was made anew since the plan was made (its id was {wanted[name]},"
                f" and is {found.topic_id}); make the plan anew"
            )
    whole = [one.topic if source else one.target_topic for one in plan.topics if not one.compacted]
    for name, settings in (await admin.describe_topic_configs(whole)).items():
        if is_compacted(settings):
            return (
                f"cluster {alias}: {name} is compacted since the plan was made (its cleanup.policy is"
                f" {settings['cleanup.policy']}); make the plan anew"
            )
    return None
