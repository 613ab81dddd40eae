"""The result of a soak as a document, and what of it fails. Pure."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.soak.faults import NONE, Signal
from bench.soak.judging import detected_s, healthy_after_s, shown_s
from bench.soak.slopes import GROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.soak.judging import Change, Finding, Shown, Window
    from bench.soak.slopes import Flatness, Life

    Table = tuple[float, Mapping[str, int]]  # instant, and bytes by name

SERIES_POINTS = 120


def figures(numbers: Iterable[float], digits: int = 2) -> dict[str, float]:
    """Return least, median, 99th percentile and most of some numbers; nothing if there are none."""
    ordered = sorted(numbers)
    if not ordered:
        return {}
    return {
        "least": round(ordered[0], digits),
        "median": round(median(ordered), digits),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], digits),
        "most": round(ordered[-1], digits),
    }


def injected(
    changes: Sequence[Change], shown: Sequence[Shown], windows: Iterable[Window], *, begin: float, end: float
) -> list[dict[str, Any]]:
    """Return each fault with when it was detected, and when both flows were healthy again."""
    return [
        {
            "fault": one.fault.name,
            "at_s": round(one.at - begin, 1),
            "held_s": round(one.ended_at - one.at, 1),
            "restored_after_s": round(one.restored_at - one.ended_at, 1),
            "window_s": round(one.until - one.at, 1),
            "detected_s": {flow: detected_s(changes, one, flow) for flow in one.fault.expected},
            "shown_s": None if one.fault.signal is Signal.NONE else shown_s(shown, one),
            "healthy_after_s": healthy_after_s(changes, one, end=end),
        }
        for one in windows
    ]


def by_fault(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the same by the fault's name: how often, and figures of the seconds."""
    found: dict[str, dict[str, Any]] = {}
    for name, mine in _grouped(rows).items():
        seconds = [[*row["detected_s"].values(), row["shown_s"]] for row in mine]
        found[name] = {
            "times": len(mine),
            "detected_s": figures(s for row in seconds for s in row if s is not None),
            "healthy_after_s": figures(
                row["healthy_after_s"] for row in mine if row["healthy_after_s"] is not None
            ),
            "not_healthy_in_its_window": sum(row["healthy_after_s"] is None for row in mine),
        }
    return found


def tables(samples: Sequence[Table]) -> dict[str, dict[str, float]]:
    """Return size and growth of each table of the store."""
    if not samples:
        return {}
    (first_at, first), (last_at, last) = samples[0], samples[-1]
    hours = max((last_at - first_at) / 3600, 1 / 3600)
    return {
        name: {
            "kib": round(size / 1024),
            "kib_per_hour": round((size - first.get(name, 0)) / 1024 / hours),
        }
        for name, size in sorted(last.items())
    }


def finding_row(one: Finding, *, begin: float) -> dict[str, Any]:
    """Return a finding with its instant in seconds from the start of the run."""
    return {**asdict(one), "at_s": round(one.at - begin, 1)}


def finding_text(row: Mapping[str, Any]) -> str:
    """Return a finding as one line."""
    verdict = row["verdict"] if row["cause"] in {"", NONE} else f"{row['verdict']} {row['cause']}"
    words = [row["kind"].replace("_", " "), f"at {row['at_s']:.1f} s", row["flow"], verdict]
    if row["fault"]:
        place = "in its window" if row["in_window"] else "after its window"
        words.append(f"({row['since_fault_s']:.1f} s after {row['fault']}, {place}, {row['lasted_s']:.1f} s)")
    return f"{' '.join(word for word in words if word)}: {row['sentence']}"


def failures(found: Mapping[str, Any]) -> list[str]:
    """Return in a sentence each what makes the run fail."""
    failed = [finding_text(row) for row in found["findings"]]
    failed += [f"component: {one}" for one in found["trouble"]]
    failed += [f"scrape: {one}" for one in found["wrong_counters"]]
    failed += [f"page: {one}" for one in found["bad_answers"]]
    failed += [f"log: {one}" for one in found["bad_log_lines"]]
    failed += [
        f"memory: {one['part']} {one['name']}: {one['rss_mib_per_hour']:+g} MiB/h,"
        f" {one['files_per_hour']:+g} files/h over {one['judged_minutes']:g} min"
        for one in found["processes"]
        if one["verdict"] == GROWS
    ]
    failed += [f"counters: {one}" for one in found.get("counters", {}).get("violations", ())]
    for flow, one in found.get("applications", {}).items():
        failed += [
            f"applications: {flow}: {one[name]} {name}"
            for name in ("missing_on_target", "altered_on_target", "missing_on_source")
            if one[name]
        ]
    failed += [
        f"groups: {one['group']}: lag {one['lag_records']} by the API, {one['lag_by_brokers']} by the brokers"
        for one in found.get("groups", ())
        if one["lag_records"] != one["lag_by_brokers"]
    ]
    return failed


def series(lives: Iterable[Life]) -> dict[str, list[list[float]]]:
    """Return for each part the samples of its longest life: minute, MiB, files, threads, seconds of CPU."""
    longest: dict[str, Life] = {}
    for one in lives:
        if one.part not in longest or one.lived_s > longest[one.part].lived_s:
            longest[one.part] = one
    return {
        part: [
            [
                round((s.at - one.samples[0].at) / 60, 1),
                round(s.rss_mib, 1),
                s.files,
                s.threads,
                round(s.cpu_s, 1),
            ]
            for s in one.samples[:: max(1, -(-len(one.samples) // SERIES_POINTS))]
        ]
        for part, one in sorted(longest.items())
    }


def process_rows(found: Iterable[Flatness]) -> list[dict[str, Any]]:
    """Return the processes, the longest lives of each part first."""
    return [asdict(one) for one in sorted(found, key=lambda one: (one.part, -one.lived_minutes))]


def _grouped(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["fault"], []).append(row)
    return dict(sorted(found.items()))
