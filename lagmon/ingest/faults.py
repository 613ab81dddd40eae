"""Log of programming errors: once for each place, and again from time to time."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.process.complaints import ComplaintBook

if TYPE_CHECKING:
    from runtime.process.clock import Clock
    from runtime.process.logs import Logger


def fault_text(error: BaseException) -> str:
    """Return what went wrong and where in our code."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {error}{at}"


def let_through(_where: str, error: Exception) -> None:
    """Raise an error again, if there is nobody to report it to."""
    raise error


class Faults:
    """Logs an error with what it prevents; the traceback at debug level."""

    def __init__(self, log: Logger, *, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._book = ComplaintBook()

    def note(self, what: str, error: Exception, **about: str) -> None:
        """Log an error: `what` is the failed operation, `about` are further fields."""
        text = fault_text(error)
        said = f"{what}: {text}; please report this with the output of --log-level debug"
        saying = self._book.say(f"{what}: {text}", said, now=self._clock.wall_s())
        if saying is not None:
            self._log.error(saying.sentence, **about)
            self._log.debug(f"traceback of {text}", exc_info=error, **about)
