"""Quick test whether a flow is healthy, by one pass over its partitions, four times a second. Pure.

A flow that does not pass gets no verdict here: the rules judge all of its evidence. For a flow that passes,
the rules could only return `healthy`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from canary.tracker.partition import PartitionState


@dataclass(frozen=True, slots=True)
class Extremes:
    """Worst values of all partitions: monotonic instants and a duration, in nanoseconds."""

    partitions: int  # how many there are
    oldest_arrival_ns: int  # last arrival of the partition that has been silent the longest
    oldest_waiting_ns: int | None  # when the oldest probe in flight was due, warm-up probes included
    longest_latency_ns: int  # of the newest arrival of each partition


def extremes(states: Sequence[PartitionState]) -> Extremes | None:
    """Return the extremes, or None: a partition without an arrival, or something overdue."""
    arrivals: list[int] = []
    latencies: list[int] = []
    waiting: list[int] = []
    for state in states:
        own, arrival_ns, latency_ns = state.own, state.last_arrival_ns, state.last_latency_ns
        if arrival_ns is None or latency_ns is None or state.adopted or len(own.overdue):
            return None
        arrivals.append(arrival_ns)
        latencies.append(latency_ns)
        for probe in own.in_flight.values():  # in the order of sending: the first is the oldest
            waiting.append(probe.scheduled_ns)
            break
    if not arrivals:
        return None
    return Extremes(len(arrivals), min(arrivals), min(waiting, default=None), max(latencies))


def is_healthy(worst: Extremes, *, now_ns: int, threshold_s: float, interval_s: float) -> bool:
    """Return whether every partition delivers in time, and no probe waits past the threshold."""
    silent_s = (now_ns - worst.oldest_arrival_ns) / 1e9
    waiting_s = 0.0 if worst.oldest_waiting_ns is None else (now_ns - worst.oldest_waiting_ns) / 1e9
    latency_s = worst.longest_latency_ns / 1e9
    return silent_s <= threshold_s + interval_s and waiting_s <= threshold_s and latency_s <= threshold_s
