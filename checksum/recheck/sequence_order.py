"""The longest common subsequence of two sides: the records that are in the same order. Pure.

Common prefixes and suffixes are in order. The middle uses Hunt and Szymanski (CACM 20(5), 1977), which is
fast if nearly all records are different, as hashes are. If too many are equal to try all pairs of places,
only those near the expected place are tried; the result may then not be the longest, and says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

MOST_PAIRS = 1_000_000
"""Pairs of places of equal records in a sequence; up to so many, all are tried."""

FEW_PAIRS = 4096
"""Otherwise all pairs are tried of records that have at most so many."""

NEAR = 32
"""Of the others, so many places are tried on either side of the expected one."""


class InOrder(NamedTuple):
    """Indices (of source, of target), rising on both sides; `longest`: no subsequence is longer."""

    pairs: list[tuple[int, int]]
    longest: bool


def in_order(source: Sequence[int], target: Sequence[int]) -> InOrder:
    """Return a longest common subsequence, or a long one if the limits prevent the search."""
    shorter = min(len(source), len(target))
    first = _equal_count(zip(source, target, strict=False))
    last = _equal_count((source[-1 - back], target[-1 - back]) for back in range(shorter - first))
    here, there = source[first : len(source) - last], target[first : len(target) - last]
    middle = _between(here, there)
    pairs = [(index, index) for index in range(first)]
    pairs += [(first + index, first + place) for index, place in middle.pairs]
    pairs += [(len(source) - back, len(target) - back) for back in range(last, 0, -1)]
    return InOrder(pairs, middle.longest)


def _equal_count(both: Iterable[tuple[int, int]]) -> int:
    """Return how many pairs are equal before the first that is not."""
    count = 0
    for one, other in both:
        if one != other:
            break
        count += 1
    return count


def _between(source: Sequence[int], target: Sequence[int]) -> InOrder:
    places: dict[int, list[int]] = defaultdict(list)
    for index, value in enumerate(target):
        places[value].append(index)
    pairs = {value: count * len(places.get(value, ())) for value, count in Counter(source).items()}
    if sum(pairs.values()) <= MOST_PAIRS:
        return InOrder(_longest(places.get(value, ()) for value in source), longest=True)
    few = {value for value, count in pairs.items() if count <= FEW_PAIRS}
    pegs = _longest(places.get(value, ()) if value in few else () for value in source)
    return InOrder(_longest(_near(source, places, few, dict(pegs))), longest=False)


def _near(
    source: Sequence[int], places: Mapping[int, Sequence[int]], few: Collection[int], pegs: Mapping[int, int]
) -> Iterator[Sequence[int]]:
    """Yield the places to try for each record: all of `few`, else those near the last match's shift."""
    ahead = 0
    for index, value in enumerate(source):
        if index in pegs:
            ahead = pegs[index] - index
        here = places.get(value, ())
        if value in few:
            yield here
        else:
            nearest = bisect_left(here, index + ahead)
            yield here[max(nearest - NEAR, 0) : nearest + NEAR]


class _Link(NamedTuple):
    """The end of a subsequence, and what precedes it."""

    source: int
    target: int
    before: _Link | None


def _longest(places: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Return a longest rising sequence of these places of the target, at most one of each record's."""
    lasts: list[int] = []  # the smallest target index at which a sequence of each length can end
    links: list[_Link] = []  # and that sequence, from its end
    for index, here in enumerate(places):
        # From the last place to the first, so that one source record is never used twice in a sequence.
        for place in reversed(here):
            length = bisect_left(lasts, place)
            if length == len(lasts):
                lasts.append(place)
                links.append(_Link(index, place, links[length - 1] if length else None))
            elif place < lasts[length]:
                lasts[length] = place
                links[length] = _Link(index, place, links[length - 1] if length else None)
    return _followed(links[-1]) if links else []


def _followed(link: _Link | None) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while link is not None:
        found.append((link.source, link.target))
        link = link.before
    return found[::-1]
