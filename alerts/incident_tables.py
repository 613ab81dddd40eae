"""Tables of incidents, notes and history.

`incidents` has a row for each incident. Every process that watches the flow writes it: the transaction reads
the row first, so that two processes create one incident. `incident_history` has the worst state of each
minute of each process; consecutive equal minutes are one row.
"""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from alerts.incidents.incident import (
    BLIND_S,
    GAP_S,
    UNWATCHED_S,
    Counts,
    Incident,
    Note,
    Symptom,
    begun,
    continues,
    ended,
    extended,
    incident_id,
    is_over,
    until,
)
from alerts.incidents.losses import Loss
from alerts.incidents.recorder import Span, add_span
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from fleet.verdicts.words import HOLD_S
from runtime.store.migrations import Migration, create
from runtime.store.rows import replace_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alerts.incidents.incident import Stretch
    from alerts.incidents.recorder import Batch

_METADATA = sa.MetaData()

INCIDENTS = sa.Table(
    "incidents",
    _METADATA,
    sa.Column("incident", sa.String(40), primary_key=True),
    sa.Column("flow", sa.String(300), nullable=False),
    sa.Column("source", sa.String(300), nullable=False),
    sa.Column("target", sa.String(300), nullable=False),
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("bad_until_at", sa.Float, nullable=False),
    sa.Column("seen_at", sa.Float, nullable=False),
    sa.Column("healthy_at", sa.Float),
    sa.Column("ended", sa.Boolean, nullable=False),
    sa.Column("document", sa.Text, nullable=False),  # JSON: symptoms, counts, numbers
    sa.Index("incidents_by_flow", "flow", "started_at"),
    sa.Index("incidents_by_start", "started_at"),
)
NOTES = sa.Table(
    "incident_notes",
    _METADATA,
    sa.Column("incident", sa.String(40), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("author", sa.Text, nullable=False),  # JSON, as the text: PostgreSQL's text holds no NUL
    sa.Column("text", sa.Text, nullable=False),
)
HISTORY = sa.Table(
    "incident_history",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("observer", sa.String(16), primary_key=True),
    sa.Column("first_minute", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_minute", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Index("incident_history_by_age", "last_minute"),
)


def _add_loss_times(connection: sa.Connection) -> None:
    """Add the times of losses to incidents of older stores: those of their incident."""
    wanted = sa.select(
        INCIDENTS.c.incident, INCIDENTS.c.started_at, INCIDENTS.c.bad_until_at, INCIDENTS.c.document
    )
    for name, started_at, bad_until_at, text in connection.execute(wanted).all():
        document = json.loads(text)
        document |= {
            "lost": {
                key: [started_at, bad_until_at, lost, None, None, False]
                for key, lost in document["lost"].items()
            },
            "after_another": False,
        }
        change = sa.update(INCIDENTS).where(INCIDENTS.c.incident == name)
        connection.execute(change.values(document=json.dumps(document, separators=(",", ":"))))


MIGRATIONS = (
    Migration("incidents", 1, "incidents and history", create(INCIDENTS, NOTES, HISTORY)),
    Migration("incidents", 2, "when each process counted losses", _add_loss_times),
)


def keep(
    connection: sa.Connection,
    batches: Mapping[tuple[str, str, str], Batch],
    *,
    observer: str,
    now_at: float,
) -> tuple[Incident, ...]:
    """Write what one process has seen; return all open incidents.

    `batches` are by flow, source and target. Writing the same twice changes nothing.
    """
    _bring_back(connection, now_at)
    for flow, batch in batches.items():
        for stretch in batch.stretches:
            seen_at = max(stretch.bad_until_at, min(now_at, stretch.bad_until_at + GAP_S))
            former = _joined(connection, flow[0], stretch, now_at=now_at)
            if former is not None and continues(former, stretch):
                _write(connection, extended(former, stretch, seen_at=seen_at))
                continue
            if former is not None and not former.ended:
                _write(connection, ended(former, stretch.healthy_since_at))
            _begin(connection, flow, stretch, seen_at=seen_at)
    _keep_history(connection, batches, observer)
    return _close(connection, {flow[0]: batch for flow, batch in batches.items()}, now_at=now_at)


def _bring_back(connection: sa.Connection, now_at: float) -> None:
    """Limit the times of open incidents to now: after the clock was set back they could not end."""
    ahead = sa.select(INCIDENTS).where(~INCIDENTS.c.ended, INCIDENTS.c.seen_at > now_at + BLIND_S)
    for incident in _read(connection, ahead):
        _write(connection, until(incident, now_at))


def _joined(connection: sa.Connection, flow: str, stretch: Stretch, *, now_at: float) -> Incident | None:
    """Return the incident that has this stretch, or else the newest that it may belong to."""
    wanted = (
        sa.select(INCIDENTS)
        .where(INCIDENTS.c.flow == flow)
        .where(sa.or_(~INCIDENTS.c.ended, INCIDENTS.c.bad_until_at > stretch.started_at - stretch.gap_s))
        .order_by(INCIDENTS.c.started_at.desc())
    )
    found = _read(connection, wanted)
    having = (one for one in found if stretch.key in one.lost_by)
    # An ended incident of later than now is of a clock that was ahead: its times compare with nothing.
    near = (
        one
        for one in found
        if one.started_at <= stretch.bad_until_at + stretch.gap_s
        if not one.ended or one.bad_until_at <= now_at + BLIND_S
    )
    return next(chain(having, near), None)


def _begin(
    connection: sa.Connection, flow: tuple[str, str, str], stretch: Stretch, *, seen_at: float
) -> None:
    """Write a new incident; its name is that of its start, with a number if another has this name."""
    before = INCIDENTS.c.flow == flow[0], INCIDENTS.c.bad_until_at > stretch.started_at - HOLD_S
    after_another = connection.execute(sa.select(sa.literal(1)).where(*before).limit(1)).first() is not None
    first = incident_id(flow[0], stretch.started_at)
    alike = sa.select(INCIDENTS.c.incident).where(INCIDENTS.c.incident.startswith(first, autoescape=True))
    taken = set(connection.execute(alike).scalars())
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    name = next(one for one in names if one not in taken)
    _write(connection, begun(flow, stretch, name=name, seen_at=seen_at, after_another=after_another))


def _close(connection: sa.Connection, batches: Mapping[str, Batch], *, now_at: float) -> tuple[Incident, ...]:
    """Close incidents that are over or no longer watched; return the open ones."""
    left = []
    for incident in _read(connection, sa.select(INCIDENTS).where(~INCIDENTS.c.ended)):
        batch = batches.get(incident.flow)
        if batch is not None and _is_over(incident, batch, now_at):
            _write(connection, ended(incident, batch.healthy_since_at))
        elif batch is None and now_at - incident.seen_at > UNWATCHED_S:
            _write(connection, ended(incident, None))
        else:
            left.append(incident)
    return tuple(left)


def _is_over(incident: Incident, batch: Batch, now_at: float) -> bool:
    return is_over(incident, batch.healthy_since_at, now_at=now_at, gap_s=batch.gap_s)


def incidents_between(
    connection: sa.Connection, from_at: float, to_at: float, *, flow: str | None = None
) -> tuple[Incident, ...]:
    """Return the incidents that overlap two times (epoch s), oldest first, with notes."""
    wanted = (
        sa.select(INCIDENTS)
        .where(INCIDENTS.c.started_at < to_at)
        .where(sa.or_(INCIDENTS.c.bad_until_at >= from_at, ~INCIDENTS.c.ended))
        .order_by(INCIDENTS.c.started_at, INCIDENTS.c.incident)
    )
    if flow is not None:
        wanted = wanted.where(INCIDENTS.c.flow == flow)
    return _with_notes(connection, _read(connection, wanted))


def newest_incidents(
    connection: sa.Connection,
    *,
    flow: str | None = None,
    open_only: bool = False,
    offset: int = 0,
    limit: int = 100,
) -> tuple[tuple[Incident, ...], int]:
    """Return a page of incidents with notes, newest first, and their total number."""
    conditions = []
    if flow is not None:
        conditions.append(INCIDENTS.c.flow == flow)
    if open_only:
        conditions.append(~INCIDENTS.c.ended)
    wanted = (
        sa.select(INCIDENTS)
        .where(*conditions)
        .order_by(INCIDENTS.c.started_at.desc(), INCIDENTS.c.incident)
        .offset(offset)
        .limit(limit)
    )
    counted = sa.select(sa.func.count()).select_from(INCIDENTS).where(*conditions)
    count = int(connection.execute(counted).scalar_one())
    return _with_notes(connection, _read(connection, wanted)), count


def incident_of(connection: sa.Connection, incident: str) -> Incident | None:
    """Return one incident with its notes; None if unknown."""
    found = _read(connection, sa.select(INCIDENTS).where(INCIDENTS.c.incident == incident))
    return next(iter(_with_notes(connection, found)), None)


def add_note(connection: sa.Connection, incident: str, note: Note) -> bool:
    """Add a note; False if the incident is unknown."""
    here = sa.select(sa.literal(1)).where(INCIDENTS.c.incident == incident)
    if connection.execute(here).first() is None:
        return False
    last = sa.select(sa.func.max(NOTES.c.number)).where(NOTES.c.incident == incident)
    connection.execute(
        sa.insert(NOTES).values(
            incident=incident,
            number=(connection.execute(last).scalar() or 0) + 1,
            at=note.at,
            author=json.dumps(note.author),
            text=json.dumps(note.text),
        )
    )
    return True


def history_since(connection: sa.Connection, minute: int) -> dict[str, list[Span]]:
    """Return the spans of all processes by flow, from this minute of the epoch on, oldest first."""
    wanted = (
        sa.select(HISTORY.c.flow, HISTORY.c.first_minute, HISTORY.c.last_minute, HISTORY.c.state)
        .where(HISTORY.c.last_minute >= minute)
        .order_by(HISTORY.c.first_minute)
    )
    found: dict[str, list[Span]] = {}
    for flow, first, last, state in connection.execute(wanted):
        found.setdefault(flow, []).append(Span(first, last, Verdict(state)))
    return found


def delete_old(connection: sa.Connection, *, incidents_before: float, history_before: int) -> None:
    """Delete ended incidents with their notes, and minutes, after their retention."""
    old = sa.select(INCIDENTS.c.incident).where(
        INCIDENTS.c.ended, INCIDENTS.c.bad_until_at < incidents_before
    )
    connection.execute(sa.delete(NOTES).where(NOTES.c.incident.in_(old)))
    connection.execute(
        sa.delete(INCIDENTS).where(INCIDENTS.c.ended, INCIDENTS.c.bad_until_at < incidents_before)
    )
    connection.execute(sa.delete(HISTORY).where(HISTORY.c.last_minute < history_before))


def _keep_history(
    connection: sa.Connection, batches: Mapping[tuple[str, str, str], Batch], observer: str
) -> None:
    for (flow, _, _), batch in batches.items():
        if not batch.spans:
            continue
        spans = _spans_from(connection, flow, observer, min(one.first_minute for one in batch.spans))
        for one in batch.spans:
            add_span(spans, one)
        rows = [
            {
                "flow": flow,
                "observer": observer,
                "first_minute": one.first_minute,
                "last_minute": one.last_minute,
                "state": one.state.value,
            }
            for one in spans.values()
        ]
        replace_rows(connection, HISTORY, rows)


def _spans_from(connection: sa.Connection, flow: str, observer: str, minute: int) -> dict[int, Span]:
    """Return the stored spans of one process that start in this minute or later, by first minute."""
    wanted = sa.select(HISTORY.c.first_minute, HISTORY.c.last_minute, HISTORY.c.state).where(
        HISTORY.c.flow == flow, HISTORY.c.observer == observer, HISTORY.c.first_minute >= minute
    )
    return {first: Span(first, last, Verdict(state)) for first, last, state in connection.execute(wanted)}


def _write(connection: sa.Connection, incident: Incident) -> None:
    row = {
        "incident": incident.incident,
        "flow": incident.flow,
        "source": incident.source,
        "target": incident.target,
        "started_at": incident.started_at,
        "bad_until_at": incident.bad_until_at,
        "seen_at": incident.seen_at,
        "healthy_at": incident.healthy_at,
        "ended": incident.ended,
        "document": json.dumps(_document(incident), separators=(",", ":")),
    }
    replace_rows(connection, INCIDENTS, [row])


def _document(incident: Incident) -> dict[str, Any]:
    return {
        "symptoms": [
            [
                one.condition.value,
                one.cause,
                one.sentence,
                one.first_at,
                one.last_at,
                [_evidence_row(row) for row in one.evidence],
            ]
            for one in incident.symptoms
        ],
        "counts": {
            key: [one.settled, one.good, one.concluded, one.delivered, one.lost]
            for key, one in incident.counts_by.items()
        },
        "lost": {key: astuple(one) for key, one in incident.lost_by.items()},
        "after_another": incident.after_another,
        "at_risk_records": incident.at_risk_records,
        "recovery_point_age_s": incident.recovery_point_age_s,
    }


def _evidence_row(row: Evidence) -> list[Any]:
    return [row.part, row.sentence, row.at, row.topic, row.partition, row.source_offset, row.target_offset]


def _read(connection: sa.Connection, wanted: sa.Select[Any]) -> list[Incident]:
    return [_incident(row) for row in connection.execute(wanted).mappings()]


def _incident(row: sa.RowMapping) -> Incident:
    document = json.loads(row["document"])
    return Incident(
        incident=row["incident"],
        flow=row["flow"],
        source=row["source"],
        target=row["target"],
        started_at=row["started_at"],
        bad_until_at=row["bad_until_at"],
        seen_at=row["seen_at"],
        ended=row["ended"],
        healthy_at=row["healthy_at"],
        symptoms=tuple(
            Symptom(
                Verdict(condition),
                None if cause is None else Cause(cause),
                sentence,
                first_at,
                last_at,
                tuple(Evidence(*each) for each in evidence),
            )
            for condition, cause, sentence, first_at, last_at, evidence in document["symptoms"]
        ),
        counts_by={key: Counts(*one) for key, one in document["counts"].items()},
        lost_by={key: _loss(one) for key, one in document["lost"].items()},
        after_another=document["after_another"],
        at_risk_records=document["at_risk_records"],
        recovery_point_age_s=document["recovery_point_age_s"],
    )


def _loss(row: Sequence[Any]) -> Loss:
    started_at, bad_until_at, lost, before, after, is_first = row
    return Loss(
        started_at,
        bad_until_at,
        Bounds(*lost),
        before=None if before is None else Bounds(*before),
        after=None if after is None else Bounds(*after),
        is_first=is_first,
    )


def _with_notes(connection: sa.Connection, incidents: Sequence[Incident]) -> tuple[Incident, ...]:
    notes: dict[str, list[Note]] = {}
    for some in _batches([one.incident for one in incidents]):
        wanted = sa.select(NOTES).where(NOTES.c.incident.in_(some)).order_by(NOTES.c.number)
        for row in connection.execute(wanted).mappings():
            note = Note(row["at"], json.loads(row["author"]), json.loads(row["text"]))
            notes.setdefault(row["incident"], []).append(note)
    return tuple(replace(one, notes=tuple(notes.get(one.incident, ()))) for one in incidents)


def _batches(names: list[str]) -> list[list[str]]:
    """Split names into lists that fit into one statement."""
    return [names[at : at + 500] for at in range(0, len(names), 500)]
