"""Findings about records, and blocks to read again before a finding is certain. Pure.

A finding is never a guess: what counts and sums cannot prove becomes a block of offsets that is read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.digest.cell_rows import Side
    from checksum.plan.shape import OffsetRange


class RecordVerdict(StrEnum):
    """The verdict of a record, by its place on both sides; after `match`, the worst first."""

    MATCH = "match"
    LOST = "lost"
    MISROUTED = "misrouted"
    ALTERED = "altered"
    REORDERED = "reordered"
    EXTRA = "extra"
    DUPLICATED = "duplicated"
    UNVERIFIABLE = "unverifiable"


_SEVERITY = {
    verdict.value: number
    for number, verdict in enumerate(one for one in RecordVerdict if one is not RecordVerdict.MATCH)
}


def severity(verdict: str) -> int:
    """Return the sort key of a verdict: 0 for the worst; unknown verdicts come last."""
    return _SEVERITY.get(verdict, len(_SEVERITY))


class Proof(StrEnum):
    """The evidence of a finding."""

    DIGESTS = "digests"
    READING = "reading"  # the records were read again


@dataclass(frozen=True, slots=True)
class Single:
    """A record that a cell of one side has and the other's does not, `copies` times. Hashes are signed.

    It is certainly at one of `offsets` of its side, and likely in `likely`; the rest of its cell is at
    `others` of the other side. `source_place` is the source offset that the order sums prove, or None.
    `timestamp_ms` is None if timestamps are not compared.
    """

    side: Side
    topic: str
    partition: int
    bucket: int
    cell: int
    hash: int
    timestamp_ms: int | None
    copies: int
    offsets: OffsetRange
    likely: OffsetRange
    others: OffsetRange | None
    source_place: int | None = None

    @property
    def offset(self) -> int | None:
        """Return its offset, if it is certain."""
        return self.offsets.first if self.offsets.span == 1 else None


@dataclass(frozen=True, slots=True)
class Finding:
    """One record, or `records` equal ones, with a problem.

    Offsets are None on the side without the record; for `reordered`, if it was not read. A range of several
    offsets means one of them. For `misrouted` the source is where the record is missing, and `found_in` (the
    topic's name on the source, and the partition) is where the target has it instead, at `target`. For
    `altered` the hash and the time are the original's, `target_*` those of the replicated record, and `what`
    names the parts that differ. An `unverifiable` record is on the target, and may never have been on the
    source; or, with offsets of both sides, may be out of order.
    """

    verdict: RecordVerdict
    topic: str
    partition: int
    records: int
    hash: int
    timestamp_ms: int | None
    source: OffsetRange | None
    target: OffsetRange | None
    proof: Proof
    found_in: tuple[str, int] | None = None
    target_hash: int | None = None
    target_timestamp_ms: int | None = None
    what: tuple[str, ...] = ()
    aborted: bool = False  # in an aborted transaction on the source
    tombstone: bool = False  # compacted topic: the source deletes the key, the target has a value
    cause: Cause | None = None  # of a lost record, if known (loss_causes.py)
    why: str = ""  # the evidence, a clause

    @property
    def identity(self) -> tuple[object, ...]:
        """Return by what the same finding is recognised when records are read again."""
        return self.verdict, self.topic, self.partition, self.hash, self.target_hash, self.found_in


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity; equal ones keep their order."""
    return sorted(findings, key=lambda one: severity(one.verdict))


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Offsets of one partition to read again on both sides, and why.

    `hashes` are of missing or extra records, and `cells` are the undecoded ones, as (bucket, cell): all
    records of both are within these offsets. Other records that seem missing here are certainly elsewhere in
    the partition. `altered` are offsets of source and target of records that are proved to be altered.
    `certain`: something is certainly wrong. `lacking` and `surplus` are what counts alone prove: at least so
    many records missing on the target, or too many.
    """

    topic: str
    partition: int
    source: OffsetRange
    target: OffsetRange
    why: str
    cells: frozenset[tuple[int, int]] = frozenset()
    hashes: frozenset[int] = frozenset()
    altered: tuple[tuple[int, int], ...] = ()
    certain: bool = True
    lacking: int = 0
    surplus: int = 0

    @property
    def only_moved(self) -> bool:
        """Return whether the same records are certainly there in another order."""
        return self.certain and not (self.lacking or self.surplus)


@dataclass(frozen=True, slots=True)
class Lookup:
    """The question whether the source holds an extra record of the target anywhere in its partition.

    `offsets` are those of the source that the digests do not rule out; None if they rule out all, so that
    only uncompared records remain, by `timestamp_ms` (None if timestamps are not compared).
    """

    topic: str
    partition: int
    hash: int
    timestamp_ms: int | None
    offsets: OffsetRange | None
    finding: Finding


class LookupAnswer(StrEnum):
    """The answer, from a reader of all records, aborted transactions included."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    NO = "no"  # the log was read back to the record's time
    NOT_KNOWN = "not known"  # the log does not reach back far enough


def cause_of(finding: Finding) -> Cause:
    """Return the cause that a finding proves, or `unexplained`."""
    match finding.verdict:
        case RecordVerdict.ALTERED:
            return _of_altered(finding)
        case RecordVerdict.MISROUTED:
            return Cause.MISROUTED
        case RecordVerdict.DUPLICATED:
            return Cause.DUPLICATING
        case RecordVerdict.EXTRA:
            return Cause.ABORTED_TRANSACTION if finding.aborted else Cause.UNEXPLAINED
        case RecordVerdict.LOST:
            return finding.cause or Cause.UNEXPLAINED
        case RecordVerdict.REORDERED | RecordVerdict.UNVERIFIABLE | RecordVerdict.MATCH:
            return Cause.UNEXPLAINED
        case _:
            assert_never(finding.verdict)


def _of_altered(finding: Finding) -> Cause:
    """Return `retimed` if only the timestamp differs and the record itself was read."""
    if not finding.what:
        # From digests: the timestamp is the same, so another part differs.
        return Cause.TRANSFORMED
    if set(finding.what) - {"time"}:
        return Cause.TRANSFORMED
    return Cause.RETIMED if finding.proof is Proof.READING else Cause.UNEXPLAINED
