"""One flow: its tracker, measurements and findings, and the evidence for a verdict. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.persistence.inherited import InheritedState, Unfinished
from canary.tracker.counters import CONCLUDING, Flag, Outcome
from canary.tracker.events import (
    Adopted,
    Carried,
    Concluded,
    Flagged,
    Stage,
    Timed,
    TopicReplaced,
    TwoWriters,
)
from canary.tracker.latency import Histogram, RecentLatency
from canary.tracker.partition import partition_evidence
from canary.tracker.tracker import Tracker
from canary.watch.findings import Findings, Loss
from canary.watch.flow_summary import FlowSummary, flow_summary
from canary.watch.health import extremes, is_healthy
from fleet.series import catalogue as series
from fleet.verdicts.evidence import Calm, CanaryEvidence, CanaryState, Finding, FindingKind
from fleet.verdicts.words import HOLD_S, pause_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from canary.tracker.counters import Counters
    from canary.tracker.events import Event, TrackerOutput
    from canary.tracker.inheritance import Snapshot
    from canary.tracker.partition import PartitionStatus
    from canary.tracker.tracking import TrackerPolicy
    from fleet.series.kinds import Sample

_KINDS = {
    Flag.CORRUPTED: FindingKind.ALTERED,
    Flag.MISROUTED: FindingKind.MISROUTED,
    Flag.DUPLICATED: FindingKind.DUPLICATED,
    Flag.LOOPED: FindingKind.LOOPED,
}


@dataclass(frozen=True, slots=True)
class Instant:
    """One instant on both clocks."""

    ns: int
    at: float

    def wall_of(self, ns: int) -> float:
        """Return the epoch time (s) of another monotonic instant."""
        return self.at + (ns - self.ns) / 1e9


class FlowWatch:
    """Feeds a flow's tracker and keeps its output."""

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
        self.found = Findings()
        self.log_starts: dict[int, int] = {}  # of the source partitions, as last polled
        self.partition_outcomes: Counter[tuple[int, Outcome]] = Counter()  # of concluded probes
        self.inherited = InheritedState()
        self._inherited_ns = 0
        self._earlier_arrival_ns: int | None = None  # by another process, or before a re-creation
        self.target_topic_id = ""  # empty if unknown
        self._tracker = Tracker(policy, carried=carried, source_topic=source_topic)

    @property
    def counters(self) -> Counters:
        """Return the flow's counters, read-only."""
        return self._tracker.counters

    @property
    def partition_statuses(self) -> list[PartitionStatus]:
        """Return the status of each partition."""
        return self._tracker.partition_statuses()

    @property
    def last_arrival_ns(self) -> int | None:
        """Return the newest arrival."""
        return self.summary(0).last_arrival_ns

    def last_arrival_at(self, summary: FlowSummary, now: Instant) -> float | None:
        """Return when the newest probe arrived (epoch s), None if unknown; `summary` is of `now`.

        One from before a restart or a re-creation counts only once a probe waits: until then, the time since
        is that of the restart.
        """
        if summary.last_arrival_ns is not None:
            return now.wall_of(summary.last_arrival_ns)
        has_waited = now.ns - self._inherited_ns > (self.interval_s + self.threshold_s / 2) * 1e9
        if self._earlier_arrival_ns is None or not has_waited or not self.waits(now):
            return None
        return now.wall_of(self._earlier_arrival_ns)

    def inherit(
        self, inherited: InheritedState, now: Instant, found: Findings | None = None
    ) -> list[TrackerOutput]:
        """Take over the state of dead processes; their findings are not new.

        `found` are the findings of a former watch of this process, newer than the store's.
        """
        self.inherited, self._inherited_ns = inherited, now.ns
        if inherited.arrived_at is not None:  # the clock may have been set back since
            age_s = max(0.0, now.at - inherited.arrived_at)
            self._earlier_arrival_ns = now.ns - int(age_s * 1e9)
        if found is None:
            self.found.inherit(inherited.findings, inherited.losses)
        else:
            self.found = found
        told = []
        for incarnation, left in inherited.left.items():
            coverages = tuple(one for _, one in left.coverages)
            since_ms = int(left.begun_at * 1000)
            adopted = Adopted(incarnation, coverages, now.ns, since_ms, interrupted=left.interrupted)
            told += self.handle(adopted, now)
        return told

    def unfinished(self) -> dict[str, Unfinished]:
        """Return the inherited state that is not finished, for a later watch of this flow."""
        return {
            incarnation: Unfinished(
                self.inherited.left[incarnation].begun_at,
                tuple((self.target_topic_id, one) for one in coverages),
                interrupted=True,
            )
            for incarnation, coverages in self._tracker.unfinished().items()
        }

    def snapshot(self, now: Instant) -> Snapshot:
        """Return the changes to save since the last call."""
        return self._tracker.snapshot(int(now.at // 60))

    def handle(self, event: Event, now: Instant) -> list[TrackerOutput]:
        """Process one event; keep and return the tracker's output."""
        if isinstance(event, TopicReplaced):
            newest_ns = self.last_arrival_ns
            self._earlier_arrival_ns = self._earlier_arrival_ns if newest_ns is None else newest_ns
        return self._keep(self._tracker.handle(event), now)

    def advance(self, now: Instant) -> list[TrackerOutput]:
        """Apply deadlines; keep and return the tracker's output."""
        return self._keep(self._tracker.advance(now.ns), now)

    def recovery_point_age_s(self, now_ns: int) -> float | None:
        """Return the age of the newest probe on the target, in the partition where it is oldest."""
        return self.summary(now_ns).recovery_point_age_s

    def summary(self, now_ns: int) -> FlowSummary:
        """Return numbers over all partitions, by one pass."""
        return flow_summary(self._tracker.partitions(), now_ns)

    def waits(self, now: Instant) -> bool:
        """Return whether a probe on the source has waited for half of its threshold."""
        oldest = [
            one.oldest_pending_ns for one in self.partition_statuses if one.oldest_pending_ns is not None
        ]
        return bool(oldest) and now.ns - min(oldest) > self.threshold_s * 0.5e9

    def samples(
        self, flow: tuple[str, str, str], summary: FlowSummary, now: Instant, *, per_partition: bool
    ) -> Iterator[Sample]:
        """Yield the counters and measurements of the flow as series; all values are copies.

        `flow` is the flow's name and the aliases of its clusters, `summary` is of `now`.
        """
        counters = self.counters.as_dict()
        yield series.CANARY_EXPECTED_TOTAL, flow, counters["expected"]
        yield series.CANARY_SETTLED_TOTAL, flow, counters["settled"]
        yield series.CANARY_GOOD_TOTAL, flow, counters["good"]
        yield series.CANARY_CONCLUDED_TOTAL, flow, counters["concluded"]
        yield series.CANARY_DELIVERED_TOTAL, flow, counters["delivered"]
        yield series.CANARY_IN_FLIGHT, flow, counters["in_flight"]
        for outcome in Outcome:
            yield series.CANARY_PROBES_TOTAL, (*flow, outcome.value), counters[outcome.value]
        for flag in Flag:
            yield series.CANARY_PROBE_FLAGS_TOTAL, (*flow, flag.value), counters[flag.value]
        for partition in summary.partitions if per_partition else ():
            for outcome in CONCLUDING:
                labels = (*flow, str(partition), outcome.value)
                count = self.partition_outcomes.get((partition, outcome), 0)
                yield series.CANARY_PARTITION_PROBES_TOTAL, labels, count
        for stage, histogram in self.histograms.items():
            yield series.CANARY_LATENCY_SECONDS, (*flow, stage.value), histogram.copy()
        yield series.CANARY_THRESHOLD_SECONDS, flow, self.threshold_s
        yield series.CANARY_INTERVAL_SECONDS, flow, self.interval_s
        arrival_at = self.last_arrival_at(summary, now)
        if arrival_at is not None:
            yield series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, flow, arrival_at

    def healthy(self, flow: str, now: Instant) -> Calm | None:
        """Return proof that the flow is healthy, if the quick test shows it."""
        if now.at - self.found.latest_at <= HOLD_S or self._tracker.impaired is not None:
            return None
        worst = extremes(self._tracker.partitions())
        if worst is None or not is_healthy(
            worst, now_ns=now.ns, threshold_s=self.threshold_s, interval_s=self.interval_s
        ):
            return None
        return Calm(flow, self.threshold_s, worst.partitions, worst.longest_latency_ns / 1e9)

    def evidence(self, now: Instant, *, state: CanaryState, sentence: str) -> CanaryEvidence:
        """Return the canary's evidence for the flow now."""
        return CanaryEvidence(
            state=state,
            sentence=sentence,
            threshold_s=self.threshold_s,
            interval_s=self.interval_s,
            horizon_s=self.horizon_s,
            partitions=tuple(partition_evidence(one, now.ns) for one in self.partition_statuses),
            findings=self.found.all(),
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
                case Flagged():
                    self._keep_flag(output, now)
                case TwoWriters():
                    self._keep_second_writer(output, now)
                case Carried():
                    pass
        return outputs

    def _keep_loss(self, lost: Concluded, now: Instant) -> None:
        if lost.copy_seen:
            return  # its record is kept as altered or misrouted
        self._lose(
            Loss(now.at, lost.partition, lost.sequence, lost.source_offset, lost.sentence, 1),
        )

    def _keep_flag(self, flagged: Flagged, now: Instant) -> None:
        if flagged.flag is Flag.CONFIRMED:
            loss = Loss(
                now.at,
                flagged.partition,
                flagged.sequence,
                flagged.source_offset,
                flagged.sentence,
                flagged.count,
            )
            self._lose(loss)
            return
        kind = _KINDS.get(flagged.flag)
        if kind is None:
            return
        finding = Finding(
            kind=kind,
            at=now.wall_of(flagged.at_ns),
            topic=self.target_topic,
            partition=flagged.partition,
            source_offset=flagged.source_offset,
            target_offset=flagged.target_offset,
            sentence=flagged.sentence,
            count=flagged.count,
            named=flagged.sequence >= 0,
        )
        self._add(finding)

    def _keep_second_writer(self, proof: TwoWriters, now: Instant) -> None:
        sentence = "arrived twice, and was sent after the second arrival of another duplicate"

        finding = Finding(
            kind=FindingKind.SECOND_WRITER,
            at=now.wall_of(proof.at_ns),
            topic=self.target_topic,
            partition=proof.partition,
            source_offset=None,
            target_offset=proof.target_offset,
            sentence=sentence,
            count=proof.probes,
        )
        self._add(finding)

    def _lose(self, loss: Loss) -> None:
        start = self.log_starts.get(loss.partition)
        offset = loss.source_offset
        self.found.losses.appendleft(loss)
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
        self.found.add(finding, pause_s=pause_s(self.interval_s, self.horizon_s))
