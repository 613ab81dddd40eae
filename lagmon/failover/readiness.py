"""A consumer group on a flow: where it would start on the target, what it would read again or miss. Pure.

A group starts at its committed offset on the target. Without one it has to be given the offset of its newest
checkpoint first, which MirrorMaker does with `sync.group.offsets.enabled` and RemoteClusterUtils for clients.
A start is

- usable  if the target partition still holds it: log start <= start <= log end;
- safe    if no replicated record at or after the group's committed offset on the source is before it;
- tight   by the number of records that the group reads again.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from fleet.quantity import Bounds
from lagmon.failover.places import has_no_gaps, last_start

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lagmon.syncs.pairs import SyncPair


class Status(StrEnum):
    """How a group would start in one partition, worst first."""

    SKIPS = "skips"  # it starts behind records that it has not read
    OUT_OF_RANGE = "out_of_range"  # the target does not hold the offset: auto.offset.reset decides
    NOT_REPLICATED = "not_replicated"  # the target has no such partition
    NO_CHECKPOINT = "no_checkpoint"
    UNKNOWN = "unknown"  # not enough data
    UNCERTAIN = "uncertain"  # it may start behind records that it has not read
    STALE = "stale"  # a good start, but MirrorMaker has written no newer checkpoint for long
    NOT_APPLIED = "not_applied"  # a good checkpoint, and no committed offset on the target
    READY = "ready"

    @property
    def rank(self) -> int:
        """Return 0 for the worst status."""
        return _RANK[self]

    @property
    def is_ready(self) -> bool:
        """Return whether the group misses nothing, at once or after its checkpoint is applied."""
        return self in (Status.READY, Status.NOT_APPLIED, Status.STALE)


_NONE = Bounds(0, 0)
_RANK = {status: number for number, status in enumerate(Status)}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The newest checkpoint of a group in a partition; `at_ms` is when MirrorMaker wrote it."""

    upstream: int
    downstream: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFacts:
    """What is known of a group in one partition of a flow; offsets are None where they are not known.

    - `committed_least`: a lower bound of `committed`, if that is not known
    - `recreated`: the side whose topic was re-created after the newest offset sync
    - `replicated_from`: the first source offset that is surely replicated, if a topic was re-created
    - `replicated`: the first source offset that is not replicated yet, as the mirror last committed it;
      `source_end` is read after it, and after `target_end`
    - `runs`: `runs_of` its offset syncs; `target_end` is read after them
    - `equal_offsets`: the mirror keeps offsets equal, those without a record too
    - `checkpoint_is_old`: the mirror has had time to write a newer one
    - `on_target`: the target has the partition
    - `compacted`: the target topic's cleanup.policy has compact
    """

    topic: str
    partition: int
    committed: int | None
    source_end: int | None
    replicated: int | None
    checkpoint: Checkpoint | None
    runs: Sequence[Sequence[SyncPair]]
    target_committed: int | None
    target_start: int | None
    target_end: int | None
    committed_least: int | None = None
    recreated: Literal["", "source", "target"] = ""
    replicated_from: int = 0
    checkpoint_is_old: bool = False
    on_target: bool = True
    compacted: bool = False
    in_transactions: bool = False
    equal_offsets: bool = False

    @property
    def is_at_end(self) -> bool:
        """Return whether the group's next record is the next one that the mirror replicates.

        `source_end` is read after `target_end`: a group that has read up to there has read all on the target.
        """
        if self.committed is None:
            return self.target_end == 0
        is_replicated = self.replicated is not None and self.replicated >= self.committed
        return self.committed == self.source_end and is_replicated

    @property
    def other_log(self) -> Literal["", "source", "target"]:
        """Return the side whose log is not the one of offset syncs and checkpoints, "" for none."""
        return self.recreated or self.shorter_log

    @property
    def shorter_log(self) -> Literal["", "source", "target"]:
        """Return the side whose log ends before a record that was replicated, "" for none.

        Its topic was re-created or lost its end: offset syncs and checkpoints are of another log.
        """
        replicated, end, runs = self.replicated, self.source_end, self.runs
        if replicated is not None and end is not None and replicated > end:
            return "source"
        if self.equal_offsets or not runs or self.target_end is None:
            return ""
        return "target" if runs[0][-1].downstream >= self.target_end else ""


@dataclass(frozen=True, slots=True)
class Proof:
    """What reading both logs has shown of a group in one partition.

    `last` are bounds of the last start from which it misses nothing; None if that was not found. `counted` is
    how many records the target holds between its start and there, None if they were not counted.
    """

    sentence: str
    last: Bounds | None = None
    counted: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReadiness:
    """How a group would start in one partition if it failed over now; counts are None where unknown.

    `read_again_records` are records that it has read on the source, `skipped_records` are replicated ones
    that it has not read and would not, `at_risk_records` are those that are on the source alone and that it
    has not read.
    """

    facts: PartitionFacts
    status: Status
    start: int | None
    at_checkpoint: bool
    read_again_records: Bounds | None
    skipped_records: Bounds | None
    at_risk_records: Bounds | None
    proof: Proof | None = None

    @property
    def at_empty_log(self) -> bool:
        """Return whether it starts at 0 without a committed offset or a checkpoint."""
        return self.start is not None and not self.at_checkpoint and self.facts.target_committed is None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReadiness:
    """A group on a flow: the worst status of its partitions, worst first, and their sums."""

    group: str
    status: Status
    partitions: tuple[PartitionReadiness, ...]
    read_again_records: Bounds | None
    skipped_records: Bounds | None
    at_risk_records: Bounds | None

    def by_place(self) -> list[PartitionFacts]:
        """Return the facts of its partitions by topic and partition."""
        facts = [one.facts for one in self.partitions]
        return sorted(facts, key=lambda one: (one.topic, one.partition))


def judge_group(
    group: str, partitions: Iterable[PartitionFacts], proofs: Mapping[tuple[str, int], Proof] | None = None
) -> GroupReadiness:
    """Return how a group would start in its partitions (at least one), worst first.

    `proofs` are by topic and partition.
    """
    judged = sorted(
        (judge_partition(one, (proofs or {}).get((one.topic, one.partition))) for one in partitions),
        key=lambda one: (one.status.rank, one.facts.topic, one.facts.partition),
    )
    return GroupReadiness(
        group=group,
        status=judged[0].status,
        partitions=tuple(judged),
        read_again_records=sum_bounds(one.read_again_records for one in judged),
        skipped_records=sum_bounds(one.skipped_records for one in judged),
        at_risk_records=sum_bounds(one.at_risk_records for one in judged),
    )


def worst_first(groups: Iterable[GroupReadiness]) -> tuple[GroupReadiness, ...]:
    """Return groups by status, worst first, then by name."""
    return tuple(sorted(groups, key=lambda one: (one.status.rank, one.group)))


def judge_partition(facts: PartitionFacts, proof: Proof | None = None) -> PartitionReadiness:
    """Return how a group would start in one partition; a proof goes before offset syncs."""
    start, at_checkpoint = start_of(facts)
    again, skipped = _passed(facts, start, proof)
    return PartitionReadiness(
        facts=facts,
        status=_status(facts, start, skipped, at_checkpoint=at_checkpoint),
        start=start,
        at_checkpoint=at_checkpoint,
        read_again_records=again,
        skipped_records=skipped,
        at_risk_records=_at_risk(facts),
        proof=proof,
    )


def start_of(facts: PartitionFacts) -> tuple[int | None, bool]:
    """Return where a group would start on the target, None if unknown, and whether it is its checkpoint.

    Without either it starts where auto.offset.reset says, which is at 0 in a log that never had a record.
    """
    if facts.target_committed is None and facts.checkpoint is not None:
        return facts.checkpoint.downstream, True
    if facts.target_committed is None and facts.target_end == 0 and facts.is_at_end:
        return 0, False
    return facts.target_committed, False


def _status(
    facts: PartitionFacts, start: int | None, skipped: Bounds | None, *, at_checkpoint: bool
) -> Status:
    status = Status.NOT_APPLIED if at_checkpoint else Status.READY
    if not facts.on_target:
        status = Status.NOT_REPLICATED
    elif start is None:
        status = Status.UNKNOWN if facts.recreated else Status.NO_CHECKPOINT
    elif facts.target_start is None or facts.target_end is None:
        status = Status.UNKNOWN
    elif not facts.target_start <= start <= facts.target_end:
        status = Status.OUT_OF_RANGE
    elif skipped is None:
        status = Status.UNKNOWN
    elif skipped.least:
        status = Status.SKIPS
    elif skipped.most != 0:
        status = Status.UNCERTAIN
    elif _is_stale(facts, start):
        status = Status.STALE
    return status


def _is_stale(facts: PartitionFacts, start: int) -> bool:
    """Return whether MirrorMaker could have written a later checkpoint for long.

    It keeps fewer offset syncs with their distance from the newest, but one within twice the group's distance
    (OffsetSyncStore of Kafka 4.3).
    """
    if facts.checkpoint is None or not facts.checkpoint_is_old or facts.committed is None or not facts.runs:
        return False
    run = facts.runs[0]
    behind = max(0, run[-1].upstream - facts.committed)
    index = bisect_right(run, facts.committed - behind, key=attrgetter("upstream"))
    return index > 0 and start < run[index - 1].downstream


def next_start(facts: PartitionFacts) -> Bounds | None:
    """Return bounds of the last start from which the group misses nothing; None without enough data.

    It is after the log end of the target if the group is further than a mirror that keeps offsets equal.
    """
    if facts.target_end is None or facts.other_log:
        return None
    if facts.is_at_end:
        return Bounds(facts.target_end, facts.target_end)
    read_to = facts.committed_least if facts.committed is None else facts.committed
    if not facts.runs or read_to is None:
        return None
    found = last_start(
        facts.runs, read_to, target_end=facts.target_end, in_transactions=facts.in_transactions
    )
    if facts.committed is None:
        found = Bounds(found.least, max(found.least, facts.target_end))
    return found


def _passed(
    facts: PartitionFacts, start: int | None, proof: Proof | None
) -> tuple[Bounds | None, Bounds | None]:
    """Return how many records a group that starts there reads again, and how many it skips."""
    counted = proof.counted if proof is not None else None
    last = proof.last if proof is not None and proof.last is not None else next_start(facts)
    if start is None or last is None or facts.target_end is None or facts.target_start is None:
        return None, None
    assert last.most is not None
    if last.most > facts.target_end:
        last = Bounds(min(last.least, facts.target_end), facts.target_end)
    start = min(max(start, facts.target_start), facts.target_end)
    here = Bounds(start, start)
    return _count(facts, here, last, counted), _count(facts, last, here, counted)


def _count(facts: PartitionFacts, first: Bounds, last: Bounds, counted: int | None) -> Bounds:
    """Return how many records the target holds from one offset up to another, not included."""
    assert first.most is not None
    assert last.most is not None
    most = last.most - first.least
    if most <= 0:
        return _NONE
    if counted is not None:
        return Bounds(counted, counted)
    may_be_empty = facts.compacted or facts.in_transactions or facts.equal_offsets
    sure = not may_be_empty and has_no_gaps(facts.runs, first.most, last.least)
    return Bounds(max(0, last.least - first.most) if sure else 0, most)


def _at_risk(facts: PartitionFacts) -> Bounds | None:
    """Return how many records are on the source alone, of those that the group has not read.

    An upper bound: offsets of the source may hold transaction markers or nothing, and the mirror may be
    further than its last commit.
    """
    end, committed = facts.source_end, facts.committed or 0
    if end is None or facts.replicated is None or facts.other_log:
        return None
    most = max(0, end - max(facts.replicated, committed)) + max(
        0, min(facts.replicated_from, end) - committed
    )
    return Bounds(0, most) if most > 0 else _NONE


def sum_bounds(parts: Iterable[Bounds | None]) -> Bounds | None:
    """Add up counts; without an upper bound if one is unknown, None if each is. Nothing adds up to 0."""
    counts = list(parts)
    known = [one for one in counts if one is not None]
    if counts and not known:
        return None
    most = [one.most for one in known if one.most is not None]
    return Bounds(sum(one.least for one in known), sum(most) if len(most) == len(counts) else None)
