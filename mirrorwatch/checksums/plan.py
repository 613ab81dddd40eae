"""`mirrorwatch checksum plan`: what a run would compare, its cost, and what it leaves out and why.

Each named flow gets a plan. If one flow's clusters do not answer, the others are planned.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checksum.digest.cell_rows import Side
from checksum.plan.building import limit_excess
from checksum.plan.document import plan_id
from checksum.plan.file import write_plan
from checksum.plan.flow_plan import patterns_by_flow, plan_flow
from checksum.plan.plan_text import plan_lines
from checksum.plan.validity import basis, outdated
from checksum.report.result_document import MOST_TOPICS, VERSION, plan_document
from checksum.run import changed_topic
from fleet.errors import ConfigurationError, MirrorwatchError
from mirrorwatch.checksums.session import (
    BAD_CONFIGURATION,
    UNAVAILABLE,
    check_distinct,
    check_writable,
    option_error,
    worst,
    write_json,
)
from mirrorwatch.checksums.state import state_for
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from checksum.plan.building import NamedIn
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow
    from mirrorwatch.checksums.folder import KeptPlan
    from mirrorwatch.checksums.session import Chosen, Session
    from mirrorwatch.checksums.state import Run


@dataclass(frozen=True, slots=True)
class Planned:
    """A flow with its plan, or with the error.

    `run` is the started run, `asked` the question that the plan answers. `resumed`: the plan is of an
    interrupted run.
    """

    flow: Flow
    plan: Plan | None
    failure: MirrorwatchError | None = None
    run: Run | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    resumed: bool = False
    nothing_new: tuple[str, ...] = ()  # topics

    @property
    def whole(self) -> bool:
        """Return whether the plan has every topic that the flow replicates now."""
        return not self.resumed and "topics" in self.asked and self.asked["topics"] is None


def make_plans(session: Session, chosen: Chosen, *, out: Path | None, json_file: Path | None) -> int:
    """Plan each flow, print the plans, and return the exit status."""
    check_writable(json_file)
    check_writable(out, "--out")
    check_distinct({"--out": out, "--json": json_file})
    if out is not None and len(chosen.flows) > 1:
        raise option_error("--out", "cannot hold the plans of several flows; name one flow with --flow")
    statuses, documents = [], []
    with state_for(session, only_if_made=True) as state:
        if state.why_none:
            session.sheet.say(f"{state.why_none}: what earlier runs verified is unknown.", indent=0)
        plans = run_to_end(plans_of(session, chosen, begin=state.read_only))
    for planned in plans:
        plan = planned.plan
        if plan is None:
            documents.append(print_failure(session, planned.flow, planned.failure))
            statuses.append(documents[-1]["status"])
            continue
        print_plan(session, plan, nothing_new=planned.nothing_new)
        if out is not None:
            session.check_max_bytes(plan)
        documents.append(plan_document(plan) | {"nothing_new": list(planned.nothing_new[:MOST_TOPICS])})
        refusal = limit_excess(plan, max_bytes=session.settings.max_bytes)
        if refusal is not None:
            session.sheet.say(f"`checksum run` and `checksum digest` will refuse this: {refusal}")
        if out is not None:
            session.sheet.say(f"Wrote plan {write_plan(out, plan)} to {out}.", indent=0)
    status = worst(statuses)
    return write_json(session, json_file, {"version": VERSION, "status": status, "plans": documents}, status)


async def plans_of(
    session: Session, chosen: Chosen, *, begin: Callable[[Flow], Run] | None = None
) -> list[Planned]:
    """Return the plan of each flow; `begin` starts its run, which may have the plan of an interrupted one.

    Raises ConfigurationError for topics that no flow replicates. With a single flow, raises its errors.
    """
    patterns = await _patterns(session, chosen)
    found = []
    for flow in chosen.flows:
        wanted = patterns[flow.name]
        if isinstance(wanted, MirrorwatchError):
            found.append(Planned(flow, None, wanted))
            continue
        if wanted is not None and not wanted and len(chosen.flows) > 1:
            continue  # the named topics belong to other flows
        try:
            found.append(await _begun(session, flow, wanted, chosen.named_in, begin))
        except MirrorwatchError as error:
            if len(chosen.flows) == 1:
                raise
            found.append(Planned(flow, None, error))
    return found


def print_plan(session: Session, plan: Plan, *, nothing_new: Sequence[str] = ()) -> None:
    """Print what a plan reads; `nothing_new` are requested topics without new records."""
    first, *lines = plan_lines(
        plan,
        plan_id=plan_id(plan),
        rules=session.rules,
        max_rate=session.settings.max_rate,
        nothing_new=nothing_new,
    )
    session.sheet.heading(first)
    for line in lines:
        session.sheet.say(line.strip(), indent=len(line) - len(line.lstrip()) + 2, hang=6)


def print_failure(session: Session, flow: Flow, failure: MirrorwatchError | None) -> dict[str, Any]:
    """Print why a flow was not compared, and return its document."""
    session.sheet.heading(f"{flow.name}: nothing compared")
    session.sheet.say(str(failure))
    status = BAD_CONFIGURATION if isinstance(failure, ConfigurationError) else UNAVAILABLE
    return {"flow": flow.name, "status": status, "failure": session.sheet.clean(str(failure))}


async def _begun(
    session: Session,
    flow: Flow,
    patterns: Sequence[str] | None,
    named_in: NamedIn,
    begin: Callable[[Flow], Run] | None,
) -> Planned:
    if begin is None:
        return await _planned(session, flow, patterns, named_in, None)
    run = begin(flow)
    try:
        return await _planned(session, flow, patterns, named_in, run)
    except BaseException:
        run.give_up()
        raise


async def _planned(
    session: Session, flow: Flow, patterns: Sequence[str] | None, named_in: NamedIn, run: Run | None
) -> Planned:
    equal_offsets = session.equal_offsets(flow)
    asked = {
        "flow": flow.name,
        "topics": None if patterns is None else sorted(patterns),
        "equal_offsets": equal_offsets,
    }
    if run is not None:
        kept = await _kept(session, flow, asked, run)
        if kept is not None:
            return Planned(flow, kept.plan, run=run, asked=asked, resumed=True, nothing_new=kept.nothing_new)
    made = await plan_flow(
        flow,
        session.connects,
        patterns=patterns,
        rules=session.rules,
        equal_offsets=equal_offsets,
        clock=session.clock,
        before=run.before if run is not None else None,
        named_in=named_in,
        wait_policy=session.wait_policy(flow),
    )
    return Planned(flow, made.plan, run=run, asked=asked, nothing_new=made.nothing_new)


async def _kept(session: Session, flow: Flow, asked: Mapping[str, Any], run: Run) -> KeptPlan | None:
    """Return the plan of an interrupted run for the same question, if it is still valid.

    Deletes those that are not, with their digests.
    """
    found: KeptPlan | None = None
    if run.plans is None:
        return None
    for kept in run.plans.kept(flow.name, asked, now_ms=int(session.clock.wall_s() * 1000)):
        plan, rules = kept.plan, session.rules
        holds = not outdated(plan, flow, rules) and kept.basis == basis(plan, run.before.verified, rules)
        if found is None and holds and not any([await _changed(session, plan, side) for side in Side]):
            found = kept
        else:
            run.plans.forget(plan)
    return found


async def _changed(session: Session, plan: Plan, side: Side) -> str | None:
    async with AsyncExitStack() as stack:
        alias = plan.source if side is Side.SOURCE else plan.target
        return await changed_topic(plan, side, await session.connects.admin(alias, stack))


async def _patterns(session: Session, chosen: Chosen) -> Mapping[str, list[str] | MirrorwatchError | None]:
    if chosen.patterns is None:
        return {flow.name: None for flow in chosen.flows}
    if len(chosen.flows) == 1 or not chosen.patterns:
        return {flow.name: list(chosen.patterns) for flow in chosen.flows}
    return dict(
        await patterns_by_flow(chosen.flows, session.connects, chosen.patterns, named_in=chosen.named_in)
    )
