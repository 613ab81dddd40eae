"""Ids of the topics that offset syncs are about: when each id was seen.

Offsets do not show that a topic was re-created: the syncs of the old and the new one look like one series. So
a pair belongs to a topic only if it was written between two instants at which that topic was seen; between
the last poll of an old topic and the first of the new one it belongs to none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from runtime.store.migrations import Migration, create
from runtime.store.rows import replace_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

_METADATA = sa.MetaData()

TOPIC_IDS = sa.Table(
    "offset_sync_topic_ids",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("side", sa.String(6), primary_key=True),
    sa.Column("topic_id", sa.String(64), primary_key=True),
    sa.Column("first_ms", sa.BigInteger, nullable=False),
    sa.Column("last_ms", sa.BigInteger, nullable=False),
)

MIGRATIONS = (Migration("offset-sync-ids", 1, "ids of mirrored topics", create(TOPIC_IDS)),)


class SeenId(NamedTuple):
    """A topic's id on one side, and the first and the last instant at which it was seen (epoch ms)."""

    topic: str  # its name on the source
    side: str  # source | target
    topic_id: str
    first_ms: int
    last_ms: int


def ids_of(connection: sa.Connection, flow: str, topic: str | None = None) -> list[SeenId]:
    """Return every id of a flow's topics, or of one of them, those seen last at the end."""
    columns = [TOPIC_IDS.c[name] for name in SeenId._fields]
    wanted = sa.select(*columns).where(TOPIC_IDS.c.flow == flow)
    if topic is not None:
        wanted = wanted.where(TOPIC_IDS.c.topic == topic)
    return [SeenId(*row) for row in connection.execute(wanted.order_by(TOPIC_IDS.c.last_ms))]


def write_ids(connection: sa.Connection, flow: str, seen: Iterable[SeenId]) -> None:
    """Write these completely, replacing entries of the same ids."""
    replace_rows(connection, TOPIC_IDS, [{"flow": flow, **one._asdict()} for one in seen])


def forget_ids(connection: sa.Connection, *, before_ms: int) -> None:
    """Delete ids not seen since then: no kept pair belongs to them, except perhaps a last one."""
    connection.execute(sa.delete(TOPIC_IDS).where(TOPIC_IDS.c.last_ms < before_ms))
