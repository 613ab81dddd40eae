"""Offset syncs in the store: pairs by partition, and up to where each topic of syncs is written.

Both are written in one transaction, so that each sync is stored once: repeated ones, after a restart or from
another process, are before the next wanted number. A re-created topic of syncs (with another id) begins a new
*era*: its numbers start again, and its pairs come after the older ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from lagmon.syncs.pairs import SyncPair
from lagmon.syncs.thinning import thin
from runtime.store.migrations import Migration, create

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lagmon.syncs.queue import WaitingSync
    from lagmon.syncs.thinning import Thinning

_METADATA = sa.MetaData()
_TOPICS_AT_ONCE = 500  # in one statement

CURSORS = sa.Table(
    "offset_sync_cursors",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("era", sa.Integer, nullable=False),
    sa.Column("topic_id", sa.String(64), nullable=False),
    sa.Column("next_number", sa.BigInteger, nullable=False),
)
PLACES = sa.Table(
    "offset_sync_places",
    _METADATA,
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("flow", sa.String(300), nullable=False),
    sa.Column("topic", sa.String(249), nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.UniqueConstraint("flow", "topic", "partition"),
)
SYNCS = sa.Table(
    "offset_syncs",
    _METADATA,
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("era", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("upstream", sa.BigInteger, nullable=False),
    sa.Column("downstream", sa.BigInteger, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

MIGRATIONS = (Migration("offset-syncs", 1, "offset syncs of each flow", create(CURSORS, PLACES, SYNCS)),)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Up to where a flow's topic of syncs is written: the next wanted number, and the topic's id."""

    era: int = 0
    topic_id: str = ""
    next_number: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a write: the cursor after it, new places, and the number of syncs by place."""

    cursor: Cursor
    places: Mapping[tuple[str, int], int]
    fresh: Mapping[int, int]


def cursor_of(connection: sa.Connection, flow: str) -> Cursor:
    """Return up to where a flow's syncs are written."""
    wanted = sa.select(CURSORS.c.era, CURSORS.c.topic_id, CURSORS.c.next_number)
    row = connection.execute(wanted.where(CURSORS.c.flow == flow)).first()
    return Cursor() if row is None else Cursor(*row)


def write_syncs(
    connection: sa.Connection,
    flow: str,
    syncs: Sequence[WaitingSync],
    *,
    topic_id: str,
    next_number: int,
    known: Mapping[tuple[str, int], int],
) -> Written:
    """Write the syncs of a topic that are not written yet, up to `next_number` (not included).

    `known` are places by topic and partition; others are looked up or created.
    """
    cursor = cursor_of(connection, flow)
    if cursor.topic_id not in ("", topic_id):
        cursor = Cursor(cursor.era + 1, topic_id, 0)
    fresh = [sync for sync in syncs if sync.number >= cursor.next_number]
    wanted = {(sync.topic, sync.partition) for sync in fresh}
    found = _find_places(connection, flow, wanted - known.keys())
    places = {**found, **{where: known[where] for where in known.keys() & wanted}}
    counts: dict[int, int] = {}
    rows = []
    for sync in fresh:
        place = places[sync.topic, sync.partition]
        counts[place] = counts.get(place, 0) + 1
        rows.append(
            {
                "place": place,
                "era": cursor.era,
                "number": sync.number,
                "upstream": sync.upstream,
                "downstream": sync.downstream,
                "at_ms": sync.at_ms,
            }
        )
    if rows:
        connection.execute(sa.insert(SYNCS), rows)
    cursor = replace(cursor, topic_id=topic_id, next_number=max(cursor.next_number, next_number))
    connection.execute(sa.delete(CURSORS).where(CURSORS.c.flow == flow))
    connection.execute(
        sa.insert(CURSORS).values(
            flow=flow, era=cursor.era, topic_id=cursor.topic_id, next_number=cursor.next_number
        )
    )
    return Written(cursor, found, counts)


def pairs_of(connection: sa.Connection, flow: str, topic: str, partition: int) -> list[SyncPair]:
    """Return the pairs of one partition of a flow, by its name on the source, in the mirror's order."""
    here = PLACES.c.flow == flow, PLACES.c.topic == topic, PLACES.c.partition == partition
    place = connection.execute(sa.select(PLACES.c.place).where(*here)).scalar()
    return [] if place is None else _pairs(connection, place)


def flow_pairs(connection: sa.Connection, flow: str) -> dict[tuple[str, int], list[SyncPair]]:
    """Return the pairs of all partitions of a flow, each in the mirror's order."""
    columns = SYNCS.c.era, SYNCS.c.number, SYNCS.c.upstream, SYNCS.c.downstream, SYNCS.c.at_ms
    wanted = (
        sa.select(PLACES.c.topic, PLACES.c.partition, *columns)
        .join(PLACES, PLACES.c.place == SYNCS.c.place)
        .where(PLACES.c.flow == flow)
        .order_by(SYNCS.c.place, SYNCS.c.era, SYNCS.c.number)
    )
    found: dict[tuple[str, int], list[SyncPair]] = {}
    for topic, partition, *pair in connection.execute(wanted):
        found.setdefault((topic, partition), []).append(SyncPair(*pair))
    return found


def last_place(connection: sa.Connection) -> int:
    """Return the largest number of a place, 0 if there is none."""
    return connection.execute(sa.select(sa.func.max(PLACES.c.place))).scalar() or 0


def crowded(connection: sa.Connection, places: range, *, more_than: int, before_ms: int) -> list[int]:
    """Return the places with too many pairs, or with one that is too old."""
    count = sa.func.count()
    wanted = (
        sa.select(SYNCS.c.place)
        .where(SYNCS.c.place >= places.start, SYNCS.c.place < places.stop)
        .group_by(SYNCS.c.place)
        .having(sa.or_(count > more_than, sa.and_(count > 1, sa.func.min(SYNCS.c.at_ms) < before_ms)))
    )
    return [int(place) for (place,) in connection.execute(wanted)]


def thin_places(connection: sa.Connection, places: Iterable[int], *, now_ms: int, rules: Thinning) -> int:
    """Delete pairs that are not to be kept of these places; return their number."""
    gone = []
    for place in places:
        pairs = _pairs(connection, place)
        stay = {(pair.era, pair.number) for pair in thin(pairs, now_ms=now_ms, rules=rules)}
        gone += [
            {"here": place, "gone_era": pair.era, "gone_number": pair.number}
            for pair in pairs
            if (pair.era, pair.number) not in stay
        ]
    if gone:
        here = (
            SYNCS.c.place == sa.bindparam("here"),
            SYNCS.c.era == sa.bindparam("gone_era"),
            SYNCS.c.number == sa.bindparam("gone_number"),
        )
        connection.execute(sa.delete(SYNCS).where(*here), gone)
    return len(gone)


def _pairs(connection: sa.Connection, place: int) -> list[SyncPair]:
    columns = SYNCS.c.era, SYNCS.c.number, SYNCS.c.upstream, SYNCS.c.downstream, SYNCS.c.at_ms
    wanted = sa.select(*columns).where(SYNCS.c.place == place).order_by(SYNCS.c.era, SYNCS.c.number)
    return [SyncPair(*row) for row in connection.execute(wanted)]


def _find_places(
    connection: sa.Connection, flow: str, wanted: set[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Return the places of these topics' partitions; missing ones are created."""
    found = _known_places(connection, flow, wanted)
    missing = sorted(wanted - found.keys())
    if missing:
        rows = [{"flow": flow, "topic": topic, "partition": partition} for topic, partition in missing]
        connection.execute(sa.insert(PLACES), rows)
        found = _known_places(connection, flow, wanted)
    return {where: found[where] for where in wanted}


def _known_places(
    connection: sa.Connection, flow: str, wanted: set[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    topics = sorted({topic for topic, _ in wanted})
    columns = sa.select(PLACES.c.topic, PLACES.c.partition, PLACES.c.place).where(PLACES.c.flow == flow)
    found = {}
    for first in range(0, len(topics), _TOPICS_AT_ONCE):
        chunk = columns.where(PLACES.c.topic.in_(topics[first : first + _TOPICS_AT_ONCE]))
        found.update({(topic, partition): place for topic, partition, place in connection.execute(chunk)})
    return found
