"""Requests that are not valid HTTP: their answer and their line in the log, both without their content.

Such a request may contain a password, and so may the HTTP library's exception about it. Anyone can send many
of them, so not each is logged.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError

from runtime.http.guards import add_headers
from runtime.process.allowance import Allowance

if TYPE_CHECKING:
    from aiohttp.web_request import BaseRequest

    from runtime.process.clock import Clock
    from runtime.process.logs import Logger

EVERY_S = 60.0


class Connection(web.RequestHandler):
    """A connection whose request is answered by a sentence of ours if the library cannot read it.

    The library's own answer repeats what was sent, and names the versions of library and Python.
    """

    __slots__ = ()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the answer, after which the connection is closed."""
        if status != HTTPStatus.INTERNAL_SERVER_ERROR:
            message = "The request is not valid HTTP, or its headers are too long.\n"
        response = super().handle_error(request, status, exc, message)
        add_headers(response)
        return response


class Refusals(logging.Logger):
    """Replaces the library's logger."""

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
            sentence = "refused a request: not HTTP, or its headers are too long"
            self._words.warning(sentence, untold_before=untold)
        else:
            sentence = "a request failed before it reached its page: a bug"
            self._words.error(sentence, error=type(error).__name__, untold_before=untold)
