"""The topics of the canary on one cluster: asked for again and again, by name, with their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.kafka.admin import TopicDescription

INTERVAL_S = 2.0
RECREATED_FOR_S = 900.0  # how long a re-creation stays evidence


@dataclass(frozen=True, slots=True)
class TopicChange:
    """What is new about a topic since the last look; `old` is None where it was not there or not known."""

    name: str
    old: TopicDescription | None
    new: TopicDescription | None

    @property
    def replaced(self) -> bool:
        """Tell whether another topic of the same name has taken the place of the one known before."""
        return self.old is not None and self.new is not None and self.old.topic_id != self.new.topic_id

    @property
    def gone(self) -> bool:
        """Return whether the topic was deleted."""
        return self.old is not None and self.new is None


@dataclass(slots=True)
class KnownTopics:
    """State of each topic: current, last existing, and when it was re-created."""

    present: dict[str, TopicDescription | None] = field(default_factory=dict)
    last: dict[str, TopicDescription] = field(default_factory=dict)
    recreated_at: dict[str, float] = field(default_factory=dict)

    def take(self, found: Mapping[str, TopicDescription | None], now_at: float) -> list[TopicChange]:
        """Process one poll and return the changes: existence, id, or number of partitions."""
        changes = []
        for name, new in found.items():
            known = name in self.present
            before, last = self.present.get(name), self.last.get(name)
            self.present[name] = new
            if new is not None:
                self.last[name] = new
                if last is not None and last.topic_id != new.topic_id:
                    self.recreated_at[name] = now_at
            changed = not known or (before is None) is not (new is None)
            if before is not None and new is not None:
                changed = (before.topic_id, before.partitions) != (new.topic_id, new.partitions)
            if changed:
                changes.append(TopicChange(name, last, new))
        return changes

    def forget(self, name: str) -> None:
        """Forget a topic."""
        for book in (self.present, self.last, self.recreated_at):
            book.pop(name, None)

    def move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set by this many seconds."""
        for name in self.recreated_at:
            self.recreated_at[name] += by_s

    def recreated_recently(self, name: str, now_at: float) -> float | None:
        """Return when this topic was re-created, if recently."""
        at = self.recreated_at.get(name)
        return at if at is not None and now_at - at <= RECREATED_FOR_S else None
