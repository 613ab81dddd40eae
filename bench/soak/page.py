"""The result of a soak as a section in Markdown: `python -m bench.soak.page [dist/soak.json]`. Pure."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.soak.faults import BY_NAME
from bench.soak.slopes import FILES_PER_HOUR, FLAT, GROWS, MIB_PER_HOUR, TOO_SHORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_COUNTED = ("expected", "settled", "good", "late", "overdue", "lost", "recovered", "unknown")


def section(found: Mapping[str, Any]) -> str:
    """Return all tables of a result."""
    blocks = [
        _intro(found),
        _table(("what", "bar", "measured", "met"), _bars(found)),
        "Faults. 'Detected' counts from the order to start it, 'healthy' from the order to end it:",
        _table(
            ("fault", "times", "detected (s)", "healthy (s)"),
            (
                (f"`{name}`: {_sentence(name)}", row["times"], _range(row["detected_s"]), _healthy(row))
                for name, row in found["faults"].items()
            ),
        ),
        "Processes, the longest life of each part. Slopes leave out the first 20 minutes and all windows:",
        _table(
            (
                "process", "lived (min)", "judged (min)", "RSS (MiB)", "MiB/h", "open files", "files/h",
                "threads", "CPU", "verdict",
            ),
            (_process(row) for row in longest(found).values()),
        ),
    ]  # fmt: skip
    if "counters" in found:
        blocks += [
            "Canary records by the store, over all processes, and in the topics:",
            _table(
                ("flow", *_COUNTED, "on the source", "missing on the target"),
                (
                    (
                        flow,
                        *(f"{one['books'][name]:,}" for name in _COUNTED),
                        f"{one['source_probes']:,}",
                        f"{one['missing_on_the_target']:,}",
                    )
                    for flow, one in found["counters"]["flows"].items()
                ),
            ),
        ]
    if found["failures"]:
        blocks.append("\n".join(["What failed:", "", *(f"- {one}" for one in found["failures"])]))
    return "\n\n".join(blocks) + "\n"


def longest(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return for each part the process that lived longest."""
    best: dict[str, dict[str, Any]] = {}
    for row in found["processes"]:
        if row["part"] not in best or row["lived_minutes"] > best[row["part"]]["lived_minutes"]:
            best[row["part"]] = row
    return best


def _intro(found: Mapping[str, Any]) -> str:
    machine = found["machine"]
    ended = "" if found["minutes"] >= found["planned_minutes"] else f" of {found['planned_minutes']:g}"
    return (
        f"Soak of {found['minutes']:g}{ended} minutes on {found['made_at'][:10]}, seed {found['seed']}:"
        f" {found['faults_injected']} faults, quiet for {found['quiet_share']:.0%} of the time."
        f" Load of the machine: {machine['load_median']:g} (median), {machine['load_most']:g} (most)."
    )


def _bars(found: Mapping[str, Any]) -> Iterable[tuple[object, ...]]:
    kinds = [row["kind"] for row in found["findings"]]
    yield _bar("false verdicts", 0, kinds.count("false_verdict"))
    yield _bar("false incidents", 0, kinds.count("false_incident"))
    yield _bar("changes of the lead without a fault", 0, kinds.count("false_lead"))
    yield _bar("faults not detected within their limit", 0, kinds.count("missed"))
    judged = [row for row in found["processes"] if row["verdict"] != TOO_SHORT]
    for what, bar, key in (
        ("memory, MiB/h, the fastest growth", f"{MIB_PER_HOUR:g}", "rss_mib_per_hour"),
        ("open files, 1/h, the fastest growth", "0", "files_per_hour"),
    ):
        if judged:
            most = max(row[key] for row in judged)
            limit = MIB_PER_HOUR if key == "rss_mib_per_hour" else FILES_PER_HOUR
            yield what, bar, f"{most:+g}", "yes" if most <= limit else "no"
        else:
            yield what, bar, "the run is too short", ""
    if "counters" in found:
        yield _bar("violations of the counters", 0, len(found["counters"]["violations"]))
    if "applications" in found:
        missing = sum(one["missing_on_target"] for one in found["applications"].values())
        yield _bar("records of applications missing on a target", 0, missing)
    yield _bar("scrapes whose counters do not add up", 0, len(found["wrong_counters"]))


def _bar(what: str, bar: int, measured: int) -> tuple[object, ...]:
    return what, bar, measured, "yes" if measured <= bar else "no"


def _process(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        row["part"],
        row["lived_minutes"],
        row["judged_minutes"],
        f"{row['rss_first_mib']:g} to {row['rss_last_mib']:g}",
        f"{row['rss_mib_per_hour']:+g}",
        f"{row['files_first']} to {row['files_last']}",
        f"{row['files_per_hour']:+g}",
        row["threads_last"],
        f"{row['cpu_share']:.1%}",
        {FLAT: "flat", GROWS: "**grows**"}.get(row["verdict"], row["verdict"]),
    )


def _sentence(name: str) -> str:
    return BY_NAME[name].sentence if name in BY_NAME else ""


def _range(seconds: Mapping[str, float]) -> str:
    return f"{seconds['least']:g} to {seconds['most']:g}" if seconds else "none"


def _healthy(row: Mapping[str, Any]) -> str:
    late = row["not_healthy_in_its_window"]
    return _range(row["healthy_after_s"]) + (f"; {late} times not in its window" if late else "")


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    cells = [str(one) for one in head]
    lines = [cells, ["---"] * len(cells), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Print the section of a result."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("dist") / "soak.json"
    print(section(json.loads(file.read_text(encoding="utf-8"))), end="")


if __name__ == "__main__":
    main()
