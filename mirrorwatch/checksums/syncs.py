"""Offset syncs that the service kept in the store, as the checksum takes them: with both topics' ids."""

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
        """Runs a function in a transaction of the store, and returns what it returns."""

        def __call__(self, function: Callable[..., Any], /) -> Any:
            """Run it; raises UnavailableError where the store fails."""
            ...


class StoredSyncs:
    """The syncs of one flow; they are read partition by partition, as there may be millions."""

    def __init__(self, flow: str, cursor: Cursor, read: Reads) -> None:
        self._flow = flow
        self._read = read
        self._cursor = cursor
        self._ids: dict[str, dict[str, list[SeenId]]] = {}  # by topic and side

    @property
    def topic_id(self) -> str:
        """Return which topic of syncs they are of, by its id; "" where none are kept."""
        return self._cursor.topic_id

    @property
    def next_number(self) -> int:
        """Return the offset of the first record of that topic that is not among them."""
        return self._cursor.next_number

    def of(self, topic: str, partition: int) -> list[Pair]:
        """Return those of a partition, in the order in which they were written, up to the cursor.

        The service goes on writing: what came later is read from the topic, and told twice it would look as
        if the target had lost its end in between (anchors.usable).
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
    """Return which topic was there when a sync was written, None where it was not looked at around then."""
    return next((one.topic_id for one in seen if one.first_ms <= at_ms <= one.last_ms), None)
