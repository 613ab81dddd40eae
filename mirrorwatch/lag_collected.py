"""When the lag monitor last read what of each cluster, how often not, and which are away. Pure.

It is told by one process of the monitor after the other. A cluster that is away stays so until the process
that said it says it no more, or a later one has looked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.series import LAG_COLLECTORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    By = dict[str, float]  # collector


class Unanswered(NamedTuple):
    """A cluster that does not answer the lag monitor: since when (epoch s), and why."""

    since_at: float
    sentence: str


class Standing(NamedTuple):
    """How a cluster is that the lag monitor reads, since when (epoch s), and why, where it is not up."""

    state: str  # up | down | refused
    since_at: float
    sentence: str


class CollectedCounts:
    """Adds up what processes of the lag monitor tell one after the other."""

    def __init__(self) -> None:
        self._incarnation = -1
        self._success: dict[str, By] = {}  # by cluster, epoch s
        self._failed: dict[str, By] = {}  # by the process that tells now
        self._failed_before: dict[str, By] = {}  # by those that are gone
        self._away: dict[str, tuple[Unanswered, int]] = {}  # by cluster, and which process said so
        self._refused: dict[str, Unanswered] = {}  # by cluster, as the process that tells now says it
        self._answers_since: dict[str, float] = {}  # by cluster, epoch s

    def take(self, told: Mapping[str, Any], *, incarnation: int) -> None:
        """Take in what a process tells: `last_success_at` and `errors` by cluster and collector, `away`."""
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
        for alias, instants in self._success.items():
            if alias in self._away or alias in self._refused:
                self._answers_since.pop(alias, None)
            elif instants:
                self._answers_since.setdefault(alias, max(instants.values()))

    def _take_away(self, told: Mapping[str, Any], incarnation: int) -> None:
        away = {
            alias: Unanswered(one["since_ms"] / 1000, one["why"])
            for alias, one in told.get("away", {}).items()
        }
        for alias, (before, said_by) in list(self._away.items()):
            looked = told.get("last_success_at", {}).get(alias) or self._failed.get(alias, {}).get(
                "positions"
            )
            if alias in away:
                away[alias] = away[alias]._replace(since_at=min(before.since_at, away[alias].since_at))
            elif said_by == incarnation or looked:
                del self._away[alias]
        self._away |= {alias: (one, incarnation) for alias, one in away.items()}

    def unanswered(self, alias: str) -> Unanswered | None:
        """Return since when a cluster does not answer the lag monitor, and why; None while it does."""
        one = self._away.get(alias)
        return None if one is None else one[0]

    def standing(self, alias: str) -> Standing | None:
        """Return how a cluster is by what it answers; None where that is not known yet."""
        away, refused = self.unanswered(alias), self._refused.get(alias)
        if away is not None:
            return Standing("down", *away)
        if refused is not None:
            return Standing("refused", *refused)
        since_at = self._answers_since.get(alias)
        return None if since_at is None else Standing("up", since_at, "")

    def document(self, alias: str) -> dict[str, By]:
        """Return what is known of one cluster; errors are 0 from the start."""
        return {"last_success_at": dict(self._success.get(alias, {})), "errors": self._errors(alias)}

    def _errors(self, alias: str) -> By:
        both = self._failed_before.get(alias, {}), self._failed.get(alias, {})
        return {name: sum(counts.get(name, 0) for counts in both) for name in LAG_COLLECTORS}
