"""Measure and print: `python -m bench [--json FILE] [--runs N] [tracker|canary ...|soak --minutes M]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench import (
    alert_rules,
    canary_timing,
    checksum,
    detection,
    drift,
    exposition,
    failover,
    fleet,
    hostile,
    kills,
    lagmon,
    report,
    rolling,
    shards,
    takeovers,
    tracker,
    year,
)
from bench.soak import run as soak

if TYPE_CHECKING:
    from collections.abc import Callable

ROLLING_MINUTES = 60.0
NAMES = ("tracker", "canary", "exposition", "failover")
# Run once, and only where it is named: it takes as long as it is told to.
LONG = (
    "detection",
    "fleet",
    "rolling",
    "hostile",
    "kills",
    "takeovers",
    "shards",
    "year",
    "lagmon",
    "checksum",
    "report",
    "alerts",
    "drift",
    "soak",
)


def main() -> None:
    """Run the chosen benchmarks and print each figure with its minimum, median and maximum."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, *LONG, []])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--seconds",
        type=float,
        default=30.0,
        help="how long a canary run, or each phase of the fleet, measures",
    )
    parser.add_argument("--rate", type=int, default=1000, help="probes a second in the canary run")
    parser.add_argument(
        "--warmup",
        type=float,
        default=0.0,
        help="let the canary run's clusters compile fully, for so many seconds before they are measured",
    )
    parser.add_argument(
        "--days", type=int, default=365, help="how long the year of probes, and the period of the report, is"
    )
    parser.add_argument(
        "--year-kept", type=Path, help="keep here how far the year has come, and go on from there"
    )
    parser.add_argument(
        "--kills", type=int, default=200, help="how often the service, or the leader of a group, is ended"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="of the moments and accidents of the kills, and of the soak's plan",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        help=f"how long rolling ({ROLLING_MINUTES:g} by default) or soak ({soak.MINUTES:g}) runs",
    )
    parser.add_argument("--out", type=Path, help=f"where soak writes its result; {soak.OUT} by default")
    parser.add_argument("--part", help="which parts of lagmon, checksum or shards, or faults of soak")
    parser.add_argument(
        "--commits", type=int, default=lagmon.COMMITS, help="of the lag monitor's backlog; fewer to try it"
    )
    parser.add_argument(
        "--records", type=int, default=checksum.RECORDS, help="of each side of checksum; fewer to try it"
    )
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    measurements = _measurements(chosen)
    runs: dict[str, list[dict[str, Any]]] = {}
    for name in chosen.names or NAMES:
        for _ in range(1 if name in LONG else chosen.runs):
            figures = measurements[name]()
            runs.setdefault(name, []).append(figures)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
    for name, measured in runs.items():
        print(f"\n{name}: {len(measured)} runs\n\n| figure | minimum | median | maximum |\n|---|---|---|---|")
        for figure in _flat(measured[0]):
            values = [_flat(one)[figure] for one in measured]
            print(f"| {figure} | {min(values):,} | {median(values):,} | {max(values):,} |")
    if chosen.json is not None:
        chosen.json.write_text(
            json.dumps({"machine": machine, "runs": runs}, indent=1) + "\n", encoding="utf-8"
        )
    if any(one["failures"] for one in runs.get("soak", ())):
        raise SystemExit(1)


def _measurements(chosen: argparse.Namespace) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return by its name how each is measured with these options."""
    return {
        "tracker": tracker.measure,
        "canary": lambda: canary_timing.measure(
            rate=chosen.rate, seconds=chosen.seconds, warmup=chosen.warmup
        ),
        "detection": detection.measure,
        "drift": drift.measure,
        "fleet": lambda: fleet.measure(seconds=chosen.seconds),
        "rolling": lambda: rolling.measure(minutes=chosen.minutes or ROLLING_MINUTES),
        "soak": lambda: soak.measure(
            minutes=chosen.minutes, seed=chosen.seed, out=chosen.out, parts=_parts(chosen, soak.PARTS)
        ),
        "hostile": hostile.measure,
        "kills": lambda: kills.measure(kills=chosen.kills, seed=chosen.seed),
        "takeovers": lambda: takeovers.measure(takeovers=chosen.kills),
        "shards": lambda: shards.measure(parts=_parts(chosen, shards.PARTS), seconds=chosen.seconds),
        "exposition": exposition.measure,
        "failover": failover.measure,
        "lagmon": lambda: lagmon.measure(parts=_parts(chosen, lagmon.PARTS), commits=chosen.commits),
        "checksum": lambda: checksum.measure(parts=_parts(chosen, checksum.PARTS), records=chosen.records),
        "report": lambda: report.measure(days=chosen.days),
        "alerts": alert_rules.measure,
        "year": lambda: year.measure(days=chosen.days, kept=chosen.year_kept),
    }


def _parts(chosen: argparse.Namespace, known: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(chosen.part.split(",")) if chosen.part is not None else known


def _flat(figures: dict[str, Any], prefix: str = "") -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name} ")
        elif isinstance(value, int | float):
            flat[prefix + name] = value
    return flat


if __name__ == "__main__":
    main()
