"""The evidence of canary and offsets about a flow; ages in seconds, instants in epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.verdicts.checksum_evidence import ChecksumEvidence
    from fleet.verdicts.vocabulary import Cause, Evidence, Verdict

MAX_FINDINGS = 500  # of each kind: a flood of one must not push out another


class Control(StrEnum):
    """The result of a cluster's control probes, which are written to it and read back without a mirror."""

    OK = "ok"
    FAILING = "failing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ClusterEvidence:
    """The state of a cluster by its control probes.

    `last_ok_at` and `last_failed_at` are when a control probe was last read back and last failed; None leaves
    `control` alone. `control` is OK if the newest probe was read back, which may have been before the fault:
    only a later answer proves that the cluster is up.
    """

    alias: str
    control: Control
    sentence: str = ""  # why it is failing or unknown
    since_at: float = 0.0
    last_ok_at: float | None = None
    last_failed_at: float | None = None


class FindingKind(StrEnum):
    """The kind of a finding."""

    LOST = "lost"
    ALTERED = "altered"
    MISROUTED = "misrouted"
    DUPLICATED = "duplicated"
    LOOPED = "looped"
    SECOND_WRITER = "second_writer"


@dataclass(frozen=True, slots=True)
class Finding:
    """One or several records that were lost, altered or repeated.

    Several were found without a pause, the first of them at `began_at`. The place is that of the newest.
    """

    kind: FindingKind
    at: float
    topic: str
    partition: int
    source_offset: int | None
    target_offset: int | None
    sentence: str
    count: int = 1
    overtaken: bool = False  # the log start offset on the source was past it when the loss was proved
    named: bool = True  # false for an altered record that no longer identifies its probe
    first_at: float | None = None  # of several

    @property
    def began_at(self) -> float:
        """Return when the first of them was found."""
        return self.at if self.first_at is None else self.first_at


@dataclass(frozen=True, slots=True)
class PartitionEvidence:
    """The state of a partition of the canary topic; None for what is unknown."""

    partition: int
    carried: bool
    pending_age_s: float | None  # of the oldest probe that is on the source and not on the target
    pending_offset: int | None
    unacked_age_s: float | None  # of the oldest probe that is not on the source, nor is a newer one
    arrival_age_s: float | None  # since the last arrival
    latency_s: float | None  # of the newest arrival
    present_age_s: float | None = None  # since the newest probe on the target was due
    late_age_s: float | None = None  # since a probe last arrived past its threshold


class CanaryState(StrEnum):
    """Whether a flow's canary sends and judges."""

    RUNNING = "running"
    WAITING = "waiting"  # for the source or its topic
    OFF = "off"  # switched off, or not mirrored
    LATCHED = "latched"  # a probe returned to its source: nothing is sent until the user allows it


@dataclass(frozen=True, slots=True)
class CanaryEvidence:
    """The evidence of the canary about a flow."""

    state: CanaryState
    sentence: str  # why it is not running
    threshold_s: float
    interval_s: float
    horizon_s: float
    partitions: tuple[PartitionEvidence, ...] = ()
    findings: tuple[Finding, ...] = ()  # at most MAX_FINDINGS of each kind, the newest, oldest first
    impaired: str | None = None  # why its measurements are unreliable now

    @property
    def patience_s(self) -> float:
        """Return how long after an arrival the next one is awaited, before a partition counts as silent."""
        return 2 * self.interval_s + self.threshold_s


@dataclass(frozen=True, slots=True)
class Calm:
    """A flow that is clearly healthy: each partition delivers in time, no probe is late, no finding holds."""

    flow: str
    threshold_s: float
    partitions: int  # at least one
    latency_s: float  # the highest, of the newest arrival of each partition


@dataclass(frozen=True, slots=True)
class TopicEvidence:
    """The canary topic on both sides as the clusters describe it; None if unknown."""

    source_topic: str
    target_topic: str
    target_exists: bool | None = None
    source_partitions: int | None = None
    target_partitions: int | None = None
    source_recreated_at: float | None = None
    target_recreated_at: float | None = None
    target_refuses: str = ""  # why the settings of the target topic reject probes
    target_refused_at: float | None = None  # when such settings were last seen
    target_refused_since: float | None = None  # when they were first seen, that last time
    settings_within_s: float = 0.0  # those settings are read again while a probe waits
    shared: bool = False  # other flows replicate to the target topic too


@dataclass(frozen=True, slots=True)
class TaskEvidence:
    """A task of the mirror, and the partitions of the canary topic that are assigned to it."""

    name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LagFinding:
    """Records that offsets, topic IDs or settings prove lost, altered or repeated.

    They are of one partition, or of the whole topic if it is None. Offsets are those of the source.
    `records` and `records_most` are the lower and upper bound of their number. None is unknown. `at` is when
    the evidence was last seen.
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
    """The evidence of offsets about all topics of a flow, as of the mirror's last commit.

    A verdict of unknown proves nothing. `verdict` and `cause` are of now and do not include `findings`.
    """

    verdict: Verdict
    cause: Cause | None
    sentence: str
    since_at: float  # start of this state
    settles_s: float  # the mirror's offsets show its progress within this time
    lag_s: float | None = None  # lag of the worst partition
    lag_s_kind: str = "none"  # `exact`, `bound`, `estimate` or `none`
    standing: tuple[str, ...] = ()  # source topics with a stalled partition
    # When the mirror committed offsets of other topics than the canary's, oldest first: all that were seen
    # within rules_offsets.RETURN_S, and the last one before.
    moved: tuple[float, ...] = ()
    rows: tuple[Evidence, ...] = ()
    findings: tuple[LagFinding, ...] = ()
    more_found: bool = False  # not all are listed, or more may follow soon
    unread: str = ""  # partitions with unknown lag, because Mirrorwatch may not read them


@dataclass(frozen=True, slots=True)
class FlowEvidence:
    """All evidence about a flow at one instant."""

    flow: str
    source: ClusterEvidence
    target: ClusterEvidence
    canary: CanaryEvidence
    topic: TopicEvidence
    exactly_once: bool = False
    tasks: tuple[TaskEvidence, ...] = ()  # empty if the worker's topics cannot be read
    heartbeats_s: tuple[float, ...] = ()  # upper bounds of the age of the last arrivals, newest first
    lag: LagEvidence | None = None  # None if offsets are not watched
    checksum: ChecksumEvidence | None = None  # None if no run has ended yet
