"""One incident of one flow: consecutive bad time, its symptoms and its cost. Pure.

Rules, in this order:

1. Time is bad while a condition other than unknown is active.
2. Bad time after less than GAP_S of healthy time continues the incident: tasks that restart in a loop are one
incident, not twenty.
3. Unknown time is not healthy: an incident that becomes unknown stays open.
4. An incident ends when its flow has been healthy for GAP_S without a break. Its end is the last bad time; if
nothing was seen for a while after it, the end is known only with bounds.
5. An incident that is not watched for UNWATCHED_S is closed, with an unknown end.

Several processes write the same incident. Each writes totals, not differences, so writing twice changes
nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GAP_S = 300.0  # a rebalance or restart takes minutes: bad time after it belongs to the same fault
BLIND_S = 10.0  # after this time without a sample, the flow was not watched
UNWATCHED_S = 86_400.0  # a day later it is another fault, or someone has handled this one
MOST_EVIDENCE = 5  # rows for each symptom
_MOST_PARTS = 50  # counts kept one by one; more restarts within one incident are summed up
_SUMMED = "earlier"
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of canary records during the incident."""

    settled: int = 0
    good: int = 0
    concluded: int = 0
    delivered: int = 0
    lost: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sum."""
        return Counts(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def minus(self, other: Counts) -> Counts:
        """Return the difference, at least 0, as the counters of a flow may restart."""
        return Counts(*(max(0, getattr(self, one.name) - getattr(other, one.name)) for one in fields(self)))


NO_COUNTS, NOTHING_LOST = Counts(), Bounds(0, 0)


@dataclass(frozen=True, slots=True)
class Symptom:
    """A condition with its cause, from `first_at` to `last_at` (epoch s), with its last description."""

    condition: Verdict
    cause: Cause | None
    sentence: str
    first_at: float
    last_at: float
    evidence: tuple[Evidence, ...] = ()

    @property
    def key(self) -> tuple[Verdict, Cause | None]:
        """Return the key of a symptom."""
        return self.condition, self.cause


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bad time of a flow as seen by one process, in total.

    `key` names process and stretch. `healthy_since_at` is the start of the healthy time before it; None if
    there was none, or it was not seen. `lost` are lost records by offsets. Peaks are None if unknown.
    """

    key: str
    started_at: float
    bad_until_at: float
    healthy_since_at: float | None
    symptoms: tuple[Symptom, ...]
    counts: Counts = NO_COUNTS
    lost: Bounds = NOTHING_LOST
    at_risk_records: int | None = None
    recovery_point_age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a user about an incident, at epoch second `at`."""

    at: float
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Incident:
    """Consecutive bad time of one flow; times are epoch seconds.

    `healthy_at` is the first healthy time after `bad_until_at`: None while the incident is open, or if its
    end was not seen. `at_risk_records` is the largest number of records that were only on the source.
    `counts_by` and `lost_by` are by process and stretch.
    """

    incident: str
    flow: str
    source: str
    target: str
    started_at: float
    bad_until_at: float
    seen_at: float
    ended: bool = False
    healthy_at: float | None = None
    symptoms: tuple[Symptom, ...] = ()
    counts_by: Mapping[str, Counts] = field(default_factory=dict)
    lost_by: Mapping[str, Bounds] = field(default_factory=dict)
    at_risk_records: int | None = None
    recovery_point_age_s: float | None = None
    notes: tuple[Note, ...] = ()

    @property
    def conditions(self) -> tuple[Verdict, ...]:
        """Return the conditions, worst first."""
        return tuple(sorted({one.condition for one in self.symptoms}, key=lambda one: one.severity))

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Return the causes, those of the worst condition first."""
        ordered = sorted(self.symptoms, key=lambda one: (one.condition.severity, one.first_at))
        return tuple(dict.fromkeys(one.cause for one in ordered if one.cause is not None))

    @property
    def worst(self) -> Symptom | None:
        """Return the worst symptom; of equal ones the one that has a cause and lasted longest."""
        return _worst(self.symptoms)

    @property
    def present(self) -> Symptom | None:
        """Return the worst of the last symptoms; the recommended action is about it."""
        return _worst([one for one in self.symptoms if self.bad_until_at - one.last_at <= BLIND_S])

    @property
    def counts(self) -> Counts:
        """Return the counts of canary records of all processes."""
        total = Counts()
        for one in self.counts_by.values():
            total = total.plus(one)
        return total

    @property
    def lost_records(self) -> Bounds:
        """Return the number of lost records: canary records, and losses by offsets.

        Each process sees the same offsets, so of these the largest numbers count.
        """
        canary = self.counts.lost
        least = max((one.least for one in self.lost_by.values()), default=0)
        mosts = [one.most for one in self.lost_by.values()]
        most = None if None in mosts else max((one for one in mosts if one is not None), default=0)
        return Bounds(canary + least, None if most is None else canary + most)

    @property
    def lasted_s(self) -> Bounds:
        """Return the duration in whole seconds, at least and at most; an open incident has no maximum."""
        least = max(0, round(self.bad_until_at - self.started_at))
        if self.healthy_at is None:
            return Bounds(least, None)
        exact = self.healthy_at - self.bad_until_at <= BLIND_S
        return Bounds(least, least if exact else round(self.healthy_at - self.started_at))


def incident_id(flow: str, started_at: float) -> str:
    """Return the name of an incident: its start, and a hash of its flow."""
    digest = hashlib.sha256(flow.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{datetime.fromtimestamp(started_at, UTC):%Y%m%dT%H%M%SZ}-{digest}"


def begun(flow: tuple[str, str, str], stretch: Stretch, *, seen_at: float) -> Incident:
    """Return a new incident with this bad time; `flow` is name, source and target."""
    name, source, target = flow
    bare = Incident(
        incident=incident_id(name, stretch.started_at),
        flow=name,
        source=source,
        target=target,
        started_at=stretch.started_at,
        bad_until_at=stretch.bad_until_at,
        seen_at=seen_at,
    )
    return extended(bare, stretch, seen_at=seen_at)


def continues(incident: Incident, stretch: Stretch) -> bool:
    """Return whether this bad time belongs to an earlier incident of its flow."""
    if incident.ended:
        return stretch.started_at - incident.bad_until_at < GAP_S
    if stretch.started_at - incident.seen_at > UNWATCHED_S:
        return False
    return not is_over(incident, stretch.healthy_since_at, now_at=stretch.started_at)


def extended(incident: Incident, stretch: Stretch, *, seen_at: float) -> Incident:
    """Add bad time to the incident; an ended one may be open again."""
    reopened = incident.ended and stretch.bad_until_at > incident.bad_until_at
    return replace(
        incident,
        started_at=min(incident.started_at, stretch.started_at),
        bad_until_at=max(incident.bad_until_at, stretch.bad_until_at),
        seen_at=max(incident.seen_at, seen_at),
        ended=incident.ended and not reopened,
        healthy_at=None if reopened else incident.healthy_at,
        symptoms=merged(incident.symptoms, stretch.symptoms),
        counts_by=_few({**_without(incident.counts_by, stretch.key), stretch.key: stretch.counts}),
        lost_by=_largest({**incident.lost_by, stretch.key: stretch.lost}),
        at_risk_records=largest(incident.at_risk_records, stretch.at_risk_records),
        recovery_point_age_s=largest(incident.recovery_point_age_s, stretch.recovery_point_age_s),
    )


def is_over(incident: Incident, healthy_since_at: float | None, *, now_at: float) -> bool:
    """Return whether a flow that is healthy since then has been so long enough."""
    if healthy_since_at is None:
        return False
    return now_at - max(healthy_since_at, incident.bad_until_at) >= GAP_S


def ended(incident: Incident, healthy_since_at: float | None) -> Incident:
    """Close the incident; without `healthy_since_at` its end is unknown."""
    if healthy_since_at is None:
        return replace(incident, ended=True)
    return replace(incident, ended=True, healthy_at=max(healthy_since_at, incident.bad_until_at))


def merged(some: Iterable[Symptom], others: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Join symptoms in order of their start, with the newer description of equal ones."""
    found: dict[tuple[Verdict, Cause | None], Symptom] = {}
    for one in (*some, *others):
        former = found.get(one.key)
        found[one.key] = one if former is None else _joined(former, one)
    order = sorted(found.values(), key=lambda one: (one.first_at, one.condition.severity, str(one.cause)))
    return tuple(order)


def _joined(one: Symptom, other: Symptom) -> Symptom:
    newer, older = (other, one) if other.last_at >= one.last_at else (one, other)
    return replace(
        newer,
        first_at=min(one.first_at, other.first_at),
        evidence=newer.evidence or older.evidence,
    )


def _without(parts: Mapping[str, Counts], key: str) -> dict[str, Counts]:
    return {name: one for name, one in parts.items() if name != key}


def _worst(symptoms: Sequence[Symptom]) -> Symptom | None:
    order = [
        (one.condition.severity, one.cause in (None, Cause.UNEXPLAINED), one.first_at - one.last_at, number)
        for number, one in enumerate(symptoms)
    ]
    return symptoms[min(order)[-1]] if order else None


def _few(parts: dict[str, Counts]) -> dict[str, Counts]:
    """Sum up the oldest counts if there are many: their processes have ended."""
    while len(parts) > _MOST_PARTS:
        oldest = next(key for key in parts if key != _SUMMED)
        parts[_SUMMED] = parts.get(_SUMMED, Counts()).plus(parts.pop(oldest))
    return parts


def _largest(lost: dict[str, Bounds]) -> dict[str, Bounds]:
    """Drop counts below those of another process if there are many."""
    while len(lost) > _MOST_PARTS:
        del lost[min(lost, key=lambda key: lost[key].least)]
    return lost


def largest(one: _Number | None, other: _Number | None) -> _Number | None:
    """Return the larger of two optional numbers."""
    known = [each for each in (one, other) if each is not None]
    return max(known) if known else None
