"""What an audit says of records, and what has to be read again before it can say anything. Pure.

A finding is never a guess: what counts and sums cannot tell is a question, with the offsets on both sides
that answer it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.digest.cell_rows import Side
    from checksum.plan.shape import OffsetRange
    from fleet.verdicts.vocabulary import Cause


class RecordVerdict(StrEnum):
    """What became of a record, by its place on both sides; after the match, the worst first."""

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
    """Return by what verdicts are sorted: 0 for the worst, and for a word that names none the last number."""
    return _SEVERITY.get(verdict, len(_SEVERITY))


class Proof(StrEnum):
    """What a finding rests on."""

    DIGESTS = "digests"
    READING = "reading"  # of the records themselves, once more


@dataclass(frozen=True, slots=True)
class Single:
    """A record that a cell of one side holds and the other's does not, `copies` times. Hashes are signed.

    It stands at one of `offsets` of its side for sure, and likely in `likely`; the rest of its cell stands
    at `others` of the other side. `source_place` is where the original is on the source, or would be, proved
    by the order sums; None where they prove nothing.
    `timestamp_ms` is None where the plan leaves the time out.
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
        """Return its offset where that is known for sure."""
        return self.offsets.first if self.offsets.span == 1 else None


@dataclass(frozen=True, slots=True)
class Finding:
    """One record, or `records` that are alike, with which something is wrong.

    Offsets are None on the side where there is nothing; for `reordered`, where it was not read. A range of
    several offsets means: one of these. For `misrouted` the source is where the record is missing, and
    `found_in` (the topic's name on the source, and the partition) is where its copy stands instead, at
    `target`. For `altered` the hash and the time are the original's, those of its copy stand beside them, and
    `what` names the parts that are known to differ. What is `unverifiable` is on the target, and perhaps
    never was on the source; or, where it has offsets of both, in order or not.
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
    aborted: bool = False  # the source holds it, in a transaction that was aborted
    tombstone: bool = False  # of a compacted topic: the original deletes a key, and the target holds a value
    cause: Cause | None = None  # of a lost one, where something shows it: second_look/loss_causes.py
    why: str = ""  # a clause that says what tells it

    @property
    def identity(self) -> tuple[object, ...]:
        """Return by what the same finding is known in another look at the same records."""
        return self.verdict, self.topic, self.partition, self.hash, self.target_hash, self.found_in


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by how bad they are; those alike stay in the order in which they came."""
    return sorted(findings, key=lambda one: severity(one.verdict))


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """Offsets of one partition that must be read on both sides; `why` tells.

    `hashes` are of records that lack or are too many, and `cells` those, as (bucket, cell), whose records are
    not the same on both sides and not decoded: all of both are within these offsets. Other records that are
    missed in here are for sure elsewhere in the partition. `altered` are offsets, of source and target, of
    records that are proved to be one, altered. `certain` says that something is wrong in there for sure, and
    `lacking` and `surplus` what counts alone show: records that the target lacks, and that it has too many,
    in each cell by itself, so at least these.
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
        """Tell whether the same records stand in there in another order, for sure."""
        return self.certain and not (self.lacking or self.surplus)


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask of a record that the target has too often whether the source holds it anywhere in its partition.

    `offsets` are those of the source where the digests do not rule it out; None where they do, so that only
    what was not compared is left to look at, by `timestamp_ms` (None where it says nothing).
    """

    topic: str
    partition: int
    hash: int
    timestamp_ms: int | None
    offsets: OffsetRange | None
    finding: Finding


class Held(StrEnum):
    """The answer to a look-up, from a reader of all records, those of aborted transactions included."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    NO = "no"  # the whole log was looked at, as far back as the record's time
    NOT_KNOWN = "not known"  # it may have stood where the log does not reach any more
