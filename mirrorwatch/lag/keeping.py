"""What the lag monitor's process knows, kept in the store about once a minute and handed to the next one.

Its commits come back from the topics; where logs ended when, ids of topics and since when something is so do
not. It goes over in a file that only we may read, and that the process takes away as it starts.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError
from lagmon.snapshots import store as snapshot_store
from lagmon.snapshots.file import MAX_BYTES, pack

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from canary.report import Reporter
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

    Ask = Callable[..., Awaitable[tuple[dict[str, Any], bytes]]]

KEEP_S = 60.0
LAST_S = 5.0  # for the last one, when the service ends
WHERE = "store: lag monitor"


class LagKeeping:
    """Keeps what the process knows under this replica's name."""

    def __init__(
        self,
        store: Store,
        *,
        replica: str,
        clock: WaitingClock,
        reporter: Reporter,
        every_s: float = KEEP_S,
    ) -> None:
        self._store = store
        self._replica = replica
        self._clock = clock
        self._reporter = reporter
        self._every_s = every_s
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def path(self) -> Path:
        """Return where the process finds what an earlier one knew, in a folder that only we may enter."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="mirrorwatch-lag-")
        return Path(self._folder.name) / "snapshot"

    async def hand_over(self) -> str:
        """Lay down what the store holds, for a process that is about to start.

        Return where, "" where that cannot be.
        """
        try:
            parts = await self._store.read(partial(snapshot_store.kept, replica=self._replica))
            await asyncio.to_thread(self._lay_down, parts)
        except (UnavailableError, MalformedError, OSError) as error:
            self._reporter.problem(WHERE, f"{error}: the lag monitor restarts without its earlier state")
            return ""
        return str(self.path)

    async def keep(self, ask: Ask, stopping: asyncio.Event) -> None:
        """Keep what the process knows again and again, until told to stop, and once more then."""
        while not stopping.is_set():
            await self._clock.wait(stopping, timeout_s=self._every_s)
            if not stopping.is_set():
                await self.take(ask)
        try:
            async with asyncio.timeout(LAST_S):
                await self.take(ask)
        except TimeoutError:
            self._reporter.event("the lag monitor did not return its state in time at shutdown")

    async def take(self, ask: Ask) -> None:
        """Ask the process for what it knows, and write that; that it is silent is told elsewhere."""
        try:
            parts = await _asked(ask)
        except (UnavailableError, MalformedError):
            return
        size = sum(map(len, parts.values()))
        if size > MAX_BYTES:
            self._reporter.problem(
                WHERE, f"the state of the lag monitor is too large to store ({size} bytes)"
            )
            return
        write = partial(snapshot_store.keep, replica=self._replica, parts=parts, now_at=self._clock.wall_s())
        try:
            await self._store.write(write)
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
        else:
            self._reporter.settled(WHERE)

    def close(self) -> None:
        """Take away the folder."""
        if self._folder is not None:
            self._folder.cleanup()

    def _lay_down(self, parts: dict[str, bytes]) -> None:
        if self._folder is not None and not Path(self._folder.name).is_dir():
            self.close()  # it was taken away by who tidies up what is old among temporary files
            self._folder = None
        self.path.unlink(missing_ok=True)
        if not parts:
            return
        number = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as file:
            file.write(pack(parts))


async def _asked(ask: Ask) -> dict[str, bytes]:
    """Return every part that there is, by name."""
    head, _ = await ask("snapshot")
    parts = {}
    for part in head["parts"]:
        _, payload = await ask("snapshot", part=part)
        if payload:
            parts[part] = payload
    return parts
