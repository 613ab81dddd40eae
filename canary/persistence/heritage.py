"""What the store knows of a flow that begins to be watched, and where the taps have to begin for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.tracker.events import Coverage
    from fleet.verdicts.evidence import Finding


@dataclass(frozen=True, slots=True)
class Left:
    """What a process that is gone has left of a flow, each coverage with the target's topic id of then.

    `interrupted`: a watch of this process had begun with it, and ended before it was finished.
    """

    begun_at: float  # epoch s
    coverages: tuple[tuple[str, Coverage], ...] = ()
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where to begin reading a partition; None where there is no such reason.

    `offset` is where something may stand that is not covered. `since_at` (epoch s) is the same where no
    offset is known: everything written after it.
    """

    offset: int | None = None
    since_at: float | None = None


@dataclass(frozen=True, slots=True)
class FlowHeritage:
    """What a flow begins with: (topic id, partition) it carried, by incarnation what was left, findings.

    `findings` are those that a verdict may still rest on, `losses` the last ones of all; both oldest first.
    """

    carried: frozenset[tuple[str, int]] = frozenset()
    left: Mapping[str, Left] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    losses: tuple[Finding, ...] = ()

    def topic_ids(self) -> set[str]:
        """Return the ids of the source topics of which something was left."""
        return {one.topic_id for left in self.left.values() for _, one in left.coverages}

    def target_topic_ids(self) -> set[str]:
        """Return the ids that the target's topic had."""
        return {known for left in self.left.values() for known, _ in left.coverages if known}

    def source_place(self, topic_id: str, partition: int) -> Place:
        """Return where to begin with a partition of the source's topic."""
        return self._place(
            partition, lambda _known, one: one.source_from if one.topic_id == topic_id else None
        )

    def target_place(self, topic_id: str, partition: int) -> Place:
        """Return where to begin with a partition of the target's topic; at 0 where that was made anew."""
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
    """Return the place that serves all of these."""
    known = list(places)
    return Place(
        min((one.offset for one in known if one.offset is not None), default=None),
        min((one.since_at for one in known if one.since_at is not None), default=None),
    )
