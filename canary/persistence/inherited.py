"""State in the store that a flow starts with, and where the taps start for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.tracker.events import Coverage
    from fleet.verdicts.evidence import Finding


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Unfinished probes of a dead process for one flow, each coverage with the target's topic id.

    `interrupted`: a former watch of this process had started with them and was removed.
    """

    begun_at: float  # epoch s
    coverages: tuple[tuple[str, Coverage], ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where to start reading a partition; None without such a limit.

    `offset` is the first that may hold an uncovered probe. If it is unknown, `since_at` (epoch s) is a time
    before all of them.
    """

    offset: int | None = None
    since_at: float | None = None


@dataclass(frozen=True, slots=True)
class InheritedState:
    """State that a flow starts with: replicated (topic id, partition), unfinished probes by incarnation.

    `findings` are those that may still affect a verdict, `losses` the last ones; both oldest first.
    `arrived_at`: when the newest probe arrived (epoch s), if any did.
    """

    carried: frozenset[tuple[str, int]] = frozenset()
    left: Mapping[str, Unfinished] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    losses: tuple[Finding, ...] = ()
    arrived_at: float | None = None

    def topic_ids(self) -> set[str]:
        """Return the ids of the source topics with unfinished probes."""
        return {one.topic_id for left in self.left.values() for _, one in left.coverages}

    def target_topic_ids(self) -> set[str]:
        """Return the ids that the target's topic had."""
        return {known for left in self.left.values() for known, _ in left.coverages if known}

    def source_place(self, topic_id: str, partition: int) -> Place:
        """Return where to start in a partition of the source's topic."""
        return self._place(
            partition, lambda _known, one: one.source_from if one.topic_id == topic_id else None
        )

    def target_place(self, topic_id: str, partition: int) -> Place:
        """Return where to start in a partition of the target's topic; 0 if it was re-created."""
        return self._place(partition, lambda known, one: one.target_from if known in ("", topic_id) else 0)

    def _place(self, partition: int, offset_of: Callable[[str, Coverage], int | None]) -> Place:
        offsets, since_at = [], []
        for left in self.left.values():
            told = [offset_of(known, one) for known, one in left.coverages if one.partition == partition]
            found = [offset for offset in told if offset is not None]
            offsets += found
            since_at += [] if found else [left.begun_at]
        return Place(min(offsets, default=None), min(since_at, default=None))


def earliest(places: Iterable[Place]) -> Place:
    """Return the earliest of these places."""
    known = list(places)
    return Place(
        min((one.offset for one in known if one.offset is not None), default=None),
        min((one.since_at for one in known if one.since_at is not None), default=None),
    )
