"""Texts that many series share: each is written once and kept as long as a series uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Key = TypeVar("Key")

_FIRST_ROOM = 64


class Texts(Generic[Key]):
    """A table of texts by number. `texts` holds bytes and `lengths` their lengths, both by number."""

    def __init__(self, spell: Callable[[Key], bytes]) -> None:
        """Create an empty table; the text of a key is `spell(key)`, written when it is first used."""
        self._spell = spell
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key | None] = []
        self._free: list[int] = []
        self._uses: list[int] = []
        self.texts = np.full(_FIRST_ROOM, None, dtype=object)
        self.lengths = np.zeros(_FIRST_ROOM, dtype=np.int32)

    def __len__(self) -> int:
        """Return how many texts are in use."""
        return len(self._numbers)

    def take(self, key: Key) -> int:
        """Return the number of a key's text and count one more use."""
        number = self._numbers.get(key)
        if number is None:
            number = self._add(key)
        self._uses[number] += 1
        return number

    def give_back(self, number: int) -> None:
        """Count one use less; after the last one the text is dropped and its number is reused."""
        self._uses[number] -= 1
        if self._uses[number]:
            return
        key = self._keys[number]
        assert key is not None
        del self._numbers[key]
        self._keys[number] = self.texts[number] = None
        self._free.append(number)

    def _add(self, key: Key) -> int:
        text = self._spell(key)
        if self._free:
            number = self._free.pop()
            self._keys[number] = key
        else:
            number = len(self._keys)
            self._keys.append(key)
            self._uses.append(0)
            if number == len(self.texts):
                # A new array, so that readers of the old one are not affected.
                self.texts = np.concatenate([self.texts, np.full(number, None, dtype=object)])
                self.lengths = np.concatenate([self.lengths, np.zeros(number, dtype=np.int32)])
        self._numbers[key] = number
        self.texts[number] = text
        self.lengths[number] = len(text)
        return number
