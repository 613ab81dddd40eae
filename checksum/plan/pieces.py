"""Where the ranges of a partition can be split, and where order is compared. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from checksum.anchors.pairs import run_of, runs_within
from checksum.plan.cuts import cuts, equal_cuts, rising, runs_between, segments
from checksum.plan.document import MAX_RUNS
from checksum.plan.shape import Anchored, OffsetRange, Run

if TYPE_CHECKING:
    from checksum.anchors.pairs import Pair
    from checksum.anchors.search import Anchors
    from checksum.plan.facts import PartitionFacts


def runs_of(
    facts: PartitionFacts, anchors: Anchors, source: OffsetRange, target: OffsetRange
) -> tuple[Run, ...]:
    """Return the source offsets for which the target offset of each record is known."""
    if facts.compacted:
        return ()
    if facts.anchored is Anchored.EQUAL_OFFSETS:
        known = [Run(source.first, source.until, 0)]
    else:
        known = [*runs_between(_cuts(facts, anchors, target)), *(run_of(chain) for chain in anchors.chains)]
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
    return segments(_cuts(facts, anchors, target), source, target)


def _cuts(facts: PartitionFacts, anchors: Anchors, target: OffsetRange) -> list[Pair]:
    """Return the cuts among the verified pairs, rising on both sides."""
    believed = {pair[:2] for chain in anchors.chains for pair in chain}
    believed |= {pair[:2] for pair in (anchors.beginning, anchors.end) if pair is not None}
    known = [pair for pair in facts.usable.pairs if pair.downstream < target.until]
    told = [pair for pair in cuts(known, repeats=not facts.exactly_once) if pair[:2] in believed]
    first = [anchors.beginning] if anchors.beginning is not None else []
    return rising([*first, *told, *facts.inside])
