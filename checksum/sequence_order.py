"""Which records of two sequences stand in the same order, at most: the longest common subsequence. Pure.

By Hunt and Szymanski (CACM 20(5), 1977): fast where nearly all records are unlike each other, as hashes of
records are. Of one that stands there very often only a bounded number of pairs is tried.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PAIRS = 4096
"""Pairs of places that are tried for records that are alike; of more, only the n-th with the n-th."""


def in_order(source: Sequence[int], target: Sequence[int]) -> list[tuple[int, int]]:
    """Return indices (of source, of target) of a longest sequence that both have, rising on both sides."""
    places: dict[int, list[int]] = defaultdict(list)
    for index, value in enumerate(target):
        places[value].append(index)
    seen: dict[int, int] = defaultdict(int)
    counts: dict[int, int] = defaultdict(int)
    for value in source:
        counts[value] += 1
    lasts: list[int] = []  # the smallest target index at which a sequence of each length can end
    links: list[_Link] = []  # and that sequence, from its end
    for index, value in enumerate(source):
        here = places.get(value)
        if here is None:
            continue
        number = seen[value]
        seen[value] += 1
        if counts[value] * len(here) > MAX_PAIRS:
            here = here[number : number + 1]
        # From the last place to the first, so that one source record is never used twice in a sequence.
        for place in reversed(here):
            length = bisect_left(lasts, place)
            link = _Link(index, place, links[length - 1] if length else None)
            if length == len(lasts):
                lasts.append(place)
                links.append(link)
            elif place < lasts[length]:
                lasts[length], links[length] = place, link
    return _followed(links[-1]) if links else []


class _Link(NamedTuple):
    """The end of a sequence, and what is before it."""

    source: int
    target: int
    before: _Link | None


def _followed(link: _Link | None) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while link is not None:
        found.append((link.source, link.target))
        link = link.before
    return found[::-1]
