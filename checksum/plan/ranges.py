"""The compared ranges of one partition, and what is left out. Pure.

Both ranges start and end at verified pairs, with these exceptions for the start:

- the last run: its end, without reading, if both topic ids are the same;
- the start of both logs: offset 0 on both sides, if the records there are equal and no topic was re-created;
- the start of the target's log: nothing before the record at the target's offset 0 can have been replicated,
  so all earlier offsets of the source are compared, unless MirrorMaker did not start at the earliest offset
  (auto.offset.reset);
- a compacted topic: offset 0 on both sides, because it is compared by the last record of each key. If
  retention deleted records or MirrorMaker did not start there, the first pair that both logs hold: otherwise
  every key that one side lost before its log start would look lost;
- a re-created source topic in which MirrorMaker started later: all earlier offsets of the source are
  compared. On the target they can only follow the last record of the old topic;
- a mirror that keeps offsets: pairs only prove that it does.

If MirrorMaker continued without due records (checksum/plan/due.py), the ranges end after these: no pair shows
where they are on the target, since they are not there. The target is then compared up to its log end offset,
which has not moved since before the source's was read.

After the source's last record, the target cannot hold newer records: if the ranges reach it, the target is
compared up to its own log end offset, which must be read before the source's.

Every offset of the source from the end of the last run (or its log start) to its log end is either compared
or left out, with a reason. What is left out and due makes a run incomplete; what is not due yet does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair, beginnings, ends, jump_to, with_furthest
from checksum.plan.cuts import offsets_to_search, runs_of, segments_of
from checksum.plan.due import continued_without, not_replicated
from checksum.plan.left_out_reasons import (
    deleted_unreplicated,
    deleted_unverified,
    no_end,
    no_start,
    nothing_found,
    replicated_ahead,
    started_late,
)
from checksum.plan.shape import Anchored, LeftOut, OffsetRange, PartitionPlan

if TYPE_CHECKING:
    from checksum.anchors.search import Anchors
    from checksum.plan.due import Due
    from checksum.plan.facts import PartitionFacts, Verified

MOST_SEARCHED_BACK = 250_000  # offsets of the target that are searched for replicated records before a range
_ORIGIN = Pair(0, 0)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The input of a search for anchors: pairs that can be an end, oldest first.

    `start` is where both ranges start, if known.
    """

    ends: tuple[Pair, ...]
    start: tuple[int, int] | None


def still_verified(
    verified: Verified | None, *, source_id: str | None, target_id: str | None
) -> Verified | None:
    """Return where the last run ended, if the topic ids are the same.

    If an id is unknown, it is unknown whether the topic is the same.
    """
    if verified is None or None in (source_id, target_id):
        return None
    same = (verified.source_topic_id, verified.target_topic_id) == (source_id, target_id)
    return verified if same else None


def candidates(facts: PartitionFacts) -> Candidates:
    """Return which pairs can be an end of this partition's ranges, and their start if known."""
    logs, since = facts.logs, _since(facts)
    last = tuple(
        pair
        for pair in ends(facts.usable.pairs, source_end=logs.source_end, repeats=not facts.exactly_once)
        if logs.hold(pair) and pair.upstream >= since[0] and pair.downstream >= since[1]
    )
    return Candidates(last, _known_start(facts))


def beginnings_before(facts: PartitionFacts, end: Pair) -> list[Pair]:
    """Return which pairs can be the start of ranges with this end, oldest first; none if it is known."""
    if _known_start(facts) is not None:
        return []
    logs, since = facts.logs, (0, 0) if facts.compacted else _since(facts)
    known = [
        pair
        for pair in beginnings([pair for pair in facts.usable.pairs if pair.downstream <= end.downstream])
        if logs.hold(pair) and pair.upstream >= since[0]
    ]
    timed = facts.beginning
    if (
        timed is not None
        and since[0] <= timed.upstream <= end.upstream
        and timed.downstream <= end.downstream
    ):
        known = [timed, *(pair for pair in known if pair.upstream > timed.upstream)]
    if _last_verified(facts) is None and _both_start_at_zero(facts):
        known = [_ORIGIN, *(pair for pair in known if pair[:2] != _ORIGIN[:2])]
    return known


def cuts_wanted(facts: PartitionFacts) -> list[int]:
    """Return the source offsets at which to search a cut, because no pair is near."""
    if facts.compacted or not facts.usable.pairs:
        return []
    known = [pair.upstream for pair in facts.usable.pairs]
    first = max(facts.logs.source_start, _since(facts)[0])
    return offsets_to_search(first, max(first, min(max(known), facts.logs.source_end)), known)


def lacks_newest_pair(facts: PartitionFacts) -> bool:
    """Return whether a due offset follows the newest pair and the last run's end."""
    pairs, due = facts.usable.pairs, facts.due
    if due is None or not pairs:
        return False
    return max(pairs[-1].upstream + 1, _since(facts)[0]) < due.source_until


def tail_offset(facts: PartitionFacts, found: Candidates, anchors: Anchors) -> int | None:
    """Return the source offset after which no record may follow, which is worth a check; None if unknown."""
    reached = _last_verified(facts)
    if anchors.end is not None:
        return _end_at(facts, anchors.end)[0]
    if reached is not None:
        return reached.source_until
    if found.start is None or found.start[0] > facts.logs.source_end:
        return None
    return found.start[0]


def partition_ranges(
    facts: PartitionFacts, found: Candidates, anchors: Anchors, *, behind: int | None
) -> tuple[PartitionPlan | None, tuple[LeftOut, ...]]:
    """Return the plan of a partition, or None if nothing is compared, and all that is left out.

    `behind` is the offset of the source's first record at or after the tail's offset, or None.
    """
    logs, reached = facts.logs, _last_verified(facts)
    left = _LeftOutEntries(facts)
    since = _add_deleted(left, facts, reached)
    recreated = _recreated(facts, anchors)
    start = found.start or _range_start(facts, anchors, recreated=recreated is not None)
    skipped = _continued_without(facts, found, anchors, behind)
    end = _range_end(facts, found, anchors, behind=behind, skipped=skipped is not None)
    if start is None or end is None or start[0] > end[0] or start[1] > end[1]:
        if reached is not None and not found.ends:
            _add_after_end(left, facts, found, (since, reached.target_until), behind)
        elif reached is None and _never_replicated(facts):
            _add_after_end(left, facts, found, (since, 0), behind)
        else:
            left.add(since, logs.source_end, _why_nothing(facts, found, anchors))
        return None, left.all()
    late = found.start is None and start[1] == 0
    why = started_late(facts.offset_reset) if late else no_start(facts.anchored, facts.usable, anchors, logs)
    left.add(since, start[0], why)
    _add_after_end(left, facts, found, end, behind)
    if start == end or (reached is not None and end == (reached.source_until, reached.target_until)):
        return None, left.all()
    source, target = OffsetRange(start[0], end[0]), OffsetRange(start[1], end[1])
    runs = runs_of(facts, anchors, source, target)
    segments = segments_of(facts, anchors, source, target)
    plan = PartitionPlan(
        facts.partition,
        source,
        target,
        runs,
        segments,
        facts.anchored,
        recreated=recreated if found.start is None else None,
        left_behind=skipped,
    )
    return plan, left.all()


class _LeftOutEntries:
    """What is left out of one partition."""

    def __init__(self, facts: PartitionFacts) -> None:
        self._facts = facts
        self._entries: list[LeftOut] = []

    def add(self, first: int, until: int, why: str, *, later: bool = False) -> None:
        if first < until:
            self._entries.append(LeftOut(self._facts.topic, self._facts.partition, until - first, why, later))

    def all(self) -> tuple[LeftOut, ...]:
        return tuple(self._entries)


def _add_deleted(left: _LeftOutEntries, facts: PartitionFacts, reached: Verified | None) -> int:
    """Add what the source no longer has; return the first offset that can be compared."""
    logs = facts.logs
    jump = jump_to(facts.usable.pairs, logs.source_start)
    since = reached.source_until if reached is not None else logs.source_start
    passed = logs.source_start
    if jump is not None:
        passed = max(jump[0] + 1, reached.source_until if reached is not None else 0)
        left.add(passed, logs.source_start, deleted_unreplicated(jump))
    left.add(since, min(passed, logs.source_start), deleted_unverified(logs))
    return max(since, logs.source_start)


def _add_after_end(
    left: _LeftOutEntries, facts: PartitionFacts, found: Candidates, end: tuple[int, int], behind: int | None
) -> None:
    """Add what follows the end: replicated up to the newest pair, and unknown after it."""
    refused = [
        (pair.upstream, furthest)
        for pair, furthest in with_furthest(facts.usable.pairs, repeats=not facts.exactly_once)
        if facts.logs.hold(pair) and pair.upstream >= end[0] and pair.downstream >= end[1]
        if pair not in found.ends
    ]
    replicated_until = end[0]
    if refused:
        newest, furthest = max(refused)
        replicated_until = newest + 1
        left.add(end[0], replicated_until, replicated_ahead(furthest))
    due, logs = facts.due, facts.logs
    if due is not None and _holds_due(due, behind):
        due_until = min(due.source_until, logs.source_end)
        at = replicated_until - 1 if replicated_until > logs.source_start else None
        left.add(replicated_until, due_until, not_replicated(due, target_end=logs.target_end, at=at))
        replicated_until = max(replicated_until, due_until)
    left.add(replicated_until, logs.source_end, no_end(facts.anchored, logs, due), later=True)


def _holds_due(due: Due, behind: int | None) -> bool:
    """Return whether a due record follows the newest pair; there may be only transaction markers."""
    return behind is not None and behind < due.source_until


def _continued_without(
    facts: PartitionFacts, found: Candidates, anchors: Anchors, behind: int | None
) -> int | None:
    """Return the first due offset without which MirrorMaker continued, or None."""
    tail, due, logs = tail_offset(facts, found, anchors), facts.due, facts.logs
    if tail is None or due is None or facts.anchored is Anchored.EQUAL_OFFSETS or not _holds_due(due, behind):
        return None
    if not continued_without(due, target_end=logs.target_end, leaves_out=facts.leaves_out):
        return None
    return tail if tail < due.source_until <= logs.source_end else None


def _recreated(facts: PartitionFacts, anchors: Anchors) -> tuple[int, int] | None:
    """Return where MirrorMaker started in a re-created source topic, or None.

    That is the source offset of the new topic's first pair, and the first target offset that may hold its
    records. None if the target has too many offsets between the old topic's last pair and that one to read
    them all.
    """
    first, logs = anchors.beginning, facts.logs
    if first is None or facts.compacted or not facts.whole or facts.anchored is not Anchored.OFFSET_SYNCS:
        return None
    if facts.usable.recreated_after is not None:
        low = facts.usable.recreated_after + 1
    elif anchors.before and _last_verified(facts) is None:
        low = anchors.before[0].downstream + 1
    else:
        return None
    low = max(low, logs.target_start)
    skips = first.upstream > max(logs.source_start, _since(facts)[0])
    if not skips or not 0 <= first.downstream - low <= MOST_SEARCHED_BACK:
        return None
    return first.upstream, low


def _last_verified(facts: PartitionFacts) -> Verified | None:
    """Return where the last run ended, unless a log ends before: then it was truncated, and starts over."""
    verified, logs = facts.verified, facts.logs
    if verified is None or verified.source_until > logs.source_end or verified.target_until > logs.target_end:
        return None
    return verified


def _since(facts: PartitionFacts) -> tuple[int, int]:
    """Return where the last run ended on both sides, or 0."""
    reached = _last_verified(facts)
    return (reached.source_until, reached.target_until) if reached is not None else (0, 0)


def _known_start(facts: PartitionFacts) -> tuple[int, int] | None:
    """Return where both ranges start, if no record must be read for that."""
    logs, reached, since = facts.logs, _last_verified(facts), _since(facts)
    if facts.anchored is Anchored.EQUAL_OFFSETS:
        first = max(logs.source_start, logs.target_start, *(() if facts.compacted else since))
        return first, first
    if facts.compacted:
        return (0, 0) if logs.source_start == 0 == logs.target_start and facts.whole else None
    if reached is not None and since[0] >= logs.source_start and since[1] >= logs.target_start:
        return since
    if reached is None and _both_start_at_zero(facts) and logs.source_end == 0:
        return 0, 0
    return (logs.source_start, 0) if _never_replicated(facts) else None


def _never_replicated(facts: PartitionFacts) -> bool:
    """Return whether the target never had a record, though MirrorMaker had time to replicate some."""
    known, fresh = facts.usable, facts.logs.target_end == 0 and facts.due is not None
    return fresh and facts.whole and not (known.pairs or known.of_other_topics or known.before_a_fall)


def _both_start_at_zero(facts: PartitionFacts) -> bool:
    """Return whether both logs start at 0 and neither topic was re-created."""
    logs, known = facts.logs, facts.usable
    return logs.source_start == 0 == logs.target_start and not known.of_other_topics + known.before_a_fall


def _range_start(facts: PartitionFacts, anchors: Anchors, *, recreated: bool) -> tuple[int, int] | None:
    if anchors.beginning is None:
        return None
    upstream, downstream = anchors.beginning[:2]
    from_start = recreated or (downstream == 0 and facts.whole)
    return (facts.logs.source_start if from_start else upstream, downstream)


def _end_at(facts: PartitionFacts, pair: Pair) -> tuple[int, int]:
    """Return where the ranges end with this pair."""
    if facts.anchored is Anchored.EQUAL_OFFSETS:
        until = min(facts.logs.source_end, facts.logs.target_end)
        return until, until
    return pair.upstream + 1, pair.downstream + 1


def _range_end(
    facts: PartitionFacts, found: Candidates, anchors: Anchors, *, behind: int | None, skipped: bool
) -> tuple[int, int] | None:
    """Return where both ranges end."""
    logs, tail = facts.logs, tail_offset(facts, found, anchors)
    if tail is not None and (behind is None or tail >= logs.source_end):
        at = _end_at(facts, anchors.end) if anchors.end is not None else (tail, 0)
        return max(at[0], logs.source_end), max(at[1], logs.target_end)
    if skipped and facts.due is not None:
        return facts.due.source_until, logs.target_end
    return _end_at(facts, anchors.end) if anchors.end is not None else None


def _why_nothing(facts: PartitionFacts, found: Candidates, anchors: Anchors) -> str:
    return nothing_found(facts.anchored, facts.usable, anchors, ends=len(found.ends))
