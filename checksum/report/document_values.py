"""Values of an untrusted JSON document, read with limits. Pure.

A `Value` knows its path, so errors start with for example `plan.json: topics[3].partition: …`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

from fleet.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHOWN = 60


def refuse(file: str, key: str, sentence: str) -> NoReturn:
    """Raise ConfigurationError about one place of a file."""
    raise ConfigurationError([Problem(file, key, sentence)])


class Value:
    """One value of a document; every method raises ConfigurationError if it has another type."""

    __slots__ = ("_file", "_key", "held")

    def __init__(self, held: object, *, file: str, key: str = "") -> None:
        self.held: Any = held  # as it came
        self._file = file
        self._key = key

    def __getitem__(self, name: str) -> Value:
        if not self.is_object:
            self.refuse(f"must be an object, not {_kind(self.held)}")
        key = f"{self._key}.{name}" if self._key else name
        if name not in self.held:
            refuse(self._file, key, "missing; the file is incomplete or was written by another program")
        return Value(self.held[name], file=self._file, key=key)

    @property
    def is_object(self) -> bool:
        """Return whether it is an object."""
        return isinstance(self.held, dict)

    def has(self, name: str) -> bool:
        """Return whether an object has this key."""
        return name in self.held

    @property
    def is_none(self) -> bool:
        """Return whether it is null."""
        return self.held is None

    def refuse(self, sentence: str) -> NoReturn:
        """Raise ConfigurationError about this value."""
        refuse(self._file, self._key, sentence)

    def nothing_but(self, *names: str) -> None:
        """Refuse other keys: they could change the meaning for a program that knows them."""
        unknown = sorted(set(self.held) - set(names))
        if unknown:
            key = f"{self._key}." if self._key else ""
            refuse(self._file, f"{key}{unknown[0][:_SHOWN]}", "unknown key; use a plan of this release")

    def whole(self, least: int, most: int) -> int:
        """Return an integer within these bounds."""
        if type(self.held) is not int:  # True is an int to Python
            self.refuse(f"must be an integer, not {_kind(self.held)}")
        if not least <= self.held <= most:
            shown = str(self.held)[:_SHOWN] if abs(self.held) < 1 << 200 else "a far larger number"
            self.refuse(f"must be {least} to {most}, not {shown}")
        found: int = self.held
        return found

    def flag(self) -> bool:
        """Return true or false."""
        if type(self.held) is not bool:
            self.refuse(f"must be true or false, not {_kind(self.held)}")
        found: bool = self.held
        return found

    def text(self, longest: int) -> str:
        """Return a printable string of 1 to `longest` characters."""
        if type(self.held) is not str:
            self.refuse(f"must be a string, not {_kind(self.held)}")
        if not 1 <= len(self.held) <= longest:
            self.refuse(f"must have 1 to {longest} characters, not {len(self.held)}")
        if not self.held.isprintable():  # it is shown in a terminal
            self.refuse("contains unprintable characters")
        found: str = self.held
        return found

    def text_or_none(self, longest: int) -> str | None:
        """Return such a string, or None for null."""
        return None if self.is_none else self.text(longest)

    def one_of(self, *names: str) -> str:
        """Return one of these strings."""
        if self.held not in names:
            shown = repr(self.held[:_SHOWN]) if isinstance(self.held, str) else _kind(self.held)
            self.refuse(f"must be one of {', '.join(names)}, not {shown}")
        found: str = self.held
        return found

    def items(self, most: int, *, least: int = 0) -> list[Value]:
        """Return the values of a list of bounded length."""
        if not isinstance(self.held, list):
            self.refuse(f"must be a list, not {_kind(self.held)}")
        if not least <= len(self.held) <= most:
            count = most if least == most else f"{least} to {most}"
            self.refuse(f"must have {count} entries, not {len(self.held)}")
        return [
            Value(one, file=self._file, key=f"{self._key}[{index}]") for index, one in enumerate(self.held)
        ]

    def wholes(self, count: int, least: int, most: int) -> Sequence[int]:
        """Return a list of exactly `count` integers within these bounds."""
        return [one.whole(least, most) for one in self.items(count, least=count)]

    def distinct(self, what: str, found: Iterable[object]) -> None:
        """Refuse duplicates."""
        twice = [one for one, count in Counter(found).items() if count > 1]
        if twice:
            self.refuse(f"duplicate {what} {str(twice[0])[:_SHOWN]}")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "an integer"}
    return "null" if value is None else names.get(type(value), "a number")
