"""Runs of a mirror's offset syncs that tell the same distance from its offset to its copy's end. Pure.

A sync is exact: when the record at `upstream` was copied, the copy ended behind `downstream`. MirrorMaker
writes one every `offset.lag.max` records of the copy, and one at each record that follows a gap in the
source's offsets (OffsetSyncWriter). So what a log's start has passed stands between two syncs, and from the
one to the other the distance falls by just so many records as are missing. A marker of a transaction is a gap
too, and ends a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_RUNS = 4  # of a partition: what was lost is looked for soon
MOST_OFFSET = 1 << 62  # beyond it an offset is none


class SyncRun(NamedTuple):
    """Syncs in turn of one distance, in records; `first` and `last` are the mirror's next offsets then."""

    distance: int
    first: int
    last: int


@dataclass(slots=True)
class _Watched:
    """A run behind which the first sync past a log's start is waited for."""

    run: SyncRun
    start: int
    passed: bool = False
    after: tuple[int, int] | None = None  # the next offset that it tells, and the copy's end


@dataclass(slots=True)
class SyncRuns:
    """Keeps the newest runs of each partition of a flow."""

    _runs: dict[tuple[str, int], tuple[SyncRun, ...]] = field(default_factory=dict)
    _fresh: set[tuple[str, int]] = field(default_factory=set)
    _watched: dict[tuple[str, int], _Watched] = field(default_factory=dict)

    def note(self, topic: str, partition: int, *, upstream: int, downstream: int, live: bool) -> None:
        """Take in a sync, in the order in which they were written; `live` where it is read as it comes."""
        if not (0 <= upstream < MOST_OFFSET and 0 <= downstream < MOST_OFFSET):
            return
        runs = self._runs.get((topic, partition), ())
        at, distance = upstream + 1, downstream - upstream
        watched = self._watched.get((topic, partition))
        if watched is not None and not watched.passed and at > watched.start:
            watched.passed = True
            if runs and runs[-1][:2] == watched.run[:2]:
                watched.after = at, at + distance
        if runs and runs[-1].distance == distance and at >= runs[-1].last:
            runs = (*runs[:-1], runs[-1]._replace(last=at))
        else:
            runs = (*runs, SyncRun(distance, at, at))[-MOST_RUNS:]
        self._runs[topic, partition] = runs
        if live:
            self._fresh.add((topic, partition))

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are gone, or were made anew on either side."""
        self._runs = {place: runs for place, runs in self._runs.items() if not is_gone(place[0])}
        self._watched = {place: one for place, one in self._watched.items() if not is_gone(place[0])}

    def watch(self, topic: str, partition: int, run: SyncRun, start: int) -> None:
        """Keep the first sync past a log's start, if it comes right after this run: others soon follow it."""
        watched = self._watched.get((topic, partition))
        if watched is None or watched.run[:2] != run[:2] or not watched.passed:
            self._watched[topic, partition] = _Watched(run, start)

    def unwatch(self, topic: str, partition: int) -> None:
        """Keep no such sync any more."""
        self._watched.pop((topic, partition), None)

    def take_fresh(self) -> set[tuple[str, int]]:
        """Return partitions of which a sync was read, as it came, since this was asked last."""
        fresh, self._fresh = self._fresh, set()
        return fresh

    def newest(self, topic: str, partition: int) -> SyncRun | None:
        """Return the newest run, None where there is none."""
        runs = self._runs.get((topic, partition))
        return runs[-1] if runs else None

    def before(self, topic: str, partition: int, start: int) -> SyncRun | None:
        """Return the newest run that began before the log did there."""
        runs = self._runs.get((topic, partition), ())
        return next((run for run in reversed(runs) if run.first <= start), None)

    def after(self, topic: str, partition: int, run: SyncRun, start: int) -> tuple[int, int] | None:
        """Return the mirror's next offset behind a log's start, and the copy's end then.

        By the next run after this one, or by itself where it goes on there. None where nothing is known right
        after it: what a later run tells may be of other gaps.
        """
        watched = self._watched.get((topic, partition))
        if watched is not None and watched.run[:2] == run[:2] and watched.after is not None:
            return watched.after if watched.after[0] > start else None
        runs = self._runs.get((topic, partition), ())
        since = next((at for at, one in enumerate(runs) if one[:2] == run[:2]), len(runs))
        if since < len(runs) and runs[since].last > start:
            at, distance = runs[since].last, runs[since].distance
        elif since + 1 < len(runs) and runs[since + 1].first > start:
            at, distance = runs[since + 1].first, runs[since + 1].distance
        else:
            return None
        return at, at + distance
