"""Logs, set up once by the composition root: text for people or one JSON object a line.

Everything arrives here: structlog's events, the standard library's loggers, Python's warnings, and
librdkafka's own words where a client is given `logging.getLogger("rdkafka")`.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO

import structlog

from runtime.interpolation import SecretText
from runtime.logs_text import render_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

    Logger = FilteringBoundLogger

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
# Shorter values are not searched for: they would black out half of every line. They are refused nowhere, so
# a secret of three characters is kept out of errors by its type alone.
_SHORTEST_SECRET = 4
_DEEPEST = 8


class Redactor:
    """Replace known secret values by `***` in whatever is about to be written."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Learn further secret values; each line of a secret of several lines counts as one."""
        parts = {part for secret in secrets for part in (secret, *secret.splitlines())}
        known = parts.union(self._secrets)
        long_enough = (part for part in known if len(part.strip()) >= _SHORTEST_SECRET)
        # Longest first, so that a secret which contains another one leaves nothing behind.
        self._secrets = tuple(sorted(long_enough, key=lambda part: (-len(part), part)))

    def text(self, text: str) -> str:
        """Return `text` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def value(self, value: object, *, depth: int = 0) -> object:
        """Return `value` without secrets; what is no plain data is turned into its text first."""
        match value:
            case bool() | int() | float() | None:
                return value
            case SecretText():
                return "***"
            case str():
                return self.text(value)
            case dict() | list() | tuple() | set() | frozenset():
                return "..." if depth >= _DEEPEST else self._inside(value, depth + 1)
            case _:
                return self.text(str(value))

    def _inside(self, value: Collection[object], depth: int) -> object:
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(each, depth=depth) for key, each in value.items()}
        return [self.value(each, depth=depth) for each in value]

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """Clean an event, as a structlog processor."""
        return {key: self.value(value) for key, value in event.items()}


class _LockedStream:
    """Write whole lines from any thread; a reader that went away does not end the service."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def msg(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()

    debug = info = warning = error = critical = fatal = failure = exception = log = warn = msg


class _Bridge(logging.Handler):
    """Carry the standard library's records over into structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sentence = record.getMessage()
        except (TypeError, ValueError):  # a foreign library's arguments do not fit its own message
            sentence = str(record.msg)
        log = get(record.name)
        log.log(_nearest(record.levelno), sentence.rstrip("\n"), exc_info=record.exc_info or None)


def _nearest(level: int) -> int:
    """Return the highest level of ours that is not above `level`."""
    return max((known for known in _LEVELS.values() if known <= level), default=logging.DEBUG)


def configure(
    *,
    form: Literal["text", "json"],
    level: str,
    stream: TextIO,
    redactor: Redactor | None = None,
) -> Callable[[], None]:
    """Set up logging for the whole process and return a function that undoes it.

    `level` is debug, info, warning, error or critical; ValueError otherwise. Everything is written to
    `stream`. Secrets may be added to `redactor` later, when the configuration has been read.
    """
    if level not in _LEVELS:
        raise ValueError(f"'{level}' is no log level: write one of {', '.join(_LEVELS)}")
    minimum = _LEVELS[level]
    last: Processor = structlog.processors.JSONRenderer(ensure_ascii=False) if form == "json" else render_text
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            structlog.processors.StackInfoRenderer(),
            redactor or Redactor(),
            structlog.processors.EventRenamer("sentence"),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(minimum),
        logger_factory=_factory(_LockedStream(stream)),
        # Loggers made before this call, at import time, must follow it.
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    bridge = _Bridge()
    root.handlers[:] = [bridge]
    root.setLevel(minimum)
    logging.captureWarnings(capture=True)

    def undo() -> None:
        logging.captureWarnings(capture=False)
        if root.handlers == [bridge]:
            root.handlers[:] = before[0]
            root.setLevel(before[1])
        structlog.reset_defaults()

    return undo


def _factory(stream: _LockedStream) -> Callable[..., Any]:
    def make(*_args: object) -> _LockedStream:
        return stream

    return make


def get(name: str) -> Logger:
    """Return the logger of a part; may be called before `configure`."""
    log: Logger = structlog.get_logger(part=name)
    return log
