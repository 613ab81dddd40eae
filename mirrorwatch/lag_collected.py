"""When the lag monitor last read what of each cluster, and how often not, over all of its processes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.series import LAG_COLLECTORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    By = dict[str, float]  # collector


class CollectedCounts:
    """Adds up what processes of the lag monitor tell one after the other."""

    def __init__(self) -> None:
        self._incarnation = -1
        self._success: dict[str, By] = {}  # by cluster, epoch s
        self._failed: dict[str, By] = {}  # by the process that tells now
        self._failed_before: dict[str, By] = {}  # by those that are gone

    def take(self, told: Mapping[str, Any], *, incarnation: int) -> None:
        """Take in what a process tells: `last_success_at` and `errors`, by cluster and collector."""
        if incarnation != self._incarnation:
            self._failed_before = {alias: self._errors(alias) for alias in self._failed}
            self._incarnation, self._failed = incarnation, {}
        self._failed = {alias: dict(counts) for alias, counts in told.get("errors", {}).items()}
        for alias, instants in told.get("last_success_at", {}).items():
            self._success.setdefault(alias, {}).update(instants)

    def document(self, alias: str) -> dict[str, By]:
        """Return what is known of one cluster; errors are 0 from the start."""
        return {"last_success_at": dict(self._success.get(alias, {})), "errors": self._errors(alias)}

    def _errors(self, alias: str) -> By:
        both = self._failed_before.get(alias, {}), self._failed.get(alias, {})
        return {name: sum(counts.get(name, 0) for counts in both) for name in LAG_COLLECTORS}
