"""Where a result goes besides the terminal and `--json`: an HTML page, and a running service.

A failing outlet hides nothing: the result is printed first. The last line says what failed, and the status is
4 if there was no finding.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet.errors import MirrorwatchError
from fleet.verdicts.words import ended
from mirrorwatch.checksums.results.reporting import NotReported, RunRejectedError, check_service, tell
from mirrorwatch.checksums.session import check_distinct, check_writable, with_failed_output, write_json
from mirrorwatch.web.pages.checksums import write_page

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from mirrorwatch.checksums.session import Outlet, Service, Session

NEVER = "Mirrorwatch will not report it again: fix the cause, then post the file of --json by hand."


@dataclass(frozen=True, slots=True)
class Delivery:
    """How reporting runs to a service went.

    `done` need no further attempt: accepted, or rejected for good. `refused`: one was rejected. `away`: one
    could not be sent, and is retried later.
    """

    done: frozenset[str] = frozenset()
    refused: bool = False
    away: bool = False

    def joined(self, other: Delivery) -> Delivery:
        """Return the combination of two attempts."""
        return Delivery(self.done | other.done, self.refused or other.refused, self.away or other.away)


def outlets(page: Path | None, *, json_file: Path | None = None) -> tuple[Outlet, ...]:
    """Return the requested files besides that of --json; raises ConfigurationError for an unusable one."""
    if page is None:
        return ()
    check_writable(page, "--page")
    check_writable(json_file)
    check_distinct({"--json": json_file, "--page": page})
    return (partial(_write, path=page),)


def service_at(url: str | None, environ: Mapping[str, str]) -> Service | None:
    """Return the service to report to, if any; raises ConfigurationError if it can never work."""
    if url is None:
        return None
    check_service(url, environ)
    return partial(_tell, url=url, environ=environ)


def deliver(
    session: Session,
    json_file: Path | None,
    document: dict[str, Any],
    status: int,
    *,
    done: Collection[str] = (),
) -> tuple[int, Delivery]:
    """Write the files, report all runs except those in `done`, and return the exit status.

    A run that did not finish is not reported.
    """
    status = write_json(session, json_file, document, status)
    runs = [run for run in document["runs"] if "run" in run and run["run"] not in done]
    told = _tell_all(session, runs)
    return with_failed_output(status) if told.refused or told.away else status, told


def _tell_all(session: Session, runs: list[dict[str, Any]]) -> Delivery:
    if session.service is None:
        return Delivery()
    done, refused, away = set(), False, False
    for run in runs:
        failed = session.service(run)
        if failed is not None:
            never = f" {NEVER}" if failed.permanent else ""
            said = f"{run['flow']}: {ended(failed.why)}{never} The result is printed above."
            session.sheet.say(said, indent=0)
        if failed is None or failed.permanent:
            done.add(run["run"])
        refused |= failed is not None and failed.permanent
        away |= failed is not None and not failed.permanent
    return Delivery(frozenset(done), refused, away)


def _write(session: Session, document: dict[str, Any], *, path: Path) -> int:
    return write_page(session, path, document)


def _tell(run: Mapping[str, Any], *, url: str, environ: Mapping[str, str]) -> NotReported | None:
    try:
        asyncio.run(tell(url, run, environ))
    except MirrorwatchError as error:
        return NotReported(str(error), isinstance(error, RunRejectedError))
    return None
