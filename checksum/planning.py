"""Make the plans of a run: what the mirror itself tells of offsets, and which flow a named topic is of."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from checksum.connections import both_sides
from checksum.inventory import Known, make_plan
from checksum.plan_building import chosen_topics
from checksum.sync_topic import read_sync_topic
from fleet.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checksum.connections import BothSides, Connects
    from checksum.plan_building import PlanRules
    from checksum.plan_shape import Plan
    from fleet.flow import Flow
    from runtime.clock import Clock


async def plan_flow(
    flow: Flow,
    connects: Connects,
    *,
    patterns: Sequence[str] | None,
    rules: PlanRules,
    equal_offsets: bool,
    clock: Clock,
) -> Plan:
    """Return the plan of a flow; `patterns` None: of all that is mirrored.

    Raises ConfigurationError for topics that cannot be compared, UnavailableError and RefusedError where a
    cluster does not answer or does not let us.
    """
    async with both_sides(flow, connects) as sides:
        known = Known(lambda _topic, _partition: (), equal_offsets=True)
        if not equal_offsets:
            known = await _syncs(flow, sides, connects, clock)
        return await make_plan(
            flow,
            sides.source,
            sides.target,
            patterns=patterns,
            known=known,
            rules=rules,
            now_ms=int(clock.wall_s() * 1000),
        )


async def patterns_by_flow(
    flows: Sequence[Flow], connects: Connects, patterns: Sequence[str]
) -> dict[str, list[str]]:
    """Return by flow those of the patterns that name topics which it mirrors.

    Raises ConfigurationError for one that names none of any flow.
    """
    found: dict[str, list[str]] = {flow.name: [] for flow in flows}
    wrong: dict[str, list[ConfigurationError]] = {pattern: [] for pattern in patterns}
    for flow in flows:
        async with both_sides(flow, connects) as sides:
            names = await sides.source.admin.list_topics()
        for pattern in patterns:
            try:
                chosen_topics(flow, names, [pattern])
            except ConfigurationError as error:
                wrong[pattern].append(error)
            else:
                found[flow.name].append(pattern)
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


async def _syncs(flow: Flow, sides: BothSides, connects: Connects, clock: Clock) -> Known:
    """Return what the mirror's own topic tells; nothing where it writes none, so that times are looked at."""
    at_source = flow.offset_syncs_location == "source"
    alias, cluster = (flow.source, sides.source) if at_source else (flow.target, sides.target)
    topic = flow.offset_syncs_topic
    there = (await cluster.admin.describe_topics([topic]))[topic] if flow.emit_offset_syncs else None
    if there is None:
        return Known(lambda _topic, _partition: ())
    pairs = await asyncio.to_thread(
        read_sync_topic,
        connects.settings(alias),
        cluster=alias,
        topic=topic,
        clock=clock,
        wanted=lambda name: flow.decide(name).replicated,
    )
    return Known(pairs.of)
