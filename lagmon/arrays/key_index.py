"""Numbers by key, for keys that come in thousands: a table of hashes, which keeps no key. Pure.

A dictionary takes 140 bytes for each key of 60 that it holds, this 12 to 20. Keys are told apart by what
Python's `hash` makes of them, 64 bits of SipHash under a secret of the process (PEP 456): that two of n keys
are taken for one has a chance of n² / 2^65, for 100,000 keys one in four thousand million, and nobody who
names groups can bring it about.

Open addressing with linear probing. Each step looks at all keys that are not settled yet at once.
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
_EMPTY, _GONE = -3, -4  # where no key stands: none ever did, or one did and probing goes on behind it
_FIRST = 1024
_FULLEST = 0.7  # share of places that are taken; a fuller table takes ever more steps
_ROOM = 1.8  # places of a new table for each key


def hashes_of(keys: Iterable[bytes | None], count: int) -> Hashes:
    """Return the hashes of so many keys."""
    return np.fromiter(map(hash, keys), np.int64, count)


class KeyIndex:
    """Knows a number of each key that was put in, not below -1."""

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
        """Know of no key."""
        self._held = self._taken = 0  # keys, and places that are not empty
        self._hash = np.zeros(_FIRST, np.int64)
        self._number = np.full(_FIRST, _EMPTY, np.int32)

    def find(self, hashes: Hashes) -> Numbers:
        """Return the number of each, ABSENT if it has none."""
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
        """Give numbers to keys that are all different and have none yet."""
        if self._taken + len(hashes) > _FULLEST * len(self._number):
            self._rebuild(self._held + len(hashes))
        self._taken += len(hashes)
        self._held += len(hashes)
        at, left = self._home(hashes), np.arange(len(hashes))
        while len(left):
            # Of several at one place the last stays; the others see that, and go on.
            free = np.flatnonzero(self._number[at] == _EMPTY)
            self._number[at[free]], self._hash[at[free]] = numbers[left[free]], hashes[left[free]]
            stays = np.ones(len(left), np.bool_)
            stays[free] = self._hash[at[free]] != hashes[left[free]]
            at, left = self._next(at[stays]), left[stays]

    def drop(self, numbers: Numbers) -> None:
        """Forget the keys that have these numbers, 0 and above, which takes one look through the table."""
        at = np.flatnonzero(np.isin(self._number, numbers))
        self._number[at] = _GONE
        self._held -= len(at)

    def _home(self, hashes: Hashes) -> NDArray[np.intp]:
        """Return where to look first: the upper half of a hash, as a share of the table."""
        upper = hashes.view(np.uint64) >> np.uint64(32)
        return ((upper * np.uint64(len(self._number))) >> np.uint64(32)).astype(np.intp)

    def _next(self, at: NDArray[np.intp]) -> NDArray[np.intp]:
        at = at + 1
        at[at == len(self._number)] = 0
        return at

    def _rebuild(self, needed: int) -> None:
        """Make a table with room for so many, and what is known in it."""
        there = self._number >= -1
        hashes, numbers = self._hash[there], self._number[there]
        size = max(_FIRST, int(needed * _ROOM))
        self._hash, self._number = np.zeros(size, np.int64), np.full(size, _EMPTY, np.int32)
        self._held = self._taken = 0
        self.put(hashes, numbers)
