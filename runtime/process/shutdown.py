"""Signals: the first SIGTERM or SIGINT asks the service to stop, the second ends it; SIGHUP reloads."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType

FORCED_EXIT_STATUS = 130
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_MOST_SIGNALS = 4096  # of which a byte each is read at once


def leave_at_once(status: int) -> None:
    """End the process without waiting for threads, exit hooks or open connections."""
    for stream in (sys.stdout, sys.stderr):
        # A full or closed pipe must not keep a process that was told twice to go.
        with suppress(OSError, ValueError, RuntimeError):
            stream.flush()
    os._exit(status)


class Shutdown:
    """Turn signals into an event; to be used as `async with Shutdown() as shutdown` in the main thread.

    `stopping` is set by the first signal, and `received` then tells which one it was. A second signal,
    of either kind, calls `force` with 130. SIGHUP sets `reload`, which whoever takes it up clears; after the
    first of the others it does nothing. The handlers that were there before are restored at the end.

    Plain signal handlers are used instead of the event loop's: they also run while a callback keeps the
    loop busy, so that a second signal ends even a service whose loop hangs in Python code. A loop that sleeps
    is woken by a socket: a signal that comes a moment before it falls asleep, or to another thread, wakes
    nothing else, and the handler would run when the loop next has something to do.
    """

    def __init__(
        self,
        *,
        force: Callable[[int], None] = leave_at_once,
    ) -> None:
        self.stopping = asyncio.Event()
        self.reload = asyncio.Event()
        self.received: signal.Signals | None = None
        self._force = force
        self._loop: asyncio.AbstractEventLoop | None = None
        self._previous: dict[signal.Signals, signal.Handlers | int | Callable[..., object] | None] = {}
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._former_fd = -1

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._sockets = woken, wakes = socket.socketpair()
        for one in self._sockets:
            one.setblocking(False)
        self._loop.add_reader(woken, woken.recv, _MOST_SIGNALS)
        self._former_fd = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        handlers = {**dict.fromkeys(_SIGNALS, self._handle), signal.SIGHUP: self._hang_up}
        for number, handler in handlers.items():
            self._previous[number] = signal.getsignal(number)
            signal.signal(number, handler)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            # None stands for a handler that was not installed from Python; only the default can follow it.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._previous.clear()
        assert self._loop is not None
        assert self._sockets is not None
        signal.set_wakeup_fd(self._former_fd)
        self._loop.remove_reader(self._sockets[0])
        for one in self._sockets:
            one.close()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None:
            self._force(FORCED_EXIT_STATUS)
            return
        self.received = signal.Signals(number)
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.stopping.set)

    def _hang_up(self, _number: int, _frame: FrameType | None) -> None:
        if self.received is None:
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self.reload.set)
