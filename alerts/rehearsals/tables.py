"""Rehearsals in the store, one row each."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import sqlalchemy as sa

from alerts.rehearsals.rehearsal import ReachedStep, Rehearsal
from runtime.store.migrations import Migration, create

if TYPE_CHECKING:
    from collections.abc import Iterable

_METADATA = sa.MetaData()

REHEARSALS = sa.Table(
    "failover_rehearsals",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("began_at", sa.Float, primary_key=True),
    sa.Column("ended_at", sa.Float, nullable=False),
    sa.Column("groups", sa.Integer, nullable=False),
    sa.Column("complete", sa.Boolean, nullable=False),
    sa.Column("steps", sa.Text, nullable=False),
)
MIGRATIONS = (Migration("failover-rehearsals", 1, "rehearsed failovers", create(REHEARSALS)),)


def keep_rehearsal(connection: sa.Connection, one: Rehearsal) -> None:
    """Write a rehearsal."""
    connection.execute(
        sa.insert(REHEARSALS).values(
            flow=one.flow,
            began_at=one.began_at,
            ended_at=one.ended_at,
            groups=one.groups,
            complete=one.complete,
            steps=json.dumps([asdict(step) for step in one.steps]),
        )
    )


def rehearsals_between(
    connection: sa.Connection, flows: Iterable[str], *, since_at: float, until_at: float
) -> list[Rehearsal]:
    """Return the rehearsals of these flows that began within a time (epoch s), newest first."""
    wanted = sa.select(REHEARSALS).where(
        REHEARSALS.c.flow.in_(list(flows)),
        REHEARSALS.c.began_at >= since_at,
        REHEARSALS.c.began_at < until_at,
    )
    rows = connection.execute(wanted.order_by(REHEARSALS.c.began_at.desc()))
    return [
        Rehearsal(
            row.flow,
            row.began_at,
            row.ended_at,
            row.groups,
            row.complete,
            tuple(ReachedStep(**step) for step in json.loads(row.steps)),
        )
        for row in rows
    ]
