"""Offset syncs that the service stored, with both topics' ids, for the checksum."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from checksum.anchors.pairs import Pair
from lagmon.syncs.id_tables import ids_of
from lagmon.syncs.tables import pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lagmon.syncs.id_tables import SeenId
    from lagmon.syncs.tables import Cursor

    class Reads(Protocol):
        """Runs a function in a transaction of the store, and returns its result."""

        def __call__(self, function: Callable[..., Any], /) -> Any:
            """Run it; raises UnavailableError if the store fails."""
            ...


class StoredSyncs:
    """The stored syncs of one flow; read partition by partition, because there may be millions."""

    def __init__(self, flow: str, cursor: Cursor, read: Reads) -> None:
        self._flow = flow
        self._read = read
        self._cursor = cursor
        self._ids: dict[str, dict[str, list[SeenId]]] = {}  # by topic and side

    @property
    def topic_id(self) -> str:
        """Return the id of the topic that the syncs are from; "" if none are stored."""
        return self._cursor.topic_id

    @property
    def next_number(self) -> int:
        """Return the offset of the topic's first record that is not stored."""
        return self._cursor.next_number

    def of(self, topic: str, partition: int) -> list[Pair]:
        """Return the syncs of a partition in the order in which they were written, up to the cursor.

        The service continues to write. Later syncs are read from the topic; a sync returned twice would look
        as if the target had been truncated in between (`usable` in checksum/anchors/pairs.py).
        """
        if topic not in self._ids:
            by_side = defaultdict(list)
            for one in self._read(partial(ids_of, flow=self._flow, topic=topic)):
                by_side[one.side].append(one)
            self._ids[topic] = by_side
        ids = self._ids[topic]
        kept = self._read(partial(pairs_of, flow=self._flow, topic=topic, partition=partition))
        return [
            Pair(
                one.upstream,
                one.downstream,
                _id_at(ids["source"], one.at_ms),
                _id_at(ids["target"], one.at_ms),
            )
            for one in kept
            if (one.era, one.number) < (self._cursor.era, self._cursor.next_number)
        ]


def _id_at(seen: Iterable[SeenId], at_ms: int) -> str | None:
    """Return the id of the topic that existed when a sync was written, or None if it is unknown."""
    return next((one.topic_id for one in seen if one.first_ms <= at_ms <= one.last_ms), None)
