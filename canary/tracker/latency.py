"""Latency: a histogram with an edge at the threshold, and slices of the last minutes."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

EDGES_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
SLICE_S = 30
SLICES = 30
_STEP = math.log(1.05)  # a recent value is kept to within 5 %
_LEAST_S = 1e-5


class Histogram:
    """Counts by upper edge in seconds; one edge is exactly the threshold."""

    def __init__(self, threshold_s: float) -> None:
        self.edges_s = tuple(sorted({*EDGES_S, threshold_s}))
        self._counts = [0] * (len(self.edges_s) + 1)
        self.sum_s = 0.0

    def observe(self, value_s: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self.edges_s, value_s)] += 1
        self.sum_s += value_s

    def copy(self) -> Histogram:
        """Return a copy."""
        new = Histogram.__new__(Histogram)
        new.edges_s, new._counts, new.sum_s = self.edges_s, self._counts.copy(), self.sum_s  # noqa: SLF001 - its own kind
        return new

    def cumulative(self) -> list[tuple[str, int]]:
        """Return (upper edge, cumulative count) in Prometheus' form, ending with +Inf."""
        total, rows = 0, []
        for edge, count in zip((*self.edges_s, math.inf), self._counts, strict=True):
            total += count
            rows.append(("+Inf" if math.isinf(edge) else repr(edge), total))
        return rows


@dataclass(frozen=True, slots=True)
class SliceSummary:
    """Latencies of one slice from this monotonic instant; None without a measurement."""

    start_ns: int
    p50_s: float | None
    p99_s: float | None
    max_s: float | None


@dataclass(slots=True)
class _Slice:
    counts: Counter[int] = field(default_factory=Counter)
    max_s: float = 0.0
    summary: SliceSummary | None = None  # cached until another value is added


class RecentLatency:
    """The last fifteen minutes in slices of half a minute, each a small logarithmic histogram."""

    def __init__(self) -> None:
        self._slices: dict[int, _Slice] = {}
        self._newest = -1

    def observe(self, value_s: float, at_ns: int) -> None:
        """Count one value in the slice of its instant, unless it is older than the window."""
        number = at_ns // (SLICE_S * 1_000_000_000)
        if number > self._newest:
            self._newest = number
            for old in [old for old in self._slices if old <= number - SLICES]:
                del self._slices[old]
        if number <= self._newest - SLICES:
            return
        held = self._slices.get(number)
        if held is None:
            held = self._slices[number] = _Slice()
        held.counts[_mark(value_s)] += 1
        held.max_s = max(held.max_s, value_s)
        held.summary = None

    def summary(self, now_ns: int) -> tuple[SliceSummary, ...]:
        """Return all slices of the window up to now, oldest first, empty ones included."""
        newest = now_ns // (SLICE_S * 1_000_000_000)
        numbers = range(newest - SLICES + 1, newest + 1)
        return tuple(_summary(number, self._slices.get(number)) for number in numbers)


def _mark(value_s: float) -> int:
    return math.ceil(math.log(max(value_s, _LEAST_S) / _LEAST_S) / _STEP)


def _summary(number: int, held: _Slice | None) -> SliceSummary:
    start_ns = number * SLICE_S * 1_000_000_000
    if held is None:
        return SliceSummary(start_ns, None, None, None)
    if held.summary is None:
        held.summary = SliceSummary(start_ns, _quantile(held, 0.5), _quantile(held, 0.99), held.max_s)
    return held.summary


def _quantile(held: _Slice, share: float) -> float:
    wanted = math.ceil(held.counts.total() * share)
    seen = 0
    for mark in sorted(held.counts):
        seen += held.counts[mark]
        if seen >= wanted:
            return min(_LEAST_S * math.exp(mark * _STEP), held.max_s)
    return held.max_s
