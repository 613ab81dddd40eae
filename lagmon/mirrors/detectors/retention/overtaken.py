"""Records of one partition that the source deleted before the mirror replicated them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.mirrors.target_ends.distance import Reach
    from lagmon.syncs.runs import SyncRun

ANY = 1 << 62
MOST_STARTS = 8  # of a log, while its target topic is not polled


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Records of a partition that the source deleted before the mirror had copied them."""

    topic: str
    partition: int
    next_offset: int  # the first of those that are surely lost
    start: int  # where the log began then
    first_at_ms: int
    at_ms: int
    written: int = -1  # the next offset that the mirror had written, -1 for that of the first one
    within: int = 0  # how many before them may be lost too
    counted: int = 0  # how many records are in the total already
    gap: int = 0  # offsets from the one that was written on, at which nothing stood for it to copy
    empty: int = 0  # offsets among those that are surely lost, at most, that may have had no record

    @property
    def offsets(self) -> int:
        """Return how many offsets are surely lost."""
        return self.start - self.next_offset

    @property
    def records(self) -> int:
        """Return how many records at least."""
        return self.offsets - self.empty

    @property
    def most(self) -> int:
        """Return how many records at most."""
        return self.offsets + self.within

    @property
    def mirrored_to(self) -> int:
        """Return the next offset that the mirror had written."""
        return self.written if self.written >= 0 else self.next_offset

    @property
    def copied(self) -> int:
        """Return how many the copy had got at least, of what is behind the offset that was written."""
        return max(0, self.next_offset - self.within - self.gap - self.mirrored_to)

    @property
    def copied_most(self) -> int:
        """Return how many of those it had got at most."""
        return max(0, self.next_offset - self.gap - self.mirrored_to)


@dataclass(slots=True)
class Passing:
    """What bounds the number of records of one that is open."""

    next_offset: int  # that the mirror had written
    low: int  # the mirror stands at least here
    high: int = ANY  # and at most here
    reach: Reach | None = None  # from its offset to its copy's end, before anything was lost
    first_start: int = -1  # of the log, the first that was past the mirror
    run: SyncRun | None = None  # of its offset syncs before that
    synced: tuple[int, int] | None = None  # how many are lost by the syncs, at least and at most
    copy_end: int = -1
    starts: list[tuple[int, int]] = field(default_factory=list)  # of the log, and when they were seen first
    start: int = -1  # of the log, read before the copy was looked at
    stood: bool = False  # whether the mirror stood, as far as that is proved
    told: Overtaken | None = None  # what was lost while it stood, as it was proved last
    passed_ms: int = -1  # when the mirror's offset was seen to be past it, -1 not yet
    passed_to: int = -1  # what the mirror had written then
    moved_to: int = -1  # where the log may have started when the mirror went on, -1 at `start`
    least: int = 0  # by what the copy lacks since
    most: int = ANY
    looked_ms: int = -1

    def see_start(self, start: int, now_ms: int, looked_ms: int) -> None:
        """Take note where the log starts, and what of that the newest look at the copy came after."""
        if not self.starts or start > self.starts[-1][0]:
            del self.starts[MOST_STARTS - 1 :]
            self.starts.append((start, now_ms))
        before = [one for one in self.starts if one[1] <= looked_ms]
        if before:
            self.start = max(self.start, before[-1][0])
            self.starts = self.starts[len(before) - 1 :]

    def range(self) -> tuple[int, int]:
        """Return how many were lost at least and at most, by all that is known."""
        told = self.told
        most_told = max(self.start, self.moved_to) - self.low
        least, most = (0, max(0, most_told)) if told is None else (told.offsets, max(told.most, most_told))
        if self.most < least:  # records that were under way came after all
            most = max(0, self.most)
            return min(max(0, self.least), most), most
        if self.least > most:
            return least, most  # the copy lacks more than was deleted: that is not of this
        return max(least, self.least), min(most, self.most)

    def found(self, one: Overtaken, at_ms: int) -> Overtaken:
        """Return what was lost of one that the mirror has passed."""
        least, most = self.range()
        start = max(self.start, one.start)
        if self.moved_to >= 0:  # what the log begins with now may have been copied before
            stood_at = self.low if self.told is None else self.told.next_offset
            start = max(self.start, self.first_start, stood_at + least)
        first = start - least
        written = min(one.mirrored_to, first)
        return replace(one, next_offset=first, start=start, at_ms=at_ms, written=written, within=most - least)
