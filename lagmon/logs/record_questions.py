"""Single offsets of one cluster's logs of which it is to be known whether a record stands there. Pure.

Whoever asks (under the cluster's lock) has the answer later, when the log was looked at (logs/tail_looks.py).
Where it may not be read, or the offset is deleted, there is none, until the question is taken back.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MOST_ASKED = 100  # at a time


class RecordQuestions:
    """One question of each place at a time, until whoever asked takes it back."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._handed: set[int] = set()  # places of open ones at which somebody was to look
        self._answers: dict[int, tuple[int, bool]] = {}

    def ask(self, place: int, offset: int) -> bool:
        """Have it found out whether a record stands at an offset; False while another is asked for there."""
        if place in self._open or place in self._answers:
            return False
        self._open[place] = offset
        return True

    def answer(self, place: int, offset: int) -> bool | None:
        """Return whether a record stands there, None if that is not known yet."""
        asked, is_record = self._answers.get(place, (-1, False))
        return is_record if asked == offset else None

    def waits(self, place: int, offset: int) -> bool:
        """Return whether a question was not handed out yet: more are asked than are looked at at a time."""
        return self._open.get(place) == offset and place not in self._handed

    def take_back(self, place: int, offset: int) -> None:
        """Forget a question and its answer."""
        if self._open.get(place) == offset:
            self._close(place)
        if self._answers.get(place, (-1, False))[0] == offset:
            del self._answers[place]

    def forget(self, places: Iterable[int]) -> None:
        """Forget these places, whose logs are gone."""
        for place in places:
            self._close(place)
            self._answers.pop(place, None)

    def due(self, may_read: Callable[[int], bool]) -> dict[int, int]:
        """Hand out offsets to look at by place, of those that may be read, the oldest questions first."""
        readable = ((place, offset) for place, offset in self._open.items() if may_read(place))
        due = dict(islice(readable, MOST_ASKED))
        self._handed |= due.keys()
        return due

    def note(self, looked: Mapping[int, tuple[int, int]]) -> None:
        """Take in by place from where a log was looked at, and its first record, or an end behind that."""
        for place, (first, found) in looked.items():
            if self._open.get(place) == first:
                self._close(place)
                self._answers[place] = first, found == first

    def _close(self, place: int) -> None:
        self._open.pop(place, None)
        self._handed.discard(place)
