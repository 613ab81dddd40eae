"""What the whole service costs with the lag monitor on: memory with scrapes, and its event loop's time."""

from __future__ import annotations

import time
import urllib.request
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.lagmon_scraped import WIDTH
from bench.processes import cpu_s, pss_mb, tree
from bench.recording import rows
from deploy.local.jars import StackError
from deploy.local.service import Service
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MOST_SERIES = 1_000_000
READY_S = 120.0
SCRAPES = 4  # of each kind
_NAME = b"\nmirrorwatch_group_partition_lag_records{"
_QUICK_CANARY = {"interval": "1s"}


def measure(
    folder: Path, clusters: Mapping[str, Mapping[str, str]], *, series: int, every_s: float
) -> dict[str, Any]:
    """Return the figures of the service without the canary, and its memory with it.

    The clusters are A, which has the groups, and B. Raises TimeoutError where `series` don't appear.
    """
    return {
        "without_canary": _run(folder / "without", clusters, {"mode": "off"}, series, every_s),
        "with_canary": _run(folder / "with", clusters, _QUICK_CANARY, series, every_s),
    }


def _run(
    folder: Path,
    clusters: Mapping[str, Mapping[str, str]],
    canary: Mapping[str, str],
    series: int,
    every_s: float,
) -> dict[str, Any]:
    document = {
        "clusters": {alias: dict(client) for alias, client in clusters.items()},
        "flows": {"A->B": {"topics": "nothing-.*"}},
        "canary": dict(canary),
        "lag": {"commits": "topic", "per_partition": "true", "max_series": MOST_SERIES},
        "failover": {"audit": "false"},  # a process of its own
    }
    service = Service(folder, document, module="bench.lagmon_scraped")
    service.start()
    try:
        wait_until(
            lambda: _told(service) == series, deadline_s=READY_S, what=f"{series:,} series", every_s=2.0
        )
        scrapes, peak_mb = _scrapes(service, every_s)
        service.request_stop()
        if service.wait(deadline_s=60) != 0:
            raise StackError(f"The service ended with {service.exit_status}: {service.logged()[-1000:]}")
    finally:
        service.kill()
    stretches = rows(folder / "stretches", WIDTH)
    return {
        "pss_mb": round(peak_mb, 1),
        **{kind: _figures(found, stretches) for kind, found in scrapes.items()},
    }


def _told(service: Service) -> int:
    try:
        return _get(service, packed=False).count(_NAME)
    except OSError:  # it is not listening yet
        return -1


def _get(service: Service, *, packed: bool) -> bytes:
    headers = {"Accept-Encoding": "gzip"} if packed else {}
    request = urllib.request.Request(f"{service.url}/metrics", headers=headers)  # noqa: S310 - our own loopback
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return bytes(answer.read())


def _scrapes(service: Service, every_s: float) -> tuple[dict[str, list[dict[str, float]]], float]:
    """Return each scrape with its instants, and the largest memory that was seen between them."""
    found: dict[str, list[dict[str, float]]] = {"plain": [], "gzip": []}
    peak_mb = 0.0
    for number in range(2 * SCRAPES):
        kind = "gzip" if number % 2 else "plain"
        pids = tree(service.pid)
        used_s, began_ns = cpu_s(pids), time.monotonic_ns()
        size = len(_get(service, packed=kind == "gzip"))
        found[kind].append(
            {
                "began_ns": began_ns,
                "ended_ns": time.monotonic_ns(),
                "cpu_s": cpu_s(pids) - used_s,
                "bytes": size,
            }
        )
        until = time.monotonic() + every_s
        while time.monotonic() < until:
            peak_mb = max(peak_mb, pss_mb(pids))
            time.sleep(0.25)
    return found, peak_mb


def _figures(scrapes: list[dict[str, float]], stretches: list[tuple[int, ...]]) -> dict[str, Any]:
    """Return medians over the scrapes; of the stretches, those that began while a scrape was under way."""
    within = [
        [(wall, cpu) for began, wall, cpu in stretches if one["began_ns"] <= began <= one["ended_ns"]]
        for one in scrapes
    ]
    return {
        "bytes": int(scrapes[-1]["bytes"]),
        "took_s": round(median(one["ended_ns"] - one["began_ns"] for one in scrapes) / 1e9, 3),
        "cpu_ms": round(median(one["cpu_s"] for one in scrapes) * 1000, 1),
        "loop_cpu_ms": round(median(sum(cpu for _, cpu in one) for one in within) / 1e6, 2),
        "loop_wall_ms": round(median(sum(wall for wall, _ in one) for one in within) / 1e6, 2),
        "longest_cpu_ms": round(max(max((cpu for _, cpu in one), default=0) for one in within) / 1e6, 2),
        "longest_wall_ms": round(max(max((wall for wall, _ in one), default=0) for one in within) / 1e6, 2),
    }
