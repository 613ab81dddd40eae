"""Log setup and redaction: text for people, or one JSON object a line.

All logs arrive here: structlog's events, the standard library's loggers, Python's warnings, and librdkafka's
log if a client gets `logging.getLogger("rdkafka")`.
"""

from __future__ import annotations

import logging
import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO

from runtime.config.interpolation import SecretText
from runtime.process.logs_structlog import structlog
from runtime.process.logs_text import render_text

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
_FOREIGN = "_foreign"  # beside an event whose sentence is another library's
# A secret that is a word, such as `wrong`, may be one of a sentence of ours: to mask it there gives it away.
_WORD = re.compile(r"[A-Za-z]{1,20}")
_REPORTED = re.compile(r"\(reported: .*\)", re.DOTALL)  # what somebody else said, within a sentence of ours
# A word beside one of these is a value, and none of a sentence's own, where it may be in `broker's`.
_BEFORE, _BEHIND = r"['\"=:@%$&+\\\d_]", r"[\"@%$&+\\\d_]|'(?!s\b|t\b)|:(?=\S)"


class Redactor:
    """Replaces known secret values by `***` in log output.

    A secret that is nothing but a word stays where a sentence of ours has it as a word of its own, and is
    replaced wherever it may be a value: in what others said, in quotes, behind `=`, in fields of an event.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[str, ...] = ()
        self._values: tuple[tuple[str, re.Pattern[str]], ...] = ()  # each with where it may be a value
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Learn further secret values; each line of a secret of several lines counts as one."""
        parts = {part for secret in secrets for part in (secret, *secret.splitlines())}
        known = parts.union(self._secrets)
        long_enough = (part for part in known if len(part.strip()) >= _SHORTEST_SECRET)
        # Longest first, so that a secret which contains another one leaves nothing behind.
        self._secrets = tuple(sorted(long_enough, key=lambda part: (-len(part), part)))
        self._values = tuple((secret, as_value(secret)) for secret in self._secrets)

    def text(self, text: str) -> str:
        """Return a sentence of ours without secrets."""
        text = _REPORTED.sub(lambda found: self.foreign(found[0]), text)
        for secret, where in self._values:
            if secret in text:
                text = where.sub("***", text)
        return text

    def foreign(self, text: str) -> str:
        """Return what a client, a server or an exception said without secrets, wherever they stand in it."""
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
                return self.foreign(value)
            case dict() | list() | tuple() | set() | frozenset():
                return "..." if depth >= _DEEPEST else self._inside(value, depth + 1)
            case _:
                return self.foreign(str(value))

    def _inside(self, value: Collection[object], depth: int) -> object:
        if isinstance(value, dict):
            return {self.foreign(str(key)): self.value(each, depth=depth) for key, each in value.items()}
        return [self.value(each, depth=depth) for each in value]

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """Clean an event, as a structlog processor."""
        said = None if event.pop(_FOREIGN, False) else event.get("event")
        cleaned = {key: self.value(value) for key, value in event.items()}
        return cleaned | ({"event": self.text(said)} if isinstance(said, str) else {})


def as_value(secret: str) -> re.Pattern[str]:
    """Return what finds a secret everywhere, or if it is a word, where it is none of a sentence's own."""
    found = re.escape(secret)
    if _WORD.fullmatch(secret) is None:
        return re.compile(found)
    return re.compile(f"(?<={_BEFORE}){found}|{found}(?={_BEHIND})")


class _LockedStream:
    """Writes whole lines from any thread; a closed reader does not end the service."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def msg(self, line: str) -> None:
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(line + "\n")
            self._stream.flush()

    debug = info = warning = error = critical = fatal = failure = exception = log = warn = msg


# asyncio's words for a write to a connection that the client has closed: a warning for each piece.
_CLIENT_HAS_LEFT = ("asyncio", "socket.send() raised exception.")


class _Bridge(logging.Handler):
    """Passes the standard library's records to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        if (record.name, record.msg) == _CLIENT_HAS_LEFT:
            return
        try:
            sentence = record.getMessage()
        except (TypeError, ValueError):  # a foreign library's arguments do not fit its own message
            sentence = str(record.msg)
        log = get(record.name)
        said = {_FOREIGN: True, "exc_info": record.exc_info or None}
        log.log(_nearest(record.levelno), sentence.rstrip("\n"), **said)


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
        raise ValueError(f"'{level}' is not a log level; write one of  {', '.join(_LEVELS)}")
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
        root.removeHandler(bridge)  # another handler may have been added
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
