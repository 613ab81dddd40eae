"""Columns for clusters that pass records on: sources to the left, and as few crossings as are cheap to have.

Pure. A flow that would close a circle counts the other way round, so that both directions between two
clusters, and cycles, still have columns.
"""

from __future__ import annotations

from collections import Counter


def layers_of(aliases: list[str], links: list[tuple[str, str]]) -> list[list[str]]:
    """Return the columns from left to right: every alias once, each after all that feed it."""
    forward = _without_circles(aliases, links)
    depth = _depths(aliases, forward)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for alias in aliases:
        layers[depth[alias]].append(alias)
    return _untangled(layers, forward)


def _without_circles(aliases: list[str], links: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep links in order as long as they close no circle; the sources of most flows come first."""
    out = Counter(source for source, _ in links)
    order = {alias: number for number, alias in enumerate(aliases)}
    kept: list[tuple[str, str]] = []
    for source, target in sorted(
        set(links), key=lambda link: (-out[link[0]], order[link[0]], order[link[1]])
    ):
        if not _reaches(target, source, kept):
            kept.append((source, target))
    return kept


def _reaches(start: str, goal: str, links: list[tuple[str, str]]) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for source, target in links:
            if source == here and target not in reached:
                reached.add(target)
                waiting.append(target)
    return goal in reached


def _depths(aliases: list[str], links: list[tuple[str, str]]) -> dict[str, int]:
    """Return the longest way to each alias; sources are then drawn next to the first that they feed."""
    depth = dict.fromkeys(aliases, 0)
    for _ in aliases:
        for source, target in links:
            depth[target] = max(depth[target], depth[source] + 1)
    fed = {target for _, target in links}
    for alias in aliases:
        followers = [depth[target] for source, target in links if source == alias]
        if alias not in fed and followers:
            depth[alias] = min(followers) - 1
    return depth


def _untangled(layers: list[list[str]], links: list[tuple[str, str]]) -> list[list[str]]:
    """Order each column by the mean row of its neighbours, a few sweeps forth and back."""
    for sweep in range(4):
        rows = {alias: row - len(layer) / 2 for layer in layers for row, alias in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            mean: dict[str, float] = {}
            for alias in layer:
                beside = [rows[target] for source, target in links if source == alias]
                beside += [rows[source] for source, target in links if target == alias]
                mean[alias] = sum(beside) / len(beside) if beside else rows[alias]
            layer.sort(key=lambda alias: mean[alias])
            rows |= {alias: row - len(layer) / 2 for row, alias in enumerate(layer)}
    return layers
