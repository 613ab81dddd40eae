"""What one process has seen of one flow: bad time, and the state of each minute. Pure.

While the store does not answer, unwritten data are kept and returned again, in total.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from alerts.incidents.incident import (
    BLIND_S,
    GAP_S,
    MOST_EVIDENCE,
    NO_COUNTS,
    UNWATCHED_S,
    Counts,
    Stretch,
    Symptom,
    largest,
    merged,
)
from alerts.incidents.losses import NOTHING_LOST, increase, minus, plus
from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import BAD, Verdict
from fleet.verdicts.words import HOLD_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.verdicts.vocabulary import Also, FlowVerdict

MOST_STRETCHES, MOST_SPANS = 100, 5000  # that wait for the store


@dataclass(frozen=True, slots=True)
class Sample:
    """State of a flow at one time.

    `counts` are totals of this process. `lost` is the total by offsets, None if unknown; earlier processes
    may have found a part of it. `lost_by_time` is its parts with the time (epoch s) when
    each was last seen: HOLD_S later it leaves the total. `gap_s` is the healthy time that ends an incident.
    """

    at: float
    verdict: FlowVerdict
    counts: Counts = NO_COUNTS
    lost: Bounds | None = NOTHING_LOST
    lost_by_time: tuple[tuple[float, Bounds], ...] = ()
    at_risk_records: int | None = None
    recovery_point_age_s: float | None = None
    gap_s: float = GAP_S

    def moved(self, by_s: float) -> Sample:
        """Return it with its times shifted."""
        parts = tuple((at + by_s, part) for at, part in self.lost_by_time)
        return replace(self, at=self.at + by_s, lost_by_time=parts)

    @property
    def state(self) -> Verdict:
        """Return the worst condition, or healthy."""
        return min(self.verdict.conditions, key=lambda one: one.severity, default=Verdict.HEALTHY)


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive minutes of the epoch, including the last, with the same worst state."""

    first_minute: int
    last_minute: int
    state: Verdict


@dataclass(frozen=True, slots=True)
class Batch:
    """Data of one flow to write, in total."""

    stretches: tuple[Stretch, ...]
    spans: tuple[Span, ...]
    healthy_since_at: float | None
    gap_s: float = GAP_S


def add_span(spans: dict[int, Span], span: Span) -> None:
    """Add a span to others by first minute, which is their key in the store.

    Of two with the same first minute, as after the clock was set back, the better continues after the worse.
    """
    while (other := spans.get(span.first_minute)) is not None:
        worse, better = sorted((other, span), key=lambda one: (one.state.severity, -one.last_minute))
        spans[worse.first_minute] = worse
        if better.last_minute <= worse.last_minute:
            return
        span = replace(better, first_minute=worse.last_minute + 1)
    spans[span.first_minute] = span


class Recorder:
    """Takes samples of one flow, and returns data for the store; `observer` names the process."""

    def __init__(self, observer: str) -> None:
        self.healthy_since_at: float | None = None  # without a break; None: it is not healthy right now
        self.urgent = False  # whether something began or ended since the last `take`
        self._observer = observer
        self._before: Sample | None = None
        self._totalled: Sample | None = None  # the last with a total of losses
        self._is_new = True  # neither healthy nor bad so far
        self._numbers = count(1)  # of stretches: after the clock is set, two may start in one second
        self._stretches: list[Stretch] = []  # the newest may still grow
        self._spans: list[Span] = []
        self._minute: Span | None = None  # the one that is not over
        self._kept: Span | None = None  # the newest that the store has

    def note(self, sample: Sample) -> None:
        """Use a sample; older ones than the last are ignored."""
        before = self._before
        if before is not None and sample.at < before.at:
            return
        if before is not None and sample.at - before.at > BLIND_S:
            self.healthy_since_at = None
        self._note_minute(sample)
        if sample.verdict.conditions & BAD:
            self._note_bad(sample, before)
        else:
            self._note_not_bad(sample, before)
        self._before = sample
        if sample.lost is not None:
            self._totalled = sample

    def moved(self, by_s: float) -> None:
        """Shift times after the wall clock was set by this many seconds."""
        if self.healthy_since_at is not None:
            self.healthy_since_at += by_s
        self._before = None if self._before is None else self._before.moved(by_s)
        self._totalled = None if self._totalled is None else self._totalled.moved(by_s)
        self._stretches = [one.moved(by_s) for one in self._stretches]

    def take(self, *, ending: bool = False) -> Batch:
        """Return data that the store may not have; at the end also the unfinished minute."""
        self.urgent = False
        if ending and self._minute is not None:
            self._keep(self._minute)
            self._minute = None
        spans = tuple(one for one in self._spans if one != self._kept)
        gap_s = GAP_S if self._before is None else self._before.gap_s
        return Batch(tuple(self._stretches), spans, self.healthy_since_at, gap_s)

    def written(self, batch: Batch) -> None:
        """Forget written data, except bad time that may continue, and the newest minutes."""
        self._stretches = [
            one
            for number, one in enumerate(self._stretches, 1)
            if one not in batch.stretches or (number == len(self._stretches) and self._may_go_on(one))
        ]
        if batch.spans:
            self._kept = batch.spans[-1]
            newest = self._spans[-1]
            self._spans = [one for one in self._spans if one is newest or one not in batch.spans]

    def _may_go_on(self, stretch: Stretch) -> bool:
        if self._before is None or self.healthy_since_at is None:
            return True
        return self._before.at - max(self.healthy_since_at, stretch.bad_until_at) < self._before.gap_s

    def _note_bad(self, sample: Sample, before: Sample | None) -> None:
        newest = self._stretches[-1] if self._stretches else None
        if newest is None or not self._may_go_on(newest) or self._was_away(sample, before):
            newest = Stretch(
                key=f"{self._observer}:{int(sample.at)}:{next(self._numbers)}",
                started_at=sample.at,
                bad_until_at=sample.at,
                healthy_since_at=self.healthy_since_at,
                symptoms=(),
                is_first=self._is_new,
            )
            self._is_new = False
            self._stretches = [*self._stretches, newest][-MOST_STRETCHES:]
            self.urgent = True
        symptoms = merged(newest.symptoms, _symptoms(sample, newest.symptoms))
        self.urgent = self.urgent or len(symptoms) > len(newest.symptoms)
        self._stretches[-1] = replace(
            self._counted(newest, sample, before),
            bad_until_at=sample.at,
            symptoms=symptoms,
            gap_s=sample.gap_s,
        )
        self.healthy_since_at = None

    def _note_not_bad(self, sample: Sample, before: Sample | None) -> None:
        if before is not None and before.verdict.conditions & BAD:
            self.urgent = True
            # Late records arrive with the sample that ends the bad time.
            self._stretches[-1] = self._counted(self._stretches[-1], sample, before)
        if sample.state is not Verdict.HEALTHY:
            self.healthy_since_at = None
        elif self.healthy_since_at is None:
            self.healthy_since_at = sample.at
            self._is_new = False

    def _counted(self, stretch: Stretch, sample: Sample, before: Sample | None) -> Stretch:
        """Add the counts since the last sample.

        The first sample of a process counts all its canary records; offsets remember more than that.
        """
        counts = sample.counts if before is None else sample.counts.minus(before.counts)
        return replace(
            _with_losses(stretch, sample, self._totalled),
            counts=stretch.counts.plus(counts),
            at_risk_records=largest(stretch.at_risk_records, sample.at_risk_records),
            recovery_point_age_s=largest(stretch.recovery_point_age_s, sample.recovery_point_age_s),
        )

    def _was_away(self, sample: Sample, before: Sample | None) -> bool:
        return before is not None and sample.at - before.at > UNWATCHED_S

    def _note_minute(self, sample: Sample) -> None:
        minute, now = int(sample.at // 60), self._minute
        if now is not None and now.first_minute == minute:
            if sample.state.severity < now.state.severity:
                self._minute = replace(now, state=sample.state)
            return
        if now is not None:
            self._keep(now)
        self._minute = Span(minute, minute, sample.state)

    def _keep(self, minute: Span) -> None:
        last = self._spans[-1] if self._spans else None
        if last is not None and last.state is minute.state and minute.first_minute == last.last_minute + 1:
            self._spans[-1] = replace(last, last_minute=minute.last_minute)
        else:
            self._spans = [*self._spans, minute][-MOST_SPANS:]


def _with_losses(stretch: Stretch, sample: Sample, former: Sample | None) -> Stretch:
    """Add what its total has increased by since the last sample that had one."""
    if sample.lost is None:
        return stretch
    before, added = sample.lost, NOTHING_LOST
    if former is None or former.lost is None:  # the first total of this process
        stretch = replace(stretch, is_first=True)
    else:
        left = (part for at, part in former.lost_by_time if sample.at - at > HOLD_S)
        before = minus(former.lost, reduce(plus, left, NOTHING_LOST))
        added = increase(before, sample.lost)
        unknown_s = sample.at - former.at
        if unknown_s > BLIND_S:  # what has left the total may be in it again, or was never seen in it
            least = increase(former.lost, sample.lost).least
            added = Bounds(least, None if unknown_s > HOLD_S else added.most)
    return replace(
        stretch,
        lost=plus(stretch.lost, added),
        lost_before=before if stretch.lost_before is None else stretch.lost_before,
        lost_after=sample.lost,
    )


def _symptoms(sample: Sample, known: tuple[Symptom, ...]) -> Iterator[Symptom]:
    """Yield the active conditions; one without a description keeps its last one."""
    left = set(sample.verdict.conditions & BAD)
    for told in _told(sample.verdict):
        if told.verdict in left:
            left.discard(told.verdict)
            rows = tuple(told.evidence[:MOST_EVIDENCE])
            yield Symptom(told.verdict, told.cause, told.sentence, sample.at, sample.at, rows)
    for condition in left:
        of_it = [one for one in known if one.condition is condition]
        if of_it:
            yield replace(max(of_it, key=lambda one: one.last_at), last_at=sample.at)
        else:
            yield Symptom(condition, None, "", sample.at, sample.at)


def _told(verdict: FlowVerdict) -> Iterator[FlowVerdict | Also]:
    yield verdict
    if verdict.also is not None:
        yield verdict.also
