"""Numbers by key, for thousands of keys at a time: a hash table that stores no keys. Pure.

A dictionary takes 140 bytes for a key of 60 bytes, this table 12 to 20. Keys are identified by Python's
`hash`: 64 bits of SipHash with a secret of the process (PEP 456). The probability that two of n keys collide
is n² / 2^65, for 100,000 keys 1 in 4,000,000,000, and names of groups cannot be chosen to cause it.

Open addressing with linear probing. Each step handles all unresolved keys at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Hashes = NDArray[np.int64]
    Numbers = NDArray[np.int32]

ABSENT = -2
_EMPTY, _GONE = -3, -4  # entries without a key: never used, or removed (probing continues)
_FIRST = 1024
_FULLEST = 0.7  # share of used entries; a fuller table needs more steps
_ROOM = 1.8  # entries of a new table for each key


def hashes_of(keys: Iterable[bytes | None], count: int) -> Hashes:
    """Return the hashes of these keys."""
    return np.fromiter(map(hash, keys), np.int64, count)


class KeyIndex:
    """Maps each key to a number of at least -1."""

    def __init__(self) -> None:
        self.clear()

    def __len__(self) -> int:
        """Return how many keys have a number."""
        return self._held

    @property
    def nbytes(self) -> int:
        """Return how many bytes it takes."""
        return self._hash.nbytes + self._number.nbytes

    def clear(self) -> None:
        """Forget all keys."""
        self._held = self._taken = 0  # keys, and entries that are not empty
        self._hash = np.zeros(_FIRST, np.int64)
        self._number = np.full(_FIRST, _EMPTY, np.int32)

    def find(self, hashes: Hashes) -> Numbers:
        """Return the number of each key, ABSENT if it has none."""
        found = np.full(len(hashes), ABSENT, np.int32)
        at, left, wanted = self._home(hashes), np.arange(len(hashes)), hashes
        while len(left):
            number = self._number[at]
            here = (self._hash[at] == wanted) & (number >= -1)
            found[left[here]] = number[here]
            on = ~here & (number != _EMPTY)
            at, left, wanted = self._next(at[on]), left[on], wanted[on]
        return found

    def put(self, hashes: Hashes, numbers: Numbers) -> None:
        """Add distinct keys that have no number yet."""
        if self._taken + len(hashes) > _FULLEST * len(self._number):
            self._rebuild(self._held + len(hashes))
        self._taken += len(hashes)
        self._held += len(hashes)
        at, left = self._home(hashes), np.arange(len(hashes))
        while len(left):
            # Of several keys at one entry the last wins; the others continue.
            free = np.flatnonzero(self._number[at] == _EMPTY)
            self._number[at[free]], self._hash[at[free]] = numbers[left[free]], hashes[left[free]]
            stays = np.ones(len(left), np.bool_)
            stays[free] = self._hash[at[free]] != hashes[left[free]]
            at, left = self._next(at[stays]), left[stays]

    def drop(self, numbers: Numbers) -> None:
        """Forget the keys with these numbers, 0 and above, in one scan of the table."""
        at = np.flatnonzero(np.isin(self._number, numbers))
        self._number[at] = _GONE
        self._held -= len(at)

    def _home(self, hashes: Hashes) -> NDArray[np.intp]:
        """Return the first entry to probe: the upper half of the hash, scaled to the table."""
        upper = hashes.view(np.uint64) >> np.uint64(32)
        return ((upper * np.uint64(len(self._number))) >> np.uint64(32)).astype(np.intp)

    def _next(self, at: NDArray[np.intp]) -> NDArray[np.intp]:
        at = at + 1
        at[at == len(self._number)] = 0
        return at

    def _rebuild(self, needed: int) -> None:
        """Replace the table by one with room for this many keys."""
        there = self._number >= -1
        hashes, numbers = self._hash[there], self._number[there]
        size = max(_FIRST, int(needed * _ROOM))
        self._hash, self._number = np.zeros(size, np.int64), np.full(size, _EMPTY, np.int32)
        self._held = self._taken = 0
        self.put(hashes, numbers)
