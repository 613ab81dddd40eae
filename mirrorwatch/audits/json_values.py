"""Values of a foreign JSON document, read within bounds; every problem is collected. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fleet.topic_name import is_topic_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MOST = 2**62
_SHOWN = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class JsonValue:
    """One value and its place. Reports a problem once, and returns a harmless value instead.

    `absent`: the value is missing, which is allowed or was reported already.
    """

    __slots__ = ("_absent", "_key", "_problems", "held")

    def __init__(self, held: object, key: str, problems: list[str], *, absent: bool = False) -> None:
        self.held: Any = held
        self._key = key
        self._problems = problems
        self._absent = absent

    @property
    def is_object(self) -> bool:
        """Return whether it has keys."""
        return isinstance(self.held, dict)

    def wrong(self, sentence: str) -> None:
        """Report a problem of this value."""
        self._problems.append(f"{self._key or 'the document'}: {sentence}")

    def __getitem__(self, name: str) -> JsonValue:
        """Return a required value."""
        found = self.get(name)
        if found._absent and not self._absent and self.is_object:  # noqa: SLF001 - of its own class
            found.wrong("missing")
        return found

    def get(self, name: str) -> JsonValue:
        """Return an optional value."""
        key = f"{self._key}.{name}" if self._key else name
        if self._absent:
            return JsonValue(None, key, self._problems, absent=True)
        if not self.is_object:
            self.wrong("must be an object")
            self._absent = True
            return JsonValue(None, key, self._problems, absent=True)
        return JsonValue(self.held.get(name), key, self._problems, absent=name not in self.held)

    def whole(self, most: int = _MOST) -> int:
        """Return a whole number from 0."""
        if type(self.held) is int and 0 <= self.held <= most:
            return self.held
        if not self._absent:
            self.wrong(f"must be a whole number from 0 to {most}")
        return 0

    def share(self) -> float:
        """Return a number from 0 to 1."""
        if isinstance(self.held, int | float) and not isinstance(self.held, bool) and 0 <= self.held <= 1:
            return float(self.held)
        if not self._absent:
            self.wrong("must be a number from 0 to 1")
        return 0.0

    def flag(self) -> bool:
        """Return true or false."""
        if isinstance(self.held, bool):
            return self.held
        if not self._absent:
            self.wrong("must be true or false")
        return False

    def text(self, longest: int) -> str:
        """Return a printable text that is not empty."""
        if isinstance(self.held, str) and 0 < len(self.held) <= longest and self.held.isprintable():
            return self.held
        if not self._absent:
            self.wrong(f"must be text of 1 to {longest} printable characters")
        return ""

    def matching(self, pattern: str, told: str) -> str:
        """Return a text that matches; `told` describes the pattern."""
        if isinstance(self.held, str) and re.fullmatch(pattern, self.held):
            return self.held
        if not self._absent:
            self.wrong(f"must consist of {told}")
        return ""

    def topic(self) -> str:
        """Return a Kafka topic name."""
        if isinstance(self.held, str) and is_topic_name(self.held):
            return self.held
        if not self._absent:
            self.wrong("must be a topic name")
        return ""

    def one_of(self, names: Collection[str], otherwise: str) -> str:
        """Return one of these names, or `otherwise`."""
        if isinstance(self.held, str) and self.held in names:
            return self.held
        if not self._absent:
            found = f", not '{self.held[:_SHOWN]}'" if isinstance(self.held, str) else ""
            self.wrong(f"must be one of {', '.join(sorted(names))}{found}")
        return otherwise

    def moment(self) -> float:
        """Return epoch seconds of an ISO 8601 time with its zone."""
        try:
            moment = datetime.fromisoformat(self.held) if isinstance(self.held, str) else None
        except ValueError:
            moment = None
        if moment is not None and moment.tzinfo is not None:
            return (moment - _EPOCH) / timedelta(seconds=1)
        if not self._absent:
            self.wrong("must be a time such as 2026-01-31T23:00:00.000Z")
        return 0.0

    def first_offset(self) -> int | None:
        """Return `first` of [first, until); None for null."""
        if self.held is None:
            return None
        offsets = self.items(2)
        if len(offsets) != 2:
            self.wrong("must be a pair of offsets")
            return None
        return offsets[0].whole()

    def counts(self, names: Collection[str]) -> dict[str, int]:
        """Return numbers by name, without unknown names."""
        if not self.is_object:
            if not self._absent:
                self.wrong("must be an object")
            return {}
        return {name: self[name].whole() for name in self.held if name in names}

    def items(self, most: int) -> list[JsonValue]:
        """Return the values of a bounded list."""
        if isinstance(self.held, list) and len(self.held) <= most:
            return list(self._each())
        if not self._absent:
            self.wrong(f"must be a list of at most {most} entries")
        return []

    def some(self, most: int) -> tuple[int, list[JsonValue]]:
        """Return the count, and the values that are listed."""
        count, shown = self["count"].whole(), self["shown"].items(most)
        if count < len(shown):
            self.wrong(f"count {count} is less than the {len(shown)} shown")
        return count, shown

    def _each(self) -> Iterator[JsonValue]:
        for number, one in enumerate(self.held):
            yield JsonValue(one, f"{self._key}[{number}]", self._problems)
