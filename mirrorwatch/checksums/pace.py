"""How far a side's reading is, how fast, and how long it will take: numbers for people. Pure.

Progress is known after each slice. Within one, which may take a minute, what is known is how many of Spark's
tasks are done: each reads one partition's part of the slice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from checksum.plan.pacing import FREE
from fleet.quantity import bytes_text, duration_text
from mirrorwatch.web.texts import counted, share_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.run import Progressed


# What the rest will take is told by so large a part of it, or by so long a time: the first slice takes Spark
# seconds, however small it is.
_LEAST_SHARE = 0.05
_LEAST_S = 30.0
MOST_BY_TASKS = 0.99  # of a slice: once all is read it is added up and written, and then only it counts


class StageTasks(NamedTuple):
    """A stage of Spark's that is on: its number, its tasks, and how many of them are done."""

    stage: int
    tasks: int
    done: int

    @property
    def size(self) -> tuple[int, int]:
        """Return by what one of several is taken: the largest, the latest of such."""
        return self.tasks, self.stage


@dataclass(slots=True)
class SliceTasks:
    """Follows the stage that reads a slice: the one with the most tasks, the latest of several.

    Stages before it lay out small tables, and those after it add up cells: both have few tasks, and are over
    at once.
    """

    _on: StageTasks | None = None

    def look(self, stages: Iterable[StageTasks]) -> float:
        """Return the share of the slice that is read, 0 to 1, by the stages that are on now."""
        found = {one.stage: one for one in stages}
        known = self._on
        latest = max(found.values(), key=lambda one: one.size, default=None)
        if latest is not None and (known is None or latest.size >= known.size):
            self._on = latest
        elif known is not None and known.stage not in found:
            self._on = known._replace(done=known.tasks)
        return 0.0 if self._on is None or not self._on.tasks else self._on.done / self._on.tasks


@dataclass(slots=True)
class Pace:
    """One side's reading; instants are monotonic nanoseconds."""

    begun_ns: int
    first: Progressed | None = None
    last: Progressed | None = None
    last_ns: int = 0
    _slice_offsets: int = 0
    _tasks: SliceTasks = field(default_factory=SliceTasks)

    def at(self, progress: Progressed, now_ns: int) -> None:
        """Take what is known after a slice; the first is what was read before."""
        if self.last is None:
            self.first, self.begun_ns = progress, now_ns
        else:
            self._slice_offsets = progress.offsets - self.last.offsets
        self.last, self.last_ns, self._tasks = progress, now_ns, SliceTasks()

    def look(self, stages: Iterable[StageTasks]) -> float:
        """Return how many offsets are read, those of the slice that is on by its tasks."""
        if self.last is None:
            return 0.0
        rest = self.last.of_offsets - self.last.offsets
        likely = min(self._slice_offsets or FREE.offsets, rest)
        return self.last.offsets + min(self._tasks.look(stages), MOST_BY_TASKS) * likely

    def records_s(self) -> float | None:
        """Return the records a second since the beginning, None before the first slice is read."""
        if self.first is None or self.last is None or self.last_ns <= self.begun_ns:
            return None
        return (self.last.records - self.first.records) / ((self.last_ns - self.begun_ns) / 1e9)

    def left_s(self, offsets: float, now_ns: int) -> float | None:
        """Return how long what is left will take where `offsets` are read now; None where nobody knows."""
        if self.first is None or self.last is None:
            return None
        read, took_s = offsets - self.first.offsets, (now_ns - self.begun_ns) / 1e9
        return _left_s(read, self.last.of_offsets - offsets, took_s)


def progress_text(first: Progressed, progress: Progressed, took_s: float) -> str:
    """Say how far a side is, how fast it is read, and how long the rest will take."""
    read = progress.records - first.records
    said = f"{progress.offsets:,} of {counted(progress.of_offsets, 'offset')} read"
    if progress.of_partitions:
        said += f", {progress.partitions:,} of {counted(progress.of_partitions, 'partition')}"
    said += f": {counted(progress.records, 'record')}"
    if progress.size_bytes:
        said += f", {bytes_text(progress.size_bytes)}"
    if took_s > 0:
        said += f", {read / took_s:,.0f} records/s"
    left = progress.of_offsets - progress.offsets
    left_s = _left_s(progress.offsets - first.offsets, left, took_s)
    if left and left_s:
        said += f", about {duration_text(left_s)} left"
    return said


def _left_s(done: float, left: float, took_s: float) -> float | None:
    if done <= 0 or (done < _LEAST_SHARE * (done + left) and took_s < _LEAST_S):
        return None
    return left * took_s / done


def share_read(offsets: float, of_offsets: int) -> str:
    """Write how much of a side is read; 100 % only where all of it is."""
    return "100 %" if offsets >= of_offsets else share_text(int(min(offsets, of_offsets - 1)), of_offsets)
