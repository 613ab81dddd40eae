"""One flow as the canary knows it: its tracker, what it measured, and the evidence for a verdict. Pure."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from canary.books import CONCLUDING, Mark, Outcome
from canary.events import Carried, Concluded, Marked, Stage, Timed
from canary.latency import Histogram, RecentLatency
from canary.tracker import Tracker
from fleet.evidence import CanaryEvidence, CanaryState, Finding, FindingKind, PartitionEvidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.books import Books
    from canary.events import Event, TrackerOutput
    from canary.partition import Standing
    from canary.tracking import TrackerPolicy

MAX_FINDINGS = 500  # of each kind: a flood of one must not push out another
MAX_COMPARED = 2 * 64  # a finding of every partition, overtaken and not
MAX_LOSSES = 20

_AT = attrgetter("at")
_KINDS = {
    Mark.CORRUPTED: FindingKind.ALTERED,
    Mark.MISROUTED: FindingKind.MISROUTED,
    Mark.DUPLICATED: FindingKind.DUPLICATED,
    Mark.LOOPED: FindingKind.LOOPED,
}


@dataclass(frozen=True, slots=True)
class Loss:
    """One probe, or several in a row, proved lost, for the list of the last losses."""

    at: float
    partition: int
    sequence: int
    source_offset: int | None
    sentence: str
    count: int


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on both clocks."""

    ns: int
    at: float

    def wall_of(self, ns: int) -> float:
        """Return the epoch second of another monotonic instant, by this one."""
        return self.at + (ns - self.ns) / 1e9


class FlowWatch:
    """Feeds a flow's tracker and keeps what follows from it."""

    def __init__(
        self,
        policy: TrackerPolicy,
        *,
        source_topic: str,
        target_topic: str,
        interval_s: float,
        carried: Iterable[tuple[str, int]] = (),
    ) -> None:
        self.source_topic = source_topic
        self.target_topic = target_topic
        self.threshold_s = policy.threshold_ns / 1e9
        self.horizon_s = policy.horizon_ns / 1e9
        self.interval_s = interval_s
        self.histograms = {stage: Histogram(self.threshold_s) for stage in Stage}
        self.recent = {stage: RecentLatency() for stage in Stage}
        self.losses: deque[Loss] = deque(maxlen=MAX_LOSSES)
        self.log_starts: dict[int, int] = {}  # of the source partitions, as last asked
        self.partition_outcomes: Counter[tuple[int, Outcome]] = Counter()  # of concluded probes
        self._findings: dict[FindingKind, deque[Finding]] = {
            kind: deque(maxlen=MAX_FINDINGS) for kind in FindingKind
        }
        self._tracker = Tracker(policy, carried=carried, source_topic=source_topic)

    @property
    def books(self) -> Books:
        """Return the flow's counters, to be read only."""
        return self._tracker.books

    @property
    def standings(self) -> list[Standing]:
        """Return how each partition stands."""
        return self._tracker.standings()

    @property
    def last_arrival_ns(self) -> int | None:
        """Return when something last arrived."""
        instants = [one.last_arrival_ns for one in self.standings if one.last_arrival_ns is not None]
        return max(instants, default=None)

    def handle(self, event: Event, now: Instant) -> list[TrackerOutput]:
        """Take in one event; return what the tracker told, after keeping it."""
        return self._keep(self._tracker.handle(event), now)

    def advance(self, now: Instant) -> list[TrackerOutput]:
        """Let deadlines pass; return what the tracker told, after keeping it."""
        return self._keep(self._tracker.advance(now.ns), now)

    def recovery_point_age_s(self, now_ns: int) -> float | None:
        """Return the age of the newest probe that is downstream, of the partition where it is oldest.

        Partitions that the flow has not taken up yet are left out while it carries others; None until every
        other one has delivered a probe.
        """
        standings = self.standings
        taken_up = [one for one in standings if one.carried] or standings
        newest = [one.newest_present_ns for one in taken_up]
        known = [ns for ns in newest if ns is not None]
        return (now_ns - min(known)) / 1e9 if known and len(known) == len(newest) else None

    def evidence(self, now: Instant, *, state: CanaryState, sentence: str) -> CanaryEvidence:
        """Return what the canary has to say about the flow at this moment."""
        return CanaryEvidence(
            state=state,
            sentence=sentence,
            threshold_s=self.threshold_s,
            interval_s=self.interval_s,
            horizon_s=self.horizon_s,
            partitions=tuple(_partition_evidence(one, now.ns) for one in self.standings),
            findings=tuple(sorted(chain.from_iterable(self._findings.values()), key=_AT)),
            impaired=self._tracker.impaired,
        )

    def _keep(self, outputs: list[TrackerOutput], now: Instant) -> list[TrackerOutput]:
        for output in outputs:
            match output:
                case Timed(stage, duration_ns, at_ns):
                    self.histograms[stage].observe(duration_ns / 1e9)
                    self.recent[stage].observe(duration_ns / 1e9, at_ns)
                case Concluded(outcome, partition=partition):
                    if outcome in CONCLUDING:
                        self.partition_outcomes[partition, outcome] += 1
                    if outcome is Outcome.LOST:
                        self._keep_loss(output, now)
                case Marked():
                    self._keep_mark(output, now)
                case Carried():
                    pass
        return outputs

    def _keep_loss(self, lost: Concluded, now: Instant) -> None:
        if lost.copy_seen:
            return  # its copy has been kept as altered or misrouted
        self._lose(
            Loss(now.at, lost.partition, lost.sequence, lost.source_offset, lost.sentence, 1),
        )

    def _keep_mark(self, marked: Marked, now: Instant) -> None:
        if marked.mark is Mark.CONFIRMED:
            loss = Loss(
                now.at, marked.partition, marked.sequence, marked.source_offset, marked.sentence, marked.count
            )
            self._lose(loss)
            return
        kind = _KINDS.get(marked.mark)
        if kind is None:
            return
        finding = Finding(
            kind=kind,
            at=now.wall_of(marked.at_ns),
            topic=self.target_topic,
            partition=marked.partition,
            source_offset=marked.source_offset,
            target_offset=marked.target_offset,
            sentence=marked.sentence,
            count=marked.count,
        )
        self._add(finding)

    def _lose(self, loss: Loss) -> None:
        start = self.log_starts.get(loss.partition)
        offset = loss.source_offset
        self.losses.appendleft(loss)
        self._add(
            Finding(
                kind=FindingKind.LOST,
                at=loss.at,
                topic=self.source_topic,
                partition=loss.partition,
                source_offset=offset,
                target_offset=None,
                sentence=loss.sentence,
                count=loss.count,
                overtaken=offset is not None and start is not None and start > offset,
            )
        )

    def _add(self, finding: Finding) -> None:
        """Keep a finding; one more of the same kind and partition within a second is only counted."""
        findings = self._findings[finding.kind]
        for index in range(len(findings) - 1, max(len(findings) - 1 - MAX_COMPARED, -1), -1):
            held = findings[index]
            if finding.at - held.at > 1.0:
                break
            if (held.partition, held.overtaken) == (finding.partition, finding.overtaken):
                findings[index] = replace(held, count=held.count + finding.count)
                return
        findings.append(finding)


def _partition_evidence(one: Standing, now_ns: int) -> PartitionEvidence:
    def age_s(instant_ns: int | None) -> float | None:
        return None if instant_ns is None else max(0.0, (now_ns - instant_ns) / 1e9)

    return PartitionEvidence(
        partition=one.partition,
        carried=one.carried,
        pending_age_s=age_s(one.oldest_pending_ns),
        pending_offset=one.oldest_pending_offset,
        unacked_age_s=age_s(one.oldest_unacked_ns),
        arrival_age_s=age_s(one.last_arrival_ns),
        latency_s=None if one.last_latency_ns is None else one.last_latency_ns / 1e9,
        present_age_s=age_s(one.newest_present_ns),
        late_age_s=age_s(one.last_late_ns),
    )
