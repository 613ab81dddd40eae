"""One flow as the canary knows it: its tracker, what it measured, and the evidence for a verdict. Pure."""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from canary.books import CONCLUDING, Mark, Outcome
from canary.calm import extremes, is_calm
from canary.events import Adopted, Carried, Concluded, Marked, Stage, Timed
from canary.glance import Glance, glance_at
from canary.heritage import FlowHeritage, Left
from canary.latency import Histogram, RecentLatency
from canary.partition import partition_evidence
from canary.tracker import Tracker
from fleet.evidence import Calm, CanaryEvidence, CanaryState, Finding, FindingKind
from fleet.judgement_words import HOLD_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.books import Books
    from canary.events import Event, TrackerOutput
    from canary.inheritance import Snapshot
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
    sequence: int | None  # None where an earlier process found it
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
        self._found_at = -math.inf  # the latest instant of all findings
        self.heritage = FlowHeritage()
        self.target_topic_id = ""  # as far as it is known
        self._fresh: dict[tuple[object, ...], Finding] = {}  # found or counted on since they were last taken
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

    def inherit(self, heritage: FlowHeritage, now: Instant) -> list[TrackerOutput]:
        """Go on with what processes that are gone have left; what they found is no news to anybody."""
        self.heritage = heritage
        for one in heritage.findings:
            self._findings[one.kind].append(one)
            self._found_at = max(self._found_at, one.at)
        for one in heritage.losses:
            loss = Loss(one.at, one.partition, None, one.source_offset, one.sentence, one.count)
            self.losses.appendleft(loss)
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

    def take_findings(self) -> list[Finding]:
        """Return what was found, or counted on, since the last time."""
        found, self._fresh = list(self._fresh.values()), {}
        return found

    def handle(self, event: Event, now: Instant) -> list[TrackerOutput]:
        """Take in one event; return what the tracker told, after keeping it."""
        return self._keep(self._tracker.handle(event), now)

    def advance(self, now: Instant) -> list[TrackerOutput]:
        """Let deadlines pass; return what the tracker told, after keeping it."""
        return self._keep(self._tracker.advance(now.ns), now)

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
        self._found_at += by_s
        for found in self._findings.values():
            for index, one in enumerate(found):
                found[index] = replace(one, at=one.at + by_s)
        for index, loss in enumerate(self.losses):
            self.losses[index] = replace(loss, at=loss.at + by_s)

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

    def calm(self, flow: str, now: Instant) -> Calm | None:
        """Return that the flow is plainly well, if it is; what that takes is quickly told."""
        if now.at - self._found_at <= HOLD_S or self._tracker.impaired is not None:
            return None
        worst = extremes(self._tracker.partitions())
        if worst is None or not is_calm(
            worst, now_ns=now.ns, threshold_s=self.threshold_s, interval_s=self.interval_s
        ):
            return None
        return Calm(flow, self.threshold_s, worst.partitions, worst.longest_latency_ns / 1e9)

    def forget_loops(self) -> None:
        """Let no finding speak of a loop that a person has called mended; another probe would tell."""
        for kind in (FindingKind.LOOPED, FindingKind.DUPLICATED):
            self._findings[kind].clear()

    def evidence(self, now: Instant, *, state: CanaryState, sentence: str) -> CanaryEvidence:
        """Return what the canary has to say about the flow at this moment."""
        return CanaryEvidence(
            state=state,
            sentence=sentence,
            threshold_s=self.threshold_s,
            interval_s=self.interval_s,
            horizon_s=self.horizon_s,
            partitions=tuple(partition_evidence(one, now.ns) for one in self.standings),
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
            named=marked.sequence >= 0,
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
        self._found_at = max(self._found_at, finding.at)
        for index in range(len(findings) - 1, max(len(findings) - 1 - MAX_COMPARED, -1), -1):
            held = findings[index]
            if finding.at - held.at > 1.0:
                findings.append(finding)
                break
            if (held.partition, held.overtaken, held.named) == (
                finding.partition,
                finding.overtaken,
                finding.named,
            ):
                finding = findings[index] = replace(held, count=held.count + finding.count)
                break
        else:
            findings.append(finding)
        place = (finding.kind, finding.at, finding.topic, finding.partition)
        self._fresh[*place, finding.overtaken, finding.named] = finding
