"""Keys that a user types: one key on a terminal, one line where standard input is a pipe."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Keys:
    """Standard input, read without waiting for a whole line where it is a terminal."""

    def __init__(self) -> None:
        self._open = True
        self.terminal = sys.stdin.isatty()
        self._pending = ""

    def pressed(self, *, wait_s: float) -> str | None:
        """Return a key, or a line without its end, or None when nothing was typed within `wait_s`."""
        if "\n" in self._pending:
            return self._line()
        readable: list[int] = []
        if self._open:
            readable, _, _ = select.select([sys.stdin.fileno()], [], [], wait_s)
        else:
            select.select([], [], [], wait_s)
        if not readable:
            return None
        typed = os.read(sys.stdin.fileno(), 1 if self.terminal else 4096).decode("utf-8", "replace")
        if not typed:
            self._open = False  # the end of the pipe is no wish to end the demo
            return None
        if self.terminal:
            return typed
        self._pending += typed
        return self._line() if "\n" in self._pending else None

    def _line(self) -> str:
        line, _, self._pending = self._pending.partition("\n")
        return line.strip()


@contextmanager
def key_by_key() -> Iterator[None]:
    """Have the terminal, if there is one, hand over each key at once; as it was before at the end."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin.fileno())
    tty.setcbreak(sys.stdin.fileno())
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
