"""Pairs of offset syncs, and which can be the start or end of a range. Pure.

A pair is exact when it is written: the record at `upstream` on the source is at `downstream` on the target.
It is wrong once either topic is re-created, which offsets do not show (mm2.md, Seen on 4.3.0, 2). So pairs of
other topic ids are not used, and neither are those before a fall of downstream, which shows that the target
was re-created or truncated. The others are used only after the records at a pair were read (search.py).

If MirrorMaker started again at an earlier source offset, downstream continued. Earlier pairs are still exact,
but not all of them can be a cut:

- as an *end*, a pair before which MirrorMaker had already replicated later records would leave those
  before the target's cut: they would look foreign;
- as a *beginning*, a pair after which MirrorMaker started again earlier would leave earlier records in
  the target's range.

A *chain* is a row of pairs with rising offsets and one delta (downstream - upstream). Between two pairs of a
chain no record was skipped or added: MirrorMaker writes a pair right after a gap of the source's offsets
(OffsetSyncWriter of Kafka 4.3), and stored pairs include those on both sides of a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from checksum.plan.shape import Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_NEXT_BUT_ONE = 2
_EQUAL_PAIRS = 32  # so many last ones, and as many spread evenly


class Pair(NamedTuple):
    """One offset sync; a topic id is None if unknown."""

    upstream: int
    downstream: int
    source_topic_id: str | None = None
    target_topic_id: str | None = None

    @property
    def delta(self) -> int:
        """Return the target offset minus the source offset."""
        return self.downstream - self.upstream


@dataclass(frozen=True, slots=True)
class Usable:
    """The usable pairs of one partition, in MirrorMaker's order, and how many are not usable, and why.

    `recreated_after` is the target offset of the last pair of another source topic and this target, or None:
    the records of this source topic follow it.
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
        """Return whether both records of a pair can still exist."""
        return (
            self.source_start <= pair.upstream < self.source_end
            and self.target_start <= pair.downstream < self.target_end
        )


def usable(pairs: Iterable[Pair], *, source_id: str | None, target_id: str | None) -> Usable:
    """Return the pairs, given in the order in which they were written, that are of these topics."""
    kept: list[Pair] = []
    others = fallen = 0
    recreated_after: int | None = None
    for pair in pairs:
        if _is_other(pair.source_topic_id, source_id) or _is_other(pair.target_topic_id, target_id):
            others += 1
            of_this_target = not _is_other(pair.target_topic_id, target_id)
            recreated_after = pair.downstream if of_this_target else None
        elif kept and _is_repeated(kept[-1], pair):
            continue
        else:
            if kept and pair.downstream <= kept[-1].downstream:
                fallen += len(kept)
                kept = []
            kept.append(pair)
    return Usable(tuple(kept), others, fallen, recreated_after)


def equal_pairs(logs: Logs) -> tuple[Pair, ...]:
    """Return pairs of a mirror that keeps offsets: the last ones of both logs, and others spread evenly."""
    first, until = max(logs.source_start, logs.target_start), min(logs.source_end, logs.target_end)
    if first >= until:
        return ()
    spread = {first + (until - 1 - first) * step // _EQUAL_PAIRS for step in range(_EQUAL_PAIRS)}
    last = range(max(first, until - _EQUAL_PAIRS), until)
    return tuple(Pair(offset, offset) for offset in sorted({*spread, *last}))


def ends(pairs: Sequence[Pair], *, source_end: int, repeats: bool = True) -> list[Pair]:
    """Return the pairs that can be an end: before them, MirrorMaker had replicated no later record.

    Nothing after the source's log end was replicated. `repeats` is false if duplicates are not visible
    because the transaction of the first one was aborted.
    """
    found: list[Pair] = []
    for pair, furthest in with_furthest(pairs, repeats=repeats):
        if pair.upstream >= min(furthest, source_end - 1) and (
            not found or pair.upstream > found[-1].upstream
        ):
            found.append(pair)
    return found


def with_furthest(pairs: Sequence[Pair], *, repeats: bool) -> Iterator[tuple[Pair, int]]:
    """Yield each pair with the last source offset that may have been replicated before it; -1: none.

    If the target grew by more than the source between two pairs, MirrorMaker may have continued by as many
    records as fit on the target, and then started again: no pair shows how far it was.
    """
    furthest = -1
    for index, pair in enumerate(pairs):
        before = pairs[index - 1] if index else pair
        if repeats and pair.delta > before.delta:
            furthest = max(furthest, before.upstream + pair.downstream - before.downstream - 1)
        yield pair, furthest
        furthest = max(furthest, pair.upstream)


def jump_to(pairs: Iterable[Pair], start: int) -> tuple[int, int] | None:
    """Return the source offsets between which MirrorMaker skipped records when it continued at the log start.

    None if it did not, or skipped one offset only, as for a transaction marker. If MirrorMaker's next record
    was deleted it continues at the log start, and writes that pair at once.
    """
    for before, pair in pairwise(pairs):
        one_on = pair.downstream == before.downstream + 1
        if pair.upstream == start and one_on and pair.upstream - before.upstream > _NEXT_BUT_ONE:
            return before.upstream, pair.upstream
    return None


def beginnings(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that can be a beginning: no later pair has an earlier source offset."""
    found: list[Pair] = []
    for pair in reversed(pairs):
        if not found or pair.upstream < found[-1].upstream:
            found.append(pair)
    return found[::-1]


def chains(pairs: Sequence[Pair]) -> list[tuple[Pair, ...]]:
    """Return the pairs as chains of two or more, in order."""
    found: list[list[Pair]] = []
    for pair in pairs:
        last = found[-1][-1] if found else None
        if last is not None and pair.delta == last.delta and pair.upstream > last.upstream:
            found[-1].append(pair)
        else:
            found.append([pair])
    return [tuple(chain) for chain in found if len(chain) > 1]


def run_of(chain: Sequence[Pair]) -> Run:
    """Return the source offsets that a chain spans, both ends included."""
    return Run(chain[0].upstream, chain[-1].upstream + 1, chain[0].delta)


def runs_within(found: Iterable[Run], *, first: int, until: int, most: int) -> tuple[Run, ...]:
    """Return the runs cut to source offsets [first, until), without overlap and in order.

    If records were replicated twice, two runs have the same source offsets with different deltas: the one
    that starts first keeps them, and the other keeps the rest. The same holds on the target. The longest
    `most` runs are kept.
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


def _is_other(found: str | None, wanted: str | None) -> bool:
    return found is not None and wanted is not None and found != wanted


def _is_repeated(before: Pair, after: Pair) -> bool:
    return (before.upstream, before.downstream) == (after.upstream, after.downstream)
