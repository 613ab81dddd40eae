"""Checksums in a row of a mirror that is well, while records are written: none of them may find anything."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from deploy.drills.result import Result
from deploy.local.pair import Pair
from deploy.local.process import ROOT, python_process
from deploy.local.traffic import STREAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

LABEL: Final = "checksums"
TIMES: Final = 10
_BEFORE_S: Final = 20.0  # of traffic, so that the first has something to compare
DEADLINE_S: Final = 300.0
_FINE: Final = "nothing found"


def checksums(folder: Path, told: Callable[[str], None], *, times: int = TIMES) -> Result:
    """Run so many checksums of all topics with traffic beside, each of what is new since the one before.

    `said` of the result holds seconds and verdict of each, `books` what was compared and found in all.
    """
    result = Result(LABEL, day=f"{datetime.now(UTC):%Y-%m-%d}", books={"records": 0, "findings": 0})
    with Pair(folder / "pair") as pair:
        traffic = python_process("traffic", "deploy.local.traffic", str(pair.folder), folder=folder)
        traffic.start()
        try:
            time.sleep(_BEFORE_S)
            config = _configuration(folder, pair)
            for number in range(times):
                _once(config, folder / f"{number}.json", result)
                told(f"checksum {number + 1}: {result.said[-1][1]} after {result.said[-1][0]:.1f} s")
        finally:
            traffic.kill()
    return result


def wrong(result: Result) -> str:
    """Return what is wrong with what the checksums said, empty where nothing is."""
    bad = [verdict for _, verdict, _ in result.said if verdict != _FINE]
    if bad:
        return bad[0]
    if len(result.said) < TIMES:
        return f"{len(result.said)} of {TIMES} were run"
    return "" if result.books["records"] else "nothing was compared"


def section(result: Result) -> str:
    """Return what the page says of them."""
    took = sorted(seconds for seconds, _, _ in result.said)
    compared, findings = result.books["records"], result.books["findings"]
    return f"""
## The checksum of a healthy mirror

{len(result.said)} checksums of all topics in a row (`mirrorwatch checksum run --all`, Spark with two
cores), each of records that are newer than the run before, with traffic of {_rate():g} records/s:
{compared:,} records of each side compared, {findings} findings, {took[0]:.0f} to {took[-1]:.0f} s each.
Right: {f"**no**: {wrong(result)}" if wrong(result) else "yes"}.
"""


def _rate() -> float:
    return sum(stream.records_per_s for stream in STREAMS)


def _configuration(folder: Path, pair: Pair) -> Path:
    """Write a configuration with a store of its own, and return its file."""
    assert pair.mirror is not None
    document = {
        "mm2": str(pair.mirror.properties_file),
        "store": {"url": f"sqlite:///{folder / 'checksums.db'}"},
    }
    path = folder / "mirrorwatch.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    return path


def typed(
    config: Path, told: Path, *which: str
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Compare topics of A->B as an operator does; return how the command ended, and its runs' documents.

    `which` is the option that chooses the topics. Raises subprocess.TimeoutExpired after DEADLINE_S.
    """
    command = [
        *(sys.executable, "-m", "mirrorwatch", "checksum", "run", str(config), "--flow", "A:B", *which),
        *("--master", "local[2]", "--json", str(told)),
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    return ended, json.loads(told.read_text())["runs"] if told.exists() else []


def _once(config: Path, told: Path, result: Result) -> None:
    began = time.monotonic()
    try:
        ended, runs = typed(config, told, "--all")
    except subprocess.TimeoutExpired:
        result.said.append((DEADLINE_S, "did not end", None))
        return
    took_s = round(time.monotonic() - began, 1)
    result.books["records"] += _sum(runs, "source_records")
    result.books["findings"] += sum(one["findings"]["count"] for one in runs)
    fine = ended.returncode == 0 and not any(one["findings"]["count"] for one in runs)
    if not fine and not result.sentence:
        result.sentence = (ended.stdout + ended.stderr)[-3000:]
    result.said.append((took_s, _FINE if fine else f"status {ended.returncode}", None))


def _sum(runs: Iterable[dict[str, Any]], name: str) -> int:
    return sum(int(one[name]) for one in runs)
