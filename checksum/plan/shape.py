"""What a checksum compares, as plain values: the plan that both sides digest by. Pure.

Offsets are those of the side named; every range is [first, until). A plan is the whole agreement between two
sites that never speak to each other: `plan_document` writes it as JSON and gives it the id by which `compare`
knows that two digests are of one plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

VERSION = 1
"""Of the plan and of the record hash together: digests made under different ones are never compared."""

SEEDS = (7, 13)
"""Seeds of the second and of the third sum: g = xxhash64(h, 7), and xxhash64(h, 13)."""

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"


class Anchored(StrEnum):
    """How it is known which offset of the target belongs to an end of the source's range."""

    OFFSET_SYNCS = "offset syncs"  # pairs that the mirror wrote, their records read and found the same
    EQUAL_OFFSETS = "equal offsets"  # the mirror keeps offsets
    TIMESTAMPS = "timestamps"  # found by the time of a record, confirmed by equal neighbours


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets [first, until) of one partition on one side; an offset may hold no record."""

    first: int
    until: int

    @property
    def span(self) -> int:
        """Return how many offsets these are: the most records that they can hold."""
        return self.until - self.first


@dataclass(frozen=True, slots=True)
class Run:
    """Source offsets [first, until) whose copies stand at the same distance: target = source + delta."""

    first: int
    until: int
    delta: int


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What is compared of one partition.

    One of the two ranges may be empty, never both: nothing new on the source, and records on the target.
    `runs` lie within `source` in order and never overlap. `segments` are anchors (source, target) inside both
    ranges, rising on both sides, in steps small enough to name where a difference lies; where the target's
    timestamps say nothing they take the place of time buckets: segment i is what stands at or after the
    i-th anchor (0: before the first) and before the next. `anchored` is how the later end is known.

    `recreated`, where the source topic was re-created: (source, target) offsets. The mirror skipped the
    source's records before the first, but for those that it copied at or behind the second, before the
    target's range. `left_behind` is the source offset from which on the mirror replicated nothing though it
    was due; copies of that, should they still come, lie behind the target's range.
    """

    partition: int
    source: OffsetRange
    target: OffsetRange
    runs: tuple[Run, ...]
    segments: tuple[tuple[int, int], ...]
    anchored: str
    recreated: tuple[int, int] | None = None
    left_behind: int | None = None


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """What is compared of one topic; ids are None where the cluster tells none.

    `headers` says whether headers are read and hashed, `timestamps` whether the record's time is (not where
    the target stamps records itself). `record_bytes` is a record's mean size by a sample, keys, values and
    headers together; 0 where none was read.
    """

    topic: str
    target_topic: str
    source_topic_id: str | None
    target_topic_id: str | None
    headers: bool
    timestamps: bool
    compacted: bool
    partitions: tuple[PartitionPlan, ...]
    record_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not compared, in records of the source at most, and why; partition None: the whole topic.

    The records are the target's where the source has no such partition.
    `later` where it is merely new: a later run compares it, and this one is not the less complete.
    """

    topic: str
    partition: int | None
    records: int
    why: str
    later: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that two sites must agree on before their digests can be compared.

    `source` and `target` are aliases of clusters, `cells` is K, `bucket_ms` the width of a time bucket,
    `isolation_*` Kafka's isolation level with which a side is read, `excluded_headers` the names of headers
    that a mirror adds by design.
    """

    flow: str
    source: str
    target: str
    made_at_ms: int
    cells: int
    bucket_ms: int
    isolation_source: str
    isolation_target: str
    excluded_headers: tuple[str, ...]
    topics: tuple[TopicPlan, ...]
    left_out: tuple[LeftOut, ...]
    seeds: tuple[int, int] = SEEDS
    version: int = VERSION
