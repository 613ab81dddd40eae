"""Read the state of both clusters and plan what to compare: topics, offsets, and a few records.

The target's log ends are read before the source's: what the target holds, the source held by then. Little is
read: names and settings of topics, offsets, one record at each checked pair of offsets, and a sample of each
topic for the record size and headers. Nothing is written.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from checksum.anchors.misrouted_pairs import without_misrouted
from checksum.anchors.pairs import Logs, Usable, equal_pairs, usable
from checksum.anchors.reading import Side, read_anchors
from checksum.anchors.search import search_anchors
from checksum.anchors.times import find_beginnings, find_ends, find_inside
from checksum.inventory.extents import extents_of
from checksum.inventory.topics import Admin, check_unchanged, planned_topic, read_settings
from checksum.inventory.waiting import TargetEnds, wait_for_mirror
from checksum.plan.building import (
    COMMAND_LINE,
    PlanRules,
    TopicFound,
    build_plan,
    chosen_topics,
    missing_on_one_side,
)
from checksum.plan.cell_count import fitting
from checksum.plan.due import may_drop_records
from checksum.plan.facts import PartitionFacts, Verified
from checksum.plan.ranges import (
    beginnings_before,
    candidates,
    cuts_wanted,
    lacks_newest_pair,
    partition_ranges,
    still_verified,
    tail_offset,
)
from checksum.plan.shape import Anchored, LeftOut
from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from checksum.anchors.pairs import Pair
    from checksum.anchors.reading import Place, Reader
    from checksum.anchors.search import Anchors, Records
    from checksum.inventory.topics import PlannedTopic
    from checksum.inventory.waiting import WaitPolicy
    from checksum.plan.building import NamedIn
    from checksum.plan.due import Due
    from checksum.plan.ranges import Candidates
    from checksum.plan.shape import OffsetRange, PartitionPlan, Plan
    from fleet.verdicts.flow import Flow

__all__ = ["Admin", "Cluster", "EarlierState", "make_plan"]

SAMPLED_PARTITIONS = 4  # of a topic
SAMPLED_RECORDS = 25  # from the middle of one of them
SAMPLED_NEWEST = 100  # of one of them: shows whether producers now send headers


@dataclass(frozen=True, slots=True)
class Cluster:
    """Clients of one cluster; `reader` uses the isolation level of `isolations`."""

    admin: Admin
    reader: Reader


@dataclass(frozen=True, slots=True)
class EarlierState:
    """The earlier state: offset syncs in MirrorMaker's order, and where the last run ended.

    Both are looked up by the source's topic and partition. `equal_offsets`: the mirror keeps offsets. `more`
    reads newer offset syncs into `pairs` and returns their partitions; None: MirrorMaker writes none.
    """

    pairs: Callable[[str, int], Sequence[Pair]]
    verified: Mapping[Place, Verified] = field(default_factory=dict)
    equal_offsets: bool = False
    more: Callable[[], Awaitable[frozenset[Place]]] | None = None


class MadePlan(NamedTuple):
    """A plan, and the topics that it was made for, by the source's names."""

    plan: Plan
    topics: tuple[str, ...]


async def make_plan(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    *,
    patterns: Sequence[str] | None,
    known: EarlierState,
    rules: PlanRules,
    now_ms: int,
    named_in: NamedIn = COMMAND_LINE,
    wait_policy: WaitPolicy | None = None,
) -> MadePlan:
    """Return the plan for these topics of a flow; `patterns` None: all replicated topics.

    `wait_policy` is how long to wait for MirrorMaker. None: no wait, and nothing after its newest offset sync
    is due. The plan has fewer cells and wider buckets than `rules` if its digests would not fit into memory.
    Raises ConfigurationError for topics that cannot be compared, UnavailableError and RefusedError if a
    cluster does not answer or a permission is missing.
    """
    seen = await source.admin.list_topics()
    names = chosen_topics(flow, seen, patterns, named_in=named_in)
    if not names:  # a missing permission looks the same, so this proves nothing
        raise UnavailableError(
            f"cluster {flow.source}: {flow.name} replicates none of the {len(seen)} topics that Mirrorwatch "
            "may describe there; run `mirrorwatch check` to see what is replicated and why"
        )
    here, there = await asyncio.gather(
        source.admin.describe_topics(names), target.admin.describe_topics(names.values())
    )
    excluded = frozenset(rules.excluded_headers)
    sides = (
        Side(source.reader, {name: name for name in names}, excluded),
        Side(target.reader, names, excluded),
    )
    topics, left_out = [], []
    for name, remote in names.items():
        original, copy = here[name], there[remote]
        if original is None:  # deleted since the topics were listed
            continue
        if copy is None or copy.partitions != original.partitions:
            left_out += missing_on_one_side(
                name,
                remote,
                flow=flow,
                records=await _records(sides[0], name, range(original.partitions)),
                partitions=copy.partitions if copy is not None else None,
                beyond=await _records(
                    sides[1], name, range(original.partitions, copy.partitions if copy is not None else 0)
                ),
            )
        if copy is not None:
            topics.append(planned_topic(original, copy))
    await read_settings(topics, source.admin, target.admin)
    due = await _due(topics, *sides, known=known, wait_policy=wait_policy)
    found, more = await _found_topics(topics, *sides, known=known, flow=flow, due=due)
    rules = fitting(rules, await extents_of(found, *sides))
    await check_unchanged(topics, flow, source.admin, target.admin)
    plan = build_plan(flow, found, [*left_out, *more], rules=rules, made_at_ms=now_ms)
    return MadePlan(plan, tuple(name for name in names if here[name] is not None))


async def _records(side: Side, topic: str, partitions: range) -> dict[int, int]:
    places = [(topic, number) for number in partitions]
    if not places:
        return {}
    starts, ends = await asyncio.to_thread(lambda: (side.starts(places), side.ends(places)))
    return {place[1]: max(0, ends[place] - starts[place]) for place in places}


class _Syncs:
    """MirrorMaker's progress by its offset syncs; cached until a partition has a new one."""

    def __init__(self, topics: Sequence[PlannedTopic], known: EarlierState) -> None:
        self._topics = {topic.name: topic for topic in topics}
        self._known = known
        self._reached: dict[Place, int] = {}

    def reached(self, place: Place) -> int:
        """Return the source offset after the newest pair of these topic ids."""
        if place not in self._reached:
            topic = self._topics[place[0]]
            known = usable(self._known.pairs(*place), source_id=topic.source_id, target_id=topic.target_id)
            self._reached[place] = known.pairs[-1].upstream + 1 if known.pairs else 0
        return self._reached[place]

    async def poll(self) -> frozenset[Place]:
        """Read new offset syncs."""
        new = await self._known.more() if self._known.more is not None else frozenset()
        for place in new:
            self._reached.pop(place, None)
        return new


async def _due(
    topics: Sequence[PlannedTopic],
    source: Side,
    target: Side,
    *,
    known: EarlierState,
    wait_policy: WaitPolicy | None,
) -> dict[Place, Due]:
    if wait_policy is None:
        return {}
    places = [(topic.name, number) for topic in topics for number in topic.partitions]
    by_ends = TargetEnds(places, target, equal=known.equal_offsets)
    verified = {
        (topic.name, number): one.source_until
        for topic in topics
        for number in topic.partitions
        if (one := _still_verified(topic, (topic.name, number), known)) is not None
    }
    return await wait_for_mirror(
        places,
        source,
        target,
        progress=by_ends if known.more is None else _Syncs(topics, known),
        verified=verified,
        wait_policy=wait_policy,
    )


def _still_verified(topic: PlannedTopic, place: Place, known: EarlierState) -> Verified | None:
    return still_verified(known.verified.get(place), source_id=topic.source_id, target_id=topic.target_id)


async def _found_topics(
    topics: Sequence[PlannedTopic],
    source: Side,
    target: Side,
    *,
    known: EarlierState,
    flow: Flow,
    due: Mapping[Place, Due],
) -> tuple[list[TopicFound], list[LeftOut]]:
    """Return what was found of each topic, and what is left out."""
    of = {topic.name: topic for topic in topics}
    places = [(topic.name, number) for topic in topics for number in topic.partitions]
    logs = await _logs(places, source, target)
    if not known.equal_offsets:
        pairs = await without_misrouted(
            {place: known.pairs(*place) for place in places},
            logs,
            stamped={topic.name for topic in topics if topic.stamps},
            source=source,
            target=target,
        )
        known = replace(known, pairs=lambda topic, partition: pairs[topic, partition])
    facts = {
        place: replace(
            _facts(of[place[0]], place, logs[place], known),
            exactly_once=flow.exactly_once,
            offset_reset=flow.offset_reset,
            due=due.get(place),
            leaves_out=may_drop_records(flow.handling),
        )
        for place in places
    }
    await _add_by_time(facts, source, target)
    wanted = {place: candidates(one) for place, one in facts.items()}
    anchors = await read_anchors(
        {place: _search(facts[place], wanted[place]) for place in places}, source=source, target=target
    )
    behind = await _first_after_end(facts, wanted, anchors, source)

    def ranges() -> tuple[dict[str, list[PartitionPlan]], list[LeftOut]]:
        for topic in topics:  # the setting may have changed since the records were written
            topic.stamps |= target.stamped(topic.name)
        partitions: dict[str, list[PartitionPlan]] = {topic.name: [] for topic in topics}
        left_out: list[LeftOut] = []
        for place in places:
            one = replace(facts[place], timestamps=not of[place[0]].stamps)
            plan, left = partition_ranges(one, wanted[place], anchors[place], behind=behind[place])
            partitions[place[0]] += [plan] if plan is not None else []
            left_out += left
        return partitions, left_out

    await take_samples(ranges()[0], source, target)
    partitions, left_out = ranges()  # again, with the samples
    return [_topic_found(topic, partitions[topic.name], source, target) for topic in topics], left_out


async def _logs(places: Sequence[Place], source: Side, target: Side) -> dict[Place, Logs]:
    target_ends = await asyncio.to_thread(target.ends, places)
    source_ends = await asyncio.to_thread(source.ends, places)
    starts, target_starts = await asyncio.gather(
        asyncio.to_thread(source.starts, places), asyncio.to_thread(target.starts, places)
    )
    return {
        place: Logs(
            starts[place],
            max(starts[place], source_ends[place]),
            target_starts[place],
            max(target_starts[place], target_ends[place]),
        )
        for place in places
    }


def _facts(topic: PlannedTopic, place: Place, logs: Logs, known: EarlierState) -> PartitionFacts:
    ids = {"source_id": topic.source_id, "target_id": topic.target_id}
    if known.equal_offsets:
        pairs, anchored = Usable(equal_pairs(logs)), Anchored.EQUAL_OFFSETS
    else:
        pairs, anchored = usable(known.pairs(*place), **ids), Anchored.OFFSET_SYNCS
    return PartitionFacts(
        topic=topic.name,
        partition=place[1],
        logs=logs,
        usable=pairs,
        anchored=anchored,
        verified=_still_verified(topic, place, known),
        compacted=topic.compacted,
        timestamps=not topic.stamps,
    )


async def _add_by_time(facts: dict[Place, PartitionFacts], source: Side, target: Side) -> None:
    """Add pairs found by record timestamps, if offset syncs are missing.

    MirrorMaker before 3.7 writes none for the last records of a partition, unless others follow
    (KAFKA-15906).
    """
    timed = {
        place: one for place, one in facts.items() if one.timestamps and one.anchored is Anchored.OFFSET_SYNCS
    }
    without = {place: one.logs for place, one in timed.items() if not one.usable.pairs}
    last = await find_ends(without, source=source, target=target)
    for place in without:
        pairs = (last[place],) if place in last else ()
        found = replace(facts[place].usable, pairs=pairs)
        facts[place] = replace(facts[place], usable=found, anchored=Anchored.TIMESTAMPS)
    tails = {place: one.logs for place, one in timed.items() if lacks_newest_pair(one)}
    for place, pair in (await find_ends(tails, source=source, target=target)).items():
        known = facts[place].usable
        newest = known.pairs[-1]
        is_newer = pair.upstream > newest.upstream and pair.downstream > newest.downstream
        if is_newer and tails[place].hold(pair):
            facts[place] = replace(facts[place], usable=replace(known, pairs=(*known.pairs, pair)))
    unknown = {
        place: one.logs
        for place, one in timed.items()
        if facts[place].usable.pairs and candidates(facts[place]).start is None
    }
    for place, pair in (await find_beginnings(unknown, source=source, target=target)).items():
        facts[place] = replace(facts[place], beginning=pair)
    far = {place: offsets for place in timed if (offsets := cuts_wanted(facts[place]))}
    for place, inside in (await find_inside(far, source=source, target=target)).items():
        facts[place] = replace(facts[place], inside=inside)


def _search(facts: PartitionFacts, found: Candidates) -> Generator[Pair, Records, Anchors]:
    return search_anchors(
        found.ends,
        partial(beginnings_before, facts),
        facts.usable.pairs,
        timestamps=facts.timestamps,
    )


async def _first_after_end(
    facts: Mapping[Place, PartitionFacts],
    wanted: Mapping[Place, Candidates],
    anchors: Mapping[Place, Anchors],
    source: Side,
) -> dict[Place, int | None]:
    """Return the offset of the source's first record after the end, or None if there are only markers."""
    tails = {}
    for place, one in facts.items():
        offset = tail_offset(one, wanted[place], anchors[place])
        if offset is not None and one.logs.source_start <= offset < one.logs.source_end:
            tails[place] = offset
    found = await asyncio.to_thread(source.first_from, tails)
    return {place: found.get(place, one.logs.source_end) for place, one in facts.items()}


def _topic_found(
    topic: PlannedTopic, partitions: Sequence[PartitionPlan], source: Side, target: Side
) -> TopicFound:
    samples = [side.samples[topic.name] for side in (source, target) if topic.name in side.samples]
    records = sum(one.records for one in samples)
    return TopicFound(
        topic=topic.name,
        target_topic=topic.target,
        source_topic_id=topic.source_id,
        target_topic_id=topic.target_id,
        headers=any(one.headers for one in samples),
        target_stamps=topic.stamps,
        compacted=topic.compacted,
        record_bytes=-(-sum(one.size_bytes for one in samples) // records) if records else 0,
        partitions=tuple(partitions),
    )


async def take_samples(partitions: Mapping[str, Sequence[PartitionPlan]], source: Side, target: Side) -> None:
    """Read some records from the middle and the end of the compared ranges, on both sides."""
    sampled = {
        (topic, plan.partition): plan
        for topic, plans in partitions.items()
        for plan in plans[:SAMPLED_PARTITIONS]
    }
    for first, count in ((_middle, SAMPLED_RECORDS), (_newest, SAMPLED_NEWEST)):
        here = {place: (first(plan.source), count) for place, plan in sampled.items()}
        there = {place: (first(plan.target), count) for place, plan in sampled.items()}
        await asyncio.gather(
            asyncio.to_thread(source.windows, here), asyncio.to_thread(target.windows, there)
        )


def _middle(held: OffsetRange) -> int:
    return (held.first + held.until) // 2


def _newest(held: OffsetRange) -> int:
    return max(held.first, held.until - SAMPLED_NEWEST)
