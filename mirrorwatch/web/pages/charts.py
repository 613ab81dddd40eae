"""The chart of latency by stage, as coordinates of an SVG. Pure.

The plot is 600 units wide and is stretched to the available width. Things that must keep their shape (text,
dots) are outside it or strokes. An interval without measurements is a gap in the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from mirrorwatch.web.texts import latency_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mirrorwatch.service.view import LatencySlice

WIDTH = 600
HEIGHT = 160
SPAN_S = 900.0

_MARGIN = 10  # above the highest and below the lowest value
_APART = 15  # between two labels of the axis
_LOG_FROM = 20.0  # above this ratio of largest to smallest value, a linear scale hides the small ones
_SMALLEST_S = 0.0001
_QUIET_S = 30.0  # an interval: after this time without an arrival, the age of the last one is drawn


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of the latency axis at height `y`; `at_threshold` is the label of the threshold."""

    y: float
    text: str
    at_threshold: bool


@dataclass(frozen=True, slots=True)
class Line:
    """The 99th percentile of one stage: `path` joins consecutive intervals, `dots` are single ones."""

    stage: str
    path: str
    dots: str


@dataclass(frozen=True, slots=True)
class LatencyChart:
    """A chart ready to draw: `band` is the area from median to 99th percentile, end to end."""

    height: int
    lines: tuple[Line, ...]
    band: str
    ticks: tuple[Tick, ...]
    threshold_y: float
    scale: str  # linear | log
    waiting: str  # age of the last arrival while nothing arrives; otherwise empty
    summary: str  # text for screen readers


def latency_chart(
    latency: Mapping[str, Sequence[LatencySlice]],
    *,
    threshold_s: float,
    now_at: float,
    interval_s: float = 0.0,
    height: int = HEIGHT,
    last_arrival_at: float | None = None,
) -> LatencyChart | None:
    """Lay out the last 15 minutes of every stage; None if there is nothing to draw.

    While nothing arrives, the rising age of the last arrival is drawn. Between two probes of an `interval_s`
    no arrival is expected.

    The scale holds every value and the threshold. It is logarithmic if the largest value is more than 20
    times the smallest (for example an ack of 2 ms and a threshold of 5 s), otherwise linear from zero.
    """
    recent = {stage: _recent(slices, now_at) for stage, slices in latency.items()}
    values = [value for slices in recent.values() for value in _values(slices)]
    ages = _ages(last_arrival_at, now_at, max(_QUIET_S, interval_s + threshold_s))
    values += [age_s for _, age_s in ages]
    if not values:
        return None
    threshold_s = max(threshold_s, _SMALLEST_S)
    low, high = min(*values, threshold_s), max(*values, threshold_s)
    if high / low > _LOG_FROM:
        scale, place, marks = "log", _log_place(low, high, height), _decades(low, high)
    else:
        scale, place, marks = "linear", _linear_place(high, height), _even_steps(high)

    def across(at: float) -> float:
        return WIDTH * (1 - (now_at - at) / SPAN_S)

    end_to_end = recent.get("end_to_end", ())
    return LatencyChart(
        height=height,
        lines=tuple(
            _line(stage, _runs(slices, lambda piece: (piece.p99_s,)), across, place)
            for stage, slices in recent.items()
            if any(piece.p99_s is not None for piece in slices)
        ),
        band=_band(_runs(end_to_end, lambda piece: (piece.p50_s, piece.p99_s)), across, place),
        ticks=_ticks(marks, threshold_s, place),
        threshold_y=round(place(threshold_s), 1),
        scale=scale,
        waiting="M" + "L".join(f"{across(at):.1f} {place(age_s):.1f}" for at, age_s in ages) if ages else "",
        summary=_summary(end_to_end, threshold_s, ages[-1][1] if ages else None),
    )


def newest_measured(slices: Sequence[LatencySlice]) -> LatencySlice | None:
    """Return the newest interval with measurements, or None."""
    return next((piece for piece in reversed(slices) if piece.p50_s is not None), None)


def _ages(last_arrival_at: float | None, now_at: float, quiet_s: float) -> list[tuple[float, float]]:
    """Return times with the age of the last arrival; empty while records arrive."""
    if last_arrival_at is None or now_at - last_arrival_at <= quiet_s:
        return []
    first = max(last_arrival_at + 1.0, now_at - SPAN_S)
    moments = [first + (now_at - first) * step / 20 for step in range(21)]
    return [(at, at - last_arrival_at) for at in moments]


def _recent(slices: Sequence[LatencySlice], now_at: float) -> tuple[LatencySlice, ...]:
    return tuple(piece for piece in slices if 0 <= now_at - piece.at <= SPAN_S)


def _values(slices: Iterable[LatencySlice]) -> list[float]:
    """Return the values on the chart: medians and 99th percentiles, at least 0.1 ms."""
    return [
        _clamped(value)
        for piece in slices
        for value in (piece.p50_s, piece.p99_s)
        if value is not None and math.isfinite(value)
    ]


def _clamped(value: float) -> float:
    return max(value, _SMALLEST_S)


def _log_place(low: float, high: float, height: int) -> Callable[[float], float]:
    foot, head = math.log10(low), math.log10(high)
    room = height - 2 * _MARGIN
    return lambda value: height - _MARGIN - room * (math.log10(_clamped(value)) - foot) / (head - foot)


def _linear_place(high: float, height: int) -> Callable[[float], float]:
    return lambda value: height - (height - _MARGIN) * value / high


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]


def _even_steps(high: float) -> list[float]:
    """Return three to five round marks from zero to the largest value."""
    rough = high / 4
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough * 0.999)
    return [number * step for number in range(int(high / step * 1.001) + 1)]


def _ticks(marks: list[float], threshold_s: float, place: Callable[[float], float]) -> tuple[Tick, ...]:
    """Return the label of the threshold, and marks that do not overlap."""
    chosen = [Tick(round(place(threshold_s), 1), _mark_text(threshold_s), at_threshold=True)]
    for mark in marks:
        y = round(place(mark), 1)
        if all(abs(y - other.y) >= _APART for other in chosen):
            chosen.append(Tick(y, _mark_text(mark), at_threshold=False))
    return tuple(sorted(chosen, key=lambda tick: tick.y))


def _mark_text(mark: float) -> str:
    """Write a round mark without unnecessary digits: `0.1 ms`, `10 ms`, `2.5 s`, `100 s`."""
    if mark == 0:
        return "0"
    return f"{mark * 1000:.3g} ms" if mark < 0.9995 else f"{mark:g} s"


def _runs(
    slices: Sequence[LatencySlice], pick: Callable[[LatencySlice], tuple[float | None, ...]]
) -> list[list[tuple[float, tuple[float, ...]]]]:
    """Split intervals at gaps into runs of times and values."""
    runs: list[list[tuple[float, tuple[float, ...]]]] = []
    broken = True
    for piece in slices:
        values = tuple(value for value in pick(piece) if value is not None and math.isfinite(value))
        if len(values) < len(pick(piece)):
            broken = True
            continue
        if broken:
            runs.append([])
            broken = False
        runs[-1].append((piece.at, values))
    return runs


_Runs = list[list[tuple[float, tuple[float, ...]]]]


def _line(stage: str, runs: _Runs, across: Callable[[float], float], place: Callable[[float], float]) -> Line:
    """Draw each run as a polyline, a single interval as a stroke of length 0, whose cap is a dot."""
    path, dots = "", ""
    for run in runs:
        points = [f"{across(at):.1f} {place(values[0]):.1f}" for at, values in run]
        if len(points) > 1:
            path += "M" + "L".join(points)
        else:
            dots += f"M{points[0]}h0.01"
    return Line(stage, path, dots)


def _band(runs: _Runs, across: Callable[[float], float], place: Callable[[float], float]) -> str:
    drawn: list[str] = []
    for run in runs:
        if len(run) > 1:
            upper = [f"{across(at):.1f} {place(values[1]):.1f}" for at, values in run]
            lower = [f"{across(at):.1f} {place(values[0]):.1f}" for at, values in reversed(run)]
            drawn.append("M" + "L".join(upper + lower) + "Z")
    return "".join(drawn)


def _summary(slices: Sequence[LatencySlice], threshold_s: float, waiting_s: float | None) -> str:
    """Write the end-to-end latency for screen readers."""
    measured = [piece for piece in slices if piece.p99_s is not None]
    quiet = "" if waiting_s is None else f" No arrival for {duration_text(waiting_s)}."
    if not measured:
        return f"No arrivals in the last 15 minutes.{quiet}"
    highest = max(piece.p99_s for piece in measured if piece.p99_s is not None)
    gaps = len(slices) - len(measured)
    said = (
        f"End-to-end latency of the last 15 minutes: 99th percentile {latency_text(measured[-1].p99_s)} "
        f"now, {latency_text(highest)} at most; threshold {latency_text(threshold_s)}."
    )
    missing = f" No measurements in {gaps} of {len(slices)} intervals." if gaps else ""
    return f"{said}{missing}{quiet}"
