"""Do one thing with each flow that is chosen, and tell what came of all of them.

Where one of several flows cannot be worked on, or is refused, the others are worked on. What was found is in
the store before it is printed; where the store does not take it, it is printed all the same, and the last
line says so. What a command has written and did not come to tell, the next one tells (`checksum_late`),
before anything that may fail.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from checksum.report.result_document import VERSION
from fleet.errors import ConfigurationError, MirrorwatchError
from fleet.verdicts.words import ended
from mirrorwatch.audits.earlier_runs import post_earlier, report_earlier
from mirrorwatch.checksums.desk import check_writable, lacking, worst
from mirrorwatch.checksums.plan import Planned, plans_of, tell_failure
from mirrorwatch.checksums.results.outlets import Telling, hand_over
from mirrorwatch.checksums.state import state_for
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from mirrorwatch.checksums.desk import Chosen, Desk
    from mirrorwatch.checksums.state import State

    class Conclude(Protocol):
        """Writes the last words."""

        def __call__(self, desk: Desk, status: int, *, compared: bool) -> None:
            """Write them; `compared` tells whether anything was."""
            ...

    # What was found, and why the store did not take it, None where it did.
    Work = Callable[[Planned, State], tuple[dict[str, Any], Exception | None]]


def every_flow(
    desk: Desk,
    chosen: Chosen,
    work: Work,
    *,
    conclude: Conclude,
    json_file: Path | None,
    keep_log: Callable[[], object],
    counts_only: bool = False,
) -> int:
    """Plan each flow and work on it; return the exit status. `conclude` writes the last words.

    `keep_log` keeps what Spark said, where a flow fails and others go on.
    """
    check_writable(json_file)
    with state_for(desk) as state:
        if state.why_none:
            desk.sheet.say(f"{state.why_none}: nothing is kept, and each run compares all anew.", indent=0)
        told = [] if counts_only else report_earlier(desk, state.untold(chosen.flows))
        first = _tell_earlier(desk, chosen, state, told, json_file=json_file)
        planned = _planned(desk, chosen, state, counts_only=counts_only, late=bool(told))
        alone = len(planned) == 1 and not told
        planned = [_within_bounds(desk, one, alone=alone) for one in planned]
        told += [_told(desk, one, partial(work, one, state), keep_log, alone=alone) for one in planned]
        conclude(desk, worst(document["status"] for document in told), compared=any(map(_compared, told)))
        for document in told:
            if "not_kept" in document:
                end = "What was found stands above, and the next run finds it once more."
                desk.sheet.say(f"{document['flow']}: {ended(document['not_kept'])} {end}")
        status, last = _hand_over(desk, told, json_file=json_file, done=first.done)
        state.tell(_runs_of(told))
        state.heard(last.done)
        if first.away and not last.away:  # it is there now
            last = last.joined(post_earlier(desk, state, chosen.flows))
    return lacking(status) if first.refused or last.refused or last.away else status


def _tell_earlier(
    desk: Desk, chosen: Chosen, state: State, told: list[dict[str, Any]], *, json_file: Path | None
) -> Telling:
    """Tell what earlier commands left to tell, at once: this one may end as theirs did."""
    late = Telling()
    if told:
        state.owe(_runs_of(told))
        _, late = _hand_over(desk, told, json_file=json_file)
        state.heard(late.done)
    return late if late.away else late.joined(post_earlier(desk, state, chosen.flows))


def _hand_over(
    desk: Desk, told: list[dict[str, Any]], *, json_file: Path | None, done: Collection[str] = ()
) -> tuple[int, Telling]:
    status = worst(document["status"] for document in told)
    document = {"version": VERSION, "status": status, "runs": list(told)}
    return hand_over(desk, json_file, document, status, done=done)


def _runs_of(told: list[dict[str, Any]]) -> list[str]:
    return [document["run"] for document in told if "run" in document]


def _planned(desk: Desk, chosen: Chosen, state: State, *, counts_only: bool, late: bool) -> list[Planned]:
    """Plan each flow; where an earlier run is told as well, nothing that keeps us from planning is raised.

    That run is told with it, and no more: raised, it would be told again by each command that fails.
    """
    begin = partial(state.begin, counts_only=counts_only)
    try:
        return run_to_end(plans_of(desk, chosen, begin=begin))
    except MirrorwatchError as error:
        if not late:
            raise
        return [Planned(flow, None, error) for flow in chosen.flows]


def _compared(document: Mapping[str, Any]) -> bool:
    """Tell whether a flow's document says that anything was compared, or counted."""
    return bool(document.get("partitions", {}).get("count"))


def _within_bounds(desk: Desk, one: Planned, *, alone: bool) -> Planned:
    """Return a flow as it was planned, or with its refusal where its plan reads more than `max_bytes`.

    Raises that, ConfigurationError, where the flow is alone.
    """
    if one.plan is None:
        return one
    try:
        desk.refuse_beyond(one.plan)
    except ConfigurationError as error:
        if alone:
            raise
        if one.run is not None:
            one.run.give_up()
        return Planned(one.flow, None, error)
    return one


def _told(
    desk: Desk,
    one: Planned,
    work: Callable[[], tuple[dict[str, Any], Exception | None]],
    keep_log: Callable[[], object],
    *,
    alone: bool,
) -> dict[str, Any]:
    """Work on one flow; return what was found, with the exit status that follows.

    Where a flow that is not alone cannot be worked on, that is what is told of it.
    """
    try:
        document, failure = work()
    except MirrorwatchError as error:
        if alone:
            raise
        if one.run is not None:
            one.run.give_up()
        document = tell_failure(desk, one.flow, error)
        if not isinstance(error, ConfigurationError):
            keep_log()
        return document
    if failure is None:
        return document
    return document | {"status": lacking(document["status"]), "not_kept": desk.sheet.clean(str(failure))}
