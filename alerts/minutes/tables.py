"""Tables of measured minutes and exclusions.

One process writes a row of `flow_minutes` when its minute is over. A finished day is also one row of
`flow_days`: runs of equal minutes, where every age up to `FLOOR_S` counts as `FLOOR_S`. An objective with a
smaller limit is read from the minutes.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING

import sqlalchemy as sa

from alerts.minutes.recorder import joined
from alerts.objectives import Exclusion
from fleet.probe_history import DAY_MINUTES, ValueRun
from runtime.store.days import DayRows, days_table, span_of
from runtime.store.migrations import Migration, create
from runtime.store.rows import replace_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FLOOR_S = 30.0

_METADATA = sa.MetaData()

MINUTES = sa.Table(
    "flow_minutes",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("replica", sa.String(200), primary_key=True),
    sa.Column("incarnation", sa.String(16), primary_key=True),
    sa.Column("observed_s", sa.Integer, nullable=False),
    sa.Column("lag_s", sa.Float),
    sa.Column("recovery_point_s", sa.Float),
    sa.Column("audited_at", sa.Float),
)
DAYS = days_table("flow_days", _METADATA)
DAY_ROWS = DayRows(MINUTES, DAYS)
EXCLUSIONS = sa.Table(
    "exclusions",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("flow", sa.String(300), nullable=False),
    sa.Column("first", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.Column("author", sa.String(200), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("made_at", sa.Float, nullable=False),
)
MIGRATIONS = (
    Migration("alerts-minutes", 1, "measured minutes and exclusions", create(MINUTES, DAYS, EXCLUSIONS)),
)


def keep_minutes(
    connection: sa.Connection,
    rows: Iterable[tuple[str, ValueRun]],
    *,
    replica: str,
    incarnation: str,
) -> None:
    """Write rows of finished minutes, each with its flow; writing twice changes nothing."""
    written = {
        (flow, row.first): {
            "flow": flow,
            "minute": row.first,
            "replica": replica,
            "incarnation": incarnation,
            "observed_s": row.observed_s,
            "lag_s": row.lag_s,
            "recovery_point_s": row.recovery_point_s,
            "audited_at": row.audited_at,
        }
        for flow, row in rows
    }
    replace_rows(connection, MINUTES, [*written.values()])
    DAY_ROWS.forget(connection, ((flow, minute // DAY_MINUTES) for flow, minute in written))


def read_days(
    connection: sa.Connection, *, flow: str, spans: Sequence[tuple[int, int]], exact: bool
) -> list[tuple[int, list[ValueRun]]]:
    """Return each day within spans with its runs of minutes.

    `exact` reads only minutes, for ages below `FLOOR_S`.
    """
    found = []
    for day, parts, body in DAY_ROWS.within(connection, flow, spans, rows=not exact):
        if body is not None:
            runs = [ValueRun(*one) for one in json.loads(body)]
        else:
            runs = [run for first, until in parts for run in _minutes(connection, flow, first, until)]
        found.append((day, runs))
    return found


def tidy(connection: sa.Connection, flows: Sequence[str], *, before: int, at_most: int) -> int:
    """Store more days before `before` as one row each, newest first; return their number."""

    def body_of(flow: str, day: int) -> str:
        return json.dumps(list(_runs(_minutes(connection, flow, *span_of(day)))), separators=(",", ":"))

    return DAY_ROWS.tidy(connection, flows, before=before, at_most=at_most, body_of=body_of)


def delete_old(connection: sa.Connection, *, minutes_before: int) -> None:
    """Delete minutes after their retention."""
    DAY_ROWS.delete_old(connection, before=minutes_before)


# --- exclusions


def exclude(connection: sa.Connection, one: Exclusion, *, made_at: float) -> int:
    """Store an exclusion with the next number, and return the number."""
    last = connection.execute(sa.select(sa.func.max(EXCLUSIONS.c.number))).scalar_one()
    number = (last or 0) + 1
    connection.execute(
        sa.insert(EXCLUSIONS).values(
            number=number,
            flow=one.flow,
            first=one.first,
            until=one.until,
            author=one.author,
            reason=one.reason,
            made_at=made_at,
        )
    )
    return number


def exclusions(connection: sa.Connection) -> list[Exclusion]:
    """Return all exclusions by number."""
    columns = [EXCLUSIONS.c[name] for name in ("number", "flow", "first", "until", "author", "reason")]
    rows = connection.execute(sa.select(*columns).order_by(EXCLUSIONS.c.number))
    return [Exclusion(**row) for row in rows.mappings()]


def include(connection: sa.Connection, number: int) -> bool:
    """Remove an exclusion; False for an unknown number."""
    return connection.execute(sa.delete(EXCLUSIONS).where(EXCLUSIONS.c.number == number)).rowcount == 1


def _minutes(connection: sa.Connection, flow: str, first: int, until: int) -> Iterator[ValueRun]:
    """Yield each minute once: of the replica that observed most of it."""
    columns = ("minute", "replica", "observed_s", "lag_s", "recovery_point_s", "audited_at")
    wanted = (
        sa.select(*(MINUTES.c[name] for name in columns))
        .where(MINUTES.c.flow == flow, MINUTES.c.minute >= first, MINUTES.c.minute < until)
        .order_by(MINUTES.c.minute)
    )
    held: dict[str, ValueRun] = {}
    at = first
    for minute, replica, *values in connection.execute(wanted):
        if held and minute != at:
            yield max(held.values(), key=attrgetter("observed_s"))
            held = {}
        at = minute
        row = ValueRun(minute, 1, *values)
        held[replica] = joined(held[replica], row) if replica in held else row
    if held:
        yield max(held.values(), key=attrgetter("observed_s"))


def _runs(minutes: Iterable[ValueRun]) -> Iterator[ValueRun]:
    """Join consecutive minutes that are equal, apart from ages up to the floor."""
    run: ValueRun | None = None
    for each in minutes:
        one = each._replace(lag_s=_floored(each.lag_s), recovery_point_s=_floored(each.recovery_point_s))
        if run is not None and one == run._replace(first=run.first + run.minutes, minutes=1):
            run = run._replace(minutes=run.minutes + 1)
            continue
        if run is not None:
            yield run
        run = one
    if run is not None:
        yield run


def _floored(age_s: float | None) -> float | None:
    return None if age_s is None else max(FLOOR_S, age_s)
