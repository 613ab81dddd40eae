"""Mistakes of our own that take nothing else along: told once a place, and again at a decent interval."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.process.complaints import ComplaintBook

if TYPE_CHECKING:
    from runtime.process.clock import Clock
    from runtime.process.logs import Logger


def fault_text(error: BaseException) -> str:
    """Return what went wrong and where in our code, for one who reports it."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{at}"


def let_through(_where: str, error: Exception) -> None:
    """Raise a mistake again, where nobody is there to be told of it."""
    raise error


class Faults:
    """Tells the log: an error with what cannot be done for it, the traceback beside it at debug level."""

    def __init__(self, log: Logger, *, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._book = ComplaintBook()

    def note(self, what: str, error: Exception, **about: str) -> None:
        """Record a mistake: `what` is the sentence that it spoils, `about` is told beside it."""
        text = fault_text(error)
        said = f"{what}: {text}; please report that, with what --log-level debug tells"
        saying = self._book.say(f"{what}: {text}", said, now=self._clock.wall_s())
        if saying is not None:
            self._log.error(saying.sentence, **about)
            self._log.debug(f"where {text} came from", exc_info=error, **about)
