"""Series about the source of commits and the reading progress. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.series import lag as series
from lagmon.cluster.readiness import share_read
from lagmon.exposition.family import Family

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from numpy.typing import NDArray

    from lagmon.ingest.commits import Progress

    class Source(Protocol):
        """The used part of one cluster's watch."""

        commits_from: str

        @property
        def progress(self) -> Progress | None:
            """Return the reading progress."""

        @property
        def ready_s(self) -> float | None:
            """Return how long after the start all groups were known."""


class CommitMetrics:
    """The series of every cluster; each watch is one row."""

    def __init__(self, watches: Mapping[str, Source]) -> None:
        self._watches = dict(watches)
        self._source = Family(series.COMMITS_SOURCE)
        self._share = Family(series.COMMITS_BACKFILL_RATIO)
        self._ready = Family(series.LAG_READY_SECONDS)
        for row, alias in enumerate(self._watches):
            self._share.put(row, [alias])
            self._ready.put(row, [alias])
            for number, source in enumerate(series.COMMITS_SOURCES):
                self._source.put(row * len(series.COMMITS_SOURCES) + number, [alias, source])

    @property
    def families(self) -> list[Family]:
        """Return the families in the order of the catalogue."""
        return [self._source, self._share, self._ready]

    def values(self) -> dict[Family, NDArray[np.generic]]:
        """Return the current values; negative if there is none."""
        watches = list(self._watches.values())
        sources = [
            int(watch.commits_from == source) for watch in watches for source in series.COMMITS_SOURCES
        ]
        ready = [-1.0 if watch.ready_s is None else watch.ready_s for watch in watches]
        return {
            self._source: np.array(sources, np.int64),
            self._share: np.array([share_read(watch.progress) for watch in watches], np.float64),
            self._ready: np.array(ready, np.float64),
        }
