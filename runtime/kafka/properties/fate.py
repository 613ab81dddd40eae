"""What becomes of a client property: the three fates, and a row of the tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Fate(StrEnum):
    """What the translation does with a key."""

    TRANSLATED = "translated"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Key:
    """One client property and its fate.

    `becomes` names the librdkafka setting for a key whose value goes over as it is, within `lowest` and
    `highest` where it is a number; empty where a module of its own decides. `sentence` is the reason of an
    ignored key, what to do about a refused one, and a remark on a translated one.
    """

    name: str
    fate: Fate
    sentence: str = ""
    becomes: str = ""
    lowest: int | None = None
    highest: int | None = None
    words: tuple[str, ...] = ()


def plain(name: str, becomes: str = "", *, sentence: str = "", words: tuple[str, ...] = ()) -> Key:
    """Return a row whose text value goes over as it is, in lower case where `words` lists what is allowed."""
    return Key(name, Fate.TRANSLATED, sentence, becomes or name, words=words)


def number(
    name: str, becomes: str = "", *, lowest: int, highest: int = 2_147_483_647, sentence: str = ""
) -> Key:
    """Return a row whose whole number goes over, kept within librdkafka's range."""
    return Key(name, Fate.TRANSLATED, sentence, becomes or name, lowest, highest)


def special(name: str, sentence: str) -> Key:
    """Return a translated row that a module of its own decides."""
    return Key(name, Fate.TRANSLATED, sentence)


def ignored(names: str, reason: str) -> tuple[Key, ...]:
    """Return rows for `names`, separated by white space, that are ignored for one reason."""
    return tuple(Key(name, Fate.IGNORED, reason) for name in names.split())


def refused(names: str, advice: str) -> tuple[Key, ...]:
    """Return rows for `names`, separated by white space, that are refused with one advice."""
    return tuple(Key(name, Fate.REFUSED, advice) for name in names.split())
