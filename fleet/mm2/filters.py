"""Topics and consumer groups of a flow: MirrorMaker's DefaultTopicFilter and DefaultGroupFilter.

A filter is a comma separated list of Java regular expressions (java.util.regex). The list is split at its
commas first, without regard to brackets, and joined again with `|`; the result must match the whole name, and
the excluding list wins over the including one. A blank list matches nothing. fleet.java.regex says which
parts of Java's syntax are translated and which are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from fleet.java.regex import compile_java
from fleet.mm2.replication import NEWEST_KNOWN, OLDEST_KNOWN

EVERYTHING = ".*"
TOPICS_EXCLUDE = {
    OLDEST_KNOWN: r".*[\-\.]internal, .*\.replica, __.*",
    NEWEST_KNOWN: r"mm2.*\.internal, .*\.replica, __.*",
}
GROUPS_EXCLUDE = "console-consumer-.*, connect-.*, __.*"


def split_list(text: str) -> tuple[str, ...]:
    """Split a list as Kafka does: at commas with the spaces around them; a blank text has no entry."""
    stripped = text.strip(_JAVA_BLANKS)
    return tuple(re.split(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*", stripped)) if stripped else ()


def lacks_comma(entry: str) -> bool:
    """Return whether an entry requires a blank or a semicolon, which no topic's name has."""
    bare, before = _LITERALS.sub("x", entry), ""
    while bare != before:
        bare, before = _GROUP.sub("x", bare), bare
    return all(_BETWEEN.search(part) for part in bare.split("|"))


_LITERALS = re.compile(r"\\Q.*?(?:\\E|$)|\\.|\[(?:\\.|[^\]\\])*\]")  # quotations, escapes, classes
_GROUP = re.compile(r"\([^()]*\)")
_BETWEEN = re.compile(r"[\s;]+(?![\s;?*{])")
# Java's trim removes all characters up to the space.
_JAVA_BLANKS = "".join(chr(point) for point in range(33))


@dataclass(frozen=True, slots=True)
class PatternList:
    """A comma separated list of Java regular expressions, of which one must match the whole name.

    Raises ValueError with a sentence when one of them cannot be used.
    """

    text: str
    entries: tuple[str, ...] = field(init=False)
    _joined: re.Pattern[str] | None = field(init=False, repr=False, compare=False)
    _each: tuple[re.Pattern[str] | None, ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", split_list(self.text))
        object.__setattr__(self, "_joined", self._compiled() if self.entries else None)
        object.__setattr__(self, "_each", None)

    def _compiled(self) -> re.Pattern[str]:
        try:
            return compile_java(*self.entries)
        except ValueError:
            for entry in self.entries:
                compile_java(entry)  # names the wrong entry as it was written
            raise

    def matches(self, name: str) -> bool:
        """Return whether the list matches the whole name."""
        return self._joined is not None and self._joined.fullmatch(name) is not None

    def matching_entry(self, name: str) -> str | None:
        """Return the entry that matches the name, or the whole list when only its entries together do."""
        if not self.matches(name):
            return None
        if self._each is None:  # only few lists are asked for an entry
            object.__setattr__(self, "_each", tuple(_compiled_alone(entry) for entry in self.entries))
        for entry, pattern in zip(self.entries, self._each or (), strict=True):
            if pattern is not None and pattern.fullmatch(name):
                return entry
        return self.text


def _compiled_alone(entry: str) -> re.Pattern[str] | None:
    """Return the pattern of one entry; None if its own comma split it, so that only the list is valid."""
    try:
        return compile_java(entry)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Filter:
    """Names that match `include` and do not match `exclude`; None means MirrorMaker's default.

    `blacklist` is the older name of the excluding list, which 3.x still reads where the newer is missing
    and 4.x ignores.
    """

    include: str = EVERYTHING
    exclude: str | None = None
    blacklist: str | None = None
    kind: ClassVar[str] = ""
    exclude_defaults: ClassVar[dict[int, str]] = {}
    _include: PatternList = field(init=False, repr=False, compare=False)
    _excludes: tuple[PatternList, PatternList] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_include", PatternList(self.include))
        excludes = tuple(PatternList(self.exclude_at(major)) for major in (OLDEST_KNOWN, NEWEST_KNOWN))
        object.__setattr__(self, "_excludes", excludes)

    def exclude_at(self, major: int) -> str:
        """Return the excluding list that MirrorMaker 3.x or 4.x uses."""
        if self.exclude is not None:
            return self.exclude
        if major == OLDEST_KNOWN and self.blacklist is not None:
            return self.blacklist
        return self.exclude_defaults[major]

    def matches(self, name: str, *, major: int = NEWEST_KNOWN) -> bool:
        """Return whether the filter accepts the name in MirrorMaker 3.x or 4.x."""
        return self._include.matches(name) and not self._exclude(major).matches(name)

    def why(self, name: str, *, major: int = NEWEST_KNOWN) -> str:
        """Return a clause with the deciding entry, for example `topics has '.*'`."""
        if (entry := self._exclude(major).matching_entry(name)) is not None:
            return f"{self.kind}.exclude has '{entry}'"
        if (entry := self._include.matching_entry(name)) is not None:
            return f"{self.kind} has '{entry}'"
        return f"no entry of {self.kind} ('{self.include}') matches it"

    def _exclude(self, major: int) -> PatternList:
        return self._excludes[major != OLDEST_KNOWN]


@dataclass(frozen=True, slots=True)
class TopicFilter(_Filter):
    """The topics of a flow."""

    kind: ClassVar[str] = "topics"
    exclude_defaults: ClassVar[dict[int, str]] = TOPICS_EXCLUDE


@dataclass(frozen=True, slots=True)
class GroupFilter(_Filter):
    """The consumer groups of a flow."""

    kind: ClassVar[str] = "groups"
    exclude_defaults: ClassVar[dict[int, str]] = {OLDEST_KNOWN: GROUPS_EXCLUDE, NEWEST_KNOWN: GROUPS_EXCLUDE}
