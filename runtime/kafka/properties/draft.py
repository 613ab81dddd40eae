"""One translation under way: what was given, what has come out, and what is wrong so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from fleet.errors import Problem
from fleet.secret_keys import is_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a translation may ask of the world, and where its keys were written.

    `read_bytes` returns a file's bytes or raises OSError; `readable_by_everybody` tells a file's rights;
    `locate` turns a client property into the file and the key that the user wrote.
    """

    read_bytes: Callable[[str], bytes]
    readable_by_everybody: Callable[[str], bool]
    locate: Callable[[str], tuple[str, str]]


@dataclass(slots=True)
class Draft:
    """Collects settings, notes and problems; an empty value counts as not given."""

    properties: Mapping[str, str] = field(repr=False)
    surroundings: Surroundings = field(repr=False)
    settings: dict[str, str] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    certificate_expires_at: float | None = None  # of the client, epoch s

    def value(self, *keys: str) -> str | None:
        """Return the first of `keys` that has a value; white space around it goes, except around a secret."""
        for key in keys:
            text = self.properties.get(key, "")
            if text.strip():
                return text if is_secret(key) else text.strip()
        return None

    def has(self, *keys: str) -> bool:
        """Return whether one of `keys` has a value."""
        return self.value(*keys) is not None

    def problem(self, key: str, sentence: str) -> None:
        """Record what is wrong with the value of `key`."""
        file, written = self.surroundings.locate(key)
        self.problems.append(Problem(file=file, key=written, sentence=sentence))

    def note(self, key: str, sentence: str) -> None:
        """Record what a user should know, though nothing is wrong."""
        file, written = self.surroundings.locate(key)
        self.notes.append(f"{file}: {written}: {sentence}")

    def path(self, key: str, text: str | None = None) -> str:
        """Return a path as it is meant: relative to the file in which `key` is written."""
        file, _ = self.surroundings.locate(key)
        return str(PurePath(file).parent / (self.properties[key].strip() if text is None else text))

    def read(self, key: str, path: str, *, secret: bool) -> bytes | None:
        """Return the bytes of a file that `key` names; None, and a problem, where it cannot be read."""
        try:
            data = self.surroundings.read_bytes(path)
        except FileNotFoundError:
            self.problem(key, f"file '{path}' does not exist; check the path")
        except PermissionError:
            self.problem(key, f"file '{path}' cannot be read; grant the user of mirrorwatch permission")
        except IsADirectoryError:
            self.problem(key, f"'{path}' is a directory; name a file")
        except (OSError, ValueError) as error:
            self.problem(key, f"file '{path}' cannot be read ({getattr(error, 'strerror', None) or error})")
        else:
            if secret and self.surroundings.readable_by_everybody(path):
                self.note(
                    key,
                    f"every user of this host can read '{path}', which has a secret; chmod o-r '{path}'",
                )
            if data:
                return data
            self.problem(key, f"file '{path}' is empty")
        return None
