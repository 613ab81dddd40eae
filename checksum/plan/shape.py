"""What a checksum compares, as plain values: the plan by which both sides are digested. Pure.

Offsets are those of the side named; every range is [first, until). A plan is all that two sites share:
`document` writes it as JSON and computes its id, by which `compare` recognises two digests of one plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fleet.errors import UnavailableError

VERSION = 1
"""Version of the plan and of the record hash: digests of different versions are never compared."""

SEEDS = (7, 13)
"""Seeds of the second and of the third sum: g = xxhash64(h, 7), and xxhash64(h, 13)."""

READ_COMMITTED = "read_committed"
READ_UNCOMMITTED = "read_uncommitted"


class Anchored(StrEnum):
    """How the target offset of a range's end is known."""

    OFFSET_SYNCS = "offset syncs"  # pairs that MirrorMaker wrote, verified by their records
    EQUAL_OFFSETS = "equal offsets"  # MirrorMaker keeps offsets
    TIMESTAMPS = "timestamps"  # found by timestamp, verified by equal neighbours


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets [first, until) of one partition on one side; an offset may hold no record."""

    first: int
    until: int

    @property
    def span(self) -> int:
        """Return the number of offsets, which is the most records that they can hold."""
        return self.until - self.first


@dataclass(frozen=True, slots=True)
class Run:
    """Source offsets [first, until); the target offset of each record is the source offset + delta."""

    first: int
    until: int
    delta: int


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What is compared of one partition.

    One of the two ranges may be empty, for example if only the target has new records. `runs` lie within
    `source` in order and do not overlap. `segments` are anchors (source, target) inside both ranges, rising
    on both sides, in small steps. They replace time buckets if timestamps are not compared: segment i starts
    at the i-th anchor (0: before the first) and ends before the next. `anchored` is how the end is known.

    `recreated`, if the source topic was re-created: (source, target) offsets. MirrorMaker skipped the
    source's records before the first, except those that it replicated at or after the second, before the
    target's range. `left_behind` is the source offset from which MirrorMaker replicated nothing though it was
    due; late records would follow the target's range.
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
    """What is compared of one topic; ids are None if the cluster has none.

    `headers` is whether headers are read and hashed, `timestamps` whether record timestamps are (not if the
    target sets them itself). `record_bytes` is the mean size of a sample (key, value and headers), 0 without
    one.
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

    The records are the target's if the source has no such partition. `later`: merely new; a later run
    compares it, and this run is not incomplete.
    """

    topic: str
    partition: int | None
    records: int
    why: str
    later: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What two sites must agree on before their digests can be compared.

    `source` and `target` are cluster aliases, `cells` is K, `bucket_ms` the width of a time bucket,
    `isolation_*` Kafka's isolation levels, `excluded_headers` the names of headers that the mirror adds by
    design.
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


class OutdatedPlanError(UnavailableError):
    """The plan no longer fits the logs: plan again instead of retrying."""
