"""The samples behind `/metrics`: each part yields its own, and they are collected here.

All of it is copied: a thread renders it while the event loop goes on counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.watch.watch import Instant
from fleet.series import catalogue as series
from fleet.verdicts.vocabulary import CONDITIONS, Cause, Verdict
from mirrorwatch.lag.lone_clusters import lone_samples
from mirrorwatch.service.recovery_point import NO_POINT, older
from mirrorwatch.service.unreached import counted_by_side, unreached_of
from mirrorwatch.service.viewing import cluster_state
from runtime.build import python_version

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from canary.flows import WatchedFlow
    from canary.prober import Prober
    from fleet.series.kinds import Sample
    from fleet.verdicts.vocabulary import FlowVerdict
    from mirrorwatch.audits.series import ChecksumSeries
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.configuration.reloading import LastReload
    from mirrorwatch.lag.collected import Standing, Unanswered
    from mirrorwatch.service.leading import Leading
    from mirrorwatch.service.recovery_point import RecoveryPoint
    from mirrorwatch.service.view import ObjectiveView
    from runtime.process.clock import Clock
    from runtime.process.supervision import State

    Collected = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class ServiceSamples:
    """What the service itself exposes at one instant; `checksums` only after a run has ended."""

    samples: tuple[Sample, ...]
    checksums: ChecksumSeries | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Where samples come from, apart from the canary.

    `by_offsets` is how far behind the worst partition of a flow is by its offsets, where that is known.
    `lag_collected` is when the lag monitor last read what of a cluster, and how often not, `unanswered` which
    cluster does not answer it, and `standing` the state of a cluster that only it reads. `incidents` are the
    flows that have an open one.
    """

    version: str
    revision: str
    last_reload: LastReload
    verdicts: Mapping[str, FlowVerdict]
    states: Mapping[str, tuple[State, float]]
    store_errors: Mapping[str, int]
    by_offsets: Mapping[str, RecoveryPoint]
    lag_collected: Callable[[str], Collected]
    unanswered: Callable[[str], Unanswered | None]
    standing: Callable[[str], Standing | None]
    checksums: ChecksumSeries | None = None
    incidents: Container[str] = ()
    objectives: tuple[ObjectiveView, ...] = ()
    leading: Leading | None = None


def service_samples(config: Configuration, prober: Prober, of: Sampled, clock: Clock) -> ServiceSamples:
    """Return all samples of this instant; a flow that was not judged yet is left out."""
    now = Instant(clock.monotonic_ns(), clock.wall_s())
    return ServiceSamples(
        (
            *_service(of),
            *prober.self_check.samples(),
            *_clusters(config, prober, of, now.at),
            *(
                sample
                for name, held in prober.flows.items()
                if name in of.verdicts
                for sample in _flow(config, prober, held, of, now)
            ),
            *_objectives(of.objectives),
        ),
        of.checksums,
    )


def standby_samples(of: Sampled) -> ServiceSamples:
    """Return the samples of a standby."""
    return ServiceSamples(tuple(_service(of)))


def _service(of: Sampled) -> Iterator[Sample]:
    if of.leading is not None:
        leading, mine = of.leading, of.leading.shard if of.leading.leads else None
        for number in range(1, leading.count + 1):
            holds = mine is not None and mine.number == number
            yield series.REPLICA_LEADER, (leading.group, str(number)), float(holds)
    yield series.BUILD_INFO, (of.version, of.revision, python_version()), 1
    yield series.CONFIG_LAST_RELOAD_SUCCESSFUL, (), float(of.last_reload.ok)
    yield series.CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS, (), of.last_reload.ok_at
    for operation, count in of.store_errors.items():
        yield series.STORE_ERRORS_TOTAL, (operation,), count


def _clusters(config: Configuration, prober: Prober, of: Sampled, now_at: float) -> Iterator[Sample]:
    for alias, site in prober.sites.items():
        state = cluster_state(site, of.states.get(alias), now_at, of.unanswered(alias))[0]
        yield series.KAFKA_CLUSTER_UP, (alias,), float(state == "up")
        yield from site.samples()
        yield from _collected(alias, of.lag_collected(alias))
    for alias in config.lone:
        yield from lone_samples(alias, of.standing(alias), config.clients[alias].certificate_expires_at)
        yield from _collected(alias, of.lag_collected(alias))


def _collected(alias: str, collected: Collected) -> Iterator[Sample]:
    """Yield when the collectors of the lag monitor last succeeded, and how often they failed."""
    for collector, at in collected.get("last_success_at", {}).items():
        yield series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS, (alias, collector), at
    for collector, count in collected.get("errors", {}).items():
        yield series.COLLECTOR_ERRORS_TOTAL, (alias, collector), int(count)


def _flow(
    config: Configuration, prober: Prober, held: WatchedFlow, of: Sampled, now: Instant
) -> Iterator[Sample]:
    flow, summary = held.flow, held.watch.summary(now.ns)
    labels = (flow.name, flow.source, flow.target)
    yield series.FLOW_INFO, (*labels, config.topology.flow(flow.name).policy.kind.value), 1
    yield series.INCIDENT_OPEN, labels, float(flow.name in of.incidents)
    yield from _verdict(labels, of.verdicts[flow.name])
    yield from held.watch.samples(labels, summary, now, per_partition=config.canary.per_partition)
    by_offsets = of.by_offsets.get(flow.name, NO_POINT)
    age_s = older(summary.recovery_point_age_s, by_offsets).age_s
    if age_s is not None:
        yield series.FLOW_RECOVERY_POINT_AGE_SECONDS, labels, age_s
    heartbeat_age_s = prober.sites[flow.target].mirror_topics.heartbeat_age_s(flow.name, now.at)
    if heartbeat_age_s is not None:
        yield series.MM2_HEARTBEAT_AGE_SECONDS, labels, heartbeat_age_s
    for side, count in counted_by_side(unreached_of(prober, flow.name)).items():
        yield series.CANARY_BROKERS_UNREACHED, (*labels, side), count


def _verdict(labels: tuple[str, str, str], told: FlowVerdict) -> Iterator[Sample]:
    for verdict in Verdict:
        yield series.FLOW_VERDICT, (*labels, verdict.value), float(verdict is told.verdict)
    for condition in CONDITIONS:
        yield series.FLOW_CONDITION, (*labels, condition.value), float(condition in told.conditions)
    # Alerts use single causes: one problem must not hide the cause of another that also lasts.
    now = {told.cause} if told.also is None or told.verdict in told.conditions else set()
    if told.also is not None:
        now.add(told.also.cause)
    for cause in Cause:
        yield series.FLOW_CAUSE, (*labels, cause.value), float(cause in now)


def _objectives(objectives: tuple[ObjectiveView, ...]) -> Iterator[Sample]:
    for one in objectives:
        objective = one.objective
        labels = (objective.flow, objective.source, objective.target, objective.kind.value)
        yield series.OBJECTIVE_TARGET_RATIO, labels, objective.target_ratio
        if one.budget_left_ratio is not None:
            yield series.OBJECTIVE_ERROR_BUDGET_REMAINING_RATIO, labels, one.budget_left_ratio
