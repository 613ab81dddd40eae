"""Single values of mm2.properties, read as Kafka's ConfigDef reads them, with a problem for each bad one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLANKS = "".join(chr(point) for point in range(33))
_LONG = 2**63


@dataclass(frozen=True, slots=True)
class Values:
    """The resolved properties of one part of a mirror, and where a problem in them is noted.

    `written` gives, for a key of this part, the key as it stands in the file.
    """

    file: str
    properties: Mapping[str, str] = field(repr=False)
    problems: list[Problem]
    written: Mapping[str, str]
    troubles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # variables without a value, by key

    def given(self, key: str) -> str | None:
        """Return the value with its blanks, or None where the file has none or its variable has no value."""
        for sentence in self.troubles.get(key, ()):
            self.problem(key, sentence)
        return None if key in self.troubles else self.properties.get(key)

    def text(self, key: str, default: str) -> str:
        """Return the value without the blanks around it, or the default."""
        value = self.given(key)
        return default if value is None else value.strip(_BLANKS)

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return a boolean; anything but true and false is a problem, as it is to Kafka."""
        match self.text(key, str(default)).lower():
            case "true":
                return True
            case "false":
                return False
        self.problem(key, "is neither true nor false; write one of the two")
        return default

    def number(self, key: str, default: int, *, least: int = 0) -> int:
        """Return a whole number that is at least `least`."""
        text = self.text(key, str(default))
        if not re.fullmatch(r"[-+]?[0-9]{1,19}", text) or not -_LONG <= int(text) < _LONG:
            self.problem(key, "is no whole number; write digits only, without a unit")
            return default
        if int(text) < least:
            self.problem(key, f"is {text}; write at least {least}")
            return default
        return int(text)

    def one_of(self, key: str, default: str, choices: tuple[str, ...]) -> str:
        """Return one of the choices."""
        text = self.text(key, default)
        if text in choices:
            return text
        self.problem(key, f"is not known; write {' or '.join(choices)}")
        return default

    def interval_s(self, what: str, default_s: int) -> float | None:
        """Return `<what>.interval.seconds`, or None where `<what>.enabled` is false."""
        interval_s = self.number(f"{what}.interval.seconds", default_s)
        return float(interval_s) if self.boolean(f"{what}.enabled", default=True) else None

    def problem(self, key: str, sentence: str) -> None:
        """Note what is wrong with a key, once."""
        problem = Problem(self.file, self.written.get(key, key), f"{sentence}.")
        if problem not in self.problems:
            self.problems.append(problem)
