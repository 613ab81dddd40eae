"""Runs of offset syncs with the same distance from the mirror's offset to the target's log end. Pure.

A sync is exact: when the record at `upstream` was replicated, the target's log ended after `downstream`.
MirrorMaker writes one every `offset.lag.max` records, and one at each record after a gap in the source's
offsets (OffsetSyncWriter). So a loss by retention lies between two syncs, and the distance falls by the
number of lost records. A transaction marker is a gap too, and ends a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from lagmon.mirrors.partitions.steps_back import MOST_STEPS, StepBack

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_RUNS = 4  # of a partition: a loss is searched soon
MOST_OFFSET = 1 << 62  # larger offsets are invalid


class SyncRun(NamedTuple):
    """Syncs in sequence with one distance, in records; `first` and `last` are the mirror's next offsets."""

    distance: int
    first: int
    last: int


class SyncPassage(NamedTuple):
    """The first sync after a log start, and the run before: the mirror's next offset, the target's end."""

    run: SyncRun
    at: int
    end: int


@dataclass(slots=True)
class _Watched:
    """A log start that waits for the first sync after it."""

    start: int
    after: SyncPassage | None = None


@dataclass(slots=True)
class SyncRuns:
    """Keeps the newest runs of each partition of a flow."""

    _runs: dict[tuple[str, int], tuple[SyncRun, ...]] = field(default_factory=dict)
    _fresh: set[tuple[str, int]] = field(default_factory=set)
    _back: set[tuple[str, int]] = field(default_factory=set)  # partitions with a sync before the last
    _steps: list[StepBack] = field(default_factory=list)  # of live syncs
    _watched: dict[tuple[str, int], _Watched] = field(default_factory=dict)
    # partitions to which fewer records came than offsets passed
    _gapped: set[tuple[str, int]] = field(default_factory=set)

    def note(self, topic: str, partition: int, *, upstream: int, downstream: int, live: bool) -> None:
        """Add a sync, in the order in which they were written; `live` if it is read when it is written."""
        if not (0 <= upstream < MOST_OFFSET and 0 <= downstream < MOST_OFFSET):
            return
        runs = self._runs.get((topic, partition), ())
        at, distance = upstream + 1, downstream - upstream
        if runs and at < runs[-1].last:
            self._back.add((topic, partition))
            if live and len(self._steps) < MOST_STEPS:
                last, before = runs[-1].last, runs[-1].distance
                self._steps.append(StepBack(topic, partition, last, upstream, -1, before))
        watched = self._watched.get((topic, partition))
        waits = watched is not None and watched.after is None and at > watched.start
        if watched is not None and waits and runs and runs[-1].first <= watched.start:
            watched.after = SyncPassage(runs[-1], at, at + distance)
        if runs and at > runs[-1].last and distance < runs[-1].distance and watched is None:
            self._gapped.add((topic, partition))
        if runs and runs[-1].distance == distance and at >= runs[-1].last:
            runs = (*runs[:-1], runs[-1]._replace(last=at))
        else:
            runs = (*runs, SyncRun(distance, at, at))[-MOST_RUNS:]
        self._runs[topic, partition] = runs
        if live:
            self._fresh.add((topic, partition))

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that were removed or re-created on either side."""
        self._runs = {place: runs for place, runs in self._runs.items() if not is_gone(place[0])}
        self._watched = {place: one for place, one in self._watched.items() if not is_gone(place[0])}
        self._back = {place for place in self._back if not is_gone(place[0])}
        self._steps = [step for step in self._steps if not is_gone(step.topic)]
        self._gapped = {place for place in self._gapped if not is_gone(place[0])}

    def watch(self, topic: str, partition: int, start: int) -> None:
        """Keep the first sync after a log start when it comes, as others may soon replace it."""
        watched = self._watched.get((topic, partition))
        if watched is None or watched.after is None or watched.after.at <= start:
            self._watched[topic, partition] = _Watched(start)

    def unwatch(self, topic: str, partition: int) -> None:
        """Stop watching."""
        self._watched.pop((topic, partition), None)

    def take_fresh(self) -> set[tuple[str, int]]:
        """Return partitions with a live sync since the last call."""
        fresh, self._fresh = self._fresh, set()
        return fresh

    def take_back(self) -> set[tuple[str, int]]:
        """Return partitions with a sync before the last one, since the last call."""
        back, self._back = self._back, set()
        return back

    def take_steps_back(self) -> list[StepBack]:
        """Return steps back of syncs since the last call; their times are unknown."""
        steps, self._steps = self._steps, []
        return steps

    def has_gaps(self, topic: str, partition: int) -> bool:
        """Return whether fewer records were replicated than offsets passed, while nothing was deleted."""
        return (topic, partition) in self._gapped

    def newest(self, topic: str, partition: int) -> SyncRun | None:
        """Return the newest run, None if there is none."""
        runs = self._runs.get((topic, partition))
        return runs[-1] if runs else None

    def before(self, topic: str, partition: int, start: int) -> SyncRun | None:
        """Return the newest run that began before this log start."""
        runs = self._runs.get((topic, partition), ())
        return next((run for run in reversed(runs) if run.first <= start), None)

    def after(self, topic: str, partition: int, start: int) -> SyncPassage | None:
        """Return how the mirror passed a log start, by its syncs; None if these do not show it."""
        watched = self._watched.get((topic, partition))
        if watched is not None and watched.after is not None and watched.after.at > start:
            return watched.after
        runs = self._runs.get((topic, partition), ())
        for run, following in zip_longest(runs, runs[1:]):
            if run.first <= start < run.last:
                return SyncPassage(run, run.last, run.last + run.distance)
            if following is not None and run.last <= start < following.first:
                return SyncPassage(run, following.first, following.first + following.distance)
        return None
