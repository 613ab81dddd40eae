"""Spark's log of a failed run, stored next to the database, which in a container is on the volume.

Spark's own log is deleted with the command's temporary folder. Only the end is copied, because other flows
continue to write to it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mirrorwatch.checksums.folder import folder_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mirrorwatch.checksums.session import Session

LOG = "spark.log"
MOST_BYTES = 20_000_000
MOST_LOGS = 5  # the newest are kept


class KeptLog:
    """Keeps the log of one command in one place, however often `keep` is called."""

    def __init__(self, session: Session, log: Path) -> None:
        self._session = session
        self._log = log
        self._kept: Path | None = None

    def keep(self) -> None:
        """Copy Spark's log if it is not empty, and print its path; errors here are ignored."""
        try:
            if not self._log.stat().st_size:
                return
        except OSError:
            return
        for place in self._places():
            try:
                _copy_end(self._log, place)
            except OSError:
                with suppress(OSError):
                    place.unlink()
                continue
            if self._kept is None:
                self._session.sheet.say(f"Spark's log is in {place}.", indent=0)
            self._kept = place
            return

    def _places(self) -> Iterator[Path]:
        if self._kept is not None:
            yield self._kept
            return
        at = datetime.fromtimestamp(self._session.clock.wall_s(), UTC).strftime("%Y%m%dT%H%M%SZ")
        with suppress(OSError):
            folder = folder_beside(self._session.config)
            if folder is not None:
                folder.mkdir(exist_ok=True)
                _make_room(folder)
                yield folder / f"spark-{at}-{os.getpid()}.log"
        with suppress(OSError):
            yield Path(tempfile.mkdtemp(prefix="mirrorwatch-spark-")) / LOG


def _make_room(folder: Path) -> None:
    """Delete the oldest logs, so that one more fits."""
    for old in sorted(folder.glob("spark-*.log"))[: -(MOST_LOGS - 1)]:
        old.unlink()


def _copy_end(log: Path, place: Path) -> None:
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with log.open("rb") as said, open(handle, "wb") as kept:  # noqa: PTH123 - a handle, not a path
        said.seek(max(0, log.stat().st_size - MOST_BYTES))
        shutil.copyfileobj(said, kept)
