"""Snapshots of the lag monitor's process in the store: one generation for each replica, complete or absent.

A generation is the parts of one snapshot, cut into pieces; it replaces the one before in one transaction.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fleet.errors import MalformedError
from lagmon.snapshots.file import MAX_BYTES, MAX_PARTS
from runtime.store.migrations import Migration, create

if TYPE_CHECKING:
    from collections.abc import Mapping

PIECE_BYTES = 1 << 22
KEPT_S = 30 * 86_400.0  # of a replica that has stopped writing

_METADATA = sa.MetaData()

SNAPSHOTS = sa.Table(
    "lag_snapshots",
    _METADATA,
    sa.Column("replica", sa.String(200), primary_key=True),
    sa.Column("piece", sa.Integer, primary_key=True, autoincrement=False),  # 0, 1, 2, ...
    sa.Column("pieces", sa.Integer, nullable=False),  # of the whole generation
    sa.Column("taken_at", sa.Float, nullable=False),  # epoch s, of the whole generation
    sa.Column("part", sa.Text, nullable=False),  # cluster:ALIAS or flow:SOURCE->TARGET
    sa.Column("payload", sa.LargeBinary, nullable=False),
)

MIGRATIONS = (Migration("lag-snapshots", 1, "what the lag monitor knew", create(SNAPSHOTS)),)


def keep(connection: sa.Connection, replica: str, parts: Mapping[str, bytes], *, now_at: float) -> None:
    """Replace this replica's generation, and delete very old ones."""
    old = (SNAPSHOTS.c.replica == replica) | (SNAPSHOTS.c.taken_at < now_at - KEPT_S)
    connection.execute(sa.delete(SNAPSHOTS).where(old))
    pieces = [
        (part, payload[at : at + PIECE_BYTES])
        for part, payload in parts.items()
        for at in range(0, len(payload), PIECE_BYTES)
    ]
    for number, (part, payload) in enumerate(pieces):
        row = sa.insert(SNAPSHOTS).values(
            replica=replica, piece=number, pieces=len(pieces), taken_at=now_at, part=part, payload=payload
        )
        connection.execute(row)


def kept(connection: sa.Connection, replica: str) -> dict[str, bytes]:
    """Return the parts of this replica's generation by name, empty if there is none.

    Raises MalformedError with a sentence for one that is incomplete or too large.
    """
    here = SNAPSHOTS.c.replica == replica
    size = connection.execute(
        sa.select(sa.func.sum(sa.func.length(SNAPSHOTS.c.payload))).where(here)
    ).scalar()
    if size is not None and size > MAX_BYTES:
        raise MalformedError(f"snapshot in the store: {size} bytes, more than {MAX_BYTES}")
    found: dict[str, list[bytes]] = {}
    expected = None
    rows = connection.execute(sa.select(SNAPSHOTS).where(here).order_by(SNAPSHOTS.c.piece))
    seen = 0
    for row, number in zip(rows, count(), strict=False):
        expected = expected or (row.pieces, row.taken_at)
        if (row.piece, row.pieces, row.taken_at) != (number, *expected):
            raise MalformedError("snapshot in the store: incomplete")
        found.setdefault(row.part, []).append(row.payload)
        seen += 1
    if seen != (expected or (0,))[0] or len(found) > MAX_PARTS:
        raise MalformedError("snapshot in the store: incomplete")
    return {part: b"".join(pieces) for part, pieces in found.items()}
