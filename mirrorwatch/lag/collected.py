"""Last success and errors of the lag monitor's collectors, and clusters that do not answer it. Pure.

The data come from one process of the monitor after another. A cluster counts as away until the process that
reported it reports otherwise, or a later process has polled it. A cluster counts as up for STALE_S after a
process reported its own reads: reads of an earlier process do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.series.catalogue import LAG_COLLECTORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    By = dict[str, float]  # collector

STALE_S = 10.0  # the service polls each second


class Unanswered(NamedTuple):
    """A cluster that does not answer the lag monitor: since when (epoch s), and why."""

    since_at: float
    sentence: str


class Standing(NamedTuple):
    """State of a cluster that the lag monitor reads, its start (epoch s), and the reason if it is not up."""

    state: str  # up | down | refused
    since_at: float
    sentence: str


class _Answering(NamedTuple):
    """A cluster that was read: since when (epoch s), and the last report of it (monotonic)."""

    since_at: float
    told_ns: int

    def old(self, now_ns: int) -> bool:
        """Return whether the last report is too old."""
        return now_ns - self.told_ns > STALE_S * 1e9


class CollectedCounts:
    """Adds up the reports of consecutive processes of the lag monitor.

    `tried` are the clusters that it reached, or failed at, at least once; `_ns` are monotonic.
    """

    def __init__(self) -> None:
        self.tried: set[str] = set()
        self._incarnation = -1
        self._success: dict[str, By] = {}  # by cluster, epoch s
        self._failed: dict[str, By] = {}  # by the present process
        self._failed_before: dict[str, By] = {}  # by earlier processes
        self._away: dict[str, tuple[Unanswered, int]] = {}  # by cluster, with the process that reported it
        self._refused: dict[str, Unanswered] = {}  # by cluster, as reported by the present process
        self._answering: dict[str, _Answering] = {}  # by cluster

    def take(self, told: Mapping[str, Any], *, incarnation: int, now_ns: int) -> None:
        """Use a report: `last_success_at` and `errors` by cluster and collector, `away`."""
        if incarnation != self._incarnation:
            self._failed_before = {alias: self._errors(alias) for alias in self._failed}
            self._incarnation, self._failed = incarnation, {}
        self._failed = {alias: dict(counts) for alias, counts in told.get("errors", {}).items()}
        for alias, instants in told.get("last_success_at", {}).items():
            self._success.setdefault(alias, {}).update(instants)
        self._take_away(told, incarnation)
        self._refused = {
            alias: Unanswered(one["since_ms"] / 1000, one["why"])
            for alias, one in told.get("refused", {}).items()
        }
        read = told.get("last_success_at", {})
        self._take_answering(read, now_ns)
        failed = {alias for alias, counts in self._failed.items() if any(counts.values())}
        tried = self.tried | failed | self._answering.keys() | self._away.keys() | self._refused.keys()
        self.tried = tried & read.keys()

    def forget_clusters(self) -> None:
        """Forget the state of all clusters, because the monitor is off; counts stay."""
        self._away, self._refused, self._answering = {}, {}, {}

    def _take_away(self, told: Mapping[str, Any], incarnation: int) -> None:
        away = {
            alias: Unanswered(one["since_ms"] / 1000, one["why"])
            for alias, one in told.get("away", {}).items()
        }
        read = told.get("last_success_at", {})
        for alias, (before, said_by) in list(self._away.items()):
            looked = read.get(alias) or self._failed.get(alias, {}).get("positions")
            if alias in away:
                away[alias] = away[alias]._replace(since_at=min(before.since_at, away[alias].since_at))
            elif said_by == incarnation or looked or alias not in read:
                del self._away[alias]
        self._away |= {alias: (one, incarnation) for alias, one in away.items()}

    def _take_answering(self, read: Mapping[str, By], now_ns: int) -> None:
        """Note which clusters answer, by what the process has `read` of each."""
        former, self._answering = self._answering, {}
        for alias, instants in read.items():
            if alias in self._away or alias in self._refused:
                continue
            before = former.get(alias)
            if before is not None and before.old(now_ns):
                before = None
            if instants:
                since_at = before.since_at if before is not None else max(instants.values())
                self._answering[alias] = _Answering(since_at, now_ns)
            elif before is not None:
                self._answering[alias] = before

    def unanswered(self, alias: str) -> Unanswered | None:
        """Return since when a cluster has not answered the lag monitor, and why; None if it answers."""
        one = self._away.get(alias)
        return None if one is None else one[0]

    def standing(self, alias: str, *, now_ns: int) -> Standing | None:
        """Return the state of a cluster by its answers; None if unknown."""
        away, refused = self.unanswered(alias), self._refused.get(alias)
        if away is not None:
            return Standing("down", *away)
        if refused is not None:
            return Standing("refused", *refused)
        one = self._answering.get(alias)
        return None if one is None or one.old(now_ns) else Standing("up", one.since_at, "")

    def document(self, alias: str) -> dict[str, By]:
        """Return the data of one cluster; errors start at 0."""
        return {"last_success_at": dict(self._success.get(alias, {})), "errors": self._errors(alias)}

    def _errors(self, alias: str) -> By:
        both = self._failed_before.get(alias, {}), self._failed.get(alias, {})
        return {name: sum(counts.get(name, 0) for counts in both) for name in LAG_COLLECTORS}
