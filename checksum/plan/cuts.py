"""At which pairs both sides can be cut in two, so that no copy stands on the wrong side of a cut. Pure.

A cut is an end and a beginning at once (anchors): before it stands no copy of what lies behind it, and behind
it none of what lies before. So what stands between two cuts can be compared, and read again, by itself: the
more there are, the less is read again for one record that differs.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair, beginnings, with_furthest
from checksum.plan.shape import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.plan.shape import OffsetRange

MOST = 500  # of one partition: where the target stamps records, each is worth K cells
FAR = 100_000  # offsets between two cuts at most, where the mirror told none and times do
MOST_BY_TIME = 64  # of one partition: each costs some hundred records
_LEAST_STEP = 1_000  # offsets, where any offset is a cut


def cuts(pairs: Sequence[Pair], *, repeats: bool) -> list[Pair]:
    """Return those of the pairs, given in the mirror's order, that are cuts; `repeats` as for `ends`.

    An end stands before its cut, and a record at a cut behind it: so none that may have been copied before.
    """
    early = set(beginnings(pairs))
    found = with_furthest(pairs, repeats=repeats)
    return [pair for pair, furthest in found if pair.upstream > furthest and pair in early]


def rising(found: Iterable[Pair]) -> list[Pair]:
    """Return the pairs in order, without those that do not lie behind the one before on both sides."""
    kept: list[Pair] = []
    for pair in sorted(found, key=lambda one: one[:2]):  # what else a pair tells has no order
        if not kept or (kept[-1].upstream < pair.upstream and kept[-1].downstream < pair.downstream):
            kept.append(pair)
    return kept


def runs_between(found: Sequence[Pair]) -> list[Run]:
    """Return runs between cuts of one distance.

    A mirror that lets records change places tells pairs that go back, which end its chains just there. But
    between two cuts of one distance as many offsets lie on both sides, so that each record's place is known.
    Where more than the order was changed between them, it shows as records at other places, which are read.
    """
    runs: list[Run] = []
    for one, other in pairwise(found):
        if one.delta == other.delta:
            goes_on = bool(runs) and runs[-1].until == one.upstream + 1 and runs[-1].delta == one.delta
            first = runs.pop().first if goes_on else one.upstream
            runs.append(Run(first, other.upstream + 1, one.delta))
    return runs


def equal_cuts(source: OffsetRange, target: OffsetRange) -> list[Pair]:
    """Return cuts of a mirror that keeps offsets: one offset is as good as another."""
    first, until = max(source.first, target.first), min(source.until, target.until)
    step = max(_LEAST_STEP, -(-(until - first) // MOST))
    return [Pair(offset, offset) for offset in range(first + step, until, step)]


def looked_for(first: int, until: int, known: Iterable[int]) -> list[int]:
    """Return source offsets at which to look for a cut by time, where known ones stand too far apart."""
    step = max(FAR, -(-(until - first) // MOST_BY_TIME))
    borders = sorted({first, until, *(offset for offset in known if first < offset < until)})
    found: list[int] = []
    for begin, end in pairwise(borders):
        pieces = -(-(end - begin) // step)
        found += [begin + (end - begin) * number // pieces for number in range(1, pieces)]
    return found


def segments(found: Iterable[Pair], source: OffsetRange, target: OffsetRange) -> tuple[tuple[int, int], ...]:
    """Return cuts, given rising, within both ranges as (source, target), spread over the range."""
    step = source.span // MOST
    kept: list[tuple[int, int]] = []
    at = source.first - step - 1
    for pair in found:
        if at + step < pair.upstream < source.until and target.first <= pair.downstream < target.until:
            kept.append((pair.upstream, pair.downstream))
            at = pair.upstream
    return tuple(kept)
