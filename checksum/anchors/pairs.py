"""Pairs of offset syncs, and which of them can be the beginning or the end of what is compared. Pure.

A pair is exact when it is written: the record at `upstream` on the source has its copy at `downstream` on
the target. It is no longer so where either topic was made anew, and offsets do not tell that (mm2.md, Seen on
4.3.0, 2): so pairs of other topic ids are not used, and neither are those before a fall of downstream, which
a target shows that was made anew or lost its tail. What is used is believed only after the records at a pair
were read (anchor_search).

Where the mirror went back on the source and copied records again, downstream went on. Pairs from before are
still exact, but not each can be a cut:

- as an *end*, a pair at which the mirror had already copied more would leave copies of what lies behind the
  cut before it: they would look like records that nobody wrote;
- as a *beginning*, a pair behind which the mirror went back later would leave copies of what lies before the
  range within it.

A *chain* is a row of pairs, both offsets rising, with one downstream - upstream. Between two pairs of a chain
no record was left out and none was added: the mirror writes a pair at once after a gap of the source's
offsets (OffsetSyncWriter of Kafka 4.3), and whoever keeps pairs keeps those on both sides of a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from checksum.plan.shape import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_NEXT_BUT_ONE = 2
_EQUAL_PAIRS = 32  # the last ones of a mirror that keeps offsets, and as many spread evenly


class Pair(NamedTuple):
    """One offset sync; a topic's id is None where it is not known."""

    upstream: int
    downstream: int
    source_topic_id: str | None = None
    target_topic_id: str | None = None

    @property
    def delta(self) -> int:
        """Return how far ahead of the source's offset the target's is."""
        return self.downstream - self.upstream


@dataclass(frozen=True, slots=True)
class Usable:
    """Pairs of one partition that may be used, in the mirror's order; how many may not, and why.

    `recreated_after` is the target's offset in the last pair of another source topic and of this target's,
    None where there is none: what the mirror copied of this source topic lies behind it.
    """

    pairs: tuple[Pair, ...]
    of_other_topics: int = 0
    before_a_fall: int = 0
    recreated_after: int | None = None


@dataclass(frozen=True, slots=True)
class Logs:
    """Offsets [start, end) of both logs of one partition, as far as they can be read."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int

    def hold(self, pair: Pair) -> bool:
        """Tell whether both records of a pair can still be there."""
        return (
            self.source_start <= pair.upstream < self.source_end
            and self.target_start <= pair.downstream < self.target_end
        )


def usable(pairs: Iterable[Pair], *, source_id: str | None, target_id: str | None) -> Usable:
    """Return those of the pairs, given in the order in which they were written, that are of these topics."""
    kept: list[Pair] = []
    others = fallen = 0
    recreated_after: int | None = None
    for pair in pairs:
        if _another(pair.source_topic_id, source_id) or _another(pair.target_topic_id, target_id):
            others += 1
            of_this_target = not _another(pair.target_topic_id, target_id)
            recreated_after = pair.downstream if of_this_target else None
        elif kept and _told_twice(kept[-1], pair):
            continue
        else:
            if kept and pair.downstream <= kept[-1].downstream:
                fallen += len(kept)
                kept = []
            kept.append(pair)
    return Usable(tuple(kept), others, fallen, recreated_after)


def equal_pairs(logs: Logs) -> tuple[Pair, ...]:
    """Return pairs of a mirror that keeps offsets: the last that both logs hold, and others spread evenly."""
    first, until = max(logs.source_start, logs.target_start), min(logs.source_end, logs.target_end)
    if first >= until:
        return ()
    spread = {first + (until - 1 - first) * step // _EQUAL_PAIRS for step in range(_EQUAL_PAIRS)}
    last = range(max(first, until - _EQUAL_PAIRS), until)
    return tuple(Pair(offset, offset) for offset in sorted({*spread, *last}))


def ends(pairs: Sequence[Pair], *, source_end: int, repeats: bool = True) -> list[Pair]:
    """Return those pairs that can be an end: before them the mirror had not copied what lies behind them.

    What lies behind the source's log end no mirror has copied. `repeats` is false where what was copied twice
    is not seen, as the first copy's transaction was aborted.
    """
    found: list[Pair] = []
    for pair, furthest in with_furthest(pairs, repeats=repeats):
        if pair.upstream >= min(furthest, source_end - 1) and (
            not found or pair.upstream > found[-1].upstream
        ):
            found.append(pair)
    return found


def with_furthest(pairs: Sequence[Pair], *, repeats: bool) -> Iterator[tuple[Pair, int]]:
    """Give each pair with the last source offset that the mirror may have copied before it; -1: none.

    Where the target grew by more than the source between two pairs, the mirror may have gone on by as many
    records as there is room for on the target, and then gone back: no pair tells how far it was.
    """
    furthest = -1
    for index, pair in enumerate(pairs):
        before = pairs[index - 1] if index else pair
        if repeats and pair.delta > before.delta:
            furthest = max(furthest, before.upstream + pair.downstream - before.downstream - 1)
        yield pair, furthest
        furthest = max(furthest, pair.upstream)


def jump_to(pairs: Iterable[Pair], start: int) -> tuple[int, int] | None:
    """Return the source offsets between which the mirror copied nothing as it went on at the log's start.

    None where it did not, or passed over one offset only, as a transaction's marker takes one. A mirror whose
    next record was deleted goes on where the log begins, and tells that pair at once.
    """
    for before, pair in pairwise(pairs):
        one_on = pair.downstream == before.downstream + 1
        if pair.upstream == start and one_on and pair.upstream - before.upstream > _NEXT_BUT_ONE:
            return before.upstream, pair.upstream
    return None


def beginnings(pairs: Sequence[Pair]) -> list[Pair]:
    """Return those pairs that can be a beginning: no pair behind them is as early on the source."""
    found: list[Pair] = []
    for pair in reversed(pairs):
        if not found or pair.upstream < found[-1].upstream:
            found.append(pair)
    return found[::-1]


def chains(pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
    """Return the pairs as chains of two and more, in order; one pair alone spans nothing."""
    found: list[list[Pair]] = []
    for pair in pairs:
        last = found[-1][-1] if found else None
        if last is not None and pair.delta == last.delta and pair.upstream > last.upstream:
            found[-1].append(pair)
        else:
            found.append([pair])
    return [tuple(chain) for chain in found if len(chain) > 1]


def run_of(chain: Sequence[Pair]) -> Run:
    """Return the source offsets that a chain spans, both its ends included."""
    return Run(chain[0].upstream, chain[-1].upstream + 1, chain[0].delta)


def runs_within(found: Iterable[Run], *, first: int, until: int, most: int) -> tuple[Run, ...]:
    """Return the runs cut to source offsets [first, until), without overlap and in order.

    Where the mirror copied twice, two runs hold the same source offsets at different distances: the one that
    begins first keeps them, and of the other stays what lies behind. So it is on the target: one record is
    the copy of one. Of more than `most` the longest stay.
    """
    cut: list[Run] = []
    at, there = first, 0
    for run in sorted(found, key=lambda one: (one.first, -one.until)):
        begin, end = max(run.first, at, there - run.delta), min(run.until, until)
        if begin < end:
            cut.append(Run(begin, end, run.delta))
            at, there = end, end + run.delta
    longest = sorted(cut, key=lambda one: one.first - one.until)[:most]
    return tuple(sorted(longest, key=lambda one: one.first))


def _another(told: str | None, wanted: str | None) -> bool:
    return told is not None and wanted is not None and told != wanted


def _told_twice(before: Pair, after: Pair) -> bool:
    return (before.upstream, before.downstream) == (after.upstream, after.downstream)
