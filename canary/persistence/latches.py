"""Latches: sources that get no more probes, because a probe came back to its source.

Only the user removes a latch; a restart or a re-created topic does not. The store keeps them by source and
topic, so that every process on it stops sending.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from canary.persistence import tables
from runtime.store.migrations import Migration, create

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_METADATA = sa.MetaData()

LATCHES = sa.Table(
    "canary_latches",
    _METADATA,
    sa.Column("source", sa.String(300), primary_key=True),
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("topic_id", sa.String(64), nullable=False),
    sa.Column("latched_at", sa.Float, nullable=False),
    sa.Column("sentence", sa.Text, nullable=False),
)

MIGRATIONS = (Migration("canary-latch", 1, "sources that send no more", create(LATCHES)),)


@dataclass(frozen=True, slots=True)
class Latch:
    """Why no probes are sent to a topic of this source, and since when (epoch s)."""

    source: str
    topic: str
    topic_id: str  # of the topic in the loop
    latched_at: float
    sentence: str  # what was found, and where

    @property
    def key(self) -> tuple[str, str]:
        """Return source and topic."""
        return self.source, self.topic

    def message(self, flow: str, present_id: str | None) -> str:
        """Return why a flow of this source sends nothing, and what to do; `present_id`: topic id now."""
        since = datetime.fromtimestamp(self.latched_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        other = (
            f" The topic {self.topic} of the loop was deleted and re-created since."
            if present_id not in (None, self.topic_id)
            else ""
        )
        return (
            f"No canary records are sent to {self.topic} on {self.source} since {since}: {self.sentence}."
            f"{other} Fix the mirrors, then resume: POST /api/v1/flows/{flow}/canary/resume."
        )


def latches_of(connection: sa.Connection) -> dict[tuple[str, str], Latch]:
    """Return every latch by source and topic."""
    found = [Latch(*row) for row in connection.execute(sa.select(LATCHES))]
    return {latch.key: latch for latch in found}


def keep_latches(connection: sa.Connection, latches: Mapping[tuple[str, str], Latch]) -> None:
    """Add these; an existing latch of a source and topic stays."""
    for (source, topic), latch in latches.items():
        here = (LATCHES.c.source == source, LATCHES.c.topic == topic)
        if connection.execute(sa.select(sa.literal(1)).where(*here)).first() is None:
            row = sa.insert(LATCHES).values(
                source=source,
                topic=topic,
                topic_id=latch.topic_id,
                latched_at=latch.latched_at,
                sentence=latch.sentence,
            )
            connection.execute(row)


def exchange_latches(
    connection: sa.Connection, latches: Mapping[tuple[str, str], Latch]
) -> dict[tuple[str, str], Latch]:
    """Add these, then return all latches."""
    keep_latches(connection, latches)
    return latches_of(connection)


def lift_latch(
    connection: sa.Connection, source: str, topic: str, *, flows: Iterable[str], now_at: float
) -> None:
    """Remove a latch, and the findings of its loop in the flows of its source."""
    tables.forget_loops(connection, flows, now_at=now_at)
    connection.execute(sa.delete(LATCHES).where(LATCHES.c.source == source, LATCHES.c.topic == topic))
