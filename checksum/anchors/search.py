"""Choose the pairs of a partition to read, and decide by their records. Pure.

A search is a generator: it yields a pair, is sent its two records, and returns the verified pairs. So the
searches of many partitions run together, one pair of each at a time. A search reads two pairs if all is well:
the end and the beginning.

If the record at a pair is a different one (a re-created or truncated topic), so are those of all earlier or
all later pairs: the border is found by bisection. A search reads at most MOST_READ pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair, chains
from checksum.anchors.records import Agreement, SeenRecord, agreement, equal_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

MOST_READ = 96  # 70 are enough for 10,000 pairs
CHAINS_READ = 8  # the longest
BEFORE = 3  # pairs to read before a beginning that is not the first
_PARTLY = 3  # so many different agreeing parts are enough if no pair disagrees

Records = tuple[SeenRecord | None, SeenRecord | None]
"""The records at a pair's offsets on source and target, or None."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """The verified pairs of a partition: an end, a beginning, and chains between them.

    `read` is how many pairs were read; `rejected` is a wrong one, and why. `before` are up to BEFORE
    pairs right before the beginning, if all of them look like those of another topic.
    """

    end: Pair | None = None
    beginning: Pair | None = None
    chains: tuple[tuple[Pair, ...], ...] = ()
    read: int = 0
    rejected: tuple[Pair, Agreement] | None = None
    before: tuple[Pair, ...] = ()


def search_anchors(
    ends: Sequence[Pair],
    beginnings: Callable[[Pair], Sequence[Pair]],
    pairs: Sequence[Pair],
    *,
    timestamps: bool,
) -> Generator[Pair, Records, Anchors]:
    """Find the newest end and the oldest beginning that are valid, and chains of `pairs` between them.

    `ends` are candidates, oldest first; `beginnings` returns those for an end, or none if none is needed.
    `timestamps` is false if the target sets timestamps itself.
    """
    checks = _Checks(timestamps)
    newest_first = ends[::-1]
    end = yield from _first_valid(checks, newest_first)
    if end is None and checks.enough_partial():
        checks.lenient = True
        end = yield from _first_valid(checks, newest_first)
    if end is None:
        return Anchors(read=len(checks.known), rejected=checks.rejected())
    starts = beginnings(end)
    beginning = yield from _first_valid(checks, starts)
    before = yield from _foreign_before(checks, starts, beginning)
    low = beginning.upstream if beginning is not None else 0
    within = [pair for pair in pairs if low <= pair.upstream <= end.upstream]
    held = yield from _valid_chains(checks, chains(within))
    return Anchors(end, beginning, held, len(checks.known), checks.rejected(), before)


@dataclass(slots=True)
class _Checks:
    """The pairs that were read so far."""

    timestamps: bool
    lenient: bool = False
    known: dict[Pair, Agreement] = field(default_factory=dict)  # keys have no topic ids
    _alike: set[bytes] = field(default_factory=set)
    _older: set[Pair] = field(default_factory=set)  # the target's record is older than the source's

    def at(self, pair: Pair) -> Generator[Pair, Records, Agreement]:
        """Read a pair, unless it is known or the limit is reached."""
        pair = Pair(*pair[:2])
        if pair not in self.known:
            if len(self.known) >= MOST_READ:
                return Agreement.UNREADABLE
            source, target = yield pair
            found = agreement(source, target, timestamps=self.timestamps)
            self.known[pair] = found
            if source is not None and target is not None and target.timestamp_ms < source.timestamp_ms:
                self._older.add(pair)
            if found is Agreement.PARTLY and source is not None and target is not None:
                self._alike.update(equal_parts(source, target, timestamps=self.timestamps))
        return self.known[pair]

    def is_older(self, pair: Pair) -> bool:
        """Return whether the target's record is older than the source's, if MirrorMaker keeps timestamps."""
        return self.timestamps and Pair(*pair[:2]) in self._older

    def is_valid(self, found: Agreement) -> bool:
        return found in (Agreement.EQUAL, Agreement.ALTERED) or (self.lenient and found is Agreement.PARTLY)

    def enough_partial(self) -> bool:
        """Return whether nothing disagrees, and pairs agree in different parts."""
        return Agreement.DIFFERENT not in self.known.values() and len(self._alike) >= _PARTLY

    def rejected(self) -> tuple[Pair, Agreement] | None:
        found = [(pair, one) for pair, one in self.known.items() if not self.is_valid(one)]
        found.sort(key=lambda entry: entry[1] is Agreement.UNREADABLE)  # definite ones first
        return found[0] if found else None


def _first_valid(checks: _Checks, candidates: Sequence[Pair]) -> Generator[Pair, Records, Pair | None]:
    """Return the first valid candidate: in growing steps, then by bisection of the last step.

    A candidate that fails by itself (an altered or deleted record) costs some coverage, nothing more.
    """
    bad, at, step = -1, 0, 1
    while at < len(candidates) and not checks.is_valid((yield from checks.at(candidates[at]))):
        bad = at
        last = len(candidates) - 1
        at = last if at < last < at + step else at + step
        step *= 2
    if at >= len(candidates):
        return None
    while at - bad > 1:
        middle = (at + bad) // 2
        if checks.is_valid((yield from checks.at(candidates[middle]))):
            at = middle
        else:
            bad = middle
    return candidates[at]


def _foreign_before(
    checks: _Checks, candidates: Sequence[Pair], beginning: Pair | None
) -> Generator[Pair, Records, tuple[Pair, ...]]:
    """Return the pairs right before the beginning if none holds the same record on both sides, else none.

    One pair alone may disagree because its record was altered. Keys of a re-created topic are often the same;
    then the target's records are older than the source's.
    """
    if beginning is None or beginning not in candidates:
        return ()
    at = candidates.index(beginning)
    before = tuple(candidates[max(0, at - BEFORE) : at])
    for pair in before:
        found = yield from checks.at(pair)
        if found is not Agreement.DIFFERENT and not (found is Agreement.PARTLY and checks.is_older(pair)):
            return ()
    return before


def _valid_chains(
    checks: _Checks, found: Sequence[tuple[Pair, ...]]
) -> Generator[Pair, Records, tuple[tuple[Pair, ...], ...]]:
    """Return the chains whose ends are valid; all chains, if no end of the longest ones disagrees."""
    longest = sorted(found, key=lambda chain: chain[0].upstream - chain[-1].upstream)[:CHAINS_READ]
    valid, disagreeing = [], False
    for chain in longest:
        first = yield from checks.at(chain[0])
        last = yield from checks.at(chain[-1])
        if checks.is_valid(first) and checks.is_valid(last):
            valid.append(chain)
        disagreeing |= any(
            not checks.is_valid(one) and one is not Agreement.UNREADABLE for one in (first, last)
        )
    return tuple(valid) if disagreeing else tuple(found)
