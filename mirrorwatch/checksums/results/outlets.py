"""Where a run's result goes beside the terminal and `--json`: a page, and a running service.

An outlet that fails hides nothing: what was found stands above, on the terminal. The last line says what
failed, and the status is 4 where nothing was found.
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

NEVER = "It is not told again: once that is mended, tell the file of --json by hand."


@dataclass(frozen=True, slots=True)
class Telling:
    """How a service was told of some runs.

    `done` are those that it need not be told of again, as it has heard of them or refuses them for good;
    `refused`: one of them is refused. `away`: one could not be told, and is to be told later.
    """

    done: frozenset[str] = frozenset()
    refused: bool = False
    away: bool = False

    def joined(self, other: Telling) -> Telling:
        """Return how it went for the runs of both."""
        return Telling(self.done | other.done, self.refused or other.refused, self.away or other.away)


def outlets(page: Path | None) -> tuple[Outlet, ...]:
    """Return the files that are asked for; ConfigurationError for one that could never be written."""
    if page is None:
        return ()
    check_writable(page, "--page")
    return (partial(_write, path=page),)


def service_at(url: str | None, environ: Mapping[str, str]) -> Service | None:
    """Return the service that is to be told, if any; ConfigurationError for one that could never be."""
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
    """Write the files, tell the service of all runs but those that are `done`; return the exit status.

    A run that came to no end has nothing to tell.
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
            said = f"{run['flow']}: {ended(unheard.why)}{never} What was found stands above."
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
