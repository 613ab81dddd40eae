"""What the HTTP library says of requests that never come to a handler: one sentence, without what was sent.

Such a request is no HTTP, or cut short, and what it holds may be a password: so may the library's exception
about it, and its traceback. Anybody can send as many as he likes, so not each is told.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError

from runtime.process.allowance import Allowance

if TYPE_CHECKING:
    from runtime.process.clock import Clock
    from runtime.process.logs import Logger

EVERY_S = 60.0


class Refusals(logging.Logger):
    """Takes the place of the library's own logger."""

    def __init__(self, log: Logger, clock: Clock) -> None:
        super().__init__("http", logging.WARNING)
        self._words = log
        self._clock = clock
        self._told = {kind: Allowance(1, per_s=EVERY_S) for kind in (True, False)}
        self._untold = dict.fromkeys(self._told, 0)

    def handle(self, record: logging.LogRecord) -> None:
        """Log the first in a minute, with the number of those before it that were not logged.

        Not logged is a client that closed its connection, and a body that cannot be decoded: its request was
        answered with status 400.
        """
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, ConnectionError | RequestPayloadError):
            return
        is_theirs = isinstance(error, HttpProcessingError)
        if self._told[is_theirs].take(self._clock.monotonic_ns()):
            self._untold[is_theirs] += 1
            return
        untold, self._untold[is_theirs] = self._untold[is_theirs], 0
        if is_theirs:
            sentence = "a request was refused: it is no HTTP, or its headers are too long"
            self._words.warning(sentence, untold_before=untold)
        else:
            sentence = "a request failed before it came to its page, which is a bug"
            self._words.error(sentence, error=type(error).__name__, untold_before=untold)
