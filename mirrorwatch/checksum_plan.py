"""`mirrorwatch checksum plan`: what would be compared, at what cost, and what is left out and why.

A plan is made for each flow that is named; where one flow's clusters do not answer, the others are planned.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checksum.plan_building import bytes_to_read, refuse_beyond
from checksum.plan_document import plan_id
from checksum.plan_file import write_plan
from checksum.plan_words import plan_lines
from checksum.planning import patterns_by_flow, plan_flow
from checksum.result_document import VERSION, plan_document
from fleet.errors import ConfigurationError, MirrorwatchError
from mirrorwatch.checksum_desk import UNAVAILABLE, check_writable, worst, write_json, wrong

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from checksum.plan_shape import Plan
    from fleet.flow import Flow
    from mirrorwatch.checksum_desk import Chosen, Desk


@dataclass(frozen=True, slots=True)
class Planned:
    """A flow with its plan, or with the reason for which there is none."""

    flow: Flow
    plan: Plan | None
    failure: MirrorwatchError | None = None


def make_plans(desk: Desk, chosen: Chosen, *, out: Path | None, json_file: Path | None) -> int:
    """Plan each flow, print the plans, and return the exit status."""
    check_writable(json_file)
    if out is not None and len(chosen.flows) > 1:
        raise wrong("--out", "takes one plan, and there are several flows: name one with --flow")
    statuses, documents = [], []
    for planned in asyncio.run(plans_of(desk, chosen)):
        plan = planned.plan
        if plan is None:
            statuses.append(UNAVAILABLE)
            documents.append(tell_failure(desk, planned.flow, planned.failure))
            continue
        print_plan(desk, plan)
        documents.append(plan_document(plan))
        most = desk.settings.max_bytes
        if max(bytes_to_read(plan)) > most:
            desk.sheet.say(f"A run refuses this: {_refusal(plan, most)}")
        if out is not None:
            desk.sheet.say(f"The plan is in {out}, with the id {write_plan(out, plan)}.", indent=0)
    status = worst(statuses)
    return write_json(desk, json_file, {"version": VERSION, "status": status, "plans": documents}, status)


async def plans_of(desk: Desk, chosen: Chosen) -> list[Planned]:
    """Return the plan of each flow.

    Raises ConfigurationError for topics that cannot be compared; with one flow alone, whatever its clusters
    have to say.
    """
    patterns = await _patterns(desk, chosen)
    found = []
    for flow in chosen.flows:
        wanted = patterns[flow.name]
        if wanted is not None and not wanted and len(chosen.flows) > 1:
            continue  # what is named is of other flows
        try:
            plan = await plan_flow(
                flow,
                desk.connects,
                patterns=wanted,
                rules=desk.rules,
                equal_offsets=desk.equal_offsets(flow),
                clock=desk.clock,
            )
        except ConfigurationError:
            raise
        except MirrorwatchError as error:
            if len(chosen.flows) == 1:
                raise
            found.append(Planned(flow, None, error))
        else:
            found.append(Planned(flow, plan))
    return found


def print_plan(desk: Desk, plan: Plan) -> None:
    """Write what a plan reads."""
    first, *lines = plan_lines(plan, plan_id=plan_id(plan), max_rate=desk.settings.max_rate)
    desk.sheet.heading(first)
    for line in lines:
        desk.sheet.say(line.strip(), indent=len(line) - len(line.lstrip()) + 2, hang=6)


def tell_failure(desk: Desk, flow: Flow, failure: MirrorwatchError | None) -> dict[str, object]:
    """Write why nothing can be said of a flow, and return that as a document."""
    desk.sheet.heading(f"{flow.name}: nothing was compared")
    desk.sheet.say(str(failure))
    return {"flow": flow.name, "status": UNAVAILABLE, "failure": desk.sheet.clean(str(failure))}


async def _patterns(desk: Desk, chosen: Chosen) -> Mapping[str, list[str] | None]:
    if chosen.patterns is None:
        return {flow.name: None for flow in chosen.flows}
    if len(chosen.flows) == 1 or not chosen.patterns:
        return {flow.name: list(chosen.patterns) for flow in chosen.flows}
    return dict(await patterns_by_flow(chosen.flows, desk.connects, chosen.patterns))


def _refusal(plan: Plan, most: int) -> str:
    try:
        refuse_beyond(plan, max_bytes=most)
    except ConfigurationError as error:
        return error.problems[0].sentence
    return ""
