"""A second process beside the service: started, queried, and restarted when it dies.

It is a separate program, not a fork, so that it imports only what it needs and no client is shared. It gets
its orders on standard input, which stays open. When that ends, its parent is gone and it ends too, even after
kill -9.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleet.errors import UnavailableError
from runtime.files.scratch import ScratchFolder
from runtime.process import channel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

    from runtime.process.clock import WaitingClock
    from runtime.process.supervision import State

# For glibc's malloc, which no other knows: large blocks go back to the system as soon as they are free, and
# threads share what is left. It saves a fifth of the memory of a process that works with arrays.
SPARING = {"MALLOC_MMAP_THRESHOLD_": str(1 << 18), "MALLOC_ARENA_MAX": "1"}
ANSWER_S = 10.0
END_S = 10.0  # how long it has for an orderly end
SOCKET = "socket"
# What a terminal or a supervisor sends to every process, and is for the service to heed. The process begins
# with these blocked, and settles what becomes of them before it unblocks them: its interpreter alone would
# end by them, and by Ctrl-C with a traceback.
_FOR_THE_SERVICE = (signal.SIGHUP, signal.SIGINT)


@contextmanager
def _kept_off() -> Iterator[None]:
    """Have what is started within begin with those signals blocked; ours come as soon as it was started.

    Starts of several overlap while they wait, so each unblocks them, and none restores what it found.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _FOR_THE_SERVICE)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _FOR_THE_SERVICE)


class WorkerEndedError(UnavailableError):
    """The process ended unexpectedly."""


class Worker:
    """Keeps `python -m MODULE` running with its orders; `what` is its name in sentences.

    `orders` may be others from its next start on.
    """

    def __init__(self, module: str, *, what: str, orders: Mapping[str, Any], clock: WaitingClock) -> None:
        self._module = module
        self._what = what
        self.orders = dict(orders)
        self._clock = clock
        self._folder: ScratchFolder | None = None  # of its socket, from its first start on
        self._process: asyncio.subprocess.Process | None = None
        self.state: State | None = None
        self.started_at: float | None = None  # epoch s
        self.starts = 0

    @property
    def pid(self) -> int | None:
        """Return its process id while it runs."""
        return None if self._process is None else self._process.pid

    async def run(self, stopping: asyncio.Event) -> None:
        """Start it and wait until it is told to stop.

        Raises UnavailableError where it cannot be started, and WorkerEndedError where it ends by itself.
        """
        if stopping.is_set():
            return
        try:
            self._make_room()
            with _kept_off():
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-P",  # or whatever lies in the current folder under a name of ours were run
                    "-m",
                    self._module,
                    stdin=asyncio.subprocess.PIPE,
                    env=os.environ | SPARING,
                )
        except OSError as error:  # no more processes, files or room are to be had, for the moment perhaps
            why = error.strerror or str(error)
            raise UnavailableError(f"{self._what} cannot be started on this host: {why}") from error
        assert process.stdin is not None
        self._process, self.started_at = process, self._clock.wall_s()
        self.starts += 1
        stop = asyncio.create_task(stopping.wait())
        end = asyncio.create_task(process.wait())
        try:
            with suppress(ConnectionError):
                process.stdin.write(json.dumps({**self.orders, "socket": str(self._path)}).encode() + b"\n")
                await process.stdin.drain()
            await asyncio.wait((stop, end), return_when=asyncio.FIRST_COMPLETED)
            if not stop.done():
                raise WorkerEndedError(f"{self._what} ended unexpectedly with status {process.returncode}")
        finally:
            stop.cancel()
            process.stdin.close()
            await self._end(process, end)
            self._process = None

    async def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return head and bytes of its answer; raises UnavailableError with a sentence instead."""
        try:
            return await channel.ask(self._path, {"question": question, **details}, timeout_s=ANSWER_S)
        except UnavailableError as error:
            raise self._silent(error) from error

    async def stream(self, question: str, **details: object) -> tuple[dict[str, Any], AsyncGenerator[bytes]]:
        """Return the head of its answer, and the rest in pieces as they come."""
        try:
            return await channel.stream(self._path, {"question": question, **details}, timeout_s=ANSWER_S)
        except UnavailableError as error:
            raise self._silent(error) from error

    def close(self) -> None:
        """Take away the folder of its socket."""
        if self._folder is not None:
            self._folder.cleanup()

    def _make_room(self) -> None:
        """See to it that there is a folder for the socket, and no socket in it."""
        if self._folder is None or not Path(self._folder.name).is_dir():
            self.close()  # it was taken away by who tidies up what is old among temporary files
            self._folder = ScratchFolder("mirrorwatch-worker-")
        self._path.unlink(missing_ok=True)

    @property
    def _path(self) -> Path:
        """Return its socket; raises UnavailableError before its first start."""
        if self._folder is None:
            raise UnavailableError("it has not started yet")
        return Path(self._folder.name) / SOCKET

    def _silent(self, error: UnavailableError) -> UnavailableError:
        if self._process is None and self.state is not None and self.state.sentence:
            return UnavailableError(self.state.sentence)
        return UnavailableError(f"{self._what} does not answer: {error}")

    async def _end(self, process: asyncio.subprocess.Process, end: asyncio.Task[int]) -> None:
        done, _ = await asyncio.wait((end,), timeout=END_S)
        if not done:
            with suppress(ProcessLookupError):
                process.kill()
            await end
