"""The state of a flow by its checksum runs: newest run, last run of each topic, evidence. Pure.

A topic has the state of the last run that was to compare it. Its records are those of the last run that had
any to compare. `verified_at` is the last time that a run verified every offset that it was to compare. A run
that finds nothing new verifies nothing: after an incomplete run the topic stays incomplete.

A topic is dropped if the flow does not replicate it, or if a later run over all topics does not have it.

Only a later run with the same plan, which compares the same records again, clears a finding
(`fleet/verdicts/checksum.py` says for how long it holds).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checksum.compare.findings import RecordVerdict
from checksum.compare.verdicts import FINDING
from checksum.report.result_document import MOST_TOPICS
from fleet.verdicts.checksum_evidence import ChecksumEvidence, ChecksumFound
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from fleet.verdicts.words import MAX_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from checksum.history.entries import RunRow
    from mirrorwatch.audits.run_document import DocumentBlock, DocumentFinding, RunDocument

SHOWN_TOPICS = 3
_MEANS = {
    RecordVerdict.LOST: Verdict.LOSING,
    RecordVerdict.ALTERED: Verdict.ALTERED,
    RecordVerdict.MISROUTED: Verdict.LOSING,
    RecordVerdict.REORDERED: Verdict.ALTERED,
    RecordVerdict.EXTRA: Verdict.ALTERED,
    RecordVerdict.DUPLICATED: Verdict.REPEATING,
}
_ALWAYS_WRONG = (
    RecordVerdict.LOST,
    RecordVerdict.ALTERED,
    RecordVerdict.MISROUTED,
    RecordVerdict.REORDERED,
)


@dataclass(frozen=True, slots=True)
class TopicAudit:
    """A topic by the last run that was to compare it, which ended at `at`.

    `records` are of the last run that compared records of it: of this run if `compared`. `differing` of them
    at least make its exit status 1; duplicates, which have an alert of their own, are not counted.
    `verified_at` is the end of the last run that verified all of it; None if none did.
    """

    at: float
    coverage: float
    records: Mapping[RecordVerdict, int]
    verified_at: float | None
    compared: bool = True
    differing: int = 0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What the service keeps in memory of a run; `unresolved_blocks` counts blocks of offsets that differ.

    `told_at`: when a service received a run that ended elsewhere. `whole`: `topics` are all that the flow
    replicated.
    """

    run: str
    plan: str
    begun_at: float
    ended_at: float
    status: int
    coverage: float
    records: Mapping[RecordVerdict, int]
    source_records: int
    target_records: int
    findings: int
    expected: int
    unresolved_blocks: int
    found: tuple[ChecksumFound, ...]
    topics: Mapping[str, TopicAudit]
    told_at: float | None = None
    not_due: int = 0
    whole: bool = False

    @property
    def undecided_records(self) -> int:
        """Return how many compared records neither match nor differ for certain."""
        if self.coverage < 1 or self.unresolved_blocks:  # then these numbers tell of it
            return 0
        return self.records.get(RecordVerdict.UNVERIFIABLE, 0)


@dataclass(frozen=True, slots=True)
class FlowAudit:
    """A flow by all its known runs, newest first; at least one."""

    runs: tuple[RunSummary, ...]
    topics: Mapping[str, TopicAudit]
    evidence: ChecksumEvidence

    @property
    def newest(self) -> RunSummary:
        """Return the run that ended last."""
        return self.runs[0]

    @property
    def with_findings(self) -> tuple[RunSummary, ...]:
        """Return the runs with findings, newest first."""
        return tuple(run for run in self.runs if run.found)


def run_summary(
    told: RunDocument, *, ended_at: float, exactly_once: bool, told_at: float | None = None
) -> RunSummary:
    """Summarise a run that ended and was received at these times, by a trusted clock."""
    return RunSummary(
        run=told.run,
        plan=told.plan,
        begun_at=min(told.begun_at, ended_at),
        ended_at=ended_at,
        status=told.status,
        coverage=told.coverage,
        records=told.records,
        source_records=told.source_records,
        target_records=told.target_records,
        findings=told.findings_count,
        expected=told.expected_count,
        unresolved_blocks=told.blocks_count,
        found=tuple(
            replace(one, known_at=told_at) for one in _found(told, ended_at, exactly_once=exactly_once)
        ),
        topics=_topics(told, ended_at, exactly_once=exactly_once),
        told_at=told_at,
        not_due=told.not_due,
        whole=told.whole and _known_until(told) is None and len(told.nothing_new) < MOST_TOPICS,
    )


def flow_audit(
    summaries: Iterable[RunSummary], *, replicates: Callable[[str], bool] = lambda _topic: True
) -> FlowAudit | None:
    """Return the state of a flow by these runs, without topics that it no longer replicates.

    None if there is no run.
    """
    runs = tuple(sorted(summaries, key=lambda one: (one.ended_at, one.run), reverse=True))
    if not runs:
        return None
    topics: dict[str, TopicAudit] = {}
    for run in reversed(runs):
        kept = {} if run.whole else topics
        topics = kept | {name: _after(topics.get(name), now) for name, now in run.topics.items()}
    return FlowAudit(runs, {name: one for name, one in topics.items() if replicates(name)}, _evidence(runs))


def newest_finding(runs: Iterable[RunRow]) -> RunRow | None:
    """Return the newest run with a finding that no later run cleared; `runs` are newest first."""
    plans: set[str] = set()
    for run in runs:
        if run.status == FINDING and run.plan not in plans:
            return run
        plans.add(run.plan)
    return None


def _after(before: TopicAudit | None, now: TopicAudit) -> TopicAudit:
    if before is None:
        return now
    incomplete = not now.compared and before.coverage < 1
    return replace(
        now,
        coverage=min(now.coverage, before.coverage) if incomplete else now.coverage,
        records=now.records if now.compared else before.records,
        differing=now.differing if now.compared else before.differing,
        verified_at=before.verified_at if incomplete or now.verified_at is None else now.verified_at,
    )


def _evidence(runs: Sequence[RunSummary]) -> ChecksumEvidence:
    newest = runs[0]
    by_plan: dict[str, RunSummary] = {}
    for run in runs:
        by_plan.setdefault(run.plan, run)
    found = [one for run in reversed(by_plan.values()) for one in run.found]
    return ChecksumEvidence(
        ended_at=newest.ended_at,
        coverage=newest.coverage,
        records=newest.source_records,
        findings=newest.findings,
        found=tuple(found),
        untold=newest.undecided_records,
    )


def _found(told: RunDocument, at: float, *, exactly_once: bool) -> tuple[ChecksumFound, ...]:
    findings: dict[Verdict, list[DocumentFinding]] = {}
    for one in told.findings:
        if one.verdict in _MEANS:
            findings.setdefault(_MEANS[one.verdict], []).append(one)
    blocks: dict[Verdict, list[DocumentBlock]] = {}
    for block in told.blocks:
        means = _meaning(block, exactly_once=exactly_once)
        if means is not None:
            blocks.setdefault(means, []).append(block)
    cut = told.findings_count > len(told.findings)
    return tuple(
        _of_verdict(verdict, findings.get(verdict, ()), blocks.get(verdict, ()), at, cut=cut)
        for verdict in Verdict
        if verdict in findings or verdict in blocks
    )


def _meaning(block: DocumentBlock, *, exactly_once: bool) -> Verdict | None:
    """Return what an unresolved block proves; nothing if it may be normal."""
    if not block.certain:
        return None
    if block.lacking:
        return Verdict.LOSING
    return Verdict.ALTERED if exactly_once or not block.surplus else None


def _of_verdict(
    verdict: Verdict,
    findings: Sequence[DocumentFinding],
    blocks: Sequence[DocumentBlock],
    at: float,
    *,
    cut: bool,
) -> ChecksumFound:
    by_topic: Counter[str] = Counter()
    causes: Counter[Cause] = Counter()
    for one in findings:
        by_topic[one.topic] += one.records
        causes[one.cause] += one.records
    for block in blocks:
        by_topic[block.topic] += _least_records(block)
    causes.pop(Cause.UNEXPLAINED, None)
    most = sorted(by_topic.items(), key=lambda item: (-item[1], item[0]))
    return ChecksumFound(
        verdict=verdict,
        cause=causes.most_common(1)[0][0] if causes else Cause.UNEXPLAINED,
        at=at,
        records=by_topic.total(),
        by_topic=tuple(most[:SHOWN_TOPICS]),
        rows=tuple(
            [*(_row(one, at) for one in findings[:MAX_ROWS]), *(_row(one, at) for one in blocks[:MAX_ROWS])][
                :MAX_ROWS
            ]
        ),
        more_topics=max(0, len(most) - SHOWN_TOPICS),
        least=cut or bool(blocks),
    )


def _row(one: DocumentFinding | DocumentBlock, at: float) -> Evidence:
    return Evidence(
        part="checksum",
        sentence=one.sentence,
        at=at,
        topic=one.topic,
        partition=one.partition,
        source_offset=one.source_offset,
        target_offset=one.target_offset,
    )


def _topics(told: RunDocument, at: float, *, exactly_once: bool) -> dict[str, TopicAudit]:
    verified: Counter[str] = Counter()
    offsets: Counter[str] = Counter()
    records: dict[str, Counter[RecordVerdict]] = {}
    for one in told.partitions:
        verified[one.topic] += one.verified
        offsets[one.topic] += one.offsets
        records.setdefault(one.topic, Counter()).update(one.records)
    compared = set(records)
    for left in told.left_out:
        if not left.later:  # where it holds nothing, nothing of it is unverified
            offsets[left.topic] += left.records
            records.setdefault(left.topic, Counter())
    until = _known_until(told)
    differing = _differing(told, exactly_once=exactly_once)
    return {name: TopicAudit(at, 1.0, {}, at, compared=False) for name in told.nothing_new} | {
        name: TopicAudit(
            at,
            min(1.0, verified[name] / offsets[name]) if offsets[name] else 1.0,
            dict(counts),
            at if verified[name] >= offsets[name] else None,
            compared=name in compared,
            differing=differing[name],
        )
        for name, counts in records.items()
        if until is None or name < until
    }


def _differing(told: RunDocument, *, exactly_once: bool) -> Counter[str]:
    """Return by topic how many records at least make the exit status 1, without duplicates."""
    found: Counter[str] = Counter()
    for one in told.partitions:
        found[one.topic] += sum(one.records.get(verdict, 0) for verdict in _ALWAYS_WRONG)
    for finding in told.findings:  # extra records may be normal: those of a partition do not show it
        if finding.verdict is RecordVerdict.EXTRA:
            found[finding.topic] += finding.records
    for block in told.blocks:
        if _meaning(block, exactly_once=exactly_once) is not None:
            found[block.topic] += _least_records(block)
    return found


def _least_records(block: DocumentBlock) -> int:
    return block.lacking or block.surplus or 1


def _known_until(told: RunDocument) -> str | None:
    """Return the first topic that a cut list may leave out; None if the lists are whole.

    Partitions are sorted by topic, and so are left-out topics, with those that are merely new at the end.
    """
    cut = []
    if told.partitions_count > len(told.partitions):
        cut.append(told.partitions[-1].topic if told.partitions else "")
    if told.left_out_count > len(told.left_out):
        last = told.left_out[-1] if told.left_out else None
        if last is None or not last.later:
            cut.append("" if last is None else last.topic)
    return min(cut, default=None)
