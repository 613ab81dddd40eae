"""One flow as the canary knows it: its tracker, what it measured, and the evidence for a verdict. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.persistence.heritage import FlowHeritage, Left
from canary.tracker.books import CONCLUDING, Flag, Outcome
from canary.tracker.events import Adopted, Carried, Concluded, Flagged, Stage, Timed, TwoWriters
from canary.tracker.latency import Histogram, RecentLatency
from canary.tracker.partition import partition_evidence
from canary.tracker.tracker import Tracker
from canary.watch.calm import extremes, is_calm
from canary.watch.findings import Findings, Loss
from canary.watch.glance import Glance, glance_at
from fleet.series import catalogue as series
from fleet.verdicts.evidence import Calm, CanaryEvidence, CanaryState, Finding, FindingKind
from fleet.verdicts.words import HOLD_S, pause_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from canary.tracker.books import Books
    from canary.tracker.events import Event, TrackerOutput
    from canary.tracker.inheritance import Snapshot
    from canary.tracker.partition import Standing
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
        self.found = Findings()
        self.log_starts: dict[int, int] = {}  # of the source partitions, as last asked
        self.partition_outcomes: Counter[tuple[int, Outcome]] = Counter()  # of concluded probes
        self.heritage = FlowHeritage()
        self.target_topic_id = ""  # as far as it is known
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
        return self.glance(0).last_arrival_ns

    def inherit(
        self, heritage: FlowHeritage, now: Instant, found: Findings | None = None
    ) -> list[TrackerOutput]:
        """Go on with what processes that are gone have left; what they found is no news to anybody.

        `found` is what a former watch of this process had found: all of that, and newer than the store's.
        """
        self.heritage = heritage
        if found is None:
            self.found.inherit(heritage.findings, heritage.losses)
        else:
            self.found = found
        told = []
        for incarnation, left in heritage.left.items():
            coverages = tuple(one for _, one in left.coverages)
            since_ms = int(left.begun_at * 1000)
            adopted = Adopted(incarnation, coverages, now.ns, since_ms, interrupted=left.interrupted)
            told += self.handle(adopted, now)
        return told

    def unfinished(self) -> dict[str, Left]:
        """Return what was inherited and is not finished, for a later watch of this flow to go on with."""
        return {
            incarnation: Left(
                self.heritage.left[incarnation].begun_at,
                tuple((self.target_topic_id, one) for one in coverages),
                interrupted=True,
            )
            for incarnation, coverages in self._tracker.unfinished().items()
        }

    def snapshot(self, now: Instant) -> Snapshot:
        """Return what has changed since the last time and is to be kept of the books."""
        return self._tracker.snapshot(int(now.at // 60))

    def handle(self, event: Event, now: Instant) -> list[TrackerOutput]:
        """Take in one event; return what the tracker told, after keeping it."""
        return self._keep(self._tracker.handle(event), now)

    def advance(self, now: Instant) -> list[TrackerOutput]:
        """Let deadlines pass; return what the tracker told, after keeping it."""
        return self._keep(self._tracker.advance(now.ns), now)

    def recovery_point_age_s(self, now_ns: int) -> float | None:
        """Return the age of the newest probe that is downstream, of the partition where it is oldest."""
        return self.glance(now_ns).recovery_point_age_s

    def glance(self, now_ns: int) -> Glance:
        """Return what all partitions come to, by one walk over them."""
        return glance_at(self._tracker.partitions(), now_ns)

    def waits(self, now: Instant) -> bool:
        """Tell whether a probe that is on the source is half-way to its threshold or further."""
        oldest = [one.oldest_pending_ns for one in self.standings if one.oldest_pending_ns is not None]
        return bool(oldest) and now.ns - min(oldest) > self.threshold_s * 0.5e9

    def samples(
        self, flow: tuple[str, str, str], glance: Glance, now: Instant, *, per_partition: bool
    ) -> Iterator[Sample]:
        """Yield what the canary counts and measures of the flow as series; all of it is copied.

        `flow` is the flow's name and the aliases of its clusters, `glance` its partitions at `now`.
        """
        books = self.books.as_dict()
        yield series.CANARY_EXPECTED_TOTAL, flow, books["expected"]
        yield series.CANARY_SETTLED_TOTAL, flow, books["settled"]
        yield series.CANARY_GOOD_TOTAL, flow, books["good"]
        yield series.CANARY_CONCLUDED_TOTAL, flow, books["concluded"]
        yield series.CANARY_DELIVERED_TOTAL, flow, books["delivered"]
        yield series.CANARY_IN_FLIGHT, flow, books["in_flight"]
        for outcome in Outcome:
            yield series.CANARY_PROBES_TOTAL, (*flow, outcome.value), books[outcome.value]
        for flag in Flag:
            yield series.CANARY_PROBE_FLAGS_TOTAL, (*flow, flag.value), books[flag.value]
        for partition in glance.partitions if per_partition else ():
            for outcome in CONCLUDING:
                labels = (*flow, str(partition), outcome.value)
                count = self.partition_outcomes.get((partition, outcome), 0)
                yield series.CANARY_PARTITION_PROBES_TOTAL, labels, count
        for stage, histogram in self.histograms.items():
            yield series.CANARY_LATENCY_SECONDS, (*flow, stage.value), histogram.copy()
        yield series.CANARY_THRESHOLD_SECONDS, flow, self.threshold_s
        yield series.CANARY_INTERVAL_SECONDS, flow, self.interval_s
        if glance.last_arrival_ns is not None:
            arrival_at = now.wall_of(glance.last_arrival_ns)
            yield series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, flow, arrival_at

    def calm(self, flow: str, now: Instant) -> Calm | None:
        """Return that the flow is plainly well, if it is; what that takes is quickly told."""
        if now.at - self.found.latest_at <= HOLD_S or self._tracker.impaired is not None:
            return None
        worst = extremes(self._tracker.partitions())
        if worst is None or not is_calm(
            worst, now_ns=now.ns, threshold_s=self.threshold_s, interval_s=self.interval_s
        ):
            return None
        return Calm(flow, self.threshold_s, worst.partitions, worst.longest_latency_ns / 1e9)

    def evidence(self, now: Instant, *, state: CanaryState, sentence: str) -> CanaryEvidence:
        """Return what the canary has to say about the flow at this moment."""
        return CanaryEvidence(
            state=state,
            sentence=sentence,
            threshold_s=self.threshold_s,
            interval_s=self.interval_s,
            horizon_s=self.horizon_s,
            partitions=tuple(partition_evidence(one, now.ns) for one in self.standings),
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
            return  # its copy has been kept as altered or misrouted
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
