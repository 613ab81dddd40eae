"""Where a run's result goes beside the terminal and `--json`: a page, and a running service.

What was found is never lost to an outlet that fails: it stands above, in the store and in the files; the last
line says what failed, and the status is 4 where nothing was found.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet.errors import MirrorwatchError
from mirrorwatch.checksum_desk import check_writable, lacking, write_json
from mirrorwatch.checksum_page import write_page
from mirrorwatch.checksum_telling import check_telling, tell
from mirrorwatch.words import closed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mirrorwatch.checksum_desk import Desk, Outlet, Service


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
    desk: Desk, json_file: Path | None, document: dict[str, Any], status: int
) -> tuple[int, frozenset[str]]:
    """Write the files, tell the service; return the exit status and the runs that it has not heard of.

    A run that came to no end has nothing to tell.
    """
    status = write_json(desk, json_file, document, status)
    if desk.service is None:
        return status, frozenset()
    unheard = set()
    for run in document["runs"]:
        why = desk.service(run) if "run" in run else ""
        if why:
            desk.sheet.say(f"{run['flow']}: {closed(why)} What was found stands above.", indent=0)
            unheard.add(run["run"])
    return lacking(status) if unheard else status, frozenset(unheard)


def _write(desk: Desk, document: dict[str, Any], *, path: Path) -> int:
    return write_page(desk, path, document)


def _tell(run: Mapping[str, Any], *, url: str, environ: Mapping[str, str]) -> str:
    try:
        asyncio.run(tell(url, run, environ))
    except MirrorwatchError as error:
        return str(error)
    return ""
