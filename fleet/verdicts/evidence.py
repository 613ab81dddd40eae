"""What the parts hand in about a flow before it is judged; ages in seconds, instants in epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.verdicts.checksum_evidence import ChecksumEvidence
    from fleet.verdicts.vocabulary import Cause, Evidence, Verdict


class Control(StrEnum):
    """What a cluster's control probes say: produced there and read back there, past no mirror."""

    OK = "ok"
    FAILING = "failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """How a cluster answers us.

    `last_ok_at` and `last_failed_at` tell when a control probe last came back and last failed. A control that
    is OK says that the newest probe came back, and that may have been before the fault: only an answer later
    than the fault proves a cluster well. Where they are None, `control` alone is believed.
    """

    alias: str
    control: Control
    sentence: str = ""  # why it is failing or unknown
    since_at: float = 0.0
    last_ok_at: float | None = None
    last_failed_at: float | None = None


class FindingKind(StrEnum):
    """What a single finding is about."""

    LOST = "lost"
    ALTERED = "altered"
    MISROUTED = "misrouted"
    DUPLICATED = "duplicated"
    LOOPED = "looped"
    SECOND_WRITER = "second_writer"


@dataclass(frozen=True, slots=True)
class Finding:
    """One or several records that were lost, changed or repeated, with where to look: all is of the newest.

    Several were found without a pause, the first of them at `began_at`.
    """

    kind: FindingKind
    at: float
    topic: str
    partition: int
    source_offset: int | None
    target_offset: int | None
    sentence: str
    count: int = 1
    overtaken: bool = False  # the source's log start had passed its offset when it was proved lost
    named: bool = True  # false for a changed copy that does not tell any more which probe it is
    first_at: float | None = None  # of several

    @property
    def began_at(self) -> float:
        """Return when the first of them was found."""
        return self.at if self.first_at is None else self.first_at


@dataclass(frozen=True, slots=True)
class PartitionEvidence:
    """How a partition of the canary's topic stands; None where there is nothing to tell."""

    partition: int
    carried: bool
    pending_age_s: float | None  # of the oldest probe that is on the source and not downstream
    pending_offset: int | None
    unacked_age_s: float | None  # of the oldest probe that the source has not shown
    arrival_age_s: float | None  # since something last arrived
    latency_s: float | None  # of the newest arrival
    present_age_s: float | None = None  # since the newest probe that is downstream was due
    late_age_s: float | None = None  # since a probe last arrived past its threshold


class CanaryState(StrEnum):
    """Whether a flow's canary sends and judges."""

    RUNNING = "running"
    WAITING = "waiting"  # the source or its topic is not there yet
    OFF = "off"  # switched off, or not mirrored
    LATCHED = "latched"  # a probe came back to its source: nothing is sent until a person says so


@dataclass(frozen=True, slots=True)
class CanaryEvidence:
    """What the canary has seen of a flow."""

    state: CanaryState
    sentence: str  # why it does not run
    threshold_s: float
    interval_s: float
    horizon_s: float
    partitions: tuple[PartitionEvidence, ...] = ()
    findings: tuple[Finding, ...] = ()  # the newest of each kind, oldest first
    impaired: str | None = None  # why what it sees cannot be trusted at present


@dataclass(frozen=True, slots=True)
class Calm:
    """A flow that is plainly well: each partition delivers in time, nothing waits too long or was found."""

    flow: str
    threshold_s: float
    partitions: int  # at least one
    latency_s: float  # the longest of each partition's newest arrival


@dataclass(frozen=True, slots=True)
class TopicEvidence:
    """The canary's topic on both sides as the clusters describe it; None where that is not known."""

    source_topic: str
    target_topic: str
    target_exists: bool | None = None
    source_partitions: int | None = None
    target_partitions: int | None = None
    source_recreated_at: float | None = None
    target_recreated_at: float | None = None
    target_refuses: str = ""  # why the topic on the target takes no copies of probes, by its own settings
    target_refused_at: float | None = None  # when it was last seen to have such settings
    target_refused_since: float | None = None  # when it was first seen to, that last time
    settings_within_s: float = 0.0  # of a probe that waits, those settings are read once more


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """A task of the mirror by its name, and the partitions of the canary's topic that it was given."""

    name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LagFinding:
    """Records that offsets, topic ids or settings prove to be lost, altered or repeated.

    They are of one partition, or of a whole topic where it is None. The offsets are those of the source, None
    where they are not known. `records` is how many records there are at least, `records_most` how many at
    most: the number is exact where both are equal. Either is None where it is not known. `at` is when the
    evidence was last seen.
    """

    verdict: Verdict  # losing | altered | repeating
    cause: Cause
    topic: str
    partition: int | None
    at: float
    sentence: str
    records: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    records_most: int | None = None


@dataclass(frozen=True, slots=True)
class LagEvidence:
    """What offsets say of a flow: of every topic that it carries, as of when the mirror last wrote them.

    A verdict of unknown says nothing. `verdict` and `cause` are of this moment and leave `findings` aside.
    """

    verdict: Verdict
    cause: Cause | None
    sentence: str
    since_at: float  # when it became so
    settles_s: float  # what the mirror does shows in its offsets within this time
    lag_s: float | None = None  # how far behind the worst partition is
    lag_s_kind: str = "none"  # what that is worth: `exact`, `bound`, `estimate` or `none`
    standing: tuple[str, ...] = ()  # source topics of which a partition stands
    # When offsets of other topics than the canary's were written anew, oldest first: each time that was seen
    # in the last while that a rule asks for (rules_offsets.RETURN_S), and the last one before.
    moved: tuple[float, ...] = ()
    rows: tuple[Evidence, ...] = ()
    findings: tuple[LagFinding, ...] = ()
    more_found: bool = False  # there are more than are listed, or may be soon
    unread: str = ""  # of which partitions lag is unknown because Mirrorwatch may not read them


@dataclass(frozen=True, slots=True)
class FlowEvidence:
    """Everything that is known of a flow at one instant."""

    flow: str
    source: ClusterEvidence
    target: ClusterEvidence
    canary: CanaryEvidence
    topic: TopicEvidence
    exactly_once: bool = False
    tasks: tuple[TaskEvidence, ...] = ()  # empty where the mirror's own record of them cannot be read
    heartbeats_s: tuple[float, ...] = ()  # since the last lots of the mirror's own came at most, newest first
    lag: LagEvidence | None = None  # None where offsets are not watched
    checksum: ChecksumEvidence | None = None  # None where no run has ended yet
