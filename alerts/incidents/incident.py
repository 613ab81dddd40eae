"""One incident of one flow: consecutive bad time, its symptoms and its cost. Pure.

Rules, in this order:

1. Time is bad while a condition other than unknown is active.
2. Bad time after less than the gap of healthy time continues the incident: tasks that restart in a loop are
one incident, not twenty. The gap is GAP_S, or three intervals of the canary if that is longer: a fault is
seen only when a record is due.
3. Unknown time is not healthy: an incident that becomes unknown stays open.
4. An incident ends when its flow has been healthy for the gap without a break. Its end is the last bad time;
if nothing was seen for a while after it, the end is known only with bounds.
5. An incident that is not watched for UNWATCHED_S is closed, with an unknown end.

Several processes write the same incident. Each writes totals, not differences, so writing twice changes
nothing. A stretch that an incident has belongs to it whatever its times are: the clock may have been set.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from alerts.incidents.losses import NOTHING_LOST, Loss, in_order, joined, lost_in, plus
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


NO_COUNTS = Counts()


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
    there was none, or it was not seen. `lost` are lost records by offsets; see losses.Loss for their totals.
    Peaks are None if unknown.
    """

    key: str
    started_at: float
    bad_until_at: float
    healthy_since_at: float | None
    symptoms: tuple[Symptom, ...]
    counts: Counts = NO_COUNTS
    lost: Bounds = NOTHING_LOST
    lost_before: Bounds | None = None
    lost_after: Bounds | None = None
    is_first: bool = False  # of its process
    at_risk_records: int | None = None
    recovery_point_age_s: float | None = None
    gap_s: float = GAP_S

    @property
    def loss(self) -> Loss:
        """Return its losses by offsets."""
        return Loss(
            self.started_at, self.bad_until_at, self.lost, self.lost_before, self.lost_after, self.is_first
        )

    def moved(self, by_s: float) -> Stretch:
        """Return it with its times shifted."""
        since = self.healthy_since_at
        return replace(
            self,
            started_at=self.started_at + by_s,
            bad_until_at=self.bad_until_at + by_s,
            healthy_since_at=None if since is None else since + by_s,
            symptoms=tuple(
                replace(one, first_at=one.first_at + by_s, last_at=one.last_at + by_s)
                for one in self.symptoms
            ),
        )


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
    `counts_by` and `lost_by` are by process and stretch. `after_another` is whether another incident was so
    shortly before it that a process may still have counted its losses.
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
    lost_by: Mapping[str, Loss] = field(default_factory=dict)
    after_another: bool = False
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
        """Return the number of lost records: canary records, and losses by offsets."""
        lost = lost_in(self.lost_by.values(), after_another=self.after_another)
        return plus(lost, Bounds(self.counts.lost, self.counts.lost))

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


def begun(
    flow: tuple[str, str, str], stretch: Stretch, *, name: str, seen_at: float, after_another: bool = False
) -> Incident:
    """Return a new incident with this bad time; `flow` is name, source and target."""
    of, source, target = flow
    bare = Incident(
        incident=name,
        flow=of,
        source=source,
        target=target,
        started_at=stretch.started_at,
        bad_until_at=stretch.bad_until_at,
        seen_at=seen_at,
        after_another=after_another,
    )
    return extended(bare, stretch, seen_at=seen_at)


def continues(incident: Incident, stretch: Stretch) -> bool:
    """Return whether this bad time belongs to an earlier incident of its flow."""
    if stretch.key in incident.lost_by:
        return True
    if incident.ended:
        return stretch.started_at - incident.bad_until_at < stretch.gap_s
    if stretch.started_at - incident.seen_at > UNWATCHED_S:
        return False
    since = stretch.healthy_since_at
    return not is_over(incident, since, now_at=stretch.started_at, gap_s=stretch.gap_s)


def extended(incident: Incident, stretch: Stretch, *, seen_at: float) -> Incident:
    """Add bad time to the incident; an ended one may be open again."""
    lost_by = {**incident.lost_by, stretch.key: stretch.loss}
    started_at = min(one.started_at for one in lost_by.values())
    bad_until_at = max(one.bad_until_at for one in lost_by.values())
    reopened = incident.ended and bad_until_at > incident.bad_until_at
    known = _within(incident.symptoms, started_at, bad_until_at)
    counts_by = {key: one for key, one in incident.counts_by.items() if key != stretch.key}
    return _with_few_parts(
        replace(
            incident,
            started_at=started_at,
            bad_until_at=bad_until_at,
            seen_at=max(incident.seen_at, seen_at),
            ended=incident.ended and not reopened,
            healthy_at=None if reopened else incident.healthy_at,
            symptoms=merged(known, stretch.symptoms),
            counts_by={**counts_by, stretch.key: stretch.counts},
            lost_by=lost_by,
            at_risk_records=largest(incident.at_risk_records, stretch.at_risk_records),
            recovery_point_age_s=largest(incident.recovery_point_age_s, stretch.recovery_point_age_s),
        )
    )


def until(incident: Incident, now_at: float) -> Incident:
    """Return it without times after `now_at`: the clock was ahead when they were written."""
    return replace(
        incident,
        started_at=min(incident.started_at, now_at),
        bad_until_at=min(incident.bad_until_at, now_at),
        seen_at=min(incident.seen_at, now_at),
        symptoms=_within(incident.symptoms, incident.started_at, now_at),
        lost_by={
            key: replace(
                one,
                started_at=min(one.started_at, now_at),
                bad_until_at=min(one.bad_until_at, now_at),
            )
            for key, one in incident.lost_by.items()
        },
    )


def is_over(incident: Incident, healthy_since_at: float | None, *, now_at: float, gap_s: float) -> bool:
    """Return whether a flow that is healthy since then has been so long enough."""
    if healthy_since_at is None:
        return False
    return now_at - max(healthy_since_at, incident.bad_until_at) >= gap_s


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


def _within(symptoms: Iterable[Symptom], from_at: float, to_at: float) -> tuple[Symptom, ...]:
    """Limit the times of symptoms to these; they differ only after the clock was set."""
    return tuple(
        replace(
            one,
            first_at=min(max(one.first_at, from_at), to_at),
            last_at=min(max(one.last_at, from_at), to_at),
        )
        for one in symptoms
    )


def _worst(symptoms: Sequence[Symptom]) -> Symptom | None:
    order = [
        (one.condition.severity, one.cause in (None, Cause.UNEXPLAINED), one.first_at - one.last_at, number)
        for number, one in enumerate(symptoms)
    ]
    return symptoms[min(order)[-1]] if order else None


def _with_few_parts(incident: Incident) -> Incident:
    """Sum up the oldest counts and losses if there are many: their processes have ended."""
    counts_by, lost_by = dict(incident.counts_by), dict(incident.lost_by)
    while len(counts_by) > _MOST_PARTS:
        oldest = next(key for key in counts_by if key != _SUMMED)
        counts_by[_SUMMED] = counts_by.get(_SUMMED, NO_COUNTS).plus(counts_by.pop(oldest))
        some = [lost_by.pop(key) for key in (_SUMMED, oldest) if key in lost_by]
        lost_by[_SUMMED] = reduce(joined, in_order(some))
    return replace(incident, counts_by=counts_by, lost_by=lost_by)


def largest(one: _Number | None, other: _Number | None) -> _Number | None:
    """Return the larger of two optional numbers."""
    known = [each for each in (one, other) if each is not None]
    return max(known) if known else None
