"""Stores the state of the lag monitor's process about once a minute, and passes it to the next process.

Commits can be read again from their topics; past log end offsets, topic ids and start times of states cannot.
The state is passed in a file that only this user may read; the process deletes it at its start.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError, UnavailableError
from lagmon.snapshots import store as snapshot_store
from lagmon.snapshots.file import MAX_BYTES, pack
from runtime.files.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from canary.report import Reporter
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

    Ask = Callable[..., Awaitable[tuple[dict[str, Any], bytes]]]

KEEP_S = 60.0
LAST_S = 5.0  # for the last time, at shutdown
WHERE = "store: lag monitor"


class LagKeeping:
    """Stores the state of the process by a name: of this replica, or of its shard once it has one."""

    def __init__(
        self,
        store: Store,
        *,
        replica: Callable[[], str],
        clock: WaitingClock,
        reporter: Reporter,
        every_s: float = KEEP_S,
    ) -> None:
        self._store = store
        self._replica = replica
        self._clock = clock
        self._reporter = reporter
        self._every_s = every_s
        self._folder: ScratchFolder | None = None

    @property
    def path(self) -> Path:
        """Return the path of the state file, in a folder that only this user may enter."""
        if self._folder is None:
            self._folder = ScratchFolder("mirrorwatch-lag-")
        return Path(self._folder.name) / "snapshot"

    async def hand_over(self) -> str:
        """Write the stored state for a new process.

        Return its path, "" if that fails.
        """
        try:
            parts = await self._store.read(partial(snapshot_store.kept, replica=self._replica()))
            await asyncio.to_thread(self._lay_down, parts)
        except (UnavailableError, MalformedError, OSError) as error:
            self._reporter.problem(WHERE, f"{error}: the lag monitor restarts without its earlier state")
            return ""
        return str(self.path)

    async def keep(self, ask: Ask, stopping: asyncio.Event) -> None:
        """Store the state at intervals until told to stop, and once more then."""
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
        """Request the state of the process and store it; others report that it does not answer."""
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
        write = partial(
            snapshot_store.keep, replica=self._replica(), parts=parts, now_at=self._clock.wall_s()
        )
        try:
            await self._store.write(write)
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
        else:
            self._reporter.settled(WHERE)

    def close(self) -> None:
        """Delete the folder."""
        if self._folder is not None:
            self._folder.cleanup()

    def _lay_down(self, parts: dict[str, bytes]) -> None:
        if self._folder is not None and not Path(self._folder.name).is_dir():
            self.close()  # a cleaner of temporary files deleted it
            self._folder = None
        self.path.unlink(missing_ok=True)
        if not parts:
            return
        number = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as file:
            file.write(pack(parts))


async def _asked(ask: Ask) -> dict[str, bytes]:
    """Return the parts by name."""
    head, _ = await ask("snapshot")
    parts = {}
    for part in head["parts"]:
        _, payload = await ask("snapshot", part=part)
        if payload:
            parts[part] = payload
    return parts
