"""What goes into the tracker and what comes out of it. Instants are monotonic nanoseconds (`_ns`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canary.books import Mark, Outcome
    from canary.stamp import Reading

# --- in: the source's side


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A tick is due: probe `sequence` of this partition exists from now on, as of its scheduled instant."""

    topic_id: str
    partition: int
    sequence: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """That probe was not sent: the scheduler was late, or the sender did not take it."""

    topic_id: str
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Sent:
    """`produce()` was called for that probe."""

    topic_id: str
    partition: int
    sequence: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Acked:
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


@dataclass(frozen=True, slots=True)
class SeenAtSource:
    """The source tap read a record of the canary's topic."""

    partition: int
    offset: int
    reading: Reading
    at_ns: int


# --- in: the target's side


@dataclass(frozen=True, slots=True)
class SeenAtTarget:
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

    Nothing tells it before the lag monitor runs, which reads that position.
    """

    topic_id: str
    partition: int
    source_offset: int
    target_end_offset: int  # the target partition's end, asked for after that


# --- in: about the prober and its topic


@dataclass(frozen=True, slots=True)
class Impaired:
    """From now on what we see of time or of the target cannot be trusted; says why."""

    sentence: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Restored:
    """What was impaired works again."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class TopicReplaced:
    """The source topic has another topic id: it was deleted, and perhaps made anew."""

    old_topic_id: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class TargetReplaced:
    """The target topic has another topic id: positions read there before mean nothing any more."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Stopping:
    """An orderly shutdown: nothing more will be sent or acknowledged."""


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
    | Impaired
    | Restored
    | TopicReplaced
    | TargetReplaced
    | Stopping
)

# --- out


class Stage(StrEnum):
    """A part of a probe's way: scheduled, produced, acknowledged, read downstream."""

    QUEUEING = "queueing"
    ACK = "ack"
    REPLICATION = "replication"
    END_TO_END = "end_to_end"


@dataclass(frozen=True, slots=True)
class Timed:
    """One stage of one probe took this long."""

    stage: Stage
    duration_ns: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Concluded:
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
class Marked:
    """Something was counted beside the outcomes; `count` probes of consecutive sequence at once."""

    mark: Mark
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


TrackerOutput = Timed | Concluded | Marked | Carried
