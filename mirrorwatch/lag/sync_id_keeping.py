"""Stores the ids of mirrored topics: an offset sync does not apply to a re-created topic."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from fleet.errors import UnavailableError
from lagmon.syncs.id_tables import SeenId, forget_ids, ids_of, write_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runtime.store.store import Store

SEEN_MS = 300_000  # how old the stored time of an unchanged id may be
WRITTEN_AT_ONCE = 500
MOST_PAGES = 200  # of one flow: half the topics that a cluster is asked for, on two sides


class Asked(Protocol):
    """The lag monitor."""

    async def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return its answer; raises UnavailableError with the reason."""
        ...


class TopicIdKeeper:
    """Stores the ids of each flow's topics."""

    def __init__(self, store: Store, monitor: Asked, *, keep_ms: int) -> None:
        self._store = store
        self._monitor = monitor
        self._keep_ms = keep_ms
        self._seen: dict[str, dict[tuple[str, str], SeenId]] = {}
        self._written_ms: dict[tuple[str, str, str], int] = {}  # time of the last poll in the store

    async def look(self, flow: str) -> None:
        """Store the new ids of a flow; raises UnavailableError if the store fails."""
        if flow not in self._seen:
            known = await self._store.read(partial(ids_of, flow=flow))
            self._seen[flow] = {(one.topic, one.side): one for one in known}
            self._written_ms.update({(flow, one.topic, one.side): one.last_ms for one in known})
        after = None
        for _ in range(MOST_PAGES):
            try:
                head, body = await self._monitor.ask("sync_ids", flow=flow, after=after)
            except UnavailableError:
                return  # others report that it does not answer
            rows = json.loads(body)
            await self._take(
                flow, [SeenId(topic, side, one, at_ms, at_ms) for topic, side, one, at_ms in rows]
            )
            if not head["more"]:
                return
            after = rows[-1][:2]

    async def forget(self, now_ms: int) -> None:
        """Delete ids that are older than the stored syncs."""
        before_ms = now_ms - self._keep_ms
        await self._store.write(partial(forget_ids, before_ms=before_ms))
        for flow, known in self._seen.items():
            for place in [place for place, one in known.items() if one.last_ms < before_ms]:
                del known[place]
                self._written_ms.pop((flow, *place), None)

    async def _take(self, flow: str, seen: list[SeenId]) -> None:
        known = self._seen[flow]
        due = [one for now in seen for one in self._due(flow, known.get((now.topic, now.side)), now)]
        for first in range(0, len(due), WRITTEN_AT_ONCE):
            part = due[first : first + WRITTEN_AT_ONCE]
            await self._store.write(partial(write_ids, flow=flow, seen=part))
            self._written_ms.update({(flow, one.topic, one.side): one.last_ms for one in part})
        for now in seen:
            known[now.topic, now.side] = _joined(known.get((now.topic, now.side)), now)

    def _due(self, flow: str, before: SeenId | None, now: SeenId) -> Iterator[SeenId]:
        """Yield rows to write: new ids, after the last poll of the id before."""
        if before is None:
            yield now
        elif before.topic_id != now.topic_id:
            yield before
            yield now
        elif now.last_ms - self._written_ms.get((flow, now.topic, now.side), -SEEN_MS) >= SEEN_MS:
            yield _joined(before, now)


def _joined(before: SeenId | None, now: SeenId) -> SeenId:
    if before is None or before.topic_id != now.topic_id:
        return now
    return before._replace(last_ms=max(before.last_ms, now.last_ms))
