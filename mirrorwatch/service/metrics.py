"""What Prometheus scrapes: the service's numbers by the names of the catalogue. The one use of its client."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from prometheus_client import ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from canary.tracker.books import CONCLUDING, Flag, Outcome
from fleet.series import catalogue as series
from fleet.series.kinds import Kind
from fleet.series.process import PROCESS_CATALOGUE
from fleet.verdicts.vocabulary import CONDITIONS, Cause, Verdict
from lagmon.exposition.format import form_of
from lagmon.exposition.joining import joined
from runtime.kafka.round_trip import RoundTripOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canary.tracker.latency import Histogram
    from fleet.series.kinds import Series
    from mirrorwatch.service.numbers import FlowNumbers, ServiceNumbers
    from mirrorwatch.service.view import ObjectiveView

_PROCESS = ProcessCollector(registry=None)  # reads /proc whenever it is asked, and keeps nothing


def render(numbers: ServiceNumbers, accept: str) -> tuple[bytes, str]:
    """Return the body of a scrape and its content type, in the format that the scraper prefers."""
    try:
        encode, content_type = choose_encoder(accept)
    except (TypeError, ValueError):  # a version in it that is none
        encode, content_type = choose_encoder("")
    own: bytes = encode(_Families(numbers))
    if numbers.checksums is not None:
        form = form_of(content_type)
        own = b"".join(joined(own, [numbers.checksums.text(form)], form))
    return own, content_type


class _Families(Collector):
    """What an encoder asks for: it collects from this as it would from a registry."""

    def __init__(self, numbers: ServiceNumbers) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        yield from _service_families(self._numbers)
        yield from _cluster_families(self._numbers)
        yield from _flow_families(self._numbers)


def _family(kind: type[Any], one: Series) -> Any:
    name = one.full_name.removesuffix("_total") if kind is CounterMetricFamily else one.full_name
    return kind(name, one.help, labels=one.label_names)


def _service_families(numbers: ServiceNumbers) -> Iterator[Metric]:
    info = _family(GaugeMetricFamily, series.BUILD_INFO)
    info.add_metric([numbers.version, numbers.revision, numbers.python_version], 1)
    yield info
    for one, value in (
        (series.CONFIG_LAST_RELOAD_SUCCESSFUL, float(numbers.last_reload_ok)),
        (series.CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS, numbers.last_reload_ok_at),
    ):
        family = _family(GaugeMetricFamily, one)
        family.add_metric([], value)
        yield family
    yield from _process_families()
    delay = _family(HistogramMetricFamily, series.EVENT_LOOP_DELAY_SECONDS)
    _add_histogram(delay, [], numbers.loop_delay)
    yield delay
    errors = _family(CounterMetricFamily, series.STORE_ERRORS_TOTAL)
    for operation, count in numbers.store_errors.items():
        errors.add_metric([operation], count)
    yield errors


def _process_families() -> Iterator[Metric]:
    """Yield what the client library reads of this process, by the catalogue; nothing without /proc."""
    read = {sample.name: sample.value for one in _PROCESS.collect() for sample in one.samples}
    for one in PROCESS_CATALOGUE:
        if one.full_name in read:
            kind = CounterMetricFamily if one.kind is Kind.COUNTER else GaugeMetricFamily
            family = _family(kind, one)
            family.add_metric([], read[one.full_name])
            yield family


def _cluster_families(numbers: ServiceNumbers) -> Iterator[Metric]:
    up = _family(GaugeMetricFamily, series.KAFKA_CLUSTER_UP)
    success = _family(GaugeMetricFamily, series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS)
    errors = _family(CounterMetricFamily, series.COLLECTOR_ERRORS_TOTAL)
    control = _family(CounterMetricFamily, series.CONTROL_PROBES_TOTAL)
    throttled = _family(CounterMetricFamily, series.CLIENT_THROTTLE_SECONDS_TOTAL)
    strangers = _family(CounterMetricFamily, series.CANARY_STRANGERS_TOTAL)
    skew = _family(GaugeMetricFamily, series.KAFKA_CLUSTER_CLOCK_SKEW_SECONDS)
    expiry = _family(GaugeMetricFamily, series.CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS)
    for cluster in numbers.clusters:
        up.add_metric([cluster.alias], float(cluster.up))
        for collector, at in cluster.last_success_at.items():
            success.add_metric([cluster.alias, collector], at)
        for collector, count in cluster.errors.items():
            errors.add_metric([cluster.alias, collector], count)
        for collector, seconds in cluster.throttled_s.items():
            throttled.add_metric([cluster.alias, collector], seconds)
        strangers.add_metric([cluster.alias], cluster.strangers)
        if cluster.clock_ahead_s is not None:
            skew.add_metric([cluster.alias], cluster.clock_ahead_s)
        if cluster.certificate_expires_at is not None:
            expiry.add_metric([cluster.alias], cluster.certificate_expires_at)
        for outcome in RoundTripOutcome:
            control.add_metric([cluster.alias, outcome.value], cluster.control.get(outcome, 0))
    yield from (up, success, errors, throttled, control, strangers, skew, expiry)


def _flow_families(numbers: ServiceNumbers) -> Iterator[Metric]:
    for make in (_verdict_families, _book_families, _measure_families):
        yield from make(numbers.flows)
    yield from _objective_families(numbers.objectives)


def _objective_families(objectives: tuple[ObjectiveView, ...]) -> Iterator[Metric]:
    target = _family(GaugeMetricFamily, series.OBJECTIVE_TARGET_RATIO)
    left = _family(GaugeMetricFamily, series.OBJECTIVE_ERROR_BUDGET_REMAINING_RATIO)
    for one in objectives:
        objective = one.objective
        labels = (objective.flow, objective.source, objective.target, objective.kind.value)
        target.add_metric(labels, objective.target_ratio)
        if one.budget_left_ratio is not None:
            left.add_metric(labels, one.budget_left_ratio)
    yield from (target, left)


def _verdict_families(flows: tuple[FlowNumbers, ...]) -> Iterator[Metric]:
    info = _family(GaugeMetricFamily, series.FLOW_INFO)
    verdicts = _family(GaugeMetricFamily, series.FLOW_VERDICT)
    conditions = _family(GaugeMetricFamily, series.FLOW_CONDITION)
    incidents = _family(GaugeMetricFamily, series.INCIDENT_OPEN)
    causes = _family(GaugeMetricFamily, series.FLOW_CAUSE)
    recovery = _family(GaugeMetricFamily, series.FLOW_RECOVERY_POINT_AGE_SECONDS)
    heartbeat = _family(GaugeMetricFamily, series.MM2_HEARTBEAT_AGE_SECONDS)
    for flow in flows:
        info.add_metric([*flow.labels, flow.policy], 1)
        for verdict in Verdict:
            verdicts.add_metric([*flow.labels, verdict.value], float(flow.verdict is verdict))
        for condition in CONDITIONS:
            conditions.add_metric([*flow.labels, condition.value], float(condition in flow.conditions))
        incidents.add_metric(flow.labels, float(flow.incident_open))
        for cause in Cause:
            causes.add_metric([*flow.labels, cause.value], float(cause is flow.cause))
        if flow.recovery_point_age_s is not None:
            recovery.add_metric(flow.labels, flow.recovery_point_age_s)
        if flow.heartbeat_age_s is not None:
            heartbeat.add_metric(flow.labels, flow.heartbeat_age_s)
    yield from (info, verdicts, conditions, incidents, causes, recovery, heartbeat)


def _book_families(flows: tuple[FlowNumbers, ...]) -> Iterator[Metric]:
    sums = {
        "expected": _family(CounterMetricFamily, series.CANARY_EXPECTED_TOTAL),
        "settled": _family(CounterMetricFamily, series.CANARY_SETTLED_TOTAL),
        "good": _family(CounterMetricFamily, series.CANARY_GOOD_TOTAL),
        "concluded": _family(CounterMetricFamily, series.CANARY_CONCLUDED_TOTAL),
        "delivered": _family(CounterMetricFamily, series.CANARY_DELIVERED_TOTAL),
    }
    probes = _family(CounterMetricFamily, series.CANARY_PROBES_TOTAL)
    flags = _family(CounterMetricFamily, series.CANARY_PROBE_FLAGS_TOTAL)
    flying = _family(GaugeMetricFamily, series.CANARY_IN_FLIGHT)
    partitions = _family(CounterMetricFamily, series.CANARY_PARTITION_PROBES_TOTAL)
    for flow in flows:
        for name, family in sums.items():
            family.add_metric(flow.labels, flow.books[name])
        for outcome in Outcome:
            probes.add_metric([*flow.labels, outcome.value], flow.books[outcome.value])
        for flag in Flag:
            flags.add_metric([*flow.labels, flag.value], flow.books[flag.value])
        flying.add_metric(flow.labels, flow.books["in_flight"])
        if flow.partition_outcomes is not None:
            for partition, concluding in product(flow.partitions, CONCLUDING):
                count = flow.partition_outcomes.get((partition, concluding), 0)
                partitions.add_metric([*flow.labels, str(partition), concluding.value], count)
    yield from (*sums.values(), probes, flags, flying)
    if partitions.samples:
        yield partitions


def _measure_families(flows: tuple[FlowNumbers, ...]) -> Iterator[Metric]:
    latency = _family(HistogramMetricFamily, series.CANARY_LATENCY_SECONDS)
    threshold = _family(GaugeMetricFamily, series.CANARY_THRESHOLD_SECONDS)
    interval = _family(GaugeMetricFamily, series.CANARY_INTERVAL_SECONDS)
    unreached = _family(GaugeMetricFamily, series.CANARY_BROKERS_UNREACHED)
    arrival = _family(GaugeMetricFamily, series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS)
    for flow in flows:
        for stage, histogram in flow.histograms.items():
            _add_histogram(latency, [*flow.labels, stage], histogram)
        threshold.add_metric(flow.labels, flow.threshold_s)
        interval.add_metric(flow.labels, flow.interval_s)
        for side, count in flow.unreached.items():
            unreached.add_metric([*flow.labels, side], count)
        if flow.last_arrival_at is not None:
            arrival.add_metric(flow.labels, flow.last_arrival_at)
    yield from (latency, threshold, interval, unreached, arrival)


def _add_histogram(family: Any, labels: list[str], histogram: Histogram) -> None:
    family.add_metric(labels, buckets=histogram.cumulative(), sum_value=histogram.sum_s)
