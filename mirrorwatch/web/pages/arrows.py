"""Arrows between boxes: a curve from edge to edge, its head, and a label where there is room for it.

Pure geometry in drawing units. An arrow bends away from boxes that are none of its ends, and the two
directions between a pair of boxes bend apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from fleet.verdicts.vocabulary import Verdict

Point = tuple[float, float]

_GAP = 5.0  # between a box and the arrow that touches it
_HEAD = 11.0
_DOCK = 46.0  # the height of a box with one neighbour, and of each place to dock at a taller one
_LABEL_HEIGHT = 22.0
_PLACES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.2, 0.8)


def text_width(text: str, size: float) -> float:
    """Estimate the width of text in a proportional font of `size` units; wide scripts count double."""
    return sum(1.0 if ord(letter) > 0x2E7F else 0.6 for letter in text) * size


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """The left edge."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height / 2

    def moved(self, across: float, down: float) -> Box:
        """Return the box elsewhere."""
        return replace(self, x=round(self.x + across, 1), y=round(self.y + down, 1))

    def holds(self, point: Point, *, margin: float = 0.0) -> bool:
        """Tell whether a point lies within the box widened by a margin."""
        return (
            abs(point[0] - self.x) <= self.width / 2 + margin
            and abs(point[1] - self.y) <= self.height / 2 + margin
        )

    def touches(self, other: Box, *, margin: float = 0.0) -> bool:
        """Tell whether two boxes overlap or come closer than a margin."""
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2 + margin
            and abs(self.y - other.y) < (self.height + other.height) / 2 + margin
        )


@dataclass(frozen=True, slots=True)
class Arrow:
    """One flow: start, bend and end of its curve, the three corners of its head, and the label's box.

    `worded` says that the label holds the verdict as a word; otherwise there is room for its sign only.
    """

    flow: str
    source: str
    target: str
    verdict: Verdict
    curve: tuple[Point, Point, Point]
    head: tuple[Point, Point, Point]
    label: Box
    worded: bool

    @property
    def path(self) -> str:
        """Return the curve as SVG path data."""
        (x0, y0), (x1, y1), (x2, y2) = self.curve
        return f"M{x0:.1f} {y0:.1f}Q{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f}"

    @property
    def head_points(self) -> str:
        """Return the head as the points of an SVG polygon."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.head)

    def moved(self, across: float, down: float) -> Arrow:
        """Return the arrow elsewhere."""

        def along(point: Point) -> Point:
            return point[0] + across, point[1] + down

        start, bend, end = self.curve
        tip, one, other = self.head
        return replace(
            self,
            curve=(along(start), along(bend), along(end)),
            head=(along(tip), along(one), along(other)),
            label=self.label.moved(across, down),
        )


class Pen:
    """Draws one arrow after another over boxes that stay, and remembers where labels already are."""

    def __init__(self, boxes: Mapping[str, Box], links: AbstractSet[tuple[str, str]]) -> None:
        self._boxes = boxes
        self._links = links
        self._labels: list[Box] = []
        self._points: list[Point] = []

    def arrow(self, flow: str, source: str, target: str, verdict: Verdict, *, wordy: bool) -> Arrow:
        """Draw a flow; with `wordy` false a word stands only at verdicts that are not healthy."""
        start, end = self._boxes[source], self._boxes[target]
        curve, head = self._curve(source, target, bent=(target, source) in self._links)
        worded = wordy or str(verdict) != "healthy"
        label, worded = self._label(curve, str(verdict), worded=worded)
        self._labels.append(label)
        self._points += [*(_at(curve, step / 8) for step in range(9))]
        self._points += [(label.left, label.top), (label.right, label.bottom)]
        for box in (start, end):
            self._points += [(box.left, box.top), (box.right, box.bottom)]
        return Arrow(flow, source, target, verdict, curve, head, label, worded)

    def extent(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom of all that is drawn."""
        corners = [(box.left, box.top) for box in self._boxes.values()]
        corners += [(box.right, box.bottom) for box in self._boxes.values()]
        across, down = zip(*corners, *self._points, strict=True)
        return min(across), min(down), max(across), max(down)

    def _curve(
        self, source: str, target: str, *, bent: bool
    ) -> tuple[tuple[Point, Point, Point], tuple[Point, Point, Point]]:
        start, end = self._boxes[source], self._boxes[target]
        others = [box for alias, box in self._boxes.items() if alias not in (source, target)]
        drawn = _bow(start, end, 0.0)
        for bend in _bends(bent=bent):
            drawn = _bow(start, end, bend)
            curve = drawn[0]
            if not any(box.holds(_at(curve, step / 24), margin=6) for step in range(25) for box in others):
                break
        return drawn

    def _label(self, curve: tuple[Point, Point, Point], word: str, *, worded: bool) -> tuple[Box, bool]:
        """Find the first place along the curve that is free; without one a sign must do, in the middle."""
        sizes = [(text_width(word, 13) + 34, True)] if worded else []
        for width, is_word in [*sizes, (_LABEL_HEIGHT, False)]:
            for x, y in _spots(curve):
                label = Box(round(x, 1), round(y, 1), round(width, 1), _LABEL_HEIGHT)
                taken = any(label.touches(box, margin=3) for box in self._boxes.values())
                if not taken and not any(label.touches(other, margin=2) for other in self._labels):
                    return label, is_word
        x, y = _at(curve, 0.5)
        return Box(round(x, 1), round(y, 1), _LABEL_HEIGHT, _LABEL_HEIGHT), False


def _spots(curve: tuple[Point, Point, Point]) -> list[Point]:
    """Return where a label may stand: on the curve, but beside one that it would cover altogether."""
    (x0, y0), _, (x1, y1) = curve
    length = math.hypot(x1 - x0, y1 - y0)
    if length > 2 * _LABEL_HEIGHT + _HEAD:
        return [_at(curve, place) for place in _PLACES]
    x, y = _at(curve, 0.5)
    aside = _LABEL_HEIGHT * 0.8
    across, down = (x1 - x0) / (length or 1.0), (y1 - y0) / (length or 1.0)
    return [(x + aside * down * side, y - aside * across * side) for side in (1, -1, 1.7, -1.7)]


def _bends(*, bent: bool) -> Iterator[float]:
    """Yield how far a curve may bow out, in drawing units, least first; away from its twin if it has one."""
    if bent:
        yield from (17.0, 45.0, 85.0, 140.0, 200.0)
        return
    yield 0.0
    for amount in (36.0, 80.0, 130.0, 190.0):
        yield amount
        yield -amount


def _bow(start: Box, end: Box, bend: float) -> tuple[tuple[Point, Point, Point], tuple[Point, Point, Point]]:
    """Draw a curve between two boxes that bows out to its left by `bend`, and the head at its end."""
    x0, y0, x1, y1 = start.x, _facing(start, end), end.x, _facing(end, start)
    across, down = x1 - x0, y1 - y0
    length = math.hypot(across, down) or 1.0
    middle = (
        (x0 + x1) / 2 + 2 * bend * down / length,
        (y0 + y1) / 2 - 2 * bend * across / length,
    )
    first, tip = _leaving(start, y0, middle), _leaving(end, y1, middle)
    slope = math.atan2(tip[1] - middle[1], tip[0] - middle[0])
    neck = (tip[0] - _HEAD * 0.8 * math.cos(slope), tip[1] - _HEAD * 0.8 * math.sin(slope))
    wings = [
        (tip[0] - _HEAD * math.cos(slope + side), tip[1] - _HEAD * math.sin(slope + side))
        for side in (0.45, -0.45)
    ]
    return (first, middle, neck), (tip, wings[0], wings[1])


def _facing(box: Box, other: Box) -> float:
    """Return the height at which a box is linked to another: its own centre, or nearer where it is tall."""
    room = max(0.0, (box.height - _DOCK) / 2)
    return box.y + max(-room, min(room, 0.75 * (other.y - box.y)))


def _leaving(box: Box, y: float, towards: Point) -> Point:
    """Return where the line from a box's middle at height `y` leaves it for a point, a small gap beyond."""
    across, down = towards[0] - box.x, towards[1] - y
    if across == 0 and down == 0:
        return box.x, y
    upright = (box.bottom - y if down > 0 else y - box.top) + _GAP
    step = min(
        room / abs(part) for room, part in ((box.width / 2 + _GAP, across), (upright, down)) if part != 0
    )
    return box.x + across * step, y + down * step


def _at(curve: tuple[Point, Point, Point], place: float) -> Point:
    """Return the point of a quadratic curve at a place from 0 to 1."""
    (x0, y0), (x1, y1), (x2, y2) = curve
    a, b, c = (1 - place) ** 2, 2 * place * (1 - place), place**2
    return a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2
