"""Draw up the numbers behind `/metrics`, each flow's partitions walked once.

All of it is copied: it is rendered beside the event loop, which goes on counting meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.watch.watch import Instant
from mirrorwatch.lag.lone_clusters import errors_of, lone_numbers
from mirrorwatch.service.numbers import ClusterNumbers, FlowNumbers, ServiceNumbers
from mirrorwatch.service.recovery_point import NO_POINT, older
from mirrorwatch.service.unreached import counted_by_side, unreached_of
from mirrorwatch.service.viewing import cluster_state
from runtime.build import python_version

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from canary.flows import WatchedFlow
    from canary.prober import Prober
    from canary.site.site import Site
    from fleet.verdicts.vocabulary import FlowVerdict
    from mirrorwatch.audits.series import ChecksumSeries
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.configuration.reloading import LastReload
    from mirrorwatch.lag.collected import Standing, Unanswered
    from mirrorwatch.service.recovery_point import RecoveryPoint
    from mirrorwatch.service.view import ObjectiveView
    from runtime.process.clock import Clock
    from runtime.process.supervision import State

    Collected = Mapping[str, Mapping[str, float]]


def service_numbers(
    config: Configuration,
    prober: Prober,
    *,
    version: str,
    revision: str,
    last_reload: LastReload,
    clock: Clock,
    verdicts: Mapping[str, FlowVerdict],
    states: Mapping[str, tuple[State, float]],
    store_errors: Mapping[str, int],
    by_offsets: Mapping[str, RecoveryPoint] | None = None,
    lag_collected: Callable[[str], Collected] = lambda _alias: {},
    unanswered: Callable[[str], Unanswered | None] = lambda _alias: None,
    standing: Callable[[str], Standing | None] = lambda _alias: None,
    checksums: ChecksumSeries | None = None,
    incidents: Container[str] = (),
    objectives: tuple[ObjectiveView, ...] = (),
) -> ServiceNumbers:
    """Return everything at this instant; a flow that was not judged yet is left out.

    `by_offsets` is how far behind the worst partition of a flow is by its offsets, where that is known;
    `lag_collected` when the lag monitor last read what of a cluster, and how often not, and `unanswered`
    which it gets no answer of, `standing` how one is that nobody else reads. `incidents` are the flows that
    have an open one.
    """
    now = Instant(clock.monotonic_ns(), clock.wall_s())
    points = by_offsets or {}
    return ServiceNumbers(
        version,
        revision,
        python_version(),
        last_reload.ok,
        last_reload.ok_at,
        prober.doubts.loop_delay.copy(),
        dict(store_errors),
        (
            *(
                _cluster(
                    site,
                    lag_collected(alias),
                    is_up=cluster_state(site, states.get(alias), now.at, unanswered(alias))[0] == "up",
                )
                for alias, site in prober.sites.items()
            ),
            *(
                lone_numbers(alias, lag_collected(alias), standing(alias), config.clients[alias])
                for alias in config.lone
            ),
        ),
        tuple(
            _flow(
                config,
                prober,
                held,
                verdicts[name],
                now,
                by_offsets=points.get(name, NO_POINT),
                incident_open=name in incidents,
            )
            for name, held in prober.flows.items()
            if name in verdicts
        ),
        checksums,
        objectives,
    )


def _cluster(site: Site, collected: Collected, *, is_up: bool) -> ClusterNumbers:
    return ClusterNumbers(
        site.alias,
        is_up,
        {**site.counts.last_success_at, **collected.get("last_success_at", {})},
        {**site.counts.errors, **errors_of(collected)},
        dict(site.control.counts),
        {collector: throttle.total_s for collector, throttle in site.throttles.items()},
        site.counts.strangers,
        clock_ahead_s=site.control.clock_ahead_s,
        certificate_expires_at=site.settings.certificate_expires_at,
    )


def _flow(
    config: Configuration,
    prober: Prober,
    held: WatchedFlow,
    verdict: FlowVerdict,
    now: Instant,
    *,
    by_offsets: RecoveryPoint,
    incident_open: bool,
) -> FlowNumbers:
    flow, watch = held.flow, held.watch
    glance = watch.glance(now.ns)
    arrival_ns = glance.last_arrival_ns
    return FlowNumbers(
        labels=(flow.name, flow.source, flow.target),
        policy=config.topology.flow(flow.name).policy.kind.value,
        verdict=verdict.verdict,
        cause=verdict.cause if verdict.also is None else verdict.also.cause,
        conditions=verdict.conditions,
        incident_open=incident_open,
        books=watch.books.as_dict(),
        histograms={stage.value: one.copy() for stage, one in watch.histograms.items()},
        threshold_s=flow.threshold_s,
        interval_s=watch.interval_s,
        recovery_point_age_s=older(glance.recovery_point_age_s, by_offsets).age_s,
        last_arrival_at=None if arrival_ns is None else now.wall_of(arrival_ns),
        heartbeat_age_s=prober.sites[flow.target].own_topics.heartbeat_age_s(flow.name, now.at),
        unreached=counted_by_side(unreached_of(prober, flow.name)),
        partition_outcomes=dict(watch.partition_outcomes) if config.canary.per_partition else None,
        partitions=glance.partitions,
    )
