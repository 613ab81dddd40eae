"""The numbers behind `/metrics` as plain records, taken at one instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.tracker.books import Outcome
    from canary.tracker.latency import Histogram
    from fleet.verdicts.vocabulary import Cause, Verdict
    from mirrorwatch.audits.series import ChecksumSeries
    from mirrorwatch.service.view import ObjectiveView
    from runtime.kafka.round_trip import RoundTripOutcome


@dataclass(frozen=True, slots=True)
class ClusterNumbers:
    """One cluster's."""

    alias: str
    up: bool
    last_success_at: Mapping[str, float]  # by collector, epoch s
    errors: Mapping[str, int]  # by collector
    control: Mapping[RoundTripOutcome, int]
    throttled_s: Mapping[str, float]  # by collector, those of whose clients it is known
    strangers: int  # records in the canary's topics that are no probes
    clock_ahead_s: float | None = None  # against this host's, at least
    certificate_expires_at: float | None = None  # of the client, epoch s; None where it has none


@dataclass(frozen=True, slots=True)
class FlowNumbers:
    """One flow's; `labels` are flow, source and target cluster in the order of the catalogue."""

    labels: tuple[str, str, str]
    policy: str
    verdict: Verdict
    cause: Cause | None  # of what is wrong right now, else of the verdict
    conditions: frozenset[Verdict]  # that hold right now
    incident_open: bool
    books: Mapping[str, int]
    histograms: Mapping[str, Histogram]  # by stage
    threshold_s: float
    interval_s: float
    recovery_point_age_s: float | None
    last_arrival_at: float | None
    heartbeat_age_s: float | None
    unreached: Mapping[str, int]  # brokers by side; none of a side whose brokers are not known
    partition_outcomes: Mapping[tuple[int, Outcome], int] | None = None  # where they are asked for
    partitions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceNumbers:
    """All of them."""

    version: str
    revision: str
    python_version: str
    last_reload_ok: bool
    last_reload_ok_at: float  # epoch s
    loop_delay: Histogram
    store_errors: Mapping[str, int]  # by operation
    clusters: tuple[ClusterNumbers, ...]
    flows: tuple[FlowNumbers, ...]
    checksums: ChecksumSeries | None = None  # where a run has ended
    objectives: tuple[ObjectiveView, ...] = ()
