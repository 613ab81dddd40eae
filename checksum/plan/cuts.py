"""Pairs of offsets at which both sides can be split, and the runs and segments between them. Pure.

A cut is an end and a beginning at once (anchors/pairs.py): no replicated record is on its wrong side. So what
lies between two cuts can be compared, and read again, by itself: the more cuts, the less is read again for
one differing record.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair, beginnings, run_of, runs_within, with_furthest
from checksum.plan.document import MAX_RUNS
from checksum.plan.shape import Anchored, OffsetRange, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.anchors.search import Anchors
    from checksum.plan.facts import PartitionFacts

MOST = 500  # of one partition: if the target sets timestamps, each has K cells
MOST_DISTANCE = 100_000  # the most offsets between two cuts, if there are no pairs but timestamps
MOST_BY_TIME = 64  # of one partition: each reads some hundred records
_LEAST_STEP = 1_000  # offsets, if any offset is a cut


def cuts(pairs: Sequence[Pair], *, repeats: bool) -> list[Pair]:
    """Return the pairs that are cuts; `pairs` are in MirrorMaker's order, `repeats` as for `ends`.

    An end lies before its cut, and a record at a cut after it: pairs that may have been replicated before are
    not cuts.
    """
    early = set(beginnings(pairs))
    found = with_furthest(pairs, repeats=repeats)
    return [pair for pair, furthest in found if pair.upstream > furthest and pair in early]


def rising(found: Iterable[Pair]) -> list[Pair]:
    """Return the pairs in order, without those that do not follow the previous one on both sides."""
    kept: list[Pair] = []
    for pair in sorted(found, key=lambda one: one[:2]):  # ids have no order
        if not kept or (kept[-1].upstream < pair.upstream and kept[-1].downstream < pair.downstream):
            kept.append(pair)
    return kept


def runs_between(found: Sequence[Pair]) -> list[Run]:
    """Return runs between cuts of the same delta.

    If records change places, the pairs of a chain go back and end it. But between two cuts of the same delta
    both sides have as many offsets, so each record's place is known. Other changes show as records at other
    places, which are read again.
    """
    runs: list[Run] = []
    for one, other in pairwise(found):
        if one.delta == other.delta:
            continues = bool(runs) and runs[-1].until == one.upstream + 1 and runs[-1].delta == one.delta
            first = runs.pop().first if continues else one.upstream
            runs.append(Run(first, other.upstream + 1, one.delta))
    return runs


def equal_cuts(source: OffsetRange, target: OffsetRange) -> list[Pair]:
    """Return cuts of a mirror that keeps offsets: any offset is a cut."""
    first, until = max(source.first, target.first), min(source.until, target.until)
    step = max(_LEAST_STEP, -(-(until - first) // MOST))
    return [Pair(offset, offset) for offset in range(first + step, until, step)]


def offsets_to_search(first: int, until: int, known: Iterable[int]) -> list[int]:
    """Return source offsets at which to search a cut by time, if the known ones are too far apart."""
    step = max(MOST_DISTANCE, -(-(until - first) // MOST_BY_TIME))
    borders = sorted({first, until, *(offset for offset in known if first < offset < until)})
    found: list[int] = []
    for begin, end in pairwise(borders):
        pieces = -(-(end - begin) // step)
        found += [begin + (end - begin) * number // pieces for number in range(1, pieces)]
    return found


def segments(found: Iterable[Pair], source: OffsetRange, target: OffsetRange) -> tuple[tuple[int, int], ...]:
    """Return cuts, given in order, within both ranges as (source, target), spread over the range."""
    step = source.span // MOST
    kept: list[tuple[int, int]] = []
    at = source.first - step - 1
    for pair in found:
        if at + step < pair.upstream < source.until and target.first <= pair.downstream < target.until:
            kept.append((pair.upstream, pair.downstream))
            at = pair.upstream
    return tuple(kept)


def runs_of(
    facts: PartitionFacts, anchors: Anchors, source: OffsetRange, target: OffsetRange
) -> tuple[Run, ...]:
    """Return the source offsets for which the target offset of each record is known."""
    if facts.compacted:
        return ()
    if facts.anchored is Anchored.EQUAL_OFFSETS:
        known = [Run(source.first, source.until, 0)]
    else:
        known = [
            *runs_between(_verified_cuts(facts, anchors, target)),
            *(run_of(chain) for chain in anchors.chains),
        ]
    within = [
        replace(
            run,
            first=max(run.first, target.first - run.delta),
            until=min(run.until, target.until - run.delta),
        )
        for run in known
    ]
    return runs_within(within, first=source.first, until=source.until, most=MAX_RUNS)


def segments_of(
    facts: PartitionFacts, anchors: Anchors, source: OffsetRange, target: OffsetRange
) -> tuple[tuple[int, int], ...]:
    """Return where both sides can be split; these replace time buckets if timestamps are not compared."""
    if facts.compacted:
        return ()
    if facts.anchored is Anchored.EQUAL_OFFSETS:
        return segments(equal_cuts(source, target), source, target)
    return segments(_verified_cuts(facts, anchors, target), source, target)


def _verified_cuts(facts: PartitionFacts, anchors: Anchors, target: OffsetRange) -> list[Pair]:
    """Return the cuts among the verified pairs, rising on both sides."""
    verified = {pair[:2] for chain in anchors.chains for pair in chain}
    verified |= {pair[:2] for pair in (anchors.beginning, anchors.end) if pair is not None}
    known = [pair for pair in facts.usable.pairs if pair.downstream < target.until]
    held = [pair for pair in cuts(known, repeats=not facts.exactly_once) if pair[:2] in verified]
    first = [anchors.beginning] if anchors.beginning is not None else []
    return rising([*first, *held, *facts.inside])
