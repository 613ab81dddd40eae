"""Samples for incidents: the state of each flow, with totals of canary and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.incidents import GAP_S, Counts, Sample
from fleet.quantity import Bounds
from mirrorwatch.service.recovery_point import NO_POINT, older

if TYPE_CHECKING:
    from collections.abc import Mapping

    from canary.prober import Prober
    from fleet.verdicts.vocabulary import FlowVerdict
    from mirrorwatch.lag.monitor import LagMonitor
    from runtime.process.clock import Clock

GAP_INTERVALS = 3  # a fault of some records is seen only when they are due


def samples_of(
    prober: Prober, verdicts: Mapping[str, FlowVerdict], lagging: LagMonitor, *, clock: Clock
) -> dict[tuple[str, str, str], Sample]:
    """Return a sample of every judged flow, by name, source and target."""
    now_at, now_ns = clock.wall_s(), clock.monotonic_ns()
    lost, points = lagging.lost(), lagging.recovery_points()
    samples = {}
    for name, held in prober.flows.items():
        verdict = verdicts.get(name)
        if verdict is None:
            continue
        books = held.watch.counters
        age_s = held.watch.summary(now_ns).recovery_point_age_s if verdict.conditions else None
        samples[name, held.flow.source, held.flow.target] = Sample(
            at=now_at,
            verdict=verdict,
            counts=Counts(
                settled=books.settled,
                good=books.good,
                concluded=books.concluded,
                delivered=books.delivered,
                lost=books.lost + books.confirmed,
            ),
            lost=lost.get(name, None if lagging.evidence(name) else Bounds(0, 0)),
            lost_by_time=lagging.lost_by_time(name),
            at_risk_records=lagging.lag_records(name),
            recovery_point_age_s=older(age_s, points.get(name, NO_POINT)).age_s,
            gap_s=max(GAP_S, GAP_INTERVALS * held.watch.interval_s),
        )
    return samples
