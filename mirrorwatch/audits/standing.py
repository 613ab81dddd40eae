"""What the runs of a flow's checksum come to: the newest run, each topic's last run, what is evidence. Pure.

A topic stands as the last run that was to compare it left it, whichever topics other runs named since; its
records are those of the last one that had any to compare. It was last verified when a run last knew the fate
of every offset that it was to compare of it, whatever it found.

What a run found is taken back by a later run by the same plan, which compared the same records again, and by
nothing else (`fleet/verdicts/checksum.py` says for how long it holds).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checksum.compare.findings import RecordVerdict
from checksum.compare.verdicts import FINDING
from fleet.verdicts.checksum_evidence import ChecksumEvidence, ChecksumFound
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from fleet.verdicts.words import MAX_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from checksum.book.entries import RunRow
    from mirrorwatch.audits.told import ToldBlock, ToldFinding, ToldRun

SHOWN_TOPICS = 3
_MEANS = {
    RecordVerdict.LOST: Verdict.LOSING,
    RecordVerdict.ALTERED: Verdict.ALTERED,
    RecordVerdict.MISROUTED: Verdict.LOSING,
    RecordVerdict.REORDERED: Verdict.ALTERED,
    RecordVerdict.EXTRA: Verdict.ALTERED,
    RecordVerdict.DUPLICATED: Verdict.REPEATING,
}


@dataclass(frozen=True, slots=True)
class TopicStanding:
    """A topic by the last run that was to compare it, which ended at `at`.

    `records` are of the last one that compared records of it: of this one, where it `compared` any.
    `verified_at` is when the last run ended that verified all of it; None where none has.
    """

    at: float
    coverage: float
    records: Mapping[RecordVerdict, int]
    verified_at: float | None
    compared: bool = True


@dataclass(frozen=True, slots=True)
class RunGist:
    """What is kept in memory of a run; `not_told_apart` counts blocks of offsets that differ.

    `told_at` is when a service was told of one that ended elsewhere.
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
    not_told_apart: int
    found: tuple[ChecksumFound, ...]
    topics: Mapping[str, TopicStanding]
    told_at: float | None = None
    not_due: int = 0

    @property
    def untold_records(self) -> int:
        """Return of how many compared records nobody could say whether anything is wrong with them."""
        if self.coverage < 1 or self.not_told_apart:  # then these numbers tell of it
            return 0
        return self.records.get(RecordVerdict.UNVERIFIABLE, 0)


@dataclass(frozen=True, slots=True)
class FlowStanding:
    """A flow by all runs that are known of it, newest first; one at least."""

    runs: tuple[RunGist, ...]
    topics: Mapping[str, TopicStanding]
    evidence: ChecksumEvidence

    @property
    def newest(self) -> RunGist:
        """Return the run that ended last."""
        return self.runs[0]

    @property
    def with_findings(self) -> tuple[RunGist, ...]:
        """Return those that found something, newest first."""
        return tuple(run for run in self.runs if run.found)


def gist_of(told: ToldRun, *, ended_at: float, exactly_once: bool, told_at: float | None = None) -> RunGist:
    """Return what is kept of a run that ended and was told at these instants, by a clock that is believed."""
    return RunGist(
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
        not_told_apart=told.blocks_count,
        found=tuple(
            replace(one, known_at=told_at) for one in _found(told, ended_at, exactly_once=exactly_once)
        ),
        topics=_topics(told, ended_at),
        told_at=told_at,
        not_due=told.not_due,
    )


def standing_of(gists: Iterable[RunGist]) -> FlowStanding | None:
    """Return how a flow stands by these runs; None where there is none."""
    runs = tuple(sorted(gists, key=lambda one: (one.ended_at, one.run), reverse=True))
    if not runs:
        return None
    topics: dict[str, TopicStanding] = {}
    for run in reversed(runs):
        topics |= {name: _after(topics.get(name), now) for name, now in run.topics.items()}
    return FlowStanding(runs, topics, _evidence(runs))


def newest_finding(runs: Iterable[RunRow]) -> RunRow | None:
    """Return the newest run that found something which no later run took back, of runs newest first."""
    plans: set[str] = set()
    for run in runs:
        if run.status == FINDING and run.plan not in plans:
            return run
        plans.add(run.plan)
    return None


def _after(before: TopicStanding | None, now: TopicStanding) -> TopicStanding:
    if before is None:
        return now
    return replace(
        now,
        records=now.records if now.compared else before.records,
        verified_at=before.verified_at if now.verified_at is None else now.verified_at,
    )


def _evidence(runs: Sequence[RunGist]) -> ChecksumEvidence:
    newest = runs[0]
    by_plan: dict[str, RunGist] = {}
    for run in runs:
        by_plan.setdefault(run.plan, run)
    found = [one for run in reversed(by_plan.values()) for one in run.found]
    return ChecksumEvidence(
        ended_at=newest.ended_at,
        coverage=newest.coverage,
        records=newest.source_records,
        findings=newest.findings,
        found=tuple(found),
        untold=newest.untold_records,
    )


def _found(told: ToldRun, at: float, *, exactly_once: bool) -> tuple[ChecksumFound, ...]:
    findings: dict[Verdict, list[ToldFinding]] = {}
    for one in told.findings:
        if one.verdict in _MEANS:
            findings.setdefault(_MEANS[one.verdict], []).append(one)
    blocks: dict[Verdict, list[ToldBlock]] = {}
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


def _meaning(block: ToldBlock, *, exactly_once: bool) -> Verdict | None:
    """Return what a block that was not told apart proves; nothing where it may be what is expected."""
    if not block.certain:
        return None
    if block.lacking:
        return Verdict.LOSING
    return Verdict.ALTERED if exactly_once or not block.surplus else None


def _of_verdict(
    verdict: Verdict,
    findings: Sequence[ToldFinding],
    blocks: Sequence[ToldBlock],
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
        by_topic[block.topic] += block.lacking or block.surplus or 1
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


def _row(one: ToldFinding | ToldBlock, at: float) -> Evidence:
    return Evidence(
        part="checksum",
        sentence=one.sentence,
        at=at,
        topic=one.topic,
        partition=one.partition,
        source_offset=one.source_offset,
        target_offset=one.target_offset,
    )


def _topics(told: ToldRun, at: float) -> dict[str, TopicStanding]:
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
    return {name: TopicStanding(at, 1.0, {}, at, compared=False) for name in told.nothing_new} | {
        name: TopicStanding(
            at,
            min(1.0, verified[name] / offsets[name]) if offsets[name] else 1.0,
            dict(counts),
            at if verified[name] >= offsets[name] else None,
            compared=name in compared,
        )
        for name, counts in records.items()
        if until is None or name < until
    }


def _known_until(told: ToldRun) -> str | None:
    """Return the first topic of which not all may be told, as a list was cut; None where each is.

    Partitions are listed by topic in order, and so is what is left out, with what is merely new behind it.
    """
    cut = []
    if told.partitions_count > len(told.partitions):
        cut.append(told.partitions[-1].topic if told.partitions else "")
    if told.left_out_count > len(told.left_out):
        last = told.left_out[-1] if told.left_out else None
        if last is None or not last.later:
            cut.append("" if last is None else last.topic)
    return min(cut, default=None)
