"""Make the plan of a flow from offset syncs, and find the flow of a named topic."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

from checksum.anchors.sync_topic import read_sync_topic
from checksum.inventory.connections import both_sides
from checksum.inventory.inventory import EarlierState, make_plan
from checksum.plan.building import COMMAND_LINE, chosen_topics
from checksum.plan.facts import Verified
from fleet.errors import ConfigurationError, MirrorwatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from checksum.anchors.pairs import Pair
    from checksum.anchors.reading import Place as SourcePlace
    from checksum.anchors.sync_topic import SyncPairs
    from checksum.history.entries import Place, VerifiedTo
    from checksum.inventory.connections import BothSides, Connects
    from checksum.inventory.waiting import WaitPolicy
    from checksum.plan.building import NamedIn, PlanRules
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow
    from runtime.process.clock import Clock


class KeptSyncs(Protocol):
    """Offset syncs that the service stored."""

    @property
    def topic_id(self) -> str:
        """Return the id of the topic that they are from; "" if none are stored."""
        ...

    @property
    def next_number(self) -> int:
        """Return the offset of the topic's first record that is not stored."""
        ...

    def of(self, topic: str, partition: int) -> Sequence[Pair]:
        """Return those of a partition, by the source's name, in the order in which they were written."""
        ...


@dataclass(frozen=True, slots=True)
class Before:
    """The earlier state: up to where partitions are verified, and stored offset syncs (None: none)."""

    verified: Mapping[Place, VerifiedTo] = field(default_factory=dict)
    syncs: KeptSyncs | None = None


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """The plan of a flow; `nothing_new` are its topics without new records."""

    plan: Plan
    nothing_new: tuple[str, ...] = ()


async def plan_flow(
    flow: Flow,
    connects: Connects,
    *,
    patterns: Sequence[str] | None,
    rules: PlanRules,
    equal_offsets: bool,
    clock: Clock,
    before: Before | None = None,
    named_in: NamedIn = COMMAND_LINE,
    wait_policy: WaitPolicy | None = None,
) -> FlowPlan:
    """Return the plan of a flow; `patterns` None: all replicated topics; `named_in` is their origin.

    `wait_policy` is how long to wait for MirrorMaker. None: no wait, and nothing after its newest offset sync
    is due. Raises ConfigurationError for topics that cannot be compared, UnavailableError and RefusedError if
    a cluster does not answer or a permission is missing.
    """
    before = before or Before()
    verified = {
        place: Verified(one.source_offset, one.target_offset, one.source_topic_id, one.target_topic_id)
        for place, one in before.verified.items()
    }
    async with both_sides(flow, connects) as sides:
        known = EarlierState(lambda _topic, _partition: (), verified, equal_offsets=True)
        if not equal_offsets:
            pairs = await _pairs(flow, sides, connects, clock, before)
            known = EarlierState(pairs.of, verified, more=pairs.more if pairs.writes else None)
        plan, topics = await make_plan(
            flow,
            sides.source,
            sides.target,
            patterns=patterns,
            known=known,
            rules=rules,
            now_ms=int(clock.wall_s() * 1000),
            named_in=named_in,
            wait_policy=wait_policy,
        )
    planned = {one.topic for one in plan.topics} | {one.topic for one in plan.left_out if not one.later}
    return FlowPlan(plan, tuple(name for name in topics if name not in planned))


async def patterns_by_flow(
    flows: Sequence[Flow], connects: Connects, patterns: Sequence[str], *, named_in: NamedIn = COMMAND_LINE
) -> dict[str, list[str] | MirrorwatchError]:
    """Return by flow the patterns that match its replicated topics, or the error of its cluster.

    Raises ConfigurationError for a pattern that matches in no flow, if all clusters answered.
    """
    found: dict[str, list[str] | MirrorwatchError] = {}
    wrong: dict[str, list[ConfigurationError]] = {pattern: [] for pattern in patterns}
    for flow in flows:
        try:
            async with both_sides(flow, connects) as sides:
                names = await sides.source.admin.list_topics()
        except MirrorwatchError as error:
            found[flow.name] = error
            continue
        named = found[flow.name] = list[str]()
        for pattern in patterns:
            try:
                chosen_topics(flow, names, [pattern], named_in=named_in)
            except ConfigurationError as error:
                wrong[pattern].append(error)
            else:
                named.append(pattern)
    problems = [
        problem
        for errors in wrong.values()
        if len(errors) == len(flows)
        for error in errors
        for problem in error.problems
    ]
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)))
    return found


class _MirrorPairs:
    """Offset syncs: the stored ones, and the newer ones in MirrorMaker's topic."""

    def __init__(
        self,
        earlier: Callable[[str, int], Sequence[Pair]],
        pairs: SyncPairs | None = None,
        read: Callable[..., SyncPairs] | None = None,
    ) -> None:
        self._earlier = earlier
        self._pairs = pairs
        self._read = read

    @property
    def writes(self) -> bool:
        """Return whether there is a topic of offset syncs."""
        return self._read is not None

    def of(self, topic: str, partition: int) -> list[Pair]:
        """Return the pairs of a partition, in MirrorMaker's order."""
        newer = self._pairs.of(topic, partition) if self._pairs is not None else ()
        return [*self._earlier(topic, partition), *newer]

    async def more(self) -> frozenset[SourcePlace]:
        """Read new offset syncs; return the partitions that have some."""
        if self._pairs is None or self._read is None:
            return frozenset()
        newer = await asyncio.to_thread(self._read, since=self._pairs.until, only_since=True)
        self._pairs.extend(newer)
        return newer.places()


async def _pairs(
    flow: Flow, sides: BothSides, connects: Connects, clock: Clock, before: Before
) -> _MirrorPairs:
    """Return the offset syncs of a flow.

    None if MirrorMaker writes no syncs; then timestamps are used. A broker before 2.8 has no topic ids:
    there, a topic that ends before the stored offset is a re-created one.
    """
    kept = before.syncs
    at_source = flow.offset_syncs_location == "source"
    alias, cluster = (flow.source, sides.source) if at_source else (flow.target, sides.target)
    topic = flow.offset_syncs_topic
    there = (await cluster.admin.describe_topics([topic]))[topic] if flow.emit_offset_syncs else None
    earlier = kept.of if kept is not None and kept.topic_id else _none
    if there is None:
        return _MirrorPairs(earlier)
    since = kept.next_number if kept is not None and kept.topic_id == there.topic_id else 0
    read = partial(
        read_sync_topic,
        connects.settings(alias),
        cluster=alias,
        topic=topic,
        clock=clock,
        wanted=lambda name: flow.decide(name).replicated,
        ended={place: one.source_offset for place, one in before.verified.items()},
    )
    pairs = await asyncio.to_thread(read, since=since)
    if there.known_id is None and pairs.until < since:
        earlier, pairs = _none, await asyncio.to_thread(read, since=0)
    return _MirrorPairs(earlier, pairs, read)


def _none(_topic: str, _partition: int) -> Sequence[Pair]:
    return ()
