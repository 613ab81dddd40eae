"""What the outside may see of a running service: plain frozen records, made anew for each look.

The page, the JSON of /api/v1 and `mirrorwatch status` are all drawn from these, so that they tell one
story. Wall-clock times are epoch seconds (`_at`), durations are seconds (`_s`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirrorwatch.service.current import standing_of
from mirrorwatch.web.linking import WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alerts.incidents import Bar, Incident
    from alerts.objectives import Objective
    from fleet.quantity import Bounds
    from fleet.verdicts.vocabulary import FlowVerdict, Verdict
    from mirrorwatch.service.current import Standing
    from mirrorwatch.service.recovery_point import RecoveryPoint
    from mirrorwatch.web.linking import PageLinks


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One Kafka cluster as the service sees it."""

    alias: str
    bootstrap: str
    state: str  # connecting | up | down | refused
    since_at: float
    sentence: str  # why it is in this state, empty when up
    control_last_ok_at: float | None  # the newest control probe that came back
    flows_from: tuple[str, ...]
    flows_to: tuple[str, ...]
    control_sentence: str = ""  # why there are no control probes, where there are none


@dataclass(frozen=True, slots=True)
class LatencySlice:
    """Latency of one stage over one slice of time; None where nothing was measured."""

    at: float
    p50_s: float | None
    p99_s: float | None
    max_s: float | None


@dataclass(frozen=True, slots=True)
class LossView:
    """One probe, or several in a row, proved lost.

    Of several, `sequence` and `source_offset` are those of the first. An earlier process's loss has no
    sequence.
    """

    at: float
    topic: str
    partition: int
    sequence: int | None
    source_offset: int | None
    sentence: str
    count: int


@dataclass(frozen=True, slots=True)
class UnreachedView:
    """Brokers of one side of a flow that lead no partition of the canary's topic there."""

    side: str  # source | target
    kafka_cluster: str
    broker_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChecksumRunView:
    """A run of the checksum that has ended; `records` is by what became of them, `status` the exit status."""

    run: str
    begun_at: float
    ended_at: float
    status: int
    coverage: float
    source_records: int
    target_records: int
    records: Mapping[str, int]
    findings: int
    expected: int  # duplicates and the like of a mirror that delivers at least once
    not_told_apart: int  # blocks of offsets that differ
    untold_records: int  # compared, and nobody could say whether anything is wrong with them
    topics: int
    not_due: int = 0  # offsets of the source that are so new that they may still be on their way


@dataclass(frozen=True, slots=True)
class ChecksumView:
    """The checksums of a flow: the newest run, and earlier ones that found something, newest first."""

    newest: ChecksumRunView
    earlier: tuple[ChecksumRunView, ...] = ()
    more_earlier: int = 0


@dataclass(frozen=True, slots=True)
class EventView:
    """Something that happened to a flow and may be no fault: records of a topic that were copied again."""

    kind: str  # went_back | replayed
    at: float
    last_at: float
    topic: str
    partitions: int
    records: int  # at least
    records_most: int | None  # None where that is not known
    sentence: str
    worst: tuple[Mapping[str, int | None], ...] = ()  # partitions of which most were copied again


@dataclass(frozen=True, slots=True)
class FlowBars:
    """How a flow was over a day and over a month."""

    day: Bar
    month: Bar


@dataclass(frozen=True, slots=True)
class ObjectiveView:
    """An objective, and which share of its error budget is left; None without data or without a budget."""

    objective: Objective
    budget_left_ratio: float | None


@dataclass(frozen=True, slots=True)
class FlowView:
    """One flow with its verdict and what stands behind it."""

    flow: str
    source: str
    target: str
    policy: str
    verdict: FlowVerdict
    canary_topic: str
    canary_target_topic: str
    canary_state: str  # running | off | waiting | latched
    canary_sentence: str  # why it is not running, and what to do; empty when it is
    threshold_s: float
    interval_s: float  # from one probe of a partition to its next
    partitions: int
    books: Mapping[str, int]  # every counter of the canary's books by its name, in_flight and outstanding too
    recovery_point: RecoveryPoint
    last_arrival_at: float | None
    latency: Mapping[str, tuple[LatencySlice, ...]]  # by stage, oldest first, 15 minutes in 30 s slices
    losses: tuple[LossView, ...]  # newest first, at most 20
    heartbeat_age_s: float | None = None  # of MirrorMaker's newest that was read, by the wall clock
    unreached: tuple[UnreachedView, ...] = ()  # brokers that the canary says nothing about
    checksum: ChecksumView | None = None  # where a run has ended
    lost_records: Bounds | None = None  # by canary and offsets; None where nobody can know
    events: tuple[EventView, ...] = ()  # of a day, newest first
    bars: FlowBars | None = None  # how it was over a day and a month
    incident: Incident | None = None  # the open one
    recent: tuple[Incident, ...] = ()  # of a day, newest first, the open one among them
    objectives: tuple[ObjectiveView, ...] = ()

    @property
    def standing(self) -> Standing:
        """Return what holds now apart from what was found before."""
        return standing_of(self.verdict)


@dataclass(frozen=True, slots=True)
class ProblemView:
    """Something that needs a person and is not a verdict about a flow: refused rights, a store at fault."""

    where: str
    sentence: str
    since_at: float
    last_at: float
    times: int


@dataclass(frozen=True, slots=True)
class GroupsView:
    """How many groups are how, for the main page; `look` gives colour and sign."""

    headline: str
    look: Verdict
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceView:
    """All of it, at one instant."""

    version: str
    now_at: float
    started_at: float
    clusters: tuple[ClusterView, ...]
    flows: tuple[FlowView, ...]  # worst first
    problems: tuple[ProblemView, ...]
    links: PageLinks = WITHIN  # of pages
    outside: PageLinks = WITHIN  # of documents, which are read elsewhere
    groups: GroupsView | None = None  # how many are how, where the lag monitor is on
