"""Turn librdkafka's errors into sentences: what failed, where, and what to do.

A failed call rarely has the reason (mostly `Broker transport failure`). The reason arrives by the error
callback, or by the log if a broker only closes the connection. `Symptoms` collects both and keeps the most
specific one.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from fleet.errors import ConfigurationError, MirrorwatchError, Problem, RefusedError, UnavailableError
from runtime.kafka.diagnosis import Diagnosis, diagnose

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError

_VAGUE: Final = frozenset(
    {
        "_TRANSPORT",
        "_ALL_BROKERS_DOWN",
        "_TIMED_OUT",
        "_TIMED_OUT_QUEUE",
        "_MSG_TIMED_OUT",
        "_WAIT_COORD",
        "REQUEST_TIMED_OUT",
        "_NOENT",  # no leader is found either where no broker could be asked
    }
)
_MAX_CHARS = 300
_ADDRESS: Final = re.compile(r"(?:^|(?<=\s))(?:\w+://)?([\w.\-\[\]:]+:\d+)/(?:bootstrap|\d+): ")


@dataclass(slots=True)
class Symptoms:
    """The most specific connection error of a client since the last `clear`."""

    found: Diagnosis | None = None
    address: str = ""
    said: str = ""
    ours: bool = False  # what was found is an error of Mirrorwatch's own

    def hear_error(self, error: KafkaError) -> None:
        """Process an error of the error callback."""
        self._hear(error.name(), error.str())

    def hear_line(self, line: str) -> None:
        """Process a line of librdkafka's log."""
        if " FAIL " in f" {line} ":
            self._hear("", line)

    def hear_reason(self, error: RefusedError | UnavailableError) -> None:
        """Process an error of Mirrorwatch that the client does not repeat: no token."""
        kind: Literal["refused", "unavailable"] = (
            "refused" if isinstance(error, RefusedError) else "unavailable"
        )
        self.found, self.said, self.ours = Diagnosis(kind, str(error), weight=3), "", True

    def clear(self) -> None:
        """Forget everything, once a call has succeeded."""
        self.found = None
        self.address = ""
        self.said = ""
        self.ours = False

    def _hear(self, name: str, text: str) -> None:
        heard = diagnose(name, text)
        if self.found is None or heard.weight >= self.found.weight:
            self.found = heard
            self.address = _address(text) or self.address
            self.said = text


def listening_logger(
    symptoms: Symptoms, *, passed_on: Callable[[int, str], None] | None = None
) -> logging.Logger:
    """Return a logger to make a client with: it feeds `symptoms`, and passes each line on with its level."""
    logger = logging.Logger("librdkafka")  # noqa: LOG001 - one for each client, so outside the tree of loggers
    logger.addHandler(_Ear(symptoms, passed_on))
    return logger


class _Ear(logging.Handler):
    def __init__(self, symptoms: Symptoms, passed_on: Callable[[int, str], None] | None) -> None:
        super().__init__()
        self._symptoms = symptoms
        self._passed_on = passed_on

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        self._symptoms.hear_line(line)
        if self._passed_on is not None:
            self._passed_on(record.levelno, _clean(line))


def explain(
    error: KafkaError, *, cluster: str, doing: str, symptoms: Symptoms | None = None
) -> MirrorwatchError:
    """Return the error to raise, `from` the client's own, where a call on `cluster` failed while `doing`.

    `doing` is a phrase such as `reading the list of topics`. RefusedError must be fixed by the user:
    credentials, permissions, a certificate, a policy. UnavailableError may pass. ConfigurationError:
    librdkafka does not accept the settings. With `symptoms`, an earlier specific error explains a vague one.
    """
    name, text = error.name(), error.str()
    diagnosis, address = diagnose(name, text), _address(text)
    if symptoms is not None and symptoms.found is not None and (name in _VAGUE or symptoms.ours):
        if symptoms.found.weight >= diagnosis.weight:
            diagnosis, text = symptoms.found, symptoms.said
        address = address or symptoms.address
    where = f"cluster {cluster} at {address}" if address else f"cluster {cluster}"
    told = f" (reported: {_clean(_ADDRESS.sub('', text, count=1))})" if diagnosis.quotes else ""
    if diagnosis.kind == "configuration":
        return ConfigurationError(
            [Problem(file=f"cluster {cluster}", key="", sentence=diagnosis.sentence + told)]
        )
    sentence = f"{where}: {doing} failed: {diagnosis.sentence}{told}"
    return RefusedError(sentence) if diagnosis.kind == "refused" else UnavailableError(sentence)


def _address(text: str) -> str:
    # "sasl_ssl://host:9092/bootstrap: …", or the same inside a line of the log.
    found = _ADDRESS.search(text)
    return found[1] if found else ""


def _clean(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return printable if len(printable) <= _MAX_CHARS else printable[: _MAX_CHARS - 1] + "…"
