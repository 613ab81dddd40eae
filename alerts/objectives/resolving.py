"""The objectives of each flow, from the configuration. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol

from alerts.objectives.objective import Objective, ObjectiveKind, defaults_of
from fleet.probe_history import MINUTE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_TARGETS = {
    ObjectiveKind.AVAILABILITY: 99.9,
    ObjectiveKind.LOSS: 100.0,
}
OTHER_TARGET = 99.0


class Wanted(Protocol):
    """A configured objective: shares in percent, durations in seconds."""

    @property
    def flow(self) -> str:
        """Return the name of a flow, or a pattern."""
        ...

    @property
    def kind(self) -> ObjectiveKind:
        """Return the kind."""
        ...

    @property
    def target(self) -> float | None:
        """Return the required good share, None for the default."""
        ...

    @property
    def period(self) -> float:
        """Return the period."""
        ...

    @property
    def limit(self) -> float | None:
        """Return the limit, None for the default."""
        ...

    @property
    def good_minutes(self) -> float | None:
        """Return the share that makes a minute good, None to count events."""
        ...


@dataclass(frozen=True, slots=True)
class FlowFacts:
    """Facts about a flow for its objectives."""

    name: str
    source: str
    target: str
    has_canary: bool
    probes_per_s: float = 0.0  # over all partitions
    exactly_once: bool = False  # no record may arrive twice

    @property
    def minutes_per_probe(self) -> float:
        """Return the minutes between two probes, at least 1."""
        return max(1.0, 1 / (MINUTE_S * self.probes_per_s)) if self.probes_per_s > 0 else 1.0


def objectives_of(
    wanted: Sequence[Wanted] | None, flows: Sequence[FlowFacts]
) -> tuple[tuple[Objective, ...], list[tuple[int, str, str]]]:
    """Return the objectives of all flows, and problems as (number of the entry, key, sentence).

    Without entries each flow has the defaults. The last of several entries for a flow and kind applies, so
    that one for `*` may come first.
    """
    if wanted is None:
        return tuple(
            replace(objective, minutes_per_probe=one.minutes_per_probe)
            for one in flows
            for objective in defaults_of(one.name, one.source, one.target, has_canary=one.has_canary)
        ), []
    found: dict[tuple[str, ObjectiveKind], Objective] = {}
    problems: list[tuple[int, str, str]] = []
    for number, entry in enumerate(wanted):
        chosen = [one for one in flows if fnmatchcase(one.name, entry.flow)]
        if not chosen:
            problems.append((number, "flow", _unknown(entry.flow, [one.name for one in flows])))
        blind = [one.name for one in chosen if entry.kind.needs_canary and not one.has_canary]
        if chosen and len(blind) == len(chosen):
            sentence = (
                f"{entry.kind} needs a canary, and {', '.join(blind[:3])} has none; use replication_lag"
            )
            problems.append((number, "kind", sentence))
        for one in chosen:
            if one.name not in blind:
                found[one.name, entry.kind] = _objective(entry, one)
    return tuple(found.values()), problems


def _objective(entry: Wanted, flow: FlowFacts) -> Objective:
    target = DEFAULT_TARGETS.get(entry.kind, OTHER_TARGET) if entry.target is None else entry.target
    return Objective(
        flow=flow.name,
        source=flow.source,
        target=flow.target,
        kind=entry.kind,
        target_ratio=round(target / 100, 12),
        period_s=entry.period,
        limit_s=entry.kind.default_limit_s if entry.limit is None else entry.limit,
        slice_ratio=None if entry.good_minutes is None else round(entry.good_minutes / 100, 12),
        minutes_per_probe=flow.minutes_per_probe,
    )


def _unknown(pattern: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(pattern, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(names[:5]) or 'none'}"
    return f"unknown flow '{pattern}'; {hint}"
