"""Run one checksum command for each chosen flow, and combine the results.

If one of several flows fails, the others still run. A result is stored before it is printed. If storing
fails, it is printed all the same, and the last line says so. The next command reports what an interrupted one
stored and did not report (`mirrorwatch/audits/late.py`), before anything that may fail.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from checksum.report.result_document import VERSION
from fleet.errors import ConfigurationError, MirrorwatchError
from fleet.verdicts.words import ended
from mirrorwatch.audits.earlier_runs import post_earlier, report_earlier
from mirrorwatch.checksums.plan import Planned, plans_of, print_failure
from mirrorwatch.checksums.results.outlets import Delivery, deliver
from mirrorwatch.checksums.session import check_writable, with_failed_output, worst
from mirrorwatch.checksums.state import state_for
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from mirrorwatch.checksums.session import Chosen, Session
    from mirrorwatch.checksums.state import State

    class Conclude(Protocol):
        """Prints the final lines."""

        def __call__(self, session: Session, status: int, *, compared: bool) -> None:
            """Print them; `compared` is whether anything was compared."""
            ...

    # What was found, and why the store did not take it, None where it did.
    Work = Callable[[Planned, State], tuple[dict[str, Any], Exception | None]]


def every_flow(
    session: Session,
    chosen: Chosen,
    work: Work,
    *,
    conclude: Conclude,
    json_file: Path | None,
    keep_log: Callable[[], object],
    counts_only: bool = False,
) -> int:
    """Plan each flow, work on it, and return the exit status. `conclude` prints the final lines.

    `keep_log` keeps Spark's log if one flow fails and others continue.
    """
    check_writable(json_file)
    with state_for(session) as state:
        if state.why_none:
            session.sheet.say(
                f"{state.why_none}: nothing is stored, so every run compares everything.", indent=0
            )
        told = [] if counts_only else report_earlier(session, state.unreported(chosen.flows))
        first = _report_earlier_runs(session, chosen, state, told, json_file=json_file)
        planned = _planned(session, chosen, state, counts_only=counts_only, late=bool(told))
        alone = len(planned) == 1 and not told
        planned = [_within_bounds(session, one, alone=alone) for one in planned]
        told += [
            _worked_on(session, one, partial(work, one, state), keep_log, alone=alone) for one in planned
        ]
        conclude(session, worst(document["status"] for document in told), compared=any(map(_compared, told)))
        for document in told:
            print_store_error(session, document)
        status, last = _deliver(session, told, json_file=json_file, done=first.done)
        state.mark_reported(_runs_of(told))
        state.mark_posted(last.done)
        if first.away and not last.away:  # it is there now
            last = last.joined(post_earlier(session, state, chosen.flows))
    return with_failed_output(status) if first.refused or last.refused or last.away else status


def _report_earlier_runs(
    session: Session, chosen: Chosen, state: State, told: list[dict[str, Any]], *, json_file: Path | None
) -> Delivery:
    """Report what earlier commands did not report, before this one can be interrupted too."""
    late = Delivery()
    if told:
        state.queue_for_posting(_runs_of(told))
        _, late = _deliver(session, told, json_file=json_file)
        state.mark_posted(late.done)
    return late if late.away else late.joined(post_earlier(session, state, chosen.flows))


def _deliver(
    session: Session, told: list[dict[str, Any]], *, json_file: Path | None, done: Collection[str] = ()
) -> tuple[int, Delivery]:
    status = worst(document["status"] for document in told)
    document = {"version": VERSION, "status": status, "runs": list(told)}
    return deliver(session, json_file, document, status, done=done)


def _runs_of(told: list[dict[str, Any]]) -> list[str]:
    return [document["run"] for document in told if "run" in document]


def _planned(
    session: Session, chosen: Chosen, state: State, *, counts_only: bool, late: bool
) -> list[Planned]:
    """Plan each flow; if an earlier run is reported too, return planning errors instead of raising them.

    Raised, they would hide that run, and every failing command would report it again.
    """
    begin = partial(state.begin, counts_only=counts_only)
    try:
        return run_to_end(plans_of(session, chosen, begin=begin))
    except MirrorwatchError as error:
        if not late:
            raise
        return [Planned(flow, None, error) for flow in chosen.flows]


def _compared(document: Mapping[str, Any]) -> bool:
    """Return whether a flow's document compared or counted anything."""
    return bool(document.get("partitions", {}).get("count"))


def _within_bounds(session: Session, one: Planned, *, alone: bool) -> Planned:
    """Return a planned flow, or its refusal if the plan reads more than `max_bytes`.

    Raises the refusal, a ConfigurationError, if the flow is alone.
    """
    if one.plan is None:
        return one
    try:
        session.check_max_bytes(one.plan)
    except ConfigurationError as error:
        if alone:
            raise
        if one.run is not None:
            one.run.give_up()
        return Planned(one.flow, None, error)
    return one


def _worked_on(
    session: Session,
    one: Planned,
    work: Callable[[], tuple[dict[str, Any], Exception | None]],
    keep_log: Callable[[], object],
    *,
    alone: bool,
) -> dict[str, Any]:
    """Work on one flow; return its document, which includes the exit status.

    If a flow that is not alone fails, the document holds the error.
    """
    try:
        document, failure = work()
    except MirrorwatchError as error:
        if alone:
            raise
        if one.run is not None:
            one.run.give_up()
        document = print_failure(session, one.flow, error)
        if not isinstance(error, ConfigurationError):
            keep_log()
        return document
    return with_store_error(session, document, failure)


def with_store_error(session: Session, document: dict[str, Any], failure: Exception | None) -> dict[str, Any]:
    """Return a run's document, with the error if the store did not take it."""
    if failure is None:
        return document
    return document | {
        "status": with_failed_output(document["status"]),
        "not_kept": session.sheet.clean(str(failure)),
    }


def print_store_error(session: Session, document: Mapping[str, Any]) -> None:
    """Print why the store did not take a run, if so."""
    if "not_kept" in document:
        end = "The result is printed above; the next run will find it again."
        session.sheet.say(f"{document['flow']}: {ended(document['not_kept'])} {end}")
