"""Objectives as OpenSLO v1. Pure.

Supports only ratio metrics over Mirrorwatch's own counters, with `budgetingMethod` Occurrences, or Timeslices
of a minute. Refuses everything else by name: ignoring it would change the objective.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from alerts.objectives.counters import COUNTERS
from alerts.rules.rule import promql_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives.objective import Objective, ObjectiveKind

_VERSION = "openslo/v1"
# Whole: anything more, such as another matcher or an offset, is another objective.
_QUERY = re.compile(r"sum\s*\(\s*(\w+)\s*\{\s*flow\s*=\s*\"([^\"\\*?\[]+)\"\s*,?\s*\}\s*\)")
_SLICE = "1m"
_METADATA = {"name", "displayName", "labels", "annotations"}
_RATIO = "spec.indicator.spec.ratioMetric"
_KEYS = {
    "": {"apiVersion", "kind", "metadata", "spec"},
    "metadata": _METADATA,
    "spec": {"description", "service", "indicator", "timeWindow", "budgetingMethod", "objectives"},
    "spec.indicator": {"metadata", "spec"},
    "spec.indicator.metadata": _METADATA,
    "spec.indicator.spec": {"description", "ratioMetric"},
    _RATIO: {"counter", "good", "total"},
    f"{_RATIO}.good": {"metricSource"},
    f"{_RATIO}.total": {"metricSource"},
    f"{_RATIO}.good.metricSource": {"type", "spec"},
    f"{_RATIO}.total.metricSource": {"type", "spec"},
    f"{_RATIO}.good.metricSource.spec": {"query"},
    f"{_RATIO}.total.metricSource.spec": {"query"},
    "spec.timeWindow": {"duration", "isRolling"},
    "spec.objectives": {"displayName", "target", "targetPercent", "timeSliceTarget", "timeSliceWindow"},
}
_OPTIONAL = {"metadata", "spec.indicator.metadata"}
_LONGEST_NAME = 63  # of an object in Kubernetes, as OpenSLO has it
KEYS_OF = {
    "flow": _RATIO,
    "kind": _RATIO,
    "target": "spec.objectives",
    "period": "spec.timeWindow.duration",
    "good_minutes": "spec.objectives.timeSliceTarget",
}
"""The key of an SLO for each key of an entry of section `objectives`."""


def can_be_written(objective: Objective) -> bool:
    """Return whether OpenSLO's ratio metrics can express an objective: it counts probes and has a budget."""
    return objective.kind in COUNTERS


def document_of(objective: Objective) -> dict[str, Any]:
    """Return an objective as an SLO; it requires `can_be_written`."""
    good, total = (
        {
            "metricSource": {
                "type": "Prometheus",
                "spec": {"query": f'sum({one.full_name}{{flow="{objective.flow}"}})'},
            }
        }
        for one in COUNTERS[objective.kind]
    )
    name = _name(objective)
    target: dict[str, Any] = {"target": objective.target_ratio}
    if objective.slice_ratio is not None:
        target |= {"timeSliceTarget": objective.slice_ratio, "timeSliceWindow": _SLICE}
    return {
        "apiVersion": _VERSION,
        "kind": "SLO",
        "metadata": {"name": name, "displayName": f"{objective.flow} {objective.kind}"},
        "spec": {
            "service": "mirrorwatch",
            "indicator": {
                "metadata": {"name": name},
                "spec": {"ratioMetric": {"counter": True, "good": good, "total": total}},
            },
            "timeWindow": [{"duration": promql_duration(objective.period_s), "isRolling": True}],
            "budgetingMethod": "Occurrences" if objective.slice_ratio is None else "Timeslices",
            "objectives": [target],
        },
    }


def _name(objective: Objective) -> str:
    """Return a name that no other objective has, whatever else is configured."""
    text = f"{objective.flow} {objective.kind}"
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if re.fullmatch(r"[a-z0-9]+->[a-z0-9]+", objective.flow) and len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{name[: _LONGEST_NAME - 9].strip('-')}-{digest}"


def entry_of(document: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the entry of section `objectives` for an SLO, and problems as (key, sentence).

    Scalars may be strings. The entry is valid only without problems.
    """
    problems: list[tuple[str, str]] = []
    reader = _Reader(document, problems)
    if reader.text("apiVersion") != _VERSION:
        problems.append(("apiVersion", f"must be {_VERSION}"))
    kind = reader.text("kind")
    if kind != "SLO":
        problems.append(("kind", f"{kind or 'nothing'} is not supported; only SLO is"))
        return {}, problems
    for path in _KEYS:
        reader.refuse_unknown(path)
    found = _ratio(reader, problems)
    if reader.text("spec.timeWindow.isRolling").lower() != "true":
        problems.append(("spec.timeWindow", "must be rolling; calendar windows are not supported"))
    duration = reader.text("spec.timeWindow.duration")
    if not re.fullmatch(r"\d+[smhd]", duration):
        problems.append(("spec.timeWindow.duration", f"'{duration}' is not supported; write for example 28d"))
    entry: dict[str, Any] = {"period": duration, "target": _percent(reader, "spec.objectives", problems)}
    if found is not None:
        entry |= {"kind": found[0].value, "flow": found[1]}
    entry |= _slices(reader, problems)
    return entry, problems


def _ratio(reader: _Reader, problems: list[tuple[str, str]]) -> tuple[ObjectiveKind, str] | None:
    """Return the kind and the flow whose counters the ratio metric divides; None with a problem."""
    if reader.text(f"{_RATIO}.counter").lower() != "true":
        problems.append((f"{_RATIO}.counter", "must be true: Mirrorwatch's probes are counters"))
    queries = []
    for source in (f"{_RATIO}.{which}.metricSource" for which in ("good", "total")):
        queries.append(reader.text(f"{source}.spec.query"))
        if (given := reader.text(f"{source}.type")).lower() != "prometheus":
            problems.append((f"{source}.type", f"{given or 'nothing'} is not supported; only Prometheus is"))
    found = _kind_and_flow(queries)
    if found is None:
        known = "; ".join(f"{good.full_name} / {total.full_name}" for good, total in COUNTERS.values())
        sentence = f'must divide counters of one flow, each written as sum(NAME{{flow="A->B"}}): {known}'
        problems.append((_RATIO, sentence))
    return found


def _slices(reader: _Reader, problems: list[tuple[str, str]]) -> dict[str, Any]:
    """Return what makes a minute good, if the method counts minutes."""
    method = reader.text("spec.budgetingMethod")
    if method == "Occurrences":
        problems.extend(
            (f"spec.objectives.{name}", "must not be set with Occurrences; remove it, or use Timeslices")
            for name in ("timeSliceTarget", "timeSliceWindow")
            if reader.value(f"spec.objectives.{name}") is not None
        )
        return {}
    if method != "Timeslices":
        sentence = f"{method or 'nothing'} is not supported; use Occurrences or Timeslices"
        problems.append(("spec.budgetingMethod", sentence))
        return {}
    if reader.text("spec.objectives.timeSliceWindow") != _SLICE:
        problems.append(("spec.objectives.timeSliceWindow", f"must be {_SLICE}: the store holds minutes"))
    return {"good_minutes": _share(reader, "spec.objectives.timeSliceTarget", 1.0, problems)}


class _Reader:
    """Reads values by dotted paths; a list of one element is read as that element."""

    def __init__(self, document: Any, problems: list[tuple[str, str]]) -> None:
        self._document = document
        self._problems = problems

    def value(self, path: str) -> Any:
        found = self._document
        for name in filter(None, path.split(".")):
            found = _single(found).get(name) if isinstance(_single(found), dict) else None
        return found

    def text(self, path: str) -> str:
        found = self.value(path)
        return "" if found is None or isinstance(found, dict | list) else str(found)

    def refuse_unknown(self, path: str) -> None:
        """Report every key that would change the objective, and lists of several elements."""
        found = self.value(path)
        if found is None and path in _OPTIONAL:
            return
        if isinstance(found, list) and len(found) != 1:
            self._problems.append((path, "must have exactly one element"))
        held = _single(found)
        if not isinstance(held, dict):
            self._problems.append((path or "document", "missing"))
            return
        for name in held:
            if name not in _KEYS[path]:
                self._problems.append((f"{path}.{name}".lstrip("."), "is not supported; remove it"))


def _single(found: Any) -> Any:
    return found[0] if isinstance(found, list) and found else found


def _kind_and_flow(queries: Sequence[str]) -> tuple[ObjectiveKind, str] | None:
    good, total = (_QUERY.fullmatch(query.strip()) for query in queries)
    if good is None or total is None or good[2] != total[2]:
        return None
    for kind, counters in COUNTERS.items():
        if (good[1], total[1]) == tuple(one.full_name for one in counters):
            return kind, good[2]
    return None


def _percent(reader: _Reader, path: str, problems: list[tuple[str, str]]) -> float | None:
    given = [name for name in ("target", "targetPercent") if reader.text(f"{path}.{name}")]
    if len(given) != 1:
        problems.append((path, "must have either target or targetPercent"))
        return None
    return _share(reader, f"{path}.{given[0]}", 1.0 if given == ["target"] else 100.0, problems)


def _share(reader: _Reader, path: str, whole: float, problems: list[tuple[str, str]]) -> float | None:
    """Return a share in percent of a number below `whole`."""
    text = reader.text(path)
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < whole:
        problems.append((path, f"'{text[:40]}' must be a number from 0 to below {whole:g}"))
        return None
    return round(100 * number / whole, 10)
