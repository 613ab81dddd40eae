"""Reads the stored minutes: each once, whichever replica and incarnation wrote it.

If several replicas probed a flow, each minute uses the one whose probes settled most. Probes that a process
took over count for the replica that sent them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from canary.persistence.leases import INCARNATIONS
from canary.persistence.tables import DAY_ROWS, MINUTES
from fleet.probe_history import ProbeDay, ProbeMinute
from runtime.store.days import span_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_UNSENT = ("produce_failed", "produce_unknown", "warmup", "skipped", "abandoned")
_COUNTS = (
    *(MINUTES.c[name] for name in ("settled", "good", "late", "overdue", "lost", "confirmed", "unknown")),
    sum((MINUTES.c[name] for name in _UNSENT[1:]), MINUTES.c[_UNSENT[0]]).label("unsent"),
)


class _Part(NamedTuple):
    """Counters of one process for one minute."""

    minute: int
    probes_of: str
    replica: str
    counts: Sequence[int]


def probe_days(connection: sa.Connection, flow: str, spans: Iterable[tuple[int, int]]) -> Iterator[ProbeDay]:
    """Yield the days of a flow within spans of minutes (first, and the one after the last), in order.

    Spans are in order and do not overlap. A day of which a span holds a part alone is read by the minute.
    """
    replicas = _replicas(connection)
    for day, parts, body in DAY_ROWS.within(connection, flow, spans):
        yield _read(connection, flow, day, parts, replicas) if body is None else _unpacked(day, body)


def read_days(connection: sa.Connection, *, flow: str, spans: Sequence[tuple[int, int]]) -> list[ProbeDay]:
    """Return the days of a flow within spans."""
    return list(probe_days(connection, flow, spans))


def read_minutes(connection: sa.Connection, *, flow: str, span: tuple[int, int]) -> list[ProbeMinute]:
    """Return the minutes of a flow within a span, each once."""
    return list(_minutes(connection, flow, *span, _replicas(connection)))


def tidy(connection: sa.Connection, flows: Sequence[str], *, before: int, at_most: int) -> int:
    """Compact more days before `before` into one row each; return how many."""
    replicas = _replicas(connection)

    def body_of(flow: str, day: int) -> str:
        found = _read(connection, flow, day, [span_of(day)], replicas)
        return json.dumps([found.even_minutes, found.even_probes, found.uneven], separators=(",", ":"))

    return DAY_ROWS.tidy(connection, flows, before=before, at_most=at_most, body_of=body_of)


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
    """Return the replica of each incarnation."""
    rows = connection.execute(sa.select(INCARNATIONS.c.incarnation, INCARNATIONS.c.replica))
    return {row.incarnation: row.replica for row in rows}
