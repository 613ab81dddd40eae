"""Creates the view of a running service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.watch.watch import Instant
from fleet.verdicts.evidence import Control
from mirrorwatch.audits.views import checksum_view
from mirrorwatch.lag.lone_clusters import lone_view
from mirrorwatch.service.recovery_point import NO_POINT, older
from mirrorwatch.service.unreached import unreached_of
from mirrorwatch.service.view import ClusterView, FlowView, LatencySlice, LossView, ProblemView, ServiceView
from runtime.process.supervision import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.flows import WatchedFlow
    from canary.prober import Prober
    from canary.site.site import Site
    from fleet.quantity import Bounds
    from fleet.verdicts.vocabulary import FlowVerdict
    from mirrorwatch.audits.flow_audit import FlowAudit
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.lag.collected import Standing, Unanswered
    from mirrorwatch.service.recovery_point import RecoveryPoint
    from mirrorwatch.service.view import ChecksumView, EventView, FailoverView
    from runtime.process.clock import Clock
    from runtime.process.complaints import Complaint
    from runtime.process.supervision import State

STALE_S = 10.0  # a cluster without control probes is up if its topics were read within this time


def service_view(
    config: Configuration,
    prober: Prober,
    *,
    version: str,
    clock: Clock,
    started_at: float,
    verdicts: Mapping[str, FlowVerdict],
    states: Mapping[str, tuple[State, float]],
    complaints: Iterable[Complaint],
    by_offsets: Mapping[str, RecoveryPoint] | None = None,
    lost: Mapping[str, Bounds] | None = None,
    events: Mapping[str, tuple[EventView, ...]] | None = None,
    unanswered: Callable[[str], Unanswered | None] = lambda _alias: None,
    standing: Callable[[str], Standing | None] = lambda _alias: None,
    checksums: Mapping[str, FlowAudit] | None = None,
    failover: Mapping[str, FailoverView] | None = None,
) -> ServiceView:
    """Return the view at this time, flows worst first.

    `by_offsets`: recovery points by offsets. `lost`: lost records by offsets. `events`: events by offsets.
    `unanswered`: clusters that do not answer the lag monitor. `standing`: state of clusters that only the lag
    monitor reads. `checksums`: checksum state of a flow. `failover`: its last failover audit.
    """
    now = Instant(clock.monotonic_ns(), clock.wall_s())
    flows = [
        _flow_view(
            prober,
            held,
            verdicts[name],
            config,
            now,
            by_offsets=(by_offsets or {}).get(name, NO_POINT),
            lost=(lost or {}).get(name),
            events=(events or {}).get(name, ()),
            checksum=checksum_view((checksums or {}).get(name)),
            failover=(failover or {}).get(name),
        )
        for name, held in prober.flows.items()
        if name in verdicts
    ]
    flows.sort(key=lambda flow: (flow.status.rank, flow.flow))
    return ServiceView(
        version=version,
        now_at=now.at,
        started_at=started_at,
        clusters=(
            *(
                _cluster_view(
                    prober, site, config, cluster_state(site, states.get(alias), now.at, unanswered(alias))
                )
                for alias, site in prober.sites.items()
            ),
            *(
                lone_view(alias, config.topology.cluster(alias).client, standing(alias), now.at)
                for alias in config.lone
            ),
        ),
        flows=tuple(flows),
        problems=tuple(
            ProblemView(one.where, one.sentence, one.since_at, one.last_at, one.times) for one in complaints
        ),
    )


def _cluster_view(
    prober: Prober, site: Site, config: Configuration, known: tuple[str, float, str]
) -> ClusterView:
    state, since_at, sentence = known
    client = config.topology.cluster(site.alias).client
    return ClusterView(
        alias=site.alias,
        bootstrap=client.get("bootstrap.servers", ""),
        state=state,
        since_at=since_at,
        sentence=sentence,
        control_last_ok_at=site.control.last_ok_at,
        control_sentence=site.control.sentence if site.control.control is Control.UNKNOWN else "",
        flows_from=tuple(held.flow.name for held in prober.flows.values() if held.flow.source == site.alias),
        flows_to=tuple(held.flow.name for held in prober.flows.values() if held.flow.target == site.alias),
    )


def cluster_state(
    site: Site, told: tuple[State, float] | None, now_at: float, unanswered: Unanswered | None = None
) -> tuple[str, float, str]:
    """Return the state of a cluster, its start (epoch s) and the reason.

    `told` is the last state of its supervisor and its start. Control probes decide; without them the lag
    monitor (`unanswered`) and the reads of canary topics do.
    """
    since_at = told[1] if told is not None else now_at
    if not site.reached:
        if told is not None and told[0].phase in (Phase.DOWN, Phase.REFUSED):
            return told[0].phase.value, since_at, told[0].sentence
        return "connecting", since_at, "not connected yet"
    control = site.control
    match control.control:
        case Control.OK:
            return "up", control.since_at, ""
        case Control.FAILING:
            return "down", control.since_at, control.sentence
        case Control.UNKNOWN:
            if unanswered is not None:
                return "down", unanswered.since_at, unanswered.sentence
            seen_at = max(site.counts.last_success_at.values(), default=0.0)
            is_up = not site.wanted or now_at - seen_at <= STALE_S
            return ("up", since_at, control.sentence) if is_up else ("down", seen_at, control.sentence)


def _flow_view(
    prober: Prober,
    held: WatchedFlow,
    verdict: FlowVerdict,
    config: Configuration,
    now: Instant,
    *,
    by_offsets: RecoveryPoint,
    lost: Bounds | None,
    events: tuple[EventView, ...],
    checksum: ChecksumView | None,
    failover: FailoverView | None,
) -> FlowView:
    flow, watch = held.flow, held.watch
    state, sentence = prober.state(flow.name)
    summary = watch.summary(now.ns)
    return FlowView(
        flow=flow.name,
        source=flow.source,
        target=flow.target,
        policy=config.topology.flow(flow.name).policy.kind.value,
        verdict=verdict,
        canary_topic=flow.source_topic,
        canary_target_topic=flow.target_topic,
        canary_state=state.value,
        canary_sentence=sentence,
        threshold_s=flow.threshold_s,
        interval_s=watch.interval_s,
        partitions=len(summary.partitions),
        books=watch.counters.as_dict(),
        recovery_point=older(summary.recovery_point_age_s, by_offsets),
        unreached=unreached_of(prober, flow.name),
        heartbeat_age_s=prober.sites[flow.target].mirror_topics.heartbeat_age_s(flow.name, now.at),
        last_arrival_at=watch.last_arrival_at(summary, now),
        latency={
            stage.value: tuple(
                LatencySlice(now.wall_of(one.start_ns), one.p50_s, one.p99_s, one.max_s)
                for one in recent.summary(now.ns)
            )
            for stage, recent in watch.recent.items()
        },
        losses=tuple(
            LossView(
                at=one.at,
                topic=flow.source_topic,
                partition=one.partition,
                sequence=one.sequence,
                source_offset=one.source_offset,
                sentence=one.sentence,
                count=one.count,
            )
            for one in watch.found.losses
        ),
        checksum=checksum,
        failover=failover,
        lost_records=lost,
        events=events,
    )
