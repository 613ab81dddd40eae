"""Tables of the canary: counters by minute, coverage of each process's probes, findings, arrivals.

A row of `canary_minutes` counts the probes of one incarnation that were due in one minute since the epoch, as
far as one process gave them their outcome. `incarnation` wrote the row, `probes_of` sent the probes; the two
differ after a take-over. The sum over both is the total of a flow and a replica. Every row is written whole.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from canary.tracker.events import Coverage
from canary.tracker.minutes import COLUMNS
from canary.watch.findings import LOOPS, number_of
from fleet.probe_history import DAY_MINUTES
from fleet.verdicts.evidence import Finding, FindingKind
from runtime.store.days import DayRows, days_table, next_flow
from runtime.store.migrations import Migration, create
from runtime.store.rows import replace_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FINDINGS_S = 1800.0  # findings of the last so many seconds are loaded: a verdict lasts for less

_METADATA = sa.MetaData()

CARRIED = sa.Table(
    "canary_carried",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("topic_id", sa.String(64), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("first_seen_at", sa.Float, nullable=False),
)
MINUTES = sa.Table(
    "canary_minutes",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("replica", sa.String(200), primary_key=True),
    sa.Column("incarnation", sa.String(16), primary_key=True),
    sa.Column("probes_of", sa.String(16), primary_key=True),
    *(sa.Column(name, sa.BigInteger, nullable=False) for name in COLUMNS),
)
DAYS = days_table("canary_days", _METADATA)
DAY_ROWS = DayRows(MINUTES, DAYS)
COVERAGE = sa.Table(
    "canary_coverage",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("incarnation", sa.String(16), primary_key=True),
    sa.Column("topic_id", sa.String(64), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("target_topic_id", sa.String(64), nullable=False),
    sa.Column("covered", sa.Text, nullable=False),  # JSON: [[first, last], ...]
    sa.Column("absent", sa.Text, nullable=False),  # JSON: rows of ranges.Absent
    sa.Column("source_from", sa.BigInteger, nullable=False),
    sa.Column("target_from", sa.BigInteger, nullable=False),
    sa.Column("target_read", sa.BigInteger, nullable=False),
)
ARRIVALS = sa.Table(
    "canary_arrivals",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("arrived_at", sa.Float, nullable=False),  # the newest arrival on the target
)
FINDINGS = sa.Table(
    "canary_findings",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("found_at", sa.Float, primary_key=True),  # the first of them
    sa.Column("kind", sa.String(20), primary_key=True),
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),  # of those alike in all of these
    sa.Column("last_found_at", sa.Float, nullable=False),  # the newest of them, whose are the offsets
    sa.Column("source_offset", sa.BigInteger),
    sa.Column("target_offset", sa.BigInteger),
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    sa.Column("overtaken", sa.Boolean, nullable=False),
    sa.Column("named", sa.Boolean, nullable=False),
)


def _add_last_found_at(connection: sa.Connection) -> None:
    """Add the newest instant of a finding to older stores, where it was the only one."""
    known = {column["name"] for column in sa.inspect(connection).get_columns(FINDINGS.name)}
    if "last_found_at" not in known:  # in a new store the step before created it
        connection.execute(
            sa.text(f"ALTER TABLE {FINDINGS.name} ADD COLUMN last_found_at FLOAT NOT NULL DEFAULT 0")
        )
        connection.execute(sa.update(FINDINGS).values(last_found_at=FINDINGS.c.found_at))


MIGRATIONS = (
    Migration("canary", 1, "partitions a flow was seen to carry", create(CARRIED)),
    Migration("canary", 2, "books by the minute, coverage and findings", create(MINUTES, COVERAGE, FINDINGS)),
    Migration("canary", 3, "the newest instant of findings that were merged", _add_last_found_at),
    Migration("canary", 4, "days of minutes", create(DAYS)),
    Migration("canary", 5, "the newest arrival of each flow", create(ARRIVALS)),
)

MinuteKey = tuple[str, str, int]  # flow, the incarnation whose probes are counted, minute


def carried_of(connection: sa.Connection) -> dict[str, set[tuple[str, int]]]:
    """Return by flow the (topic id, partition) that it replicates."""
    found: dict[str, set[tuple[str, int]]] = {}
    for flow, topic_id, partition in connection.execute(
        sa.select(CARRIED.c.flow, CARRIED.c.topic_id, CARRIED.c.partition)
    ):
        found.setdefault(flow, set()).add((topic_id, partition))
    return found


def keep_carried(connection: sa.Connection, flow: str, topic_id: str, partition: int, at: float) -> None:
    """Save that a flow replicates this partition; twice is harmless."""
    key = {"flow": flow, "topic_id": topic_id, "partition": partition}
    known = sa.select(sa.literal(1)).where(*(CARRIED.c[name] == value for name, value in key.items()))
    if connection.execute(known).first() is None:
        connection.execute(sa.insert(CARRIED).values(**key, first_seen_at=at))


def keep_minutes(
    connection: sa.Connection,
    rows: Mapping[MinuteKey, tuple[int, ...]],
    *,
    replica: str,
    incarnation: str,
) -> None:
    """Write rows whole, numbers in the order of minutes.COLUMNS."""
    writer = {"replica": replica, "incarnation": incarnation}
    DAY_ROWS.forget(connection, ((flow, minute // DAY_MINUTES) for flow, _, minute in rows))
    replace_rows(
        connection,
        MINUTES,
        [
            {"flow": flow, "minute": minute, "probes_of": of, **writer}
            | dict(zip(COLUMNS, numbers, strict=True))
            for (flow, of, minute), numbers in rows.items()
        ],
    )


def keep_coverages(connection: sa.Connection, rows: Iterable[tuple[str, str, Coverage]]) -> None:
    """Write coverages whole, each with its flow and the target's topic id (empty: not known)."""
    replace_rows(
        connection,
        COVERAGE,
        [
            {
                "flow": flow,
                "incarnation": one.incarnation,
                "topic_id": one.topic_id,
                "partition": one.partition,
                "target_topic_id": target_topic_id,
                "covered": json.dumps(one.covered, separators=(",", ":")),
                "absent": json.dumps(one.absent, separators=(",", ":")),
                "source_from": one.source_from,
                "target_from": one.target_from,
                "target_read": one.target_read,
            }
            for flow, target_topic_id, one in rows
        ],
    )


def coverages_of(
    connection: sa.Connection, incarnations: Iterable[str]
) -> dict[tuple[str, str], list[tuple[str, Coverage]]]:
    """Return the coverages by flow and incarnation, each with the target's topic id at that time."""
    wanted = sa.select(COVERAGE).where(COVERAGE.c.incarnation.in_(list(incarnations)))
    found: dict[tuple[str, str], list[tuple[str, Coverage]]] = {}
    for row in connection.execute(wanted).mappings():
        coverage = Coverage(
            incarnation=row["incarnation"],
            topic_id=row["topic_id"],
            partition=row["partition"],
            covered=tuple((first, last) for first, last in json.loads(row["covered"])),
            absent=tuple(tuple(one) for one in json.loads(row["absent"])),
            source_from=row["source_from"],
            target_from=row["target_from"],
            target_read=row["target_read"],
        )
        key = (row["flow"], row["incarnation"])
        found.setdefault(key, []).append((row["target_topic_id"], coverage))
    return found


def keep_arrivals(connection: sa.Connection, arrivals: Mapping[str, float]) -> None:
    """Write when a probe last arrived (epoch s) by flow."""
    rows = [{"flow": flow, "arrived_at": at} for flow, at in arrivals.items()]
    replace_rows(connection, ARRIVALS, rows)


def arrivals_of(connection: sa.Connection) -> dict[str, float]:
    """Return when a probe last arrived (epoch s) by flow."""
    rows = connection.execute(sa.select(ARRIVALS.c.flow, ARRIVALS.c.arrived_at))
    return {row.flow: row.arrived_at for row in rows}


def keep_findings(connection: sa.Connection, rows: Iterable[tuple[str, Finding]]) -> None:
    """Write findings whole, each with its flow."""
    replace_rows(
        connection,
        FINDINGS,
        [
            {
                "flow": flow,
                "found_at": one.began_at,
                "kind": one.kind.value,
                "topic": one.topic,
                "partition": one.partition,
                "number": number_of(one),
                "last_found_at": one.at,
                "source_offset": one.source_offset,
                "target_offset": one.target_offset,
                "sentence": one.sentence,
                "count": one.count,
                "overtaken": one.overtaken,
                "named": one.named,
            }
            for flow, one in rows
        ],
    )


def forget_loops(connection: sa.Connection, flows: Iterable[str], *, now_at: float) -> None:
    """Delete the recent loop findings of these flows, which the user declared fixed."""
    connection.execute(
        sa.delete(FINDINGS).where(
            FINDINGS.c.flow.in_(list(flows)),
            FINDINGS.c.kind.in_([kind.value for kind in LOOPS]),
            FINDINGS.c.last_found_at >= now_at - FINDINGS_S,
        )
    )


def findings_since(connection: sa.Connection, at: float, *, now_at: float) -> dict[str, list[Finding]]:
    """Return the findings since this instant (epoch s) by flow, oldest first, none later than now."""
    return _findings(connection, sa.select(FINDINGS).where(FINDINGS.c.last_found_at >= at), now_at)


def last_losses(connection: sa.Connection, *, at_most: int, now_at: float) -> dict[str, list[Finding]]:
    """Return the last losses by flow, at most so many of each, oldest first, none later than now."""
    age = sa.func.row_number().over(partition_by=FINDINGS.c.flow, order_by=FINDINGS.c.last_found_at.desc())
    lost = sa.select(FINDINGS, age.label("age")).where(FINDINGS.c.kind == FindingKind.LOST.value).subquery()
    return _findings(connection, sa.select(lost).where(lost.c.age <= at_most), now_at)


def _findings(connection: sa.Connection, wanted: sa.Select[Any], now_at: float) -> dict[str, list[Finding]]:
    rows = connection.execute(wanted.order_by(sa.text("last_found_at"))).mappings().all()
    found = [(row["flow"], _finding(row)) for row in rows]
    # Instants of later than now were written before the clock was set back. All move alike: their rows are
    # keyed by instant, so those of one kind must not meet in one.
    ahead_s = max((one.at - now_at for _, one in found), default=0.0)
    past = ((flow, one if one.at <= now_at else _earlier(one, ahead_s)) for flow, one in found)
    by_flow: dict[str, list[Finding]] = {}
    for flow, one in sorted(past, key=lambda item: item[1].at):
        by_flow.setdefault(flow, []).append(one)
    return by_flow


def _earlier(one: Finding, by_s: float) -> Finding:
    return replace(one, at=one.at - by_s, first_at=one.began_at - by_s)


def _finding(row: sa.RowMapping) -> Finding:
    return Finding(
        kind=FindingKind(row["kind"]),
        at=row["last_found_at"],
        topic=row["topic"],
        partition=row["partition"],
        source_offset=row["source_offset"],
        target_offset=row["target_offset"],
        sentence=row["sentence"],
        count=row["count"],
        overtaken=row["overtaken"],
        named=row["named"],
        first_at=row["found_at"],
    )


def delete_old(
    connection: sa.Connection, *, after: str, minutes_before: int, findings_before: float
) -> str | None:
    """Delete minutes and findings past their retention of the next flow after this one.

    A day of minutes at most is deleted. Return after which flow to continue, None at the end.
    """
    flow = next_flow(connection, (MINUTES, DAYS, FINDINGS), after)
    if flow is None:
        return None
    more = DAY_ROWS.delete_oldest(connection, flow, before=minutes_before)
    old = FINDINGS.c.found_at < findings_before, FINDINGS.c.last_found_at < findings_before  # the key has one
    connection.execute(sa.delete(FINDINGS).where(FINDINGS.c.flow == flow, *old))
    return after if more else flow
