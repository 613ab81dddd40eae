"""Compact days of a table of minutes into one row each, so that a report over a year reads one row a day.

The writer of a minute deletes the row of its day in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fleet.probe_history import DAY_MINUTES, by_day
from runtime.store.rows import replace_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Span = tuple[int, int]  # minutes: the first, and the one after the last


def days_table(name: str, metadata: sa.MetaData) -> sa.Table:
    """Return a table of days."""
    return sa.Table(
        name,
        metadata,
        sa.Column("flow", sa.String(300), primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def span_of(day: int) -> Span:
    """Return the minutes of a day."""
    return day * DAY_MINUTES, (day + 1) * DAY_MINUTES


@dataclass(frozen=True, slots=True)
class DayRows:
    """The days of `minutes`, a table with the columns `flow` and `minute`."""

    minutes: sa.Table
    days: sa.Table

    def first_minute(self, connection: sa.Connection, flow: str) -> int | None:
        """Return the first minute of a flow, None where there is none."""
        minutes = self.minutes.c
        found = connection.execute(sa.select(sa.func.min(minutes.minute)).where(minutes.flow == flow))
        minute: int | None = found.scalar_one()
        return minute

    def within(
        self, connection: sa.Connection, flow: str, spans: Iterable[Span], *, rows: bool = True
    ) -> Iterator[tuple[int, list[Span], str | None]]:
        """Yield each day within spans with its parts, and its row if all of the day is wanted and it has one.

        Spans are in order and do not overlap. Without `rows` there are none.
        """
        parts = list(by_day(spans))
        bodies: dict[int, str] = {}
        if parts and rows:
            days = self.days.c
            wanted = sa.select(days.day, days.body).where(
                days.flow == flow, days.day.between(parts[0][0], parts[-1][0])
            )
            bodies = {row.day: row.body for row in connection.execute(wanted)}
        for day, pieces in groupby(parts, key=itemgetter(0)):
            held = [(first, until) for _, first, until in pieces]
            yield day, held, bodies.get(day) if held == [span_of(day)] else None

    def missing(
        self, connection: sa.Connection, flows: Sequence[str], *, before: int, at_most: int
    ) -> list[tuple[str, int]]:
        """Return days before `before` of these flows that are not kept as one row, newest first.

        Days that began before a flow's first minute are left out: of these, old minutes are deleted one by
        one, and their rows with them.
        """
        found: list[tuple[str, int]] = []
        for flow in flows:
            first = self.first_minute(connection, flow)
            if first is not None and len(found) < at_most:
                here = sa.select(self.days.c.day).where(self.days.c.flow == flow)
                kept = set(connection.execute(here).scalars())
                days = range(before - 1, -(-first // DAY_MINUTES) - 1, -1)
                found += [(flow, day) for day in days if day not in kept]
        return found[:at_most]

    def tidy(
        self,
        connection: sa.Connection,
        flows: Sequence[str],
        *,
        before: int,
        at_most: int,
        body_of: Callable[[str, int], str],
    ) -> int:
        """Compact more days before `before` into one row each; return how many."""
        found = self.missing(connection, flows, before=before, at_most=at_most)
        rows = [{"flow": flow, "day": day, "body": body_of(flow, day)} for flow, day in found]
        replace_rows(connection, self.days, rows)
        return len(rows)

    def forget(self, connection: sa.Connection, days: Iterable[tuple[str, int]]) -> None:
        """Delete the rows of days, by flow, whose minutes changed."""
        gone = [{"of_flow": flow, "of_day": day} for flow, day in sorted(set(days))]
        if gone:
            here = self.days.c.flow == sa.bindparam("of_flow"), self.days.c.day == sa.bindparam("of_day")
            connection.execute(sa.delete(self.days).where(*here), gone)

    def delete_old(self, connection: sa.Connection, *, before: int) -> None:
        """Delete minutes before this one, and days that had any of them."""
        tables = self.minutes, self.days
        flow = next_flow(connection, tables, "")
        while flow is not None:
            if not self.delete_oldest(connection, flow, before=before):
                flow = next_flow(connection, tables, flow)

    def delete_oldest(self, connection: sa.Connection, flow: str, *, before: int) -> bool:
        """Delete minutes of a flow before this one, a day of them at most, and days that had any of them.

        Return whether there may be more.
        """
        first, minutes, days = self.first_minute(connection, flow), self.minutes.c, self.days.c
        until = before if first is None else min(before, first + DAY_MINUTES)
        connection.execute(sa.delete(self.minutes).where(minutes.flow == flow, minutes.minute < until))
        last = (until - 1) // DAY_MINUTES
        connection.execute(sa.delete(self.days).where(days.flow == flow, days.day <= last))
        return until < before


def next_flow(connection: sa.Connection, tables: Iterable[sa.Table], after: str) -> str | None:
    """Return the first flow in tables after this one, None at the end; fast if keys start with the flow."""
    each = (sa.select(sa.func.min(one.c.flow).label("flow")).where(one.c.flow > after) for one in tables)
    found = sa.union_all(*each).subquery()
    flow: str | None = connection.execute(sa.select(sa.func.min(found.c.flow))).scalar_one()
    return flow
