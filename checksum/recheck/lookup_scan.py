"""Which offsets of a log to read for many questions at once, each only once. Pure.

A *question* is whether a record is in any of its stretches, which are searched in turns: the first ones of
all questions, then their second ones. Stretches near each other are read as one, because a request takes
longer than reading what lies between. A stretch without an open question is skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checksum.compare.findings import LookupAnswer
from checksum.plan.shape import OffsetRange
from checksum.recheck.record_chunks import CHUNK_RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NEAR = 10_000  # offsets


@dataclass(eq=False, slots=True)
class Question:
    """Whether a record with this hash is in these stretches; `aborted`: it is, in an aborted transaction."""

    hash: int
    stretches: tuple[OffsetRange, ...]  # all questions have equally many; some are empty
    aborted: bool = False
    answer: LookupAnswer | None = None

    def give_up(self) -> None:
        """Answer with what is known so far, unless it is answered."""
        if self.answer is None:
            self.answer = LookupAnswer.ABORTED if self.aborted else LookupAnswer.NOT_KNOWN


@dataclass(eq=False, slots=True)
class _Stretch:
    """One stretch, its questions, and how many of its records were read."""

    offsets: OffsetRange
    questions: list[Question]
    records: int = 0

    @property
    def is_open(self) -> bool:
        """Return whether one of its questions is open."""
        while self.questions and self.questions[-1].answer is not None:
            self.questions.pop()
        return bool(self.questions)


class LookupScan:
    """Reads one log; after `most_records` of one stretch, its questions give up."""

    def __init__(self, questions: Sequence[Question], *, most_records: int) -> None:
        self._most_records = most_records
        self._turns = len(questions[0].stretches) if questions else 0
        self._turn = -1
        self._at = 0  # the next offset to read
        self._until = 0
        self._on: list[_Stretch] = []  # those that start before it
        self._waiting: deque[_Stretch] = deque()
        self._by_hash: dict[int, list[Question]] = defaultdict(list)
        for one in questions:
            self._by_hash[one.hash].append(one)

    def wanted(self) -> OffsetRange | None:
        """Return what to read next, which may be more than one request, or None at the end."""
        self._settle()
        while not self._on and not self._waiting:
            self._turn += 1
            if self._turn >= self._turns:
                return None
            self._waiting = deque(self._stretches())
        if not self._on:
            self._at = self._waiting[0].offsets.first
        self._until = max((one.offsets.until for one in self._on), default=self._at)
        for one in self._waiting:
            if one.offsets.first > self._until + NEAR or self._until - self._at >= CHUNK_RECORDS:
                break
            if one.is_open:
                self._until = max(self._until, one.offsets.until)
        return OffsetRange(self._at, self._until)

    def take(
        self, offsets: Sequence[int], hashes: Iterable[int], following: int | None
    ) -> list[tuple[Question, int]]:
        """Add records from the start of what is wanted; return the open question that each may answer.

        `following` is the offset where the rest of it starts, or None.
        """
        self._at = self._until if following is None else following
        while self._waiting and self._waiting[0].offsets.first < self._at:
            self._on.append(self._waiting.popleft())
        for stretch in self._on:
            first, until = stretch.offsets.first, stretch.offsets.until
            stretch.records += bisect_left(offsets, until) - bisect_left(offsets, first)
        return [
            (question, offset)
            for offset, found in zip(offsets, hashes, strict=True)
            for question in self._by_hash.get(found, ())
            if question.answer is None
            and question.stretches[self._turn].first <= offset < question.stretches[self._turn].until
        ]

    def give_up(self) -> None:
        """Make every open question give up whose stretches were not read completely."""
        self.wanted()
        for several in self._by_hash.values():
            for one in several:
                here = one.stretches[self._turn : self._turn + 1]
                if any(left.until > self._at for left in here) or any(
                    left.span > 0 for left in one.stretches[self._turn + 1 :]
                ):
                    one.give_up()

    def _settle(self) -> None:
        """Leave the stretches that were read, that have no open question, or that are too long."""
        for one in self._on:
            if one.offsets.until > self._at and one.records >= self._most_records:
                for question in one.questions:
                    question.give_up()
        self._on = [one for one in self._on if one.offsets.until > self._at and one.is_open]
        while self._waiting and not self._waiting[0].is_open:
            self._waiting.popleft()

    def _stretches(self) -> list[_Stretch]:
        """Return the open stretches of this turn, in order; equal ones are one."""
        found: dict[OffsetRange, list[Question]] = defaultdict(list)
        for several in self._by_hash.values():
            for one in several:
                if one.answer is None and one.stretches[self._turn].span > 0:
                    found[one.stretches[self._turn]].append(one)
        return sorted((_Stretch(*one) for one in found.items()), key=lambda one: one.offsets.first)
