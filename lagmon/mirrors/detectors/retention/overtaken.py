"""Records of one partition that the source deleted before the mirror replicated them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.mirrors.target_ends.distance import DistanceRange
    from lagmon.syncs.runs import SyncRun

ANY = 1 << 62
NO_OFFSET = -2  # as `written`: the mirror had stored none
MOST_STARTS = 8  # of a log, while its target topic is not polled


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Records of a partition that the source deleted before the mirror replicated them."""

    topic: str
    partition: int
    next_offset: int  # the first one that is surely lost
    start: int  # the log start at that time
    first_at_ms: int
    at_ms: int
    written: int = -1  # the next offset that the mirror had written; -1: `next_offset`; NO_OFFSET
    within: int = 0  # how many offsets before it may be lost too
    counted: int = 0  # how many records are already in the total
    gap: int = 0  # offsets from the written one on that had no record to replicate
    empty: int = 0  # how many of the surely lost offsets may have had no record

    @property
    def offsets(self) -> int:
        """Return how many offsets are surely lost."""
        return self.start - self.next_offset

    @property
    def records(self) -> int:
        """Return how many records are lost at least."""
        return self.offsets - self.empty

    @property
    def most(self) -> int:
        """Return how many records are lost at most."""
        return self.offsets + self.within

    @property
    def mirrored_to(self) -> int:
        """Return the next offset that the mirror had written."""
        return self.written if self.written >= 0 else self.next_offset

    @property
    def copied(self) -> int:
        """Return how many records after the written offset had reached the target at least."""
        return max(0, self.next_offset - self.within - self.gap - self.mirrored_to)

    @property
    def copied_most(self) -> int:
        """Return how many of those had reached it at most."""
        return max(0, self.next_offset - self.gap - self.mirrored_to)


@dataclass(slots=True)
class LossBounds:
    """What bounds the number of records of an open loss."""

    next_offset: int  # that the mirror had written
    low: int  # the mirror is at least here
    high: int = ANY  # and at most here
    span: DistanceRange | None = None  # from its offset to its target's end, before the loss
    first_start: int = -1  # of the log: the first start after the mirror's offset
    run: SyncRun | None = None  # its offset syncs before that
    synced: tuple[int, int] | None = None  # the loss by offset syncs, at least and at most
    target_end: int = -1
    starts: list[tuple[int, int]] = field(default_factory=list)  # of the log, and when each was seen first
    start: int = -1  # of the log, read before the poll of the target
    stalled: bool = False  # whether the mirror is proved to have stalled
    proved: Overtaken | None = None  # the loss during the stall, as last proved
    passed_ms: int = -1  # when the mirror's offset had passed it; -1: not yet
    passed_to: int = -1  # the mirror's offset at that time
    moved_to: int = -1  # the log start when the mirror continued may be here; -1: at `start`
    least: int = 0  # by what the target lacks since
    most: int = ANY
    polled_ms: int = -1

    def see_start(self, start: int, now_ms: int, polled_ms: int) -> None:
        """Note the log start, and up to which start the newest poll of the target counts."""
        if not self.starts or start > self.starts[-1][0]:
            del self.starts[MOST_STARTS - 1 :]
            self.starts.append((start, now_ms))
        before = [one for one in self.starts if one[1] <= polled_ms]
        if before:
            self.start = max(self.start, before[-1][0])
            self.starts = self.starts[len(before) - 1 :]

    def range(self) -> tuple[int, int]:
        """Return how many records were lost at least and at most, by all that is known."""
        proved = self.proved
        most_proved = max(self.start, self.moved_to) - self.low
        least, most = (
            (0, max(0, most_proved)) if proved is None else (proved.offsets, max(proved.most, most_proved))
        )
        if self.most < least:  # records under way arrived after all
            most = max(0, self.most)
            return min(max(0, self.least), most), most
        if self.least > most:
            return least, most  # the target lacks more than was deleted: not from this loss
        return max(least, self.least), min(most, self.most)

    def found(self, one: Overtaken, at_ms: int) -> Overtaken:
        """Return what was lost of a loss that the mirror has passed."""
        least, most = self.range()
        start = max(self.start, one.start)
        if self.moved_to >= 0:  # the present start of the log may have been replicated before
            stalled_at = self.low if self.proved is None else self.proved.next_offset
            start = max(self.start, self.first_start, stalled_at + least)
        first = start - least
        written = min(one.mirrored_to, first)
        return replace(one, next_offset=first, start=start, at_ms=at_ms, written=written, within=most - least)
