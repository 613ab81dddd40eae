"""Input and output of the tracker. Instants are monotonic nanoseconds (`_ns`).

Events of every probe are named tuples, which take a third of the time of a frozen dataclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from canary.tracker.counters import Flag, Outcome
    from canary.tracker.ranges import AbsentRow
    from canary.tracker.stamp import Reading

# --- input: source


class Scheduled(NamedTuple):
    """A tick is due: probe `sequence` of this partition exists from its scheduled instant on.

    `due_at_ms` is the same instant on the wall clock; it selects the minute of the counters.
    """

    topic_id: str
    partition: int
    sequence: int
    at_ns: int
    due_at_ms: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """The probe was not sent: the scheduler was late, or the sender refused it."""

    topic_id: str
    partition: int
    sequence: int


class Sent(NamedTuple):
    """`produce()` was called for the probe."""

    topic_id: str
    partition: int
    sequence: int
    at_ns: int


class Acked(NamedTuple):
    """The source acknowledged the probe at this offset."""

    topic_id: str
    partition: int
    sequence: int
    offset: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The source refused the probe; it is certainly not in the log."""

    topic_id: str
    partition: int
    sequence: int
    sentence: str


class SeenAtSource(NamedTuple):
    """The source tap read a record of the canary's topic."""

    partition: int
    offset: int
    reading: Reading
    at_ns: int


# --- input: target


class SeenAtTarget(NamedTuple):
    """The target tap read a record of the canary's topic.

    `end_offset` is the high watermark that the client knew when it read the record.
    """

    partition: int
    offset: int
    end_offset: int
    reading: Reading
    at_ns: int


@dataclass(frozen=True, slots=True)
class TargetRead:
    """The target tap has read up to `position`; `end_offset` was the log end offset."""

    partition: int
    position: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class MirrorPassed:
    """The mirror has committed `source_offset` of the source partition.

    The lag monitor reads it. mirror_positions decides which commits count.
    """

    topic_id: str
    partition: int
    source_offset: int
    target_end_offset: int  # the target's log end offset, read after that


# --- input: state of a dead process


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which probes of one incarnation in one partition are covered, as stored.

    `covered` are the sequence numbers with an outcome, as (first, last). `absent` are those of them that were
    never read on the target, outstanding ones included, as ranges.Absent writes them. Uncovered probes are on
    the source from `source_from` on, and on the target from `target_from` on. Records on the target before
    `target_read` were counted and count no second time.
    """

    incarnation: str
    topic_id: str
    partition: int
    covered: tuple[tuple[int, int], ...] = ()
    absent: tuple[AbsentRow, ...] = ()
    source_from: int = 0
    target_from: int = 0
    target_read: int = 0


@dataclass(frozen=True, slots=True)
class Adopted:
    """Take over the probes of this incarnation, whose process is dead.

    Both taps then restart at the offsets of the coverages. Probes due before `since_ms` (epoch) do not count:
    that process did not watch this flow yet. `interrupted`: a former watch of this process had taken them
    over, so the taps continue, and what they read for it is unknown.
    """

    incarnation: str
    coverages: tuple[Coverage, ...]
    at_ns: int
    since_ms: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class SourceRead:
    """The source tap has read up to `position`; `end_offset` was the log end offset.

    `partitions` is the topic's number of partitions.
    """

    partition: int
    position: int
    end_offset: int
    partitions: int = 1


@dataclass(frozen=True, slots=True)
class TargetGap:
    """The target's log starts after the offset to read from: records may be deleted unread."""

    partition: int
    at_ns: int


# --- input: the prober and its topic


@dataclass(frozen=True, slots=True)
class Impaired:
    """From now on, measurements of time or of the target are unreliable; with the reason.

    `since_ns` is when that may have started, if earlier.
    """

    sentence: str
    at_ns: int
    since_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """Measurements are reliable again."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Slept:
    """The machine slept between these instants: durations across them are too short."""

    before_ns: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class SourceUnseen:
    """The reader of the source reads nothing, or (`sentence` empty) reads again."""

    sentence: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class TopicReplaced:
    """The source topic has another topic id: it was deleted, and perhaps re-created.

    `new_topic_id` may be an earlier one, if a lagging broker reported an older state.
    """

    old_topic_id: str
    at_ns: int
    new_topic_id: str = ""


@dataclass(frozen=True, slots=True)
class TargetReplaced:
    """The target topic has another topic id: earlier positions are invalid."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """Shutdown: nothing more is sent or acknowledged."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The flow is removed: nothing more is read of its probes."""


Event = (
    Scheduled
    | Skipped
    | Sent
    | Acked
    | Refused
    | SeenAtSource
    | SeenAtTarget
    | TargetRead
    | MirrorPassed
    | Adopted
    | SourceRead
    | TargetGap
    | Impaired
    | Restored
    | Slept
    | SourceUnseen
    | TopicReplaced
    | TargetReplaced
    | Stopping
    | Dropped
)

# --- output


class Stage(StrEnum):
    """A stage of a probe: scheduled, produced, acknowledged, read on the target."""

    QUEUEING = "queueing"
    ACK = "ack"
    REPLICATION = "replication"
    END_TO_END = "end_to_end"


class Timed(NamedTuple):
    """One stage of one probe took this long."""

    stage: Stage
    duration_ns: int
    at_ns: int


class Concluded(NamedTuple):
    """A probe has its outcome, with the reason and its offsets."""

    outcome: Outcome
    topic_id: str
    partition: int
    sequence: int
    at_ns: int
    source_offset: int | None
    target_offset: int | None
    sentence: str
    copy_seen: str = ""  # lost: 'corrupted' or 'misrouted' if only such a record was found


@dataclass(frozen=True, slots=True)
class Flagged:
    """A flag was counted, for `count` probes of consecutive sequence numbers."""

    flag: Flag
    topic_id: str
    partition: int
    sequence: int
    at_ns: int
    source_offset: int | None
    target_offset: int | None
    sentence: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Carried:
    """The flow replicates this partition of this topic id for the first time: warm-up is over."""

    topic_id: str
    partition: int


@dataclass(frozen=True, slots=True)
class TwoWriters:
    """Probes of a partition prove two writers; all fields but `probes` are of the newest one."""

    partition: int
    at_ns: int
    target_offset: int
    probes: int  # of the chain that were not reported before


TrackerOutput = Timed | Concluded | Flagged | Carried | TwoWriters
