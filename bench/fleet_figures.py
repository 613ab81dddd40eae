"""What a phase of the fleet's run comes to, the flows that touch the ill cluster apart from the others."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.processes import cpu_s, machine_s, pss_mb, tree
from bench.recording import quantile, rows
from bench.timed_service import STAGES, WORK
from bench.watched_service import samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.watched_service import Change, WatchedService

_STAGES_TOLD = ("end_to_end", "replication", "queueing")


@dataclass(slots=True)
class Phase:
    """One stretch of time, with what the service told at its two ends and what it cost."""

    what: str
    ill: str  # the cluster that something was done to; empty for none
    began_ns: int
    began_at: float
    ended_ns: int = 0
    ended_at: float = 0.0
    books: list[dict[tuple[str, str], float]] = field(default_factory=list)
    scrapes_ms: list[float] = field(default_factory=list)
    scrape_kb: float = 0.0
    pages_ms: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    busy: list[tuple[float, float]] = field(default_factory=list)
    process: dict[str, float] = field(default_factory=dict)

    @classmethod
    def begin(cls, what: str, ill: str, service: WatchedService) -> Phase:
        """Return a phase that begins now."""
        phase = cls(what, ill, time.monotonic_ns(), time.time())
        phase._mark(service)
        phase.began_ns, phase.began_at = time.monotonic_ns(), time.time()  # a full machine is slow to answer
        return phase

    def look(self, service: WatchedService) -> None:
        """Scrape and open the page once, as Prometheus and a browser would."""
        began_ns = time.monotonic_ns()
        body = service.get("/metrics")
        self.scrapes_ms.append((time.monotonic_ns() - began_ns) / 1e6)
        self.scrape_kb = len(body) / 1024
        began_ns = time.monotonic_ns()
        service.get("/")
        self.pages_ms.append((time.monotonic_ns() - began_ns) / 1e6)

    def end(self, service: WatchedService) -> None:
        """End now."""
        self.ended_ns, self.ended_at = time.monotonic_ns(), time.time()
        self._mark(service)
        pids = tree(service.pid)
        folder = Path(f"/proc/{service.pid}")
        store = sum(one.stat().st_size for one in service.log.parent.glob("*.db*"))
        self.process = {
            "pss_mb": round(pss_mb(pids), 1),
            "threads": len(list((folder / "task").iterdir())),
            "files": len(list((folder / "fd").iterdir())),
            "store_kb": round(store / 1024),
        }

    def cost(self) -> dict[str, Any]:
        """Return what the service took of the machine."""
        took_s = (self.ended_ns - self.began_ns) / 1e9
        busy, whole = (after - before for before, after in zip(*self.busy, strict=True))
        return {
            "cpu_share_of_a_core": round((self.cpu_s[1] - self.cpu_s[0]) / took_s, 3),
            "machine_busy_share": round(busy / whole, 3),
            **self.process,
            "metrics_median_ms": round(median(self.scrapes_ms), 1),
            "metrics_kb": round(self.scrape_kb),
            "page_median_ms": round(median(self.pages_ms), 1),
        }

    def good_share(self, flows: Iterable[str]) -> float:
        """Return good over settled of these flows, of the probes that were settled in this time."""
        before, after = self.books
        good, settled = (
            sum(after[name, flow] - before.get((name, flow), 0.0) for flow in flows)
            for name in ("good", "settled")
        )
        return round(good / settled, 5) if settled else 0.0

    def _mark(self, service: WatchedService) -> None:
        self.cpu_s.append(cpu_s(tree(service.pid)))
        self.busy.append(machine_s())
        self.books.append(_books(service.get("/metrics")))


def figures_of(
    folder: Path, phases: Sequence[Phase], changes: Sequence[Change], flows: Sequence[str], *, began_at: float
) -> dict[str, Any]:
    """Return the figures of all phases, from what the service wrote into its folder at its end."""
    names = json.loads((folder / "flows.json").read_text(encoding="utf-8"))
    latencies, work = rows(folder / "latencies", 4), rows(folder / "work", 3)
    first = {flow: _healthy_from(changes, flow, began_at) - began_at for flow in flows}
    found: dict[str, Any] = {
        "flows": len(flows),
        "start_to_all_healthy_s": round(max(first.values()), 1),
    }
    for phase in phases:
        touched = {flow for flow in flows if phase.ill and phase.ill in flow.split("->")}
        others = [flow for flow in flows if flow not in touched]
        numbers = {names.index(flow) for flow in others}
        within = [one for one in latencies if phase.began_ns <= one[3] < phase.ended_ns]
        found[phase.what] = {
            "others": {
                "flows": len(others),
                "good_share": phase.good_share(others),
                "not_healthy": _unwell(changes, others, phase),
                **{
                    stage: _quantiles(
                        [
                            took_ns
                            for number, kind, took_ns, _ in within
                            if STAGES[kind].value == stage and number in numbers
                        ]
                    )
                    for stage in _STAGES_TOLD
                },
            },
            "touched": _told(changes, sorted(touched), phase),
            "work": {
                name: _quantiles(
                    [
                        took_ns
                        for kind, took_ns, at_ns in work
                        if WORK[kind] == name and phase.began_ns <= at_ns < phase.ended_ns
                    ]
                )
                for name in WORK
            },
            "cost": phase.cost(),
        }
    return found


def _healthy_from(changes: Iterable[Change], flow: str, since_at: float) -> float:
    """Return when a flow was first healthy after an instant, infinity if never."""
    return min(
        (one.at for one in changes if one.flow == flow and one.verdict == "healthy" and one.at >= since_at),
        default=float("inf"),
    )


def _unwell(changes: Sequence[Change], flows: Sequence[str], phase: Phase) -> list[str]:
    """Return every verdict but healthy that these flows had in this time, those from before it first."""
    before = {one.flow: one for one in changes if one.at < phase.began_at}
    standing = [one for flow, one in before.items() if flow in flows and one.verdict != "healthy"]
    return [f"{one.flow}: still {one.verdict} ({one.cause}): {one.sentence}" for one in standing] + [
        f"{one.flow}: {one.verdict} ({one.cause}) after {one.at - phase.began_at:.1f} s: {one.sentence}"
        for one in changes
        if one.flow in flows and phase.began_at <= one.at < phase.ended_at and one.verdict != "healthy"
    ]


def _told(changes: Sequence[Change], flows: Sequence[str], phase: Phase) -> dict[str, Any]:
    """Return what was said of the flows that touch the ill cluster, and when they were well again."""
    told: dict[str, list[str]] = {}
    well: list[float] = []
    for flow in flows:
        before = [one for one in changes if one.flow == flow and one.at < phase.began_at]
        within = [one for one in changes if one.flow == flow and phase.began_at <= one.at < phase.ended_at]
        if before and before[-1].verdict != "healthy":
            well.append(_healthy_from(changes, flow, phase.began_at) - phase.began_at)
        for one in within:
            end = "source" if flow.startswith(phase.ill) else "target"
            key = f"ill {end}: {one.verdict} ({one.cause})"
            told.setdefault(key, []).append(f"{flow} {one.at - phase.began_at:.1f} s")
    found: dict[str, Any] = {"flows": len(flows), "verdicts": told}
    if well:
        found["all_healthy_again_s"] = round(max(well), 1)
    return found


def _quantiles(values_ns: Sequence[int]) -> dict[str, float]:
    if not values_ns:
        return {}
    ordered = sorted(values_ns)
    return {
        "count": len(ordered),
        "p50_ms": round(quantile(ordered, 0.5) / 1e6, 2),
        "p99_ms": round(quantile(ordered, 0.99) / 1e6, 2),
        "max_ms": round(ordered[-1] / 1e6, 2),
    }


def _books(metrics: bytes) -> dict[tuple[str, str], float]:
    """Return good and settled by flow."""
    wanted = {"mirrorwatch_canary_good_total": "good", "mirrorwatch_canary_settled_total": "settled"}
    return {
        (wanted[sample.name], sample.labels["flow"]): sample.value
        for sample in samples(metrics)
        if sample.name in wanted
    }
