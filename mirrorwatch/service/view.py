"""The state of a running service as frozen records, created for each request.

Pages, JSON and `mirrorwatch status` use the same records, so that they agree. Wall-clock times are epoch
seconds (`_at`), durations are seconds (`_s`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.quantity import count_text
from fleet.verdicts.words import ended
from mirrorwatch.service.flow_status import flow_status
from mirrorwatch.web.linking import WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alerts.incidents import Bar, Incident
    from alerts.objectives import Objective
    from fleet.quantity import Bounds
    from fleet.verdicts.vocabulary import FlowVerdict, Verdict
    from mirrorwatch.service.flow_status import FlowStatus
    from mirrorwatch.service.recovery_point import RecoveryPoint
    from mirrorwatch.web.linking import PageLinks


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One Kafka cluster."""

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
    """Latency of one stage in one interval; None without measurements."""

    at: float
    p50_s: float | None
    p99_s: float | None
    max_s: float | None


@dataclass(frozen=True, slots=True)
class LossView:
    """One or several consecutive lost probes.

    `sequence` and `source_offset` are those of the first. A loss from an earlier process has no sequence.
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
    """Brokers on one side of a flow that lead no partition of the canary topic."""

    side: str  # source | target
    kafka_cluster: str
    broker_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChecksumRunView:
    """A finished checksum run; `records` are counts by verdict, `status` is the exit status."""

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
    unresolved_blocks: int  # blocks of offsets that differ
    undecided_records: int  # compared, and nobody could say whether anything is wrong with them
    topics: int
    not_due: int = 0  # offsets of the source that are so new that they may still be on their way


@dataclass(frozen=True, slots=True)
class ChecksumView:
    """The checksums of a flow: the newest run, and earlier ones with findings, newest first."""

    newest: ChecksumRunView
    earlier: tuple[ChecksumRunView, ...] = ()
    more_earlier: int = 0


_MOST_NAMED = 5  # flows in a sentence
_DRIFTS = {
    "topic_missing": "missing topic",
    "partition_count": "partition count",
    "config": "topic setting",
    "acl": "ACL",
    "loop": "loop",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverGroupView:
    """A group that is not ready to start on the target, and why; counts are None where unknown."""

    group: str
    status: str
    sentence: str
    read_again_records: Bounds | None
    skipped_records: Bounds | None
    at_risk_records: Bounds | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailoverView:
    """The last failover audit of a flow; `at` is None before the first.

    `problem` is why it is old or partial. `worst` are groups that are not ready, at most 20.
    """

    at: float | None
    drain_s: float | None  # estimated time until the mirror has replicated what is on the source
    drift: Mapping[str, int | None]  # differences by kind, None if not compared
    problem: str
    group_count: int
    ready_count: int
    by_status: Mapping[str, int]
    worst: tuple[FailoverGroupView, ...]

    @property
    def drift_text(self) -> str:
        """Return how the target differs: `2 topics missing, 5 configurations`; "" if nothing is known to."""
        counts = {kind: count for kind, count in self.drift.items() if count}
        return ", ".join(count_text(count, _DRIFTS[kind]) for kind, count in counts.items())

    def sentence(self, target: str) -> str:
        """Return how many groups are ready, or why that is not known."""
        if self.at is None:
            return (
                ended(f"{self.problem[:1].upper()}{self.problem[1:]}") if self.problem else "Not audited yet."
            )
        if not self.group_count:
            return "No group has committed offsets of a replicated topic."
        ready = f"{self.ready_count} of {count_text(self.group_count, 'group')}"
        return f"{ready} ready to fail over to {target}."


@dataclass(frozen=True, slots=True)
class EventView:
    """An event of a flow that may be no fault: records of a topic were replicated again."""

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
    """Bars of a flow: a day and a month."""

    day: Bar
    month: Bar


@dataclass(frozen=True, slots=True)
class ObjectiveView:
    """An objective and the remaining share of its error budget; None without data or budget."""

    objective: Objective
    budget_left_ratio: float | None


@dataclass(frozen=True, slots=True)
class FlowView:
    """One flow with its verdict and the evidence."""

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
    failover: FailoverView | None = None  # where the audit is on
    lost_records: Bounds | None = None  # by offsets, in the last HOLD_S; None if unknown
    events: tuple[EventView, ...] = ()  # of a day, newest first
    bars: FlowBars | None = None  # how it was over a day and a month
    incident: Incident | None = None  # the open one
    recent: tuple[Incident, ...] = ()  # of a day, newest first, the open one among them
    objectives: tuple[ObjectiveView, ...] = ()

    @property
    def status(self) -> FlowStatus:
        """Return the present state, apart from a past one."""
        return flow_status(self.verdict, by="lag" if self.canary_state == "off" else "canary")


@dataclass(frozen=True, slots=True)
class ProblemView:
    """A problem of the service that a user must fix, such as a missing permission or a failing store."""

    where: str
    sentence: str
    since_at: float
    last_at: float
    times: int


@dataclass(frozen=True, slots=True)
class MissingShard:
    """A shard of which nothing is known: no replica works it, or its replica does not answer."""

    shard: str  # `shard 2 of 3`
    reason: str
    flows: tuple[str, ...]
    since_at: float  # when this replica first had no answer

    @property
    def sentence(self) -> str:
        """Return which flows are not shown, and why."""
        more = len(self.flows) - _MOST_NAMED
        names = ", ".join(self.flows[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        if not names:
            return self.reason
        return f"{'flow' if len(self.flows) == 1 else 'flows'} {names} not shown: {self.reason}"


@dataclass(frozen=True, slots=True)
class GroupsView:
    """The number of groups by status; `verdict` sets colour and sign."""

    headline: str
    verdict: Verdict
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceView:
    """The whole view at one time."""

    version: str
    now_at: float
    started_at: float
    clusters: tuple[ClusterView, ...]
    flows: tuple[FlowView, ...]  # worst first
    problems: tuple[ProblemView, ...]
    links: PageLinks = WITHIN  # of pages
    outside: PageLinks = WITHIN  # of documents, which are read elsewhere
    groups: GroupsView | None = None  # how many are how, where the lag monitor is on
    missing: tuple[MissingShard, ...] = ()  # of a group that divides its flows

    @property
    def hidden_flows(self) -> int:
        """Return how many flows are not among `flows`, as their shards are missing."""
        return sum(len(one.flows) for one in self.missing)
