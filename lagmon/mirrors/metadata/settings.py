"""Settings of a flow's topics on both sides: retention, compaction, timestamp type. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

TIMESTAMP_TYPE = "message.timestamp.type"
CREATE_TIME, APPEND_TIME = "CreateTime", "LogAppendTime"


@dataclass(slots=True)
class MirrorSettings:
    """Settings of the topics of one flow, by their names on the source."""

    compacted: set[str] = field(default_factory=set)  # on the source
    types: dict[tuple[str, str], str] = field(default_factory=dict)  # TIMESTAMP_TYPE, by topic and side
    asked_ms: dict[str, int] = field(default_factory=dict)  # when the target's were read last

    def note(self, topic: str, side: str, settings: Mapping[str, str], *, asked_ms: int = -1) -> None:
        """Take in a topic's settings on one side, as read at an instant."""
        if side == "target":
            self.asked_ms[topic] = asked_ms
        if side == "source":
            compacted = "compact" in settings.get("cleanup.policy", "")
            (self.compacted.add if compacted else self.compacted.discard)(topic)
        if TIMESTAMP_TYPE in settings:
            self.types[topic, side] = settings[TIMESTAMP_TYPE]

    def forget_others(self, topics: Collection[str]) -> None:
        """Forget the settings of all topics but these."""
        self.compacted = {topic for topic in self.compacted if topic in topics}
        self.types = {key: one for key, one in self.types.items() if key[0] in topics}


def retention_of(settings: Mapping[str, str]) -> int | None:
    """Return how long a topic keeps its records in ms; -1 for no limit, None if unset."""
    if "delete" not in settings.get("cleanup.policy", "delete"):
        return -1
    text = settings.get("retention.ms", "")
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= 20 else None
