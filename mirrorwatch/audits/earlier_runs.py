"""Earlier runs whose results were not reported or posted: the next run does both.

A run stores its result before it reports it, and does not read verified records again. If its command ends in
between, the next command prints the finding, writes it to its outputs and takes over the exit status. A
command with --post first posts the results that the service has not received yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checksum.compare.finding_text import time_text
from fleet.verdicts.words import ended
from mirrorwatch.check.sheet import FIRST
from mirrorwatch.checksums.results.outlets import NEVER, Delivery
from mirrorwatch.checksums.results.reporting import NotReported
from mirrorwatch.checksums.session import FINDING, INCOMPLETE, OK
from mirrorwatch.web.texts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.history.history import RunRow
    from fleet.verdicts.flow import Flow
    from mirrorwatch.checksums.session import Session
    from mirrorwatch.checksums.state import State

_LISTS = ("findings", "not_read_again", "unsettled")


def report_earlier(session: Session, unreported: Sequence[RunRow]) -> list[dict[str, Any]]:
    """Write the results that were not reported, and return their documents."""
    return [_reported(session, one) for one in unreported]


def post_earlier(session: Session, state: State, flows: Iterable[Flow]) -> Delivery:
    """Post earlier results to the service one by one, until it is unavailable.

    A result that the service refuses for good does not stop the others.
    """
    refused = False
    for one in state.unposted(flows) if session.service is not None else ():
        about = f"{one.flow}: the run that ended {time_text(one.ended_ms)}"
        failed = _post_one(session, one)
        if failed is None:
            session.sheet.say(f"{about} is posted to the service now; it was not at its end.", indent=0)
        elif failed.permanent:
            session.sheet.say(f"{about}: {ended(failed.why)} {NEVER}", indent=0)
            refused = True
        else:
            session.sheet.say(f"{about}: {ended(failed.why)} A later run with --post posts it.", indent=0)
            return Delivery(refused=refused, away=True)
        state.mark_posted([one.run])
    return Delivery(refused=refused)


def repeat_finding(session: Session, one: RunRow) -> None:
    """Write that an earlier run found something, if the current run has nothing to find."""
    at, found = time_text(one.ended_ms), found_text(one)
    session.sheet.say(
        f"The run that ended {at} found {found}; each is reported once. No later run cleared it."
    )


def found_text(one: RunRow) -> str:
    """Write in few words what a run found: `1 difference`."""
    if one.findings:
        return counted(one.findings, "difference")
    if one.status == FINDING:
        return "unresolved differences"
    if one.status == OK and not one.source_records and not one.target_records:
        return "nothing new"
    missing = ", but not everything could be verified" if one.status == INCOMPLETE else ""
    return f"no difference in {counted(one.source_records, 'record')}{missing}"


def _post_one(session: Session, one: RunRow) -> NotReported | None:
    if one.document is None or session.service is None:
        return NotReported(
            f"its result ({one.run}) was not posted, and cannot be read any more", permanent=True
        )
    return session.service(one.document | {"status": one.status})


def _reported(session: Session, one: RunRow) -> dict[str, Any]:
    document = one.document
    ended = time_text(one.ended_ms)
    if document is None:
        what = f"the result of the run that ended {ended} ({one.run})"
        failure = f"{what} was not reported, and cannot be read any more"
        session.sheet.heading(f"{one.flow}: {failure}")
        return {"flow": one.flow, "status": one.status, "failure": failure}
    session.sheet.heading(f"{one.flow}: the run that ended {ended} was not reported: {found_text(one)}")
    shown = [sentence for name in _LISTS for sentence in _sentences(document.get(name))]
    for sentence in shown[:FIRST]:
        session.sheet.say(sentence, hang=4)
    count = sum(_count(document.get(name)) for name in _LISTS)
    if count > FIRST:
        session.sheet.say(f"and {count - FIRST:,} more; --json FILE has more of them")
    return document | {"status": one.status}


def _sentences(part: object) -> list[str]:
    shown = part.get("shown") if isinstance(part, dict) else None
    found = [one for one in shown if isinstance(one, dict)] if isinstance(shown, list) else []
    return [
        f"{one['verdict']}: {one.get('sentence')}" if "verdict" in one else f"{one.get('sentence')}"
        for one in found
    ]


def _count(part: object) -> int:
    count = part.get("count") if isinstance(part, dict) else None
    return count if isinstance(count, int) else 0
