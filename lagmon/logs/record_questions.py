"""Questions whether a single offset of a log holds a record. Pure.

A question (asked under the cluster's lock) is answered once the log was read (logs/tail_reads.py). There is
no answer if the log may not be read or the offset is deleted; the question stays until it is taken back.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MOST_ASKED = 100  # at a time


class RecordQuestions:
    """At most one question for each place, until it is taken back."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._handed: set[int] = set()  # places of open questions that were handed out
        self._answers: dict[int, tuple[int, bool]] = {}

    def ask(self, place: int, offset: int) -> bool:
        """Ask whether an offset holds a record; False while another question of the place is open."""
        if place in self._open or place in self._answers:
            return False
        self._open[place] = offset
        return True

    def answer(self, place: int, offset: int) -> bool | None:
        """Return whether the offset holds a record, None if not known yet."""
        asked, is_record = self._answers.get(place, (-1, False))
        return is_record if asked == offset else None

    def waits(self, place: int, offset: int) -> bool:
        """Return whether a question was not handed out yet, as more are open than are read at a time."""
        return self._open.get(place) == offset and place not in self._handed

    def take_back(self, place: int, offset: int) -> None:
        """Forget a question and its answer."""
        if self._open.get(place) == offset:
            self._close(place)
        if self._answers.get(place, (-1, False))[0] == offset:
            del self._answers[place]

    def forget(self, places: Iterable[int]) -> None:
        """Forget these places, whose logs no longer exist."""
        for place in places:
            self._close(place)
            self._answers.pop(place, None)

    def due(self, may_read: Callable[[int], bool]) -> dict[int, int]:
        """Return offsets to read by place, if it may be read, the oldest questions first."""
        readable = ((place, offset) for place, offset in self._open.items() if may_read(place))
        due = dict(islice(readable, MOST_ASKED))
        self._handed |= due.keys()
        return due

    def note(self, looked: Mapping[int, tuple[int, int]]) -> None:
        """Add results: by place the offset read from, and that of its first record or a later end."""
        for place, (first, found) in looked.items():
            if self._open.get(place) == first:
                self._close(place)
                self._answers[place] = first, found == first

    def _close(self, place: int) -> None:
        self._open.pop(place, None)
        self._handed.discard(place)
