"""Which offsets of one log to read for many questions at once, none of them twice for nothing. Pure.

A *question* is whether a record stands in any of its stretches, which are looked at in turn: the first ones
of all questions, then their second ones. Stretches that are near each other are read as one, since to ask
takes longer than to read what lies between. A question has its answer as soon as someone gives it one; what
nobody asks for any more is passed over.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checksum.compare.findings import Held
from checksum.plan.shape import OffsetRange
from checksum.second_look.stretches import CHUNK_RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NEAR = 10_000  # offsets


@dataclass(eq=False, slots=True)
class Question:
    """Does a record with this hash stand in these stretches? `aborted`: it does, as one that was aborted."""

    hash: int
    stretches: tuple[OffsetRange, ...]  # each question of a sweep has as many, some of them empty
    aborted: bool = False
    answer: Held | None = None

    def give_up(self) -> None:
        """Answer by what is known so far, where nobody has."""
        if self.answer is None:
            self.answer = Held.ABORTED if self.aborted else Held.NOT_KNOWN


@dataclass(eq=False, slots=True)
class _Stretch:
    """One stretch, whose it is, and how many records of it were read."""

    offsets: OffsetRange
    questions: list[Question]
    records: int = 0

    @property
    def is_asked_for(self) -> bool:
        """Tell whether a question of it is open."""
        while self.questions and self.questions[-1].answer is not None:
            self.questions.pop()
        return bool(self.questions)


class Sweep:
    """Goes over one log; of one stretch no more than `most_records` are read, then its questions give up."""

    def __init__(self, questions: Sequence[Question], *, most_records: int) -> None:
        self._most_records = most_records
        self._turns = len(questions[0].stretches) if questions else 0
        self._turn = -1
        self._at = 0  # the next offset to read
        self._until = 0
        self._on: list[_Stretch] = []  # those that begin before it
        self._waiting: deque[_Stretch] = deque()
        self._by_hash: dict[int, list[Question]] = defaultdict(list)
        for one in questions:
            self._by_hash[one.hash].append(one)

    def wanted(self) -> OffsetRange | None:
        """Return what to read next, which may be more than is read at once; None: nothing any more."""
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
            if one.is_asked_for:
                self._until = max(self._until, one.offsets.until)
        return OffsetRange(self._at, self._until)

    def take(
        self, offsets: Sequence[int], hashes: Iterable[int], following: int | None
    ) -> list[tuple[Question, int]]:
        """Take records from the beginning of what is wanted; return which open question each may answer.

        `following` is where the rest of what is wanted begins, None where nothing is left of it.
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
        """Have every open question give up of which something is not read."""
        self.wanted()
        for several in self._by_hash.values():
            for one in several:
                here = one.stretches[self._turn : self._turn + 1]
                if any(left.until > self._at for left in here) or any(
                    left.span > 0 for left in one.stretches[self._turn + 1 :]
                ):
                    one.give_up()

    def _settle(self) -> None:
        """Leave the stretches that were read, or that nobody asks for any more, or that are too long."""
        for one in self._on:
            if one.offsets.until > self._at and one.records >= self._most_records:
                for question in one.questions:
                    question.give_up()
        self._on = [one for one in self._on if one.offsets.until > self._at and one.is_asked_for]
        while self._waiting and not self._waiting[0].is_asked_for:
            self._waiting.popleft()

    def _stretches(self) -> list[_Stretch]:
        """Return those of this turn that are asked for, in order; equal ones are one."""
        found: dict[OffsetRange, list[Question]] = defaultdict(list)
        for several in self._by_hash.values():
            for one in several:
                if one.answer is None and one.stretches[self._turn].span > 0:
                    found[one.stretches[self._turn]].append(one)
        return sorted((_Stretch(*one) for one in found.items()), key=lambda one: one.offsets.first)
