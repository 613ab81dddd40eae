"""Records, alerts, and helpers for PromQL. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

PREFIX = "Mirrorwatch"
FLOW = "flow, source_cluster, target_cluster"
"""The labels of every series and alert of a flow."""

CRITICAL, WARNING, INFO = "critical", "warning", "info"
_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A recording rule."""

    name: str
    expression: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alerting rule. `summary` says what is wrong, `description` has the numbers.

    `of_flow`: it has the labels of a flow, links to the flow's page, and can be muted with it.
    `within_s`: the expression itself requires that its condition held for `for_s` of that time; 0: `for_s` is
    without a break.
    """

    name: str
    expression: str
    severity: str
    summary: str
    description: str
    for_s: float = 0.0
    within_s: float = 0.0
    keep_s: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    of_flow: bool = True
    more_labels: tuple[str, ...] = ()  # labels besides those of a flow

    @property
    def label_names(self) -> frozenset[str]:
        """Return the labels of this alert."""
        flow = FLOW.split(", ") if self.of_flow else ()
        return frozenset(("alertname", "severity", *self.labels, *flow, *self.more_labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rules that are evaluated in order, at an interval."""

    name: str
    interval_s: float
    rules: tuple[Record | Alert, ...]


def promql_duration(seconds: float) -> str:
    """Return a duration in PromQL's notation, in its largest whole unit, rounded to milliseconds."""
    whole = round(seconds * 1000)
    for unit, size in _UNITS_MS.items():
        if whole >= size and whole % size == 0:
            return f"{whole // size}{unit}"
    return "0s"


def seconds_of(duration: str) -> float:
    """Return the seconds of a duration in PromQL's notation, such as 1h30m."""
    return sum(int(count) * _UNITS_MS[unit] for count, unit in re.findall(r"(\d+)([a-z]+)", duration)) / 1000


def quoted(text: str) -> str:
    """Return a string literal of PromQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def flow_matcher(flows: Collection[str], every: Collection[str]) -> str:
    """Return a matcher for these flows, empty for all flows."""
    if set(flows) == set(every):
        return ""
    pattern = "|".join(sorted(map(_literal, flows)))
    return f"flow=~{quoted(pattern)}"


def selector(name: str, *matchers: str) -> str:
    """Return a series with its non-empty matchers."""
    held = ", ".join(filter(None, matchers))
    return f"{name}{{{held}}}" if held else name


def either(expressions: Iterable[str]) -> str:
    """Return an expression for the union of these; their flows differ."""
    found = list(expressions)
    return found[0] if len(found) == 1 else " or ".join(f"({one})" for one in found)


def number(value: float) -> str:
    """Return a number without noise of its binary fraction."""
    return f"{value:.10g}"


def _literal(text: str) -> str:
    """Return an RE2 pattern that matches this text alone."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)
