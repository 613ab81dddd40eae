"""What the canary keeps in the store: which partitions each flow was once seen to carry."""

from __future__ import annotations

import sqlalchemy as sa

from runtime.store_migrations import Migration, create

_METADATA = sa.MetaData()

CARRIED = sa.Table(
    "canary_carried",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("topic_id", sa.String(64), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("first_seen_at", sa.Float, nullable=False),
)

MIGRATIONS = (Migration("canary", 1, "partitions a flow was seen to carry", create(CARRIED)),)


def carried_of(connection: sa.Connection) -> dict[str, set[tuple[str, int]]]:
    """Return by flow the (topic id, partition) that it was seen to carry."""
    found: dict[str, set[tuple[str, int]]] = {}
    for flow, topic_id, partition in connection.execute(
        sa.select(CARRIED.c.flow, CARRIED.c.topic_id, CARRIED.c.partition)
    ):
        found.setdefault(flow, set()).add((topic_id, partition))
    return found


def keep_carried(connection: sa.Connection, flow: str, topic_id: str, partition: int, at: float) -> None:
    """Note that a flow carries this partition; once is enough, twice does no harm."""
    key = {"flow": flow, "topic_id": topic_id, "partition": partition}
    known = sa.select(sa.literal(1)).where(*(CARRIED.c[name] == value for name, value in key.items()))
    if connection.execute(known).first() is None:
        connection.execute(sa.insert(CARRIED).values(**key, first_seen_at=at))
