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
from mirrorwatch.checksums.desk import check_writable, lacking, write_json
from mirrorwatch.checksums.results.telling import NotTakenError, Unheard, check_telling, tell
from mirrorwatch.web.pages.checksums import write_page

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from mirrorwatch.checksums.desk import Desk, Outlet, Service

NEVER = "Mirrorwatch will not report it again: fix the cause, then post the file of --json by hand."


@dataclass(frozen=True, slots=True)
class Telling:
    """How reporting runs to a service went.

    `done` need no further attempt: accepted, or rejected for good. `refused`: one was rejected. `away`: one
    could not be sent, and is retried later.
    """

    done: frozenset[str] = frozenset()
    refused: bool = False
    away: bool = False

    def joined(self, other: Telling) -> Telling:
        """Return the combination of two attempts."""
        return Telling(self.done | other.done, self.refused or other.refused, self.away or other.away)


def outlets(page: Path | None) -> tuple[Outlet, ...]:
    """Return the requested files; raises ConfigurationError if one can never be written."""
    if page is None:
        return ()
    check_writable(page, "--page")
    return (partial(_write, path=page),)


def service_at(url: str | None, environ: Mapping[str, str]) -> Service | None:
    """Return the service to report to, if any; raises ConfigurationError if it can never work."""
    if url is None:
        return None
    check_telling(url, environ)
    return partial(_tell, url=url, environ=environ)


def hand_over(
    desk: Desk,
    json_file: Path | None,
    document: dict[str, Any],
    status: int,
    *,
    done: Collection[str] = (),
) -> tuple[int, Telling]:
    """Write the files, report all runs except those in `done`, and return the exit status.

    A run that did not finish is not reported.
    """
    status = write_json(desk, json_file, document, status)
    runs = [run for run in document["runs"] if "run" in run and run["run"] not in done]
    told = _tell_all(desk, runs)
    return lacking(status) if told.refused or told.away else status, told


def _tell_all(desk: Desk, runs: list[dict[str, Any]]) -> Telling:
    if desk.service is None:
        return Telling()
    done, refused, away = set(), False, False
    for run in runs:
        unheard = desk.service(run)
        if unheard is not None:
            never = f" {NEVER}" if unheard.for_good else ""
            said = f"{run['flow']}: {ended(unheard.why)}{never} The result is printed above."
            desk.sheet.say(said, indent=0)
        if unheard is None or unheard.for_good:
            done.add(run["run"])
        refused |= unheard is not None and unheard.for_good
        away |= unheard is not None and not unheard.for_good
    return Telling(frozenset(done), refused, away)


def _write(desk: Desk, document: dict[str, Any], *, path: Path) -> int:
    return write_page(desk, path, document)


def _tell(run: Mapping[str, Any], *, url: str, environ: Mapping[str, str]) -> Unheard | None:
    try:
        asyncio.run(tell(url, run, environ))
    except MirrorwatchError as error:
        return Unheard(str(error), isinstance(error, NotTakenError))
    return None
