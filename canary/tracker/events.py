"""What goes into the tracker and what comes out of it. Instants are monotonic nanoseconds (`_ns`).

What comes with every probe is a named tuple, which is made in a third of the time of a frozen dataclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from canary.tracker.books import Flag, Outcome
    from canary.tracker.ranges import AbsentRow
    from canary.tracker.stamp import Reading

# --- in: the source's side


class Scheduled(NamedTuple):
    """A tick is due: probe `sequence` of this partition exists from now on, as of its scheduled instant.

    `due_at_ms` is the same instant on the wall clock: it names the minute in which the probe is counted.
    """

    topic_id: str
    partition: int
    sequence: int
    at_ns: int
    due_at_ms: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """That probe was not sent: the scheduler was late, or the sender did not take it."""

    topic_id: str
    partition: int
    sequence: int


class Sent(NamedTuple):
    """`produce()` was called for that probe."""

    topic_id: str
    partition: int
    sequence: int
    at_ns: int


class Acked(NamedTuple):
    """The source acknowledged that probe at this offset."""

    topic_id: str
    partition: int
    sequence: int
    offset: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The source refused that probe, and it is certainly not in the log."""

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


# --- in: the target's side


class SeenAtTarget(NamedTuple):
    """The target tap read a record of the canary's topic.

    `end_offset` is the partition's end (high watermark) as the client knew it when the record was read.
    """

    partition: int
    offset: int
    end_offset: int
    reading: Reading
    at_ns: int


@dataclass(frozen=True, slots=True)
class TargetRead:
    """The target tap stands at `position`, all before it is read; `end_offset` was the partition's end."""

    partition: int
    position: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class MirrorPassed:
    """The mirror's own position in the source partition: it has mirrored all up to `source_offset`.

    The lag monitor reads it, where it runs; which of them are believed is in mirror_positions.
    """

    topic_id: str
    partition: int
    source_offset: int
    target_end_offset: int  # the target partition's end, asked for after that


# --- in: what a process that is gone has left


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the probes of one incarnation in one partition are covered, as it is kept in the store.

    `covered` are the sequence numbers that have their outcome, as (first, last). `absent` are those of them
    that were never seen downstream, outstanding ones included, as ranges.Absent writes them. What is not
    covered stands on the source from `source_from` on, and its copies on the target from `target_from` on.
    What stands on the target before `target_read` was taken in: read again, it counts no second time.
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
    """The probes of this incarnation, whose process is gone, are ours to judge from now on.

    Both taps start over at the places that the coverages name, after this. Probes that were due before
    `since_ms` (epoch) are not: that process did not watch this flow yet. `interrupted`: a former watch of
    our own had taken them over, so the taps go on instead, and of what they read for it nothing is known.
    """

    incarnation: str
    coverages: tuple[Coverage, ...]
    at_ns: int
    since_ms: int = 0
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class SourceRead:
    """The source tap stands at `position`, all before it is read; `end_offset` was the partition's end.

    `partitions` is how many the topic has.
    """

    partition: int
    position: int
    end_offset: int
    partitions: int = 1


@dataclass(frozen=True, slots=True)
class TargetGap:
    """The target's log begins behind the place from which it was to be read: copies may be gone unread."""

    partition: int
    at_ns: int


# --- in: about the prober and its topic


@dataclass(frozen=True, slots=True)
class Impaired:
    """From now on what we see of time or of the target cannot be trusted; says why.

    `since_ns` is when that may have begun, where it was before it was noticed.
    """

    sentence: str
    at_ns: int
    since_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Restored:
    """What was impaired works again."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Slept:
    """The machine slept at some time between these: what went over that took longer than it seems."""

    before_ns: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class SourceUnseen:
    """Our reader of the source shows nothing, or (`sentence` empty) it does again."""

    sentence: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class TopicReplaced:
    """The source topic has another topic id: it was deleted, and perhaps made anew.

    `new_topic_id` may be one that was there before: a broker that lagged had told of an older one.
    """

    old_topic_id: str
    at_ns: int
    new_topic_id: str = ""


@dataclass(frozen=True, slots=True)
class TargetReplaced:
    """The target topic has another topic id: positions read there before mean nothing any more."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """An orderly shutdown: nothing more will be sent or acknowledged."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The flow is watched no more: whatever comes of its probes will not be seen."""


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

# --- out


class Stage(StrEnum):
    """A part of a probe's way: scheduled, produced, acknowledged, read downstream."""

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
    """A probe has its outcome; the sentence says on what grounds, offsets are where it is or would be."""

    outcome: Outcome
    topic_id: str
    partition: int
    sequence: int
    at_ns: int
    source_offset: int | None
    target_offset: int | None
    sentence: str
    copy_seen: str = ""  # lost: 'corrupted' or 'misrouted' where a copy of that kind is all there is


@dataclass(frozen=True, slots=True)
class Flagged:
    """Something was counted beside the outcomes; `count` probes of consecutive sequence at once."""

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
    """The flow was seen for the first time to carry this partition of this topic id: warm-up is over."""

    topic_id: str
    partition: int


@dataclass(frozen=True, slots=True)
class TwoWriters:
    """Probes of a partition prove that two writers copy it at once; all but `probes` is of the newest."""

    partition: int
    at_ns: int
    target_offset: int
    probes: int  # of the chain that were not told before


TrackerOutput = Timed | Concluded | Flagged | Carried | TwoWriters
