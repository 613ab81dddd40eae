"""Which problems are logged: each when it comes, and while it lasts only every now and then. Pure.

What reads a topic or asks a cluster is tried again and again, and says the same each time it fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field

AGAIN_MS = 600_000


@dataclass(slots=True)
class Repeated:
    """Remembers by name what was logged last, and when (epoch ms)."""

    _told: dict[str, tuple[str, int]] = field(default_factory=dict)

    def due(self, name: str, sentence: str, now_ms: int) -> bool:
        """Tell whether to log a sentence now; an empty one, which says that all is well, is not logged."""
        before, at_ms = self._told.get(name, ("", now_ms))
        if not sentence or (sentence == before and 0 <= now_ms - at_ms < AGAIN_MS):
            return False
        self._told[name] = sentence, now_ms
        return True
