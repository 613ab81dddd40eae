"""The flows as a picture: clusters placed tidily, flows as arrows from cluster to cluster.

Pure: a view in, coordinates out, for a template to draw as SVG. Each connected group of clusters gets
the layout that suits it, and the groups stand below each other:

1. a hub with its spokes: the hub in the middle, sources to its left and targets to its right;
2. few clusters without a dense web: columns, each flow going to the right where that is possible;
3. anything else: a ring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web.pages.arrows import Box, Pen, text_width
from mirrorwatch.web.pages.layers import layers_of

if TYPE_CHECKING:
    from mirrorwatch.service.view import ServiceView
    from mirrorwatch.web.pages.arrows import Arrow

_NODE_HEIGHT = 46.0
_ROW_GAP = 32.0
_TALLER = 44.0  # for each further cluster beside it
_BOTH_WAYS = 22.0  # more room where two labels stand above each other
_COLUMN_GAP = 190.0
_EDGE = 16.0
MOST_DRAWN = 100  # clusters; placing many more takes seconds, and no user finds one among them
_MOST_LAYERED = 12  # clusters; beyond that columns grow too tall and the ring reads better
_LONGEST_NAME = 18


@dataclass(frozen=True, slots=True)
class Node:
    """One cluster: its box, the name as far as it fits, and its state when that is not `up`."""

    alias: str
    name: str
    state: str
    box: Box


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes and arrows in a drawing of `width` by `height` units, CSS pixels where there is room."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    summary: str


def picture_of(view: ServiceView) -> Picture | None:
    """Place every cluster and draw every flow, or return None for no cluster and for more than MOST_DRAWN."""
    states = {cluster.alias: cluster.state for cluster in view.clusters}
    links = [(flow.source, flow.target) for flow in view.flows]
    aliases = list(dict.fromkeys([*states, *(alias for link in links for alias in link)]))
    if not 0 < len(aliases) <= MOST_DRAWN:
        return None
    widths = {alias: max(84.0, text_width(_shortened(alias), 15) + 32) for alias in aliases}
    boxes: dict[str, Box] = {}
    top = _EDGE
    for group in _groups(aliases, links):
        placed = _placed(group, [link for link in links if link[0] in group], widths)
        left_most = min(box.left for box in placed.values())
        top_most = min(box.top for box in placed.values())
        for alias, box in placed.items():
            boxes[alias] = box.moved(_EDGE - left_most, top - top_most)
        top = max(boxes[alias].bottom for alias in group) + 44
    pen = Pen(boxes, set(links))
    worst_first = sorted(view.flows, key=lambda flow: flow.status.worst.severity)
    arrows = [
        pen.arrow(flow.flow, flow.source, flow.target, flow.status.worst, wordy=len(view.flows) <= 16)
        for flow in worst_first
    ]
    # The worst are drawn last, on top; they chose the places of their labels first.
    arrows.reverse()
    left, upper, right, lower = pen.extent()
    shift_x, shift_y = _EDGE - left, _EDGE - upper
    nodes = [
        Node(alias, _shortened(alias), states.get(alias, "up"), boxes[alias].moved(shift_x, shift_y))
        for alias in aliases
    ]
    return Picture(
        width=round(right - left + 2 * _EDGE),
        height=round(lower - upper + 2 * _EDGE),
        nodes=tuple(nodes),
        arrows=tuple(arrow.moved(shift_x, shift_y) for arrow in arrows),
        summary=_summary(view),
    )


def _shortened(alias: str) -> str:
    return alias if len(alias) <= _LONGEST_NAME else alias[: _LONGEST_NAME - 1] + "…"


def _groups(aliases: list[str], links: list[tuple[str, str]]) -> list[list[str]]:
    """Return the connected groups of clusters in the order of their first cluster, lone ones last."""
    neighbours: dict[str, set[str]] = {alias: set() for alias in aliases}
    for source, target in links:
        neighbours[source].add(target)
        neighbours[target].add(source)
    groups: list[list[str]] = []
    seen: set[str] = set()
    for alias in aliases:
        if alias in seen:
            continue
        reached, waiting = {alias}, [alias]
        while waiting:
            fresh = neighbours[waiting.pop()] - reached
            reached |= fresh
            waiting.extend(fresh)
        seen |= reached
        groups.append([each for each in aliases if each in reached])
    return sorted(groups, key=lambda group: len(group) == 1)


def _placed(group: list[str], links: list[tuple[str, str]], widths: dict[str, float]) -> dict[str, Box]:
    """Choose the layout of one connected group."""
    pairs = {frozenset(link) for link in links}
    hub = _hub(group, pairs)
    if hub is not None:
        return _columns(_around(hub, group, set(links)), widths, links)
    if len(group) <= _MOST_LAYERED and len(pairs) < 1.5 * len(group) and not _is_ring(group, set(links)):
        return _columns(layers_of(group, links), widths, links)
    return _ring(group, widths)


def _hub(group: list[str], pairs: set[frozenset[str]]) -> str | None:
    """Return the cluster that every link of a group of four or more touches, if there is one."""
    if len(group) < 4:
        return None
    return next((alias for alias in group if all(alias in pair for pair in pairs)), None)


def _is_ring(group: list[str], links: set[tuple[str, str]]) -> bool:
    """Tell a cycle of three or more clusters, in which each passes on to one and receives from one."""
    return (
        len(group) >= 3
        and len(links) == len(group)
        and len({source for source, _ in links}) == len(group)
        and len({target for _, target in links}) == len(group)
    )


def _around(hub: str, group: list[str], links: set[tuple[str, str]]) -> list[list[str]]:
    """Put a hub between its sources and its targets; those that are both fill the shorter side."""
    spokes = [alias for alias in group if alias != hub]
    left = [alias for alias in spokes if (alias, hub) in links and (hub, alias) not in links]
    right = [alias for alias in spokes if (hub, alias) in links and (alias, hub) not in links]
    for alias in spokes:
        if (alias, hub) in links and (hub, alias) in links:
            (left if len(left) < len(right) else right).append(alias)
    # A side that is much longer gives some to the other: the arrowheads tell the direction.
    for longer, shorter in ((left, right), (right, left)):
        if len(longer) > 5 and len(longer) > 1.6 * len(shorter):
            kept = (len(longer) + len(shorter) + 1) // 2
            shorter.extend(longer[kept:])
            del longer[kept:]
    return [column for column in (left, [hub], right) if column]


def _columns(
    columns: list[list[str]], widths: dict[str, float], links: list[tuple[str, str]]
) -> dict[str, Box]:
    """Set columns side by side, centred; a box grows with the clusters linked to its busier side."""
    place = {alias: number for number, column in enumerate(columns) for alias in column}
    both_ways = _BOTH_WAYS if any((target, source) in links for source, target in links) else 0.0
    heights: dict[str, float] = {}
    for alias, number in place.items():
        linked = {target for source, target in links if source == alias}
        linked |= {source for source, target in links if target == alias}
        right = sum(place[other] >= number for other in linked)
        heights[alias] = _NODE_HEIGHT + (_TALLER + both_ways) * max(0, right - 1, len(linked) - right - 1)
    gap = _ROW_GAP + both_ways
    boxes: dict[str, Box] = {}
    x = 0.0
    for column in columns:
        width = max(widths[alias] for alias in column)
        y = -(sum(heights[alias] for alias in column) + gap * (len(column) - 1)) / 2
        for alias in column:
            boxes[alias] = Box(x + width / 2, y + heights[alias] / 2, widths[alias], heights[alias])
            y += heights[alias] + gap
        x += width + _COLUMN_GAP
    return boxes


def _ring(group: list[str], widths: dict[str, float]) -> dict[str, Box]:
    """Set clusters on an ellipse, wide rather than tall, the first at the top."""
    size = len(group)
    radius_y = max(120.0, size * 17.0)
    radius_x = max(200.0, radius_y * 1.65)
    turn = 2 * math.pi / size
    return {
        alias: Box(
            radius_x * math.sin(turn * number),
            -radius_y * math.cos(turn * number),
            widths[alias],
            _NODE_HEIGHT,
        )
        for number, alias in enumerate(group)
    }


def _summary(view: ServiceView) -> str:
    """Say in words what the picture shows."""
    counts = {verdict: sum(flow.status.worst is verdict for flow in view.flows) for verdict in Verdict}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{len(view.clusters)} clusters and {len(view.flows)} flows: {said or 'no flow'}."
