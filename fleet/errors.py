"""The tree of errors that a user may see.

    MirrorwatchError
    ├── ConfigurationError   the user must fix it: every problem at once           exit 2
    ├── UnavailableError     transient: a cluster, the store, a port; try again    exit 4
    ├── RefusedError         authentication or authorisation failed                exit 4
    └── MalformedError       foreign data: counted where it is read, never fatal

Foreign exceptions (the Kafka client's, the database's) are translated once, where they arise, and
chained. A sentence names the object, what is wrong and what to do; it never holds a secret.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration: the file, the key in it, what is wrong and what to do."""

    file: str
    key: str
    sentence: str

    def __str__(self) -> str:
        where = f"{self.file}: {self.key}" if self.key else self.file
        return f"{where}: {self.sentence}"


class MirrorwatchError(Exception):
    """Base of all errors that Mirrorwatch raises on purpose; its text is for the user."""


class ConfigurationError(MirrorwatchError):
    """A configuration that cannot be used, with every problem found in it."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class UnavailableError(MirrorwatchError):
    """Something cannot be reached now; trying again may help."""


class RefusedError(MirrorwatchError):
    """A cluster refused: credentials or permissions are missing."""


class MalformedError(MirrorwatchError):
    """Bytes that do not have the expected format."""
