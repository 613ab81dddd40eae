"""A report over a year: 20 flows, three objectives each; seconds, processor seconds and memory.

The store holds every minute of the year: most are even, each flow has a quarter of an hour a day in which
some probes are late, and a bad half hour a week. Days are kept as rows by the product's own code.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from alerts.minutes import tables
from canary.persistence import history
from canary.tracker.minutes import COLUMNS
from fleet.probe_history import DAY_MINUTES
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

FLOWS = 20
_KINDS = (
    "{flow: '*', kind: availability}",
    "{flow: '*', kind: freshness}",
    "{flow: '*', kind: recovery_point}",
)


def measure(*, days: int) -> dict[str, Any]:
    """Fill a store with so many days, and report on them in a process of its own, three times."""
    with tempfile.TemporaryDirectory() as folder:
        config = _configuration(Path(folder), days)
        began = time.perf_counter()
        asyncio.run(_fill(Path(folder) / "mirrorwatch.db", days))
        filled_s = time.perf_counter() - began
        runs = [_run(config, days) for _ in range(3)]
        size = (Path(folder) / "mirrorwatch.db").stat().st_size
    best = min(runs, key=lambda one: one["seconds"])
    return {
        "days": days,
        "flows": FLOWS,
        "filled_s": round(filled_s),
        "store_mb": round(size / 1e6),
        "seconds": best["seconds"],
        "cpu_seconds": best["cpu_seconds"],
        "rss_mb": max(one["rss_mb"] for one in runs),
    }


def _configuration(folder: Path, days: int) -> Path:
    names = [f"T{number:02}" for number in range(FLOWS)]
    clusters = [f"  {name}: {{bootstrap.servers: '127.0.0.1:1'}}" for name in ("A", *names)]
    objectives = [one.replace("}", f", period: {days}d}}") for one in _KINDS]
    lines = ["clusters:", *clusters, "flows:", *(f"  A->{name}: {{}}" for name in names)]
    path = folder / "mirrorwatch.yaml"
    path.write_text("\n".join((*lines, f"objectives: [{', '.join(objectives)}]", "")), encoding="utf-8")
    return path


async def _fill(path: Path, days: int) -> None:
    store = Store(f"sqlite:///{path}", migrations=MIGRATIONS, limit_s=3600)
    await store.open()
    now = int(time.time() // 60)
    first = now - days * DAY_MINUTES - 60
    flows = [f"A->T{number:02}" for number in range(FLOWS)]
    for flow in flows:
        await store.write(partial(_write, flow=flow, first=first, until=now))
    for part in (history, tables):
        while await store.write(partial(part.tidy, flows=flows[:1], before=now // DAY_MINUTES, at_most=100)):
            pass
    # All flows have the same minutes, so their days are the same too.
    for flow in flows[1:]:
        await store.write(partial(_copy_days, flow=flow, of=flows[0]))
    await store.close()


def _write(connection: sa.Connection, *, flow: str, first: int, until: int) -> None:
    """Write all minutes of a flow by SQLite itself, which takes seconds where rows from here take minutes."""
    late = f"(CASE WHEN m % {DAY_MINUTES} < 15 THEN 3 ELSE 0 END)"
    overdue = f"(CASE WHEN m % {7 * DAY_MINUTES} BETWEEN 600 AND 630 THEN 30 ELSE 0 END)"
    counts = dict.fromkeys(COLUMNS, "0") | {
        "expected": "60",
        "settled": "60",
        "late": late,
        "overdue": overdue,
        "good": f"60 - {late} - {overdue}",
    }
    names = {"flow": flow, "first": first, "until": until}
    numbered = "WITH RECURSIVE n(m) AS (SELECT :first UNION ALL SELECT m + 1 FROM n WHERE m + 1 < :until)"
    _run_sql(
        connection,
        f"INSERT INTO canary_minutes (flow, minute, replica, incarnation, probes_of, {', '.join(counts)})"  # noqa: S608
        f" {numbered} SELECT :flow, m, 'r1', 'a1', 'a1', {', '.join(counts.values())} FROM n",
        names,
    )
    age = f"(CASE WHEN {overdue} THEN 400.0 ELSE 1.5 END)"
    _run_sql(
        connection,
        "INSERT INTO flow_minutes (flow, minute, replica, incarnation, observed_s, lag_s, recovery_point_s)"  # noqa: S608
        f" {numbered} SELECT :flow, m, 'r1', 'a1', 60, 0.5, {age} FROM n",
        names,
    )


def _copy_days(connection: sa.Connection, *, flow: str, of: str) -> None:
    for table in ("canary_days", "flow_days"):
        statement = f"INSERT INTO {table} SELECT :flow, day, body FROM {table} WHERE flow = :of"  # noqa: S608
        _run_sql(connection, statement, {"flow": flow, "of": of})


def _run_sql(connection: sa.Connection, statement: str, names: Mapping[str, object]) -> None:
    connection.execute(sa.text(statement), names)


def _run(config: Path, days: int) -> dict[str, float]:
    command = [sys.executable, "-m", "mirrorwatch", "report", str(config), "--period", f"{days}d"]
    # Modules are compiled once and kept, as they are wherever Mirrorwatch is installed.
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(config.parent / "compiled")}
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--format", "json"], stdout=subprocess.PIPE, env={**os.environ, **compiled}
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert len(told["objectives"]) == FLOWS * len(_KINDS)
    assert all(one["coverage_ratio"] > 0.99 for one in told["objectives"]), told["summary"]
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "rss_mb": round(used.ru_maxrss / 1024, 1),
    }
