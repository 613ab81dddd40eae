"""Whether the source holds extra records of the target. Blocking; call it on a thread.

A replicated record keeps its timestamp, so nothing before the first record of that time is read. All
questions of a partition are answered by reading it once, and several partitions are read at once. Reading is
limited; beyond the limit, answers are unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from checksum.compare.findings import LookupAnswer
from checksum.digest.cell_rows import planned_partitions
from checksum.plan.shape import READ_COMMITTED, OffsetRange
from checksum.recheck.lookup_scan import LookupScan, Question
from checksum.recheck.record_chunks import CHUNK_RECORDS, chunks_of_several, hashes, one_chunk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checksum.anchors.reading import Place, Reader
    from checksum.compare.findings import Lookup
    from checksum.plan.shape import Plan

MOST_RECORDS = 200_000  # of one stretch, so that no question takes the time of all others
MOST_IN_ALL = 2_000_000  # of one check
ASKING_COSTS = 1000  # records: a request costs as much as reading so many
PLACES_AT_ONCE = 32  # each has up to stretches.CHUNK_RECORDS in memory
MOST_TIMES = 100  # of one partition that are looked up


class Lookups:
    """Answers with two readers of the source: one of all records, one of committed ones."""

    def __init__(self, plan: Plan, *, everything: Reader, committed: Reader) -> None:
        self._plan = plan
        self._everything = everything
        self._committed = committed
        self._partitions = planned_partitions(plan)
        self._left = MOST_IN_ALL

    def answers(self, asked: Sequence[Lookup]) -> list[LookupAnswer]:
        """Return for each record whether the source holds it."""
        places = sorted({_place(one) for one in asked})
        if not places:
            return []
        starts, ends = self._everything.starts(places), self._everything.ends(places)
        since = self._since(asked, starts)
        questions = []
        by_place: dict[Place, list[Question]] = defaultdict(list)
        for one in asked:
            place = _place(one)
            first = since[place].of(one.timestamp_ms, default=ends[place])
            questions.append(Question(one.hash, self._stretches(one, first, ends[place])))
            by_place[place].append(questions[-1])
        self._read(
            {place: LookupScan(several, most_records=MOST_RECORDS) for place, several in by_place.items()}
        )
        return self._concluded(list(zip(asked, questions, strict=True)), starts)

    def _since(self, asked: Sequence[Lookup], starts: Mapping[Place, int]) -> dict[Place, _Since]:
        """Return the first possible offsets by place, with a few requests for all places."""
        by_place: dict[Place, set[int]] = {place: set() for place in starts}
        for one in asked:
            if one.timestamp_ms is not None and one.timestamp_ms >= 0:
                by_place[_place(one)].add(one.timestamp_ms)
        times = {place: _few(sorted(several)) for place, several in by_place.items()}
        found: dict[Place, list[int | None]] = {place: [] for place in starts}
        for turn in range(max(map(len, times.values()))):
            wanted = {place: several[turn] for place, several in times.items() if turn < len(several)}
            offsets = self._everything.since(wanted)
            for place in wanted:
                found[place].append(offsets.get(place))
        return {place: _Since(starts[place], times[place], found[place]) for place in starts}

    def _stretches(self, asked: Lookup, since: int, end: int) -> tuple[OffsetRange, ...]:
        """Return where the original may be: in the compared range, after it, before it."""
        held = self._partitions[_place(asked)].partition.source
        inside = asked.offsets or OffsetRange(0, 0)
        if self._plan.isolation_source == READ_COMMITTED:
            inside = held  # the digest has no aborted records, so it rules nothing out
        wanted = (inside, OffsetRange(held.until, end), OffsetRange(0, held.first))
        cut = (OffsetRange(max(one.first, since), min(one.until, end)) for one in wanted)
        return tuple(one if one.span > 0 else OffsetRange(0, 0) for one in cut)

    def _read(self, scans: Mapping[Place, LookupScan]) -> None:
        """Read until every question has its answer, everything is read, or the limit is reached."""
        waiting = iter(scans.items())
        on: dict[Place, LookupScan] = {}
        while True:
            on |= dict(islice(waiting, PLACES_AT_ONCE - len(on)))
            if not on:
                return
            wanted = {place: one for place, scan in on.items() if (one := scan.wanted()) is not None}
            on = {place: on[place] for place in wanted}
            if not wanted:
                continue
            if self._left <= 0:
                for scan in (*on.values(), *(scan for _, scan in waiting)):
                    scan.give_up()
                return
            asked = dict(islice(wanted.items(), -(-self._left // CHUNK_RECORDS)))
            matches: dict[Place, list[tuple[Question, int]]] = {}
            for place, chunk in one_chunk(self._everything, asked).items():
                self._left -= max(len(chunk.records), ASKING_COSTS)
                found = hashes(chunk.records, self._partitions[place].topic, self._plan)
                offsets = [record.offset for record in chunk.records]
                matches[place] = on[place].take(offsets, found, chunk.following)
            self._check({place: several for place, several in matches.items() if several})

    def _check(self, matches: Mapping[Place, Sequence[tuple[Question, int]]]) -> None:
        """Answer the questions whose record was committed; the others were aborted.

        The stretch between the first and the last match is read once, which is faster than one request for
        each.
        """
        committed: dict[Place, set[int]] = defaultdict(set)
        spans = {place: OffsetRange(some[0][1], some[-1][1] + 1) for place, some in matches.items()}
        for place, some in chunks_of_several(self._committed, spans):
            committed[place].update(record.offset for record in some)
        for place, several in matches.items():
            for question, offset in several:
                if offset in committed[place]:
                    question.answer = LookupAnswer.COMMITTED
                else:
                    question.aborted = True

    def _concluded(
        self, questions: Sequence[tuple[Lookup, Question]], starts: Mapping[Place, int]
    ) -> list[LookupAnswer]:
        """Return the answers: a record found nowhere does not exist, if the log reaches back far enough.

        If the log's first record is already that late, earlier ones of the same time may have expired.
        """
        nowhere = [one for one, question in questions if question.answer is None and not question.aborted]
        cut = {_place(one): (starts[_place(one)], 1) for one in nowhere if starts[_place(one)] > 0}
        first_ms = {
            place: found.records[0].timestamp_ms
            for place, found in (self._everything.pick(cut) if cut else {}).items()
            if found.records
        }
        answers = []
        for one, question in questions:
            place = _place(one)
            reaches = place not in cut or (
                one.timestamp_ms is not None and first_ms.get(place, one.timestamp_ms) < one.timestamp_ms
            )
            if question.answer is None and reaches and not question.aborted:
                question.answer = LookupAnswer.NO
            question.give_up()
            answers.append(question.answer or LookupAnswer.NOT_KNOWN)
        return answers


class _Since:
    """The first offset of one log that can hold a record of a time, from a few samples."""

    def __init__(self, start: int, times: Sequence[int], offsets: Sequence[int | None]) -> None:
        self._start = start
        self._times = times
        self._offsets = offsets

    def of(self, timestamp_ms: int | None, *, default: int) -> int:
        """Return it; the log start if the time is unknown, `default` if no record is that late."""
        if timestamp_ms is None or timestamp_ms < 0:
            return self._start
        found = self._offsets[bisect_right(self._times, timestamp_ms) - 1]
        return default if found is None else max(found, self._start)


def _few(times: Sequence[int]) -> Sequence[int]:
    """Return at most MOST_TIMES of them, the first one included."""
    return times[:: max(-(-len(times) // MOST_TIMES), 1)]


def _place(one: Lookup) -> Place:
    return one.topic, one.partition
