"""Values of mm2.properties, read as Kafka's ConfigDef reads them, with a problem for each bad one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.errors import Problem
from fleet.mm2.value_rules import JAVA_BLANKS, fault_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@dataclass(frozen=True, slots=True)
class Values:
    """The resolved properties of one part of a mirror, and their problems.

    `written` maps a key of this part to the key in the file.
    """

    file: str
    properties: Mapping[str, str] = field(repr=False)
    problems: list[Problem]
    written: Mapping[str, str]
    troubles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # variables without a value, by key

    def given(self, key: str) -> str | None:
        """Return the value untrimmed, or None if it is missing or its variable has no value."""
        for sentence in self.troubles.get(key, ()):
            self.problem(key, sentence)
        return None if key in self.troubles else self.properties.get(key)

    def text(self, key: str, default: str) -> str:
        """Return the trimmed value, or the default."""
        value = self.optional(key)
        return default if value is None else value

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return a boolean."""
        text = self._accepted(key)
        return default if text is None else text.casefold() == "true"

    def number(self, key: str, default: int) -> int:
        """Return a whole number."""
        text = self._accepted(key)
        return default if text is None else int(text)

    def optional(self, key: str) -> str | None:
        """Return the trimmed value, or None."""
        value = self.given(key)
        return None if value is None else value.strip(JAVA_BLANKS)

    def choice(self, key: str, default: str) -> str:
        """Return one of the words that fleet.mm2.value_rules has for the key."""
        text = self._accepted(key)
        return default if text is None else text

    def check(self, names: Collection[str], mirror_version: str | None) -> None:
        """Add a problem for each of these keys whose value stops MirrorMaker from starting.

        An unresolved variable may have a value where MirrorMaker runs.
        """
        for key in sorted((self.properties.keys() & set(names)) - self.troubles.keys()):
            if (fault := fault_of(key, self.properties[key], mirror_version)) is not None:
                self.problem(key, fault)

    def _accepted(self, key: str) -> str | None:
        """Return the trimmed value; None if MirrorMaker does not accept it."""
        value = self.optional(key)
        if value is None or (fault := fault_of(key, value, None)) is None:
            return value
        self.problem(key, fault)
        return None

    def interval_s(self, what: str, default_s: int) -> float | None:
        """Return `<what>.interval.seconds`; None if `<what>.enabled` is false or the interval is negative."""
        interval_s = self.number(f"{what}.interval.seconds", default_s)
        enabled = self.boolean(f"{what}.enabled", default=True)
        return float(interval_s) if enabled and interval_s >= 0 else None

    def problem(self, key: str, sentence: str) -> None:
        """Add a problem of a key, once."""
        problem = Problem(self.file, self.written.get(key, key), f"{sentence}.")
        if problem not in self.problems:
            self.problems.append(problem)
