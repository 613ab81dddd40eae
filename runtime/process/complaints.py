"""Problems: logged once, repeated rarely with a count, and reported as over.

`ComplaintBook` decides what to log and is pure; `Complaints` logs it. Rules:

1. The first problem of a place is logged at once.
2. The same sentence is counted, and logged again after `again_after_s`.
3. Another sentence about the same place is logged at once, but at most every `news_after_s`, so that a
sentence
   with a changing number cannot flood the log.
4. The end of a problem is logged once; the next problem of that place starts again at rule 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from runtime.process.logs import Logger


@dataclass(frozen=True, slots=True)
class Complaint:
    """A problem at one place: newest sentence, first and newest instant (epoch s), count."""

    where: str
    sentence: str
    since_at: float
    last_at: float
    times: int


@dataclass(frozen=True, slots=True)
class Saying:
    """A sentence for the log, with the place that it is about."""

    where: str
    sentence: str


@dataclass(slots=True)
class _Entry:
    complaint: Complaint
    said_sentence: str
    said_at: float
    unsaid: int


class ComplaintBook:
    """Current problems, at most `places`; the one silent for the longest is dropped first."""

    def __init__(
        self, *, again_after_s: float = 600.0, news_after_s: float = 60.0, places: int = 1000
    ) -> None:
        self._again_after_s = again_after_s
        self._news_after_s = news_after_s
        self._places = places
        self._entries: dict[str, _Entry] = {}

    def say(self, where: str, sentence: str, *, now: float) -> Saying | None:
        """Note that `sentence` holds at `where` at epoch second `now`; return what to log, if anything."""
        entry = self._entries.pop(where, None)
        if entry is None:
            if len(self._entries) >= self._places:
                del self._entries[next(iter(self._entries))]
            self._entries[where] = _Entry(Complaint(where, sentence, now, now, 1), sentence, now, 0)
            return Saying(where, sentence)
        self._entries[where] = entry  # now the newest, hence last to make room
        times = entry.complaint.times + 1
        entry.complaint = replace(entry.complaint, sentence=sentence, last_at=now, times=times)
        entry.unsaid += 1
        # A wall clock that was set back must not silence a place for longer than the interval.
        quiet_s = abs(now - entry.said_at)
        news = sentence != entry.said_sentence
        if quiet_s < (self._news_after_s if news else self._again_after_s):
            return None
        unsaid, entry.unsaid = entry.unsaid, 0
        entry.said_sentence, entry.said_at = sentence, now
        count = "once" if unsaid == 1 else f"{unsaid} times"
        return Saying(where, f"{sentence} (repeated {count} in {duration_text(quiet_s)})")

    def clear(self, where: str, *, now: float) -> Saying | None:
        """Note that `where` works at `now`; return what to log, or None without a problem there."""
        entry = self._entries.pop(where, None)
        if entry is None:
            return None
        lasted = duration_text(max(0.0, now - entry.complaint.since_at))
        return Saying(where, f"over after {lasted}: {entry.complaint.sentence}")

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
        for entry in self._entries.values():
            was = entry.complaint
            entry.complaint = replace(was, since_at=was.since_at + by_s, last_at=was.last_at + by_s)
            entry.said_at += by_s

    def active(self) -> tuple[Complaint, ...]:
        """Return current problems, newest first."""
        records = (entry.complaint for entry in self._entries.values())
        return tuple(sorted(records, key=lambda record: (-record.since_at, record.where)))


class Complaints:
    """Logs problems: a warning while there is one, information when it is over."""

    def __init__(self, log: Logger, *, book: ComplaintBook | None = None) -> None:
        self._log = log
        self._book = book or ComplaintBook()

    def say(self, where: str, sentence: str, now: float) -> None:
        """Report a problem at `where` at epoch second `now`."""
        saying = self._book.say(where, sentence, now=now)
        if saying is not None:
            self._log.warning(saying.sentence, where=saying.where)

    def clear(self, where: str, now: float) -> None:
        """Report that the problem at `where` is over."""
        saying = self._book.clear(where, now=now)
        if saying is not None:
            self._log.info(saying.sentence, where=saying.where)

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
        self._book.move_instants(by_s)

    def active(self) -> tuple[Complaint, ...]:
        """Return current problems, newest first."""
        return self._book.active()
