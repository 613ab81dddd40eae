"""Measure and print: `python -m bench [--json FILE] [--runs N] [tracker|canary ...]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from statistics import median
from typing import Any

from bench import canary_timing, tracker

NAMES = ("tracker", "canary")


def main() -> None:
    """Run the chosen benchmarks and print each figure with its minimum, median and maximum."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each canary run measures")
    parser.add_argument("--rate", type=int, default=1000, help="probes a second in the canary run")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    runs: dict[str, list[dict[str, Any]]] = {}
    for name in chosen.names or NAMES:
        for _ in range(chosen.runs):
            if name == "tracker":
                figures = tracker.measure()
            else:
                figures = canary_timing.measure(rate=chosen.rate, seconds=chosen.seconds)
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


def _flat(figures: dict[str, Any], prefix: str = "") -> dict[str, float]:
    flat: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name} ")
        else:
            flat[prefix + name] = value
    return flat


if __name__ == "__main__":
    main()
