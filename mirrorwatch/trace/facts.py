"""The facts about one flow that may replicate a record, and the verdict on it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.verdicts.flow import Flow
    from lagmon.failover.places import RecordRange
    from mirrorwatch.trace.arrival import Arrival
    from mirrorwatch.trace.content import Part
    from runtime.kafka.picking import PickedRecord


class Basis(StrEnum):
    """How the offset on the target was found, or the range in which it must be."""

    OFFSET_SYNC = "offset-sync"  # an offset sync of this record, or equal distances around it
    EQUAL_OFFSETS = "equal-offsets"  # the mirror keeps offsets
    BETWEEN_SYNCS = "between-syncs"
    TIMESTAMP = "timestamp"  # the target's offsets for the record's timestamp
    WHOLE_LOG = "whole-log"


class Status(StrEnum):
    """Where the record is on the target of a flow, or why it is not there."""

    FOUND = "found"
    CHANGED = "changed"
    DROPPED = "dropped"
    DELETED = "deleted"
    COMPACTED = "compacted"
    TOPIC_MISSING = "topic_missing"
    PARTITION_MISSING = "partition_missing"
    NOT_YET = "not_yet"
    NOT_REPLICATED = "not_replicated"
    UNKNOWN = "unknown"
    UNAVAILABLE = "unavailable"

    @property
    def is_missing(self) -> bool:
        """Return whether the record should be on the target as it is on the source, and is not."""
        return self in _MISSING


_MISSING = frozenset(
    {
        Status.CHANGED,
        Status.DROPPED,
        Status.DELETED,
        Status.COMPACTED,
        Status.TOPIC_MISSING,
        Status.PARTITION_MISSING,
    }
)


@dataclass(frozen=True, slots=True)
class Searched:
    """A partition of the target, and the records of it that were read.

    `start` and `end` are its log start and log end offsets. `wanted` are the offsets at which the record must
    be if it was replicated, by `basis`. Records were read from `first` up to `last`, not included, which is
    more on both sides if there is more. `by_time`: of `wanted`, only what is after the record's timestamp.
    `stable`, if only committed records were read: the last stable offset before that.
    """

    partition: int
    start: int
    end: int
    wanted: RecordRange
    basis: Basis
    first: int
    last: int
    records: Sequence[PickedRecord]
    by_time: bool = False
    stable: int | None = None

    @property
    def may_be_open(self) -> bool:
        """Return whether the record may be in a transaction that is not committed yet."""
        last = self.wanted.last if self.wanted.exact is None else self.wanted.exact + 1
        return self.stable is not None and self.stable < min(last, self.end)

    @property
    def is_whole(self) -> bool:
        """Return whether every offset that the log still holds of those wanted was read."""
        return self.last >= min(self.wanted.last, self.end) and (
            self.by_time or self.first <= max(self.wanted.first, self.start)
        )

    @property
    def is_dense(self) -> bool:
        """Return whether each wanted offset holds a record: neither compaction nor a marker took one."""
        first, last = max(self.wanted.first, self.first), min(self.wanted.last, self.last)
        return sum(first <= one.offset < last for one in self.records) == last - first


@dataclass(frozen=True, slots=True, kw_only=True)
class HopFacts:
    """What both clusters answered about one record and one flow.

    `partition` and `offset` are the record's place in `topic` on the source. `before` and `after` are records
    around it there; they are read only if it was not found. `replicated` is the first source offset that is
    not replicated yet, None if unknown. `recreated`: the target topic was re-created after the record was
    replicated.

    `committed` is False for a record of an aborted or open transaction, None if not asked; `open`: the
    transaction is open. `compacts` is whether the target topic is compacted, None if unknown. `newer_of_key`
    is the offset of a later record of the same key on the target. `progress_problem` is why the mirror's
    topics were not read.
    """

    flow: Flow
    topic: str
    partition: int
    offset: int
    record: PickedRecord
    remote: str
    searched: tuple[Searched, ...]
    source_end: int
    replicated: int | None = None
    recreated: bool = False
    progress_problem: str = ""
    before: Sequence[PickedRecord] = ()
    after: Sequence[PickedRecord] = ()
    committed: bool | None = None
    open: bool = False
    compacts: bool | None = None
    newer_of_key: int | None = None

    @property
    def known(self) -> Sequence[PickedRecord]:
        """Return the source records that were read, in their order."""
        return (*self.before, self.record, *self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class HopVerdict:
    """Where the record is on the target of a flow, or why not, in one sentence.

    `offsets` are those of equal records, one or several; for `changed` that of the changed record.
    `differs` are its changed parts.
    """

    flow: Flow
    topic: str
    partition: int
    status: Status
    sentence: str
    remote: str | None = None
    remote_partition: int | None = None
    offsets: tuple[int, ...] = ()
    basis: Basis | None = None
    differs: tuple[Part, ...] = ()
    lag_records: int | None = None
    arrival: Arrival | None = None
    record: PickedRecord | None = field(default=None, repr=False)  # on the target
