"""The process that a `Worker` runs: signals, its orders, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any

LEAVE_S = 2.0  # after the signal to stop; a pending request may take ten more
NICER = 5  # than the service, which times the canary
_HEEDED_BY_THE_SERVICE = (signal.SIGHUP, signal.SIGINT)


def leave_signals_to_the_service() -> None:
    """Ignore what the service heeds: it tells us to reload and when to stop.

    Call it before other imports, which take most of a second. Up to here the service has kept both off.
    """
    for one in _HEEDED_BY_THE_SERVICE:
        signal.signal(one, signal.SIG_IGN)  # handed down to whom we start
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEEDED_BY_THE_SERVICE)


def read_line() -> dict[str, Any] | None:
    """Return the orders, one line of JSON on standard input; None if the service is gone already."""
    line = bytearray()
    while not line.endswith(b"\n"):  # exactly one: the rest belongs to the event loop
        piece = os.read(0, 65536)
        if not piece:
            return None
        line += piece
    found: dict[str, Any] = json.loads(line)
    return found


def step_back() -> None:
    """Lower our priority below the service's, if that is permitted."""
    with suppress(OSError):  # a sandbox such as that of deploy/systemd denies it
        os.nice(NICER)


async def end_with_input(stopping: asyncio.Event) -> None:
    """Set `stopping` when standard input ends, as the service is gone then."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while not stopping.is_set():
        read = asyncio.create_task(reader.read(1024))
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait((read, stop), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not read.done():
            read.cancel()
            return
        if not read.result():
            stopping.set()


def leave_soon() -> None:
    """End the process even if threads wait for a cluster: they cannot be cancelled."""
    asyncio.get_running_loop().call_later(LEAVE_S, os._exit, 0)
