"""Threads next to a command: one for the store, one for the heartbeat."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")
END_S = 60.0


class Heartbeat:
    """Calls `beat` at a fixed interval on a thread, from `start` to `stop`."""

    def __init__(self, beat: Callable[[], object], *, every_s: float) -> None:
        self._beat = beat
        self._every_s = every_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="heart", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; idempotent."""
        self._stopping.set()
        self._thread.join(END_S)

    def _go_on(self) -> None:
        while not self._stopping.wait(self._every_s):
            self._beat()


class StoreThread:
    """An event loop on its own thread, from `start` to `end`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="store", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there, and wait for it. Thread-safe."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def end(self) -> None:
        """Stop the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_S)
        if not self._thread.is_alive():
            self._loop.close()
