"""Read the minutes that are in the store: each once, whichever replica and incarnation wrote about it.

Of several replicas that probed a flow, each minute takes the one whose probes settled most. What a process
took over from another belongs to the replica that sent it.

A day whose minutes are complete is also kept as one row, so that a report over a year reads a row a day.
Whoever writes a minute removes the row of its day in the same transaction.
"""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from canary.leases import INCARNATIONS
from canary.tables import DAYS, MINUTES
from fleet.probe_history import DAY_MINUTES, ProbeDay, ProbeMinute, by_day

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_UNSENT = ("produce_failed", "produce_unknown", "warmup", "skipped", "abandoned")
_COUNTS = (
    *(MINUTES.c[name] for name in ("settled", "good", "late", "overdue", "lost", "confirmed", "unknown")),
    sum((MINUTES.c[name] for name in _UNSENT[1:]), MINUTES.c[_UNSENT[0]]).label("unsent"),
)


class _Part(NamedTuple):
    """What one process wrote about one minute."""

    minute: int
    probes_of: str
    replica: str
    counts: Sequence[int]


def first_minute(connection: sa.Connection, flow: str) -> int | None:
    """Return the first minute of a flow, None where there is none."""
    found = connection.execute(sa.select(sa.func.min(MINUTES.c.minute)).where(MINUTES.c.flow == flow))
    minute: int | None = found.scalar_one()
    return minute


def probe_days(connection: sa.Connection, flow: str, spans: Iterable[tuple[int, int]]) -> Iterator[ProbeDay]:
    """Yield the days of a flow within spans of minutes (first, and the one after the last), in order.

    Spans are in order and do not overlap. A day of which a span holds a part alone is read by the minute.
    """
    replicas = _replicas(connection)
    parts = list(by_day(spans))
    kept = _kept(connection, flow, parts)
    for key, pieces in groupby(parts, key=itemgetter(0)):
        held = [(first, until) for _, first, until in pieces]
        body = kept.get(key) if held == [_span(key)] else None
        yield _read(connection, flow, key, held, replicas) if body is None else _unpacked(key, body)


def read_days(
    connection: sa.Connection, *, flow: str, spans: Sequence[tuple[int, int]]
) -> tuple[int | None, list[ProbeDay]]:
    """Return the first minute of a flow at all, and its days within spans."""
    return first_minute(connection, flow), list(probe_days(connection, flow, spans))


def read_minutes(connection: sa.Connection, *, flow: str, span: tuple[int, int]) -> list[ProbeMinute]:
    """Return the minutes of a flow within a span, each once."""
    return list(_minutes(connection, flow, *span, _replicas(connection)))


def tidy(connection: sa.Connection, flows: Sequence[str], *, before: int, at_most: int) -> int:
    """Keep some more days before `before` as one row each; return how many it were."""
    found = days_to_roll_up(connection, flows, before=before, at_most=at_most)
    for flow, day in found:
        roll_up(connection, flow, day)
    return len(found)


def roll_up(connection: sa.Connection, flow: str, day: int) -> None:
    """Keep a day that is over as one row."""
    found = _read(connection, flow, day, [_span(day)], _replicas(connection))
    body = json.dumps([found.even_minutes, found.even_probes, found.uneven], separators=(",", ":"))
    connection.execute(sa.delete(DAYS).where(DAYS.c.flow == flow, DAYS.c.day == day))
    connection.execute(sa.insert(DAYS).values(flow=flow, day=day, body=body))


def days_to_roll_up(
    connection: sa.Connection, flows: Sequence[str], *, before: int, at_most: int
) -> list[tuple[str, int]]:
    """Return days before `before` of these flows that are not kept as one row, newest first."""
    found: list[tuple[str, int]] = []
    for flow in flows:
        first = first_minute(connection, flow)
        if first is not None:
            kept = set(connection.execute(sa.select(DAYS.c.day).where(DAYS.c.flow == flow)).scalars())
            days = range(before - 1, first // DAY_MINUTES - 1, -1)
            found += [(flow, day) for day in days if day not in kept]
    return found[:at_most]


def _span(day: int) -> tuple[int, int]:
    return day * DAY_MINUTES, (day + 1) * DAY_MINUTES


def _kept(connection: sa.Connection, flow: str, parts: Sequence[tuple[int, int, int]]) -> dict[int, str]:
    """Return the rows of whole days from the first of these parts of days to the last."""
    if not parts:
        return {}
    wanted = sa.select(DAYS.c.day, DAYS.c.body).where(
        DAYS.c.flow == flow, DAYS.c.day.between(parts[0][0], parts[-1][0])
    )
    return {row.day: row.body for row in connection.execute(wanted)}


def _unpacked(day: int, body: str) -> ProbeDay:
    minutes, probes, uneven = json.loads(body)
    return ProbeDay(day, minutes, probes, tuple(map(ProbeMinute._make, uneven)))


def _read(
    connection: sa.Connection,
    flow: str,
    day: int,
    spans: Sequence[tuple[int, int]],
    replicas: dict[str, str],
) -> ProbeDay:
    minutes = probes = 0
    uneven: list[ProbeMinute] = []
    for first, until in spans:
        for one in _minutes(connection, flow, first, until, replicas):
            if one.even:
                minutes += 1
                probes += one.good
            else:
                uneven.append(one)
    return ProbeDay(day, minutes, probes, tuple(uneven))


def _minutes(
    connection: sa.Connection, flow: str, first: int, until: int, replicas: dict[str, str]
) -> Iterator[ProbeMinute]:
    wanted = (
        sa.select(MINUTES.c.minute, MINUTES.c.probes_of, MINUTES.c.replica, *_COUNTS)
        .where(MINUTES.c.flow == flow, MINUTES.c.minute >= first, MINUTES.c.minute < until)
        .order_by(MINUTES.c.minute)
    )
    held: list[_Part] = []
    for minute, probes_of, replica, *counts in connection.execute(wanted):
        if held and held[0].minute != minute:
            yield _merged(held, replicas)
            held = []
        held.append(_Part(minute, probes_of, replica, counts))
    if held:
        yield _merged(held, replicas)


def _merged(parts: list[_Part], replicas: dict[str, str]) -> ProbeMinute:
    if len(parts) == 1:
        return ProbeMinute(parts[0].minute, *parts[0].counts)
    sums: dict[str, Sequence[int]] = {}
    for one in parts:
        sender = replicas.get(one.probes_of, one.replica)
        before = sums.get(sender, (0,) * len(one.counts))
        sums[sender] = tuple(map(sum, zip(before, one.counts, strict=True)))
    _, counts = max(sums.items(), key=lambda each: (each[1][0], sum(each[1]), each[0]))
    return ProbeMinute(parts[0].minute, *counts)


def _replicas(connection: sa.Connection) -> dict[str, str]:
    """Return the replica that each incarnation is of."""
    rows = connection.execute(sa.select(INCARNATIONS.c.incarnation, INCARNATIONS.c.replica))
    return {row.incarnation: row.replica for row in rows}
