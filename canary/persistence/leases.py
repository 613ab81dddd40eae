"""Processes on one store, and take-over of the probes of a dead one.

Every process writes a row under its incarnation before it sends a probe, and renews it. A process is dead if
it ended, or has not renewed its row for LEASE_S. The next process that starts takes over its probes, by
writing its own incarnation into the row. A process that took over can be taken over too. The row keeps the
flows whose probes do not all have an outcome; without any it is closed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlalchemy as sa

from canary.persistence.tables import COVERAGE
from runtime.process.identity import is_gone, lease_s
from runtime.store.migrations import Migration, create

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

LEASE_S = 10.0

_METADATA = sa.MetaData()

INCARNATIONS = sa.Table(
    "canary_incarnations",
    _METADATA,
    sa.Column("incarnation", sa.String(16), primary_key=True),
    sa.Column("replica", sa.String(200), nullable=False),
    sa.Column("process", sa.Text, nullable=False),
    sa.Column("flows", sa.Text, nullable=False),  # JSON: names of its flows that are not finished
    sa.Column("begun_at", sa.Float, nullable=False),
    sa.Column("renewed_at", sa.Float, nullable=False),
    sa.Column("ended", sa.Boolean, nullable=False),  # set by itself at its last write
    sa.Column("taken_over_by", sa.String(16), nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
)

MIGRATIONS = (Migration("canary-leases", 1, "processes at work", create(INCARNATIONS)),)


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One row; instants are epoch seconds."""

    incarnation: str
    replica: str
    process: str
    flows: frozenset[str]
    begun_at: float
    renewed_at: float
    ended: bool
    taken_over_by: str
    closed: bool

    def gone(self, now_at: float) -> bool:
        """Return whether its process has ended: by its row, by the host, or by a long silence.

        Clocks of other hosts may differ, so their silence must be long.
        """
        seen = is_gone(self.process)
        if self.ended or seen is not None:
            return self.ended or seen is True
        return now_at - self.renewed_at > lease_s(self.process, LEASE_S)

    def left_to(self, others: Collection[str]) -> bool:
        """Return whether it watched only flows of `others`, to whom its probes are left."""
        return bool(self.flows) and self.flows <= set(others)

    def at_work(self) -> bool:
        """Return whether its process runs on this host."""
        return not self.ended and is_gone(self.process) is False


def incarnations(connection: sa.Connection) -> list[Incarnation]:
    """Return every row that is not closed, oldest first."""
    rows = connection.execute(
        sa.select(INCARNATIONS).where(~INCARNATIONS.c.closed).order_by(INCARNATIONS.c.begun_at)
    )
    return [Incarnation(**{**row, "flows": frozenset(json.loads(row["flows"]))}) for row in rows.mappings()]


def begin(
    connection: sa.Connection,
    incarnation: str,
    *,
    replica: str,
    process: str,
    flows: Iterable[str],
    now_at: float,
) -> None:
    """Write the row of a process that starts."""
    connection.execute(
        sa.insert(INCARNATIONS).values(
            incarnation=incarnation,
            replica=replica,
            process=process,
            flows=json.dumps(sorted(flows)),
            begun_at=now_at,
            renewed_at=now_at,
            ended=False,
            taken_over_by="",
            closed=False,
        )
    )


def renew(
    connection: sa.Connection, incarnation: str, *, flows: Iterable[str], now_at: float, ended: bool = False
) -> bool:
    """Renew a process's own row; false where another process has taken over from it."""
    changed = connection.execute(
        sa.update(INCARNATIONS)
        .where(INCARNATIONS.c.incarnation == incarnation, INCARNATIONS.c.taken_over_by == "")
        .values(renewed_at=now_at, flows=json.dumps(sorted(flows)), ended=ended)
    )
    return changed.rowcount == 1


def take_over(
    connection: sa.Connection,
    incarnation: str,
    *,
    silent: Mapping[str, float],
    others: Collection[str] = (),
    now_at: float,
) -> list[Incarnation]:
    """Take over dead processes and return their rows; a second process gets none.

    `silent` are those that did not renew while being watched, with their last renewal. Processes that
    watched only flows of `others` are left to those.
    """
    rows = incarnations(connection)
    living = {
        row.incarnation
        for row in rows
        if not row.gone(now_at) and silent.get(row.incarnation) != row.renewed_at
    } | {incarnation}
    taken = []
    for row in rows:
        if row.left_to(others):
            continue
        if row.incarnation in living or (row.taken_over_by in living and row.taken_over_by != incarnation):
            continue
        changed = connection.execute(
            sa.update(INCARNATIONS)
            .where(
                INCARNATIONS.c.incarnation == row.incarnation,
                INCARNATIONS.c.taken_over_by == row.taken_over_by,
                INCARNATIONS.c.renewed_at == row.renewed_at,
            )
            .values(taken_over_by=incarnation)
        )
        if changed.rowcount == 1:
            taken.append(row)
    return taken


def leave_open(connection: sa.Connection, flows_of: Mapping[str, Iterable[str]]) -> None:
    """Note of incarnations which of their flows are not finished; one without any is closed.

    A flow is finished where every probe has its outcome and nothing is outstanding.
    """
    for incarnation, flows in flows_of.items():
        names = sorted(flows)
        connection.execute(
            sa.update(INCARNATIONS)
            .where(INCARNATIONS.c.incarnation == incarnation)
            .values(flows=json.dumps(names), closed=not names)
        )


def delete_old(connection: sa.Connection, *, closed_before: float, ended_before: float) -> None:
    """Delete the coverage of what was closed before an instant, and rows that nothing refers to any more."""
    closed = sa.select(INCARNATIONS.c.incarnation).where(
        INCARNATIONS.c.closed, INCARNATIONS.c.renewed_at < closed_before
    )
    connection.execute(sa.delete(COVERAGE).where(COVERAGE.c.incarnation.in_(closed)))
    connection.execute(
        sa.delete(INCARNATIONS).where(INCARNATIONS.c.closed, INCARNATIONS.c.renewed_at < ended_before)
    )
