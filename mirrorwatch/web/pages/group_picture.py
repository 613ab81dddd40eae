"""The picture of one partition of a group: committed offset and log end offset over time. Pure.

A row of the lag monitor becomes coordinates of an SVG. A committed offset is drawn in steps; the log end
offset as a line between polls. If the two are far apart compared with their changes, each gets half of the
picture, at the same scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WIDTH = 600
HEIGHT = 180

_MARGIN = 12.0
_APART = 15.0  # between two labels of the axis
_SPLIT_FROM = 5  # split if the distance is more than this many times the change
_MOST_DIGITS = 13  # of an offset that is written in full
_CLOCKS_APART_MS = 60_000  # a broker's clock may be this far ahead
_SPANS_S = (120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)

_Point = tuple[float, int]  # epoch ms, offset


@dataclass(frozen=True, slots=True)
class OffsetTick:
    """One label of the axis; `of` is the line that it belongs to."""

    y: float
    text: str
    of: str  # log-end | committed


@dataclass(frozen=True, slots=True)
class OffsetsPicture:
    """A picture ready to draw; `idle` is the line from the last commit to now."""

    log_end: str
    polls: str
    committed: str
    commits: str
    idle: str
    split_y: float | None
    ticks: tuple[OffsetTick, ...]
    times: tuple[str, ...]
    summary: str


def offsets_picture(row: Mapping[str, Any], *, now_ms: int) -> OffsetsPicture | None:
    """Lay out a partition's window; None if neither a commit nor a log end offset has a time."""
    commits = _timed([(one["committed_at_ms"], one["offset"]) for one in row["commits"]], now_ms)
    ends = _timed([(one["read_at_ms"], one["offset"]) for one in row["ends"]], now_ms)
    if not commits and not ends:
        return None
    oldest_ms = (commits or ends)[0][0]
    span_s = next((span for span in _SPANS_S if span * 1000 >= 1.1 * (now_ms - oldest_ms)), _SPANS_S[-1])
    left_ms = now_ms - span_s * 1000
    commits, ends = _stepped_from(commits, left_ms), _lined_from(ends, left_ms)
    low, high, split_y = _scales([offset for _, offset in ends], [offset for _, offset in commits])

    def across(at_ms: float) -> str:
        return f"{WIDTH * (at_ms - left_ms) / (span_s * 1000):.1f}"

    return OffsetsPicture(
        log_end=_line(ends, across, high),
        polls=_dots(ends, across, high),
        committed=_steps(commits, across, low),
        commits=_dots(commits, across, low),
        idle=f"M{across(commits[-1][0])} {low(commits[-1][1]):.1f}H{WIDTH}" if commits else "",
        split_y=split_y,
        ticks=_ticks(ends, commits, high, low),
        times=(f"{duration_text(span_s)} ago", f"{duration_text(span_s / 2)} ago", "now"),
        summary=_summary(ends, commits, span_s),
    )


def _timed(points: list[tuple[int, int]], now_ms: int) -> list[_Point]:
    """Return the points with valid times, in order of time."""
    told: list[_Point] = []
    for at_ms, offset in points:
        if 0 < at_ms <= now_ms + _CLOCKS_APART_MS:
            known = min(at_ms, now_ms)
            told.append((max(known, told[-1][0]) if told else known, offset))
    return told


def _stepped_from(points: list[_Point], left_ms: float) -> list[_Point]:
    """Move the last commit before the left edge to the edge."""
    before = [point for point in points if point[0] < left_ms]
    return [(left_ms, point[1]) for point in before[-1:]] + points[len(before) :]


def _lined_from(points: list[_Point], left_ms: float) -> list[_Point]:
    """Cut the line of polls at the left edge."""
    before = [point for point in points if point[0] < left_ms]
    inside = points[len(before) :]
    if not before:
        return inside
    (at_ms, end) = before[-1]
    if not inside:
        return [(left_ms, end)]
    share = (left_ms - at_ms) / (inside[0][0] - at_ms)
    return [(left_ms, round(end + share * (inside[0][1] - end))), *inside]


def _scales(
    ends: Sequence[int], commits: Sequence[int]
) -> tuple[Callable[[int], float], Callable[[int], float], float | None]:
    """Return the scales of commits and of log end offsets, and the height of the split if there is one."""
    every = [*ends, *commits]
    moved = max(1, *(max(line) - min(line) for line in (ends, commits) if line))
    if ends and commits and max(every) - min(every) > _SPLIT_FROM * moved:
        halves = (HEIGHT / 2 + _MARGIN, HEIGHT - _MARGIN), (_MARGIN, HEIGHT / 2 - _MARGIN)
        below, above = (halves[0], halves[1]) if commits[-1] <= ends[-1] else (halves[1], halves[0])
        return _scale(commits, moved, *below), _scale(ends, moved, *above), HEIGHT / 2
    one = _scale(every, max(every) - min(every), _MARGIN, HEIGHT - _MARGIN)
    return one, one, None


def _scale(values: Sequence[int], room: int, top: float, bottom: float) -> Callable[[int], float]:
    """Return the scale where `room` records fill the height; fewer are centred."""
    low = min(values)
    spare = (room - (max(values) - low)) / 2
    return lambda value: bottom - (bottom - top) * ((value - low + spare) / room if room else 0.5)


def _line(points: Sequence[_Point], across: Callable[[float], str], place: Callable[[int], float]) -> str:
    drawn = [f"{across(at_ms)} {place(offset):.1f}" for at_ms, offset in points]
    return "M" + "L".join(drawn) if len(drawn) > 1 else ""


def _steps(points: Sequence[_Point], across: Callable[[float], str], place: Callable[[int], float]) -> str:
    if len(points) < 2:
        return ""
    first_ms, first = points[0]
    rest = [f"H{across(at_ms)}V{place(offset):.1f}" for at_ms, offset in points[1:]]
    return f"M{across(first_ms)} {place(first):.1f}" + "".join(rest)


def _dots(points: Sequence[_Point], across: Callable[[float], str], place: Callable[[int], float]) -> str:
    return "".join(f"M{across(at_ms)} {place(offset):.1f}h0.01" for at_ms, offset in points)


def _ticks(
    ends: Sequence[_Point],
    commits: Sequence[_Point],
    end_y: Callable[[int], float],
    commit_y: Callable[[int], float],
) -> tuple[OffsetTick, ...]:
    """Label the start and the end of each line, as far as the labels do not overlap."""
    chosen: list[OffsetTick] = []
    for number in (-1, 0):
        for points, place, of in ((ends, end_y, "log-end"), (commits, commit_y, "committed")):
            if points:
                y = round(place(points[number][1]), 1)
                if all(abs(y - other.y) >= _APART for other in chosen):
                    chosen.append(OffsetTick(y, _label(points[number][1]), of))
    return tuple(sorted(chosen, key=lambda tick: tick.y))


def _label(offset: int) -> str:
    return f"{offset:,}" if abs(offset) < 10**_MOST_DIGITS else f"{offset:.4g}"


def _summary(ends: Sequence[_Point], commits: Sequence[_Point], span_s: float) -> str:
    """Write the picture for screen readers."""
    parts = [_moved("log end offset", ends), _moved("committed offset", commits)]
    return f"Over the last {duration_text(span_s)}: {'; '.join(part for part in parts if part)}."


def _moved(what: str, points: Sequence[_Point]) -> str:
    if not points:
        return ""
    first, last = points[0][1], points[-1][1]
    return f"{what} stayed at {last:,}" if first == last else f"{what} went from {first:,} to {last:,}"
