"""Rows of the checksum tables, written and read within the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from checksum.compare.verdicts import FINDING
from checksum.history.entries import Counted, OpenRun, PackedRun, RunRow, VerifiedTo
from checksum.history.tables import COUNTS, OPEN, RUNS, TAKEN, UNPOSTED, UNREPORTED, VERIFIED
from runtime.store.rows import replace_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from checksum.history.entries import Place

_FORGOTTEN_AT_ONCE = 200  # runs: a document may have some megabytes
_UNREPORTED_AT_ONCE = 100
_TAKEN_AT_ONCE = 100
_HELD_AT_ONCE = 100
_PLAIN = ("run", "flow", "plan", "who", "begun_ms", "ended_ms", "status", "counts_only", "coverage")
_SUMS = ("findings", "source_records", "target_records")


def begin(connection: sa.Connection, run: OpenRun, is_active: Callable[[OpenRun], bool]) -> OpenRun | None:
    """Write the row of a run, replacing dead ones; return the active run if there is one."""
    for other in open_runs(connection, run.flow):
        if is_active(other):
            return other
    connection.execute(sa.delete(OPEN).where(OPEN.c.flow == run.flow))
    connection.execute(
        sa.insert(OPEN).values(**{name: getattr(run, name) for name in run.__dataclass_fields__})
    )
    return None


def finish(
    connection: sa.Connection,
    run: PackedRun,
    *,
    open_as: str,
    counts: Sequence[Counted],
    verified: Mapping[Place, VerifiedTo],
    now_ms: int,
    unposted: bool,
) -> bool:
    """Write the result of a run; False, with nothing written, if another run replaced it.

    The run is unreported until `mark_reported`, except a mere count, which moves no position and is counted
    again. If `unposted`, it is queued for a service until `mark_posted`.
    """
    row = run.row
    process = connection.execute(sa.select(OPEN.c.process).where(OPEN.c.run == open_as)).scalar()
    if not close_open(connection, open_as):
        return False
    is_new = write_run(connection, run)  # else the same digests were compared again
    if is_new and not row.counts_only:
        connection.execute(sa.insert(UNREPORTED).values(run=row.run, flow=row.flow, process=process))
    if unposted:
        queue_for_posting(connection, [row.run])
    _write_counts(connection, row.flow, counts, now_ms=now_ms)
    _write_verified(connection, row.flow, verified)
    return True


def open_runs(connection: sa.Connection, flow: str | None = None) -> list[OpenRun]:
    """Return the runs that are active or were left, of one flow or of all."""
    columns = [OPEN.c[name] for name in OpenRun.__dataclass_fields__]
    wanted = sa.select(*columns).order_by(OPEN.c.begun_ms)
    if flow is not None:
        wanted = wanted.where(OPEN.c.flow == flow)
    return [OpenRun(*row) for row in connection.execute(wanted)]


def update_heartbeat(connection: sa.Connection, run: str, *, now_ms: int, plan: str | None) -> bool:
    """Update the row of a run; False if another run replaced it."""
    values = {"beaten_ms": now_ms} | ({} if plan is None else {"plan": plan})
    return connection.execute(sa.update(OPEN).where(OPEN.c.run == run).values(**values)).rowcount == 1


def close_open(connection: sa.Connection, run: str) -> bool:
    """Delete the row of a run; False if there is none."""
    return connection.execute(sa.delete(OPEN).where(OPEN.c.run == run)).rowcount == 1


def write_run(connection: sa.Connection, run: PackedRun) -> bool:
    """Write a finished run with its packed document; False if it exists."""
    row = run.row
    known = sa.select(sa.literal(1)).where(RUNS.c.run == row.run)
    if connection.execute(known).first() is not None:
        return False
    values = {name: getattr(row, name) for name in (*_PLAIN, *_SUMS)}
    connection.execute(sa.insert(RUNS).values(**values, document=run.content))
    return True


def take(connection: sa.Connection, run: PackedRun, *, now_ms: int) -> bool:
    """Write a run received from elsewhere, and when; False if it exists."""
    if not write_run(connection, run):
        return False
    if not run.row.counts_only:
        connection.execute(sa.insert(TAKEN).values(run=run.row.run, flow=run.row.flow, taken_ms=now_ms))
    return True


def unreported_of(connection: sa.Connection, flow: str) -> list[tuple[str, str]]:
    """Return a flow's unreported runs, oldest first, and the process that should report each."""
    both = UNREPORTED.join(RUNS, RUNS.c.run == UNREPORTED.c.run)
    wanted = (
        sa.select(UNREPORTED.c.run, UNREPORTED.c.process).select_from(both).where(UNREPORTED.c.flow == flow)
    )
    found = wanted.order_by(RUNS.c.ended_ms, RUNS.c.run).limit(_UNREPORTED_AT_ONCE)
    return [(run, process) for run, process in connection.execute(found)]


def mark_reported(connection: sa.Connection, runs: Sequence[str]) -> None:
    """Mark these runs as reported; they stay queued for a service."""
    connection.execute(sa.delete(UNREPORTED).where(UNREPORTED.c.run.in_(runs)))


def queue_for_posting(connection: sa.Connection, runs: Sequence[str]) -> None:
    """Queue these runs for a service, if they are stored."""
    kept = sa.select(RUNS.c.run, RUNS.c.flow).where(
        RUNS.c.run.in_(runs), RUNS.c.run.not_in(sa.select(UNPOSTED.c.run))
    )
    connection.execute(sa.insert(UNPOSTED).from_select(["run", "flow"], kept))


def unposted_of(connection: sa.Connection, flow: str) -> list[str]:
    """Return a flow's runs that are queued for a service, oldest first, without unreported ones."""
    both = UNPOSTED.join(RUNS, RUNS.c.run == UNPOSTED.c.run)
    reported = UNPOSTED.c.run.not_in(sa.select(UNREPORTED.c.run))
    wanted = sa.select(UNPOSTED.c.run).select_from(both).where(UNPOSTED.c.flow == flow, reported)
    found = wanted.order_by(RUNS.c.ended_ms, RUNS.c.run).limit(_UNREPORTED_AT_ONCE)
    return list(connection.execute(found).scalars())


def mark_posted(connection: sa.Connection, runs: Sequence[str]) -> None:
    """Remove these runs from the queue for a service."""
    connection.execute(sa.delete(UNPOSTED).where(UNPOSTED.c.run.in_(runs)))


def runs_of(
    connection: sa.Connection, flow: str, *, limit: int, holding_since_ms: int | None = None
) -> list[RunRow]:
    """Return finished runs of a flow without their documents, newest first; no mere counts.

    Also returns those that were received since `holding_since_ms`, however old they are; and those that ended
    since then with a finding, with other runs of the same plans, which may clear it.
    """
    newest_first = (RUNS.c.ended_ms.desc(), RUNS.c.run.desc())
    whole = sa.select(RUNS.c.run).where(RUNS.c.flow == flow, RUNS.c.counts_only.is_(False))
    wanted: sa.ColumnElement[bool] = RUNS.c.run.in_(whole.order_by(*newest_first).limit(limit))
    if holding_since_ms is not None:
        taken = sa.select(TAKEN.c.run).where(TAKEN.c.flow == flow, TAKEN.c.taken_ms >= holding_since_ms)
        late = taken.order_by(TAKEN.c.taken_ms.desc(), TAKEN.c.run).limit(_TAKEN_AT_ONCE)
        recent = whole.where(RUNS.c.ended_ms >= holding_since_ms)
        found = recent.where(sa.or_(RUNS.c.findings > 0, RUNS.c.status == FINDING))
        held = recent.where(RUNS.c.plan.in_(found.with_only_columns(RUNS.c.plan)))
        held = held.order_by(*newest_first).limit(_HELD_AT_ONCE)
        wanted = sa.or_(wanted, RUNS.c.run.in_(late), RUNS.c.run.in_(held))
    both = RUNS.outerjoin(TAKEN, TAKEN.c.run == RUNS.c.run)
    rows = sa.select(*_columns(), TAKEN.c.taken_ms).select_from(both).where(wanted).order_by(*newest_first)
    return [replace(RunRow(*row[:-1]), taken_ms=row[-1]) for row in connection.execute(rows)]


def run_of(connection: sa.Connection, run: str) -> tuple[RunRow, bytes] | None:
    """Return a finished run and its packed document."""
    row = connection.execute(sa.select(*_columns(), RUNS.c.document).where(RUNS.c.run == run)).first()
    return None if row is None else (RunRow(*row[:-1]), bytes(row[-1]))


def verified_of(connection: sa.Connection, flow: str) -> dict[Place, VerifiedTo]:
    """Return up to where each partition of a flow was compared."""
    columns = [VERIFIED.c[name] for name in VerifiedTo.__dataclass_fields__]
    wanted = sa.select(VERIFIED.c.topic, VERIFIED.c.partition, *columns).where(VERIFIED.c.flow == flow)
    return {(row[0], row[1]): VerifiedTo(*row[2:]) for row in connection.execute(wanted)}


def counts_of(
    connection: sa.Connection, flow: str, topic: str | None, *, since_ms: int, until_ms: int, limit: int
) -> list[Counted]:
    """Return the counts of buckets that start in [since_ms, until_ms), oldest first."""
    within = [COUNTS.c.flow == flow, COUNTS.c.bucket_at_ms >= since_ms, COUNTS.c.bucket_at_ms < until_ms]
    if topic is not None:
        within.append(COUNTS.c.topic == topic)
    place = (COUNTS.c.bucket_at_ms, COUNTS.c.topic, COUNTS.c.partition)
    sums = (sa.func.sum(COUNTS.c.source_records), sa.func.sum(COUNTS.c.target_records))
    wanted = sa.select(*place, *sums).where(*within).group_by(*place).order_by(*place).limit(limit)
    return [
        Counted(name, partition, bucket_at_ms, int(source), int(target))
        for bucket_at_ms, name, partition, source, target in connection.execute(wanted)
    ]


def forget_some(connection: sa.Connection, before_ms: int) -> bool:
    """Delete some older runs, and the counts of one; False if none are left."""
    old = sa.select(RUNS.c.run).where(RUNS.c.ended_ms < before_ms).limit(_FORGOTTEN_AT_ONCE)
    runs: Sequence[str] = list(connection.execute(old).scalars())
    if runs:
        for table in (RUNS, UNREPORTED, UNPOSTED, TAKEN):
            connection.execute(sa.delete(table).where(table.c.run.in_(runs)))
    oldest = sa.select(sa.func.min(COUNTS.c.written_ms)).where(COUNTS.c.written_ms < before_ms)
    written_ms = connection.execute(oldest).scalar()
    if written_ms is not None:
        connection.execute(sa.delete(COUNTS).where(COUNTS.c.written_ms == written_ms))
    return bool(runs) or written_ms is not None


def _write_verified(connection: sa.Connection, flow: str, marks: Mapping[Place, VerifiedTo]) -> None:
    """Write positions, replacing those of the same partitions."""
    rows = [
        {
            "flow": flow,
            "topic": topic,
            "partition": partition,
            **{name: getattr(one, name) for name in one.__dataclass_fields__},
        }
        for (topic, partition), one in marks.items()
    ]
    replace_rows(connection, VERIFIED, rows)


def _write_counts(connection: sa.Connection, flow: str, counts: Sequence[Counted], *, now_ms: int) -> None:
    """Write counts, replacing those of the same records; older ones stay.

    The same records are those after the position when the run started, so this must run before
    `_write_verified`.
    """
    by_place: dict[tuple[str, int, str], list[Counted]] = defaultdict(list)
    for one in counts:
        by_place[one.topic, one.partition, one.source_topic_id or ""].append(one)
    if not by_place:
        return
    marks = verified_of(connection, flow)
    names = ("topic", "partition", "source_topic_id")
    keys = []
    for place, held in by_place.items():
        mark = marks.get(place[:2])
        floor = 0 if mark is None or (mark.source_topic_id or "") != place[2] else mark.source_offset
        keys.append(
            {f"key_{name}": value for name, value in zip(names, place, strict=True)}
            | {"floor": min(floor, *(one.since_offset for one in held))}
            | {"first": min(one.bucket_at_ms for one in held)}
        )
    again = (
        COUNTS.c.flow == flow,
        *(COUNTS.c[name] == sa.bindparam(f"key_{name}") for name in names),
        COUNTS.c.since_offset >= sa.bindparam("floor"),
        COUNTS.c.bucket_at_ms >= sa.bindparam("first"),
    )
    connection.execute(sa.delete(COUNTS).where(*again), keys)
    connection.execute(
        sa.insert(COUNTS),
        [
            {name: getattr(one, name) for name in one.__dataclass_fields__}
            | {"flow": flow, "source_topic_id": topic_id, "written_ms": now_ms}
            for (_, _, topic_id), held in by_place.items()
            for one in held
        ],
    )


def _columns() -> list[sa.Column[Any]]:
    return [RUNS.c[name] for name in (*_PLAIN, *_SUMS)]
