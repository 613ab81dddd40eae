"""Where a run's result goes beside the terminal and `--json`: a page, and a running service.

What was found is never lost to an outlet that fails: it stands above, in the store and in the files; the last
line says what failed, and the status is 4 where nothing was found.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from fleet.errors import MirrorwatchError
from mirrorwatch.checksum_desk import FINE, UNAVAILABLE, check_writable
from mirrorwatch.checksum_page import write_page
from mirrorwatch.checksum_telling import check_telling, tell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mirrorwatch.checksum_desk import Desk, Outlet


def outlets(page: Path | None, url: str | None, environ: Mapping[str, str]) -> tuple[Outlet, ...]:
    """Return the outlets that are asked for; ConfigurationError for those that could never be used."""
    found: list[Outlet] = []
    if page is not None:
        check_writable(page, "--page")
        found.append(partial(_write, path=page))
    if url is not None:
        check_telling(url, environ)
        found.append(partial(_tell, url=url, environ=environ))
    return tuple(found)


def _write(desk: Desk, document: dict[str, Any], *, path: Path) -> int:
    return write_page(desk, path, document)


def _tell(desk: Desk, document: dict[str, Any], *, url: str, environ: Mapping[str, str]) -> int:
    """Tell of each run that came to an end; of others there is nothing to tell."""
    status = FINE
    for run in document.get("runs", ()):
        if "run" not in run:
            continue
        try:
            asyncio.run(tell(url, run, environ))
        except MirrorwatchError as error:
            desk.sheet.say(f"{run['flow']}: {error}. What was found stands above.", indent=0)
            status = UNAVAILABLE
    return status
