"""One incident of one flow: consecutive bad time, with what was wrong and what it cost. Pure.

Rules, in this order:

1. Time is bad while a condition other than unknown holds.
2. Bad time that follows less than GAP_S of healthy time continues the incident: tasks that restart in a loop
   are one incident and not twenty.
3. Unknown time is not healthy: an incident that turns unknown stays open.
4. An incident ends once its flow was healthy for GAP_S without a break. Its end is the last bad moment; where
   nothing was seen for a while after it, the end is known with bounds only.
5. An incident that nobody has watched for UNWATCHED_S is closed, and when it ended is not known.

Several processes write the same incident. Everything that one of them hands in is whole, not a difference:
writing it twice changes nothing.
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

GAP_S = 300.0  # a rebalance or a worker's restart takes minutes: bad time after it is of the same fault
BLIND_S = 10.0  # without a sample for longer than this nobody was watching
UNWATCHED_S = 86_400.0  # what is bad a day later was looked at by somebody in between, or is another fault
MOST_EVIDENCE = 5  # rows for each symptom
_MOST_PARTS = 50  # counts kept one by one; more restarts within one incident are summed up
_SUMMED = "earlier"
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of canary records while the incident lasted."""

    settled: int = 0
    good: int = 0
    concluded: int = 0
    delivered: int = 0
    lost: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sum."""
        return Counts(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def minus(self, other: Counts) -> Counts:
        """Return the difference; never below 0, since the counters of a flow may begin again."""
        return Counts(*(max(0, getattr(self, one.name) - getattr(other, one.name)) for one in fields(self)))


NO_COUNTS, NOTHING_LOST = Counts(), Bounds(0, 0)


@dataclass(frozen=True, slots=True)
class Symptom:
    """A condition with its cause, from `first_at` to `last_at` (epoch s), as it was last described."""

    condition: Verdict
    cause: Cause | None
    sentence: str
    first_at: float
    last_at: float
    evidence: tuple[Evidence, ...] = ()

    @property
    def key(self) -> tuple[Verdict, Cause | None]:
        """Return what makes two symptoms the same."""
        return self.condition, self.cause


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bad time of a flow as one process has seen it, whole.

    `key` names process and stretch. `healthy_since_at` is since when the flow was healthy without a break
    before it; None where it was not, or where that was not seen. `lost` are records that offsets show to be
    lost. Peaks are None where they are not known.
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
    """What a person wrote about an incident, at epoch second `at`."""

    at: float
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Incident:
    """Consecutive bad time of one flow; instants are epoch seconds.

    `healthy_at` is when the flow was first seen healthy after `bad_until_at`: None while the incident is
    open, and where nobody has watched its end. `at_risk_records` is the most that was on the source alone at
    one time. `counts_by` and `lost_by` are by process and stretch.
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
        """Return the conditions that held, worst first."""
        return tuple(sorted({one.condition for one in self.symptoms}, key=lambda one: one.severity))

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Return the causes that were found, those of the worst condition first."""
        ordered = sorted(self.symptoms, key=lambda one: (one.condition.severity, one.first_at))
        return tuple(dict.fromkeys(one.cause for one in ordered if one.cause is not None))

    @property
    def worst(self) -> Symptom | None:
        """Return the worst symptom, of equally bad ones the one that has a cause and lasted longest."""
        return _worst(self.symptoms)

    @property
    def present(self) -> Symptom | None:
        """Return the worst of the symptoms that were seen last: what to do is about these."""
        return _worst([one for one in self.symptoms if self.bad_until_at - one.last_at <= BLIND_S])

    @property
    def counts(self) -> Counts:
        """Return what became of the canary records of all processes."""
        total = Counts()
        for one in self.counts_by.values():
            total = total.plus(one)
        return total

    @property
    def lost_records(self) -> Bounds:
        """Return how many records of any topic were lost: canary records, and what offsets show.

        Each process sees the same offsets, so of these the largest numbers count.
        """
        canary = self.counts.lost
        least = max((one.least for one in self.lost_by.values()), default=0)
        mosts = [one.most for one in self.lost_by.values()]
        most = None if None in mosts else max((one for one in mosts if one is not None), default=0)
        return Bounds(canary + least, None if most is None else canary + most)

    @property
    def lasted_s(self) -> Bounds:
        """Return how long it lasted, in whole seconds, at least and at most; of an open one at least."""
        least = max(0, round(self.bad_until_at - self.started_at))
        if self.healthy_at is None:
            return Bounds(least, None)
        exact = self.healthy_at - self.bad_until_at <= BLIND_S
        return Bounds(least, least if exact else round(self.healthy_at - self.started_at))


def incident_id(flow: str, started_at: float) -> str:
    """Return the name of an incident: when it began, and a hash of its flow."""
    digest = hashlib.sha256(flow.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{datetime.fromtimestamp(started_at, UTC):%Y%m%dT%H%M%SZ}-{digest}"


def begun(flow: tuple[str, str, str], stretch: Stretch, *, seen_at: float) -> Incident:
    """Return the incident that begins with this bad time; `flow` is its name, source and target."""
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
    """Tell whether this bad time belongs to an incident of its flow that began earlier."""
    if incident.ended:
        return stretch.started_at - incident.bad_until_at < GAP_S
    if stretch.started_at - incident.seen_at > UNWATCHED_S:
        return False
    return not is_over(incident, stretch.healthy_since_at, now_at=stretch.started_at)


def extended(incident: Incident, stretch: Stretch, *, seen_at: float) -> Incident:
    """Return the incident with this bad time; one that had ended is open again if it lasted longer."""
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
    """Tell whether a flow that is healthy since then has been so for long enough."""
    if healthy_since_at is None:
        return False
    return now_at - max(healthy_since_at, incident.bad_until_at) >= GAP_S


def ended(incident: Incident, healthy_since_at: float | None) -> Incident:
    """Return the incident closed; without `healthy_since_at` nobody has watched its end."""
    if healthy_since_at is None:
        return replace(incident, ended=True)
    return replace(incident, ended=True, healthy_at=max(healthy_since_at, incident.bad_until_at))


def merged(some: Iterable[Symptom], others: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return symptoms of both, in the order in which they began; the newer words of those in both."""
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
    """Sum up the counts that were written longest ago, where they are many: their processes are gone."""
    while len(parts) > _MOST_PARTS:
        oldest = next(key for key in parts if key != _SUMMED)
        parts[_SUMMED] = parts.get(_SUMMED, Counts()).plus(parts.pop(oldest))
    return parts


def _largest(lost: dict[str, Bounds]) -> dict[str, Bounds]:
    """Drop what is less than another process has seen, where they are many."""
    while len(lost) > _MOST_PARTS:
        del lost[min(lost, key=lambda key: lost[key].least)]
    return lost


def largest(one: _Number | None, other: _Number | None) -> _Number | None:
    """Return the larger of two numbers that may be unknown."""
    known = [each for each in (one, other) if each is not None]
    return max(known) if known else None
