"""Events to log: each once, and again when its number of records is final. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mirrorwatch.service.view import EventView

MOST_KNOWN = 10_000  # events that are not logged again


class EventLog:
    """Remembers logged events; events before `begun_at` (epoch s) were logged by an earlier process."""

    def __init__(self, begun_at: float) -> None:
        self._begun_at = begun_at
        self._known: dict[tuple[str, str, float], bool] = {}  # and whether they were settled

    def due(self, flow: str, events: Iterable[EventView]) -> list[EventView]:
        """Return the events of a flow to log now, oldest first."""
        found = []
        for one in events:
            key, is_settled = (flow, one.topic, one.at), one.records_most is not None
            known = self._known.get(key)
            if one.last_at >= self._begun_at and (known is None or (is_settled and not known)):
                self._known[key] = is_settled
                found.append(one)
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found[::-1]
