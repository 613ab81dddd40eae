"""Progress of reading one side: share, rate, and time left. Pure.

Exact progress is known after each slice. Within a slice, which may take a minute, the share of finished Spark
tasks is used: each task reads one partition's part of the slice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from checksum.plan.pacing import UNPACED
from fleet.quantity import bytes_text, duration_text
from mirrorwatch.web.texts import counted, share_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.run import DigestProgress


# The time left is estimated only after this share or this time: the first slice takes Spark seconds, however
# small it is.
_LEAST_SHARE = 0.05
_LEAST_S = 30.0
MOST_BY_TASKS = 0.99  # of a slice, until it is summed and written


class StageTasks(NamedTuple):
    """An active Spark stage: its id, its tasks, and how many of them are done."""

    stage: int
    tasks: int
    done: int

    @property
    def size(self) -> tuple[int, int]:
        """Return the sort key for the stage that reads: most tasks first, then the latest."""
        return self.tasks, self.stage


@dataclass(slots=True)
class SliceTasks:
    """Follows the stage that reads a slice: the one with the most tasks, or the latest of those.

    Stages before it build small tables and stages after it add up cells. Both have few tasks and end quickly.
    """

    _on: StageTasks | None = None

    def look(self, stages: Iterable[StageTasks]) -> float:
        """Return the share of the slice that is read, 0 to 1, from the active stages."""
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
    """Progress of one side; times are monotonic nanoseconds."""

    begun_ns: int
    first: DigestProgress | None = None
    last: DigestProgress | None = None
    last_ns: int = 0
    _slice_offsets: int = 0
    _tasks: SliceTasks = field(default_factory=SliceTasks)

    def at(self, progress: DigestProgress, now_ns: int) -> None:
        """Record the progress after a slice; the first call gives what was read before."""
        if self.last is None:
            self.first, self.begun_ns = progress, now_ns
        else:
            self._slice_offsets = progress.offsets - self.last.offsets
        self.last, self.last_ns, self._tasks = progress, now_ns, SliceTasks()

    def look(self, stages: Iterable[StageTasks]) -> float:
        """Return how many offsets are read, with an estimate for the current slice."""
        if self.last is None:
            return 0.0
        rest = self.last.of_offsets - self.last.offsets
        likely = min(self._slice_offsets or UNPACED.offsets, rest)
        return self.last.offsets + min(self._tasks.look(stages), MOST_BY_TASKS) * likely

    def records_s(self) -> float | None:
        """Return the records per second since the start, or None before the first slice is read."""
        if self.first is None or self.last is None or self.last_ns <= self.begun_ns:
            return None
        return (self.last.records - self.first.records) / ((self.last_ns - self.begun_ns) / 1e9)

    def left_s(self, offsets: float, now_ns: int) -> float | None:
        """Return the estimated seconds left if `offsets` are read now, or None if unknown."""
        if self.first is None or self.last is None:
            return None
        read, took_s = offsets - self.first.offsets, (now_ns - self.begun_ns) / 1e9
        return _left_s(read, self.last.of_offsets - offsets, took_s)


def progress_text(first: DigestProgress, progress: DigestProgress, took_s: float) -> str:
    """Return one line: offsets, partitions and records read, rate, and time left."""
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
    """Return the share of a side that is read; 100 % only if all of it is."""
    return "100 %" if offsets >= of_offsets else share_text(int(min(offsets, of_offsets - 1)), of_offsets)
