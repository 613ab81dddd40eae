"""How late the canary sees an arrival, against two independent readers, and what that costs.

Two brokers and a real mirror in both directions, `rate` probes a second over the two flows. The signed
difference service minus reader is taken for each record of A->B; the readers' difference from each
other is the noise that no measurement gets below on this machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path
from typing import Any

from deploy.local.pair import Pair
from deploy.local.ports import free_port
from deploy.local.topics import partition_count
from deploy.local.waiting import wait_until

PARTITIONS = 5  # so that 1,000 probes a second over two flows are one every 10 ms, the least interval
TOPIC = "A.mirrorwatch-canary"
SETTLE_S = 6.0


def measure(*, rate: int, seconds: float) -> dict[str, Any]:
    """Return the differences in milliseconds and the service's CPU share and memory."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-bench-") as name:
        folder = Path(name)
        with Pair(folder / "pair", flows=("A->B", "B->A"), settings={"tasks.max": str(PARTITIONS)}) as pair:
            return _measure(pair, folder, rate, seconds)


def _measure(pair: Pair, folder: Path, rate: int, seconds: float) -> dict[str, Any]:
    assert pair.mirror is not None
    config = folder / "mirrorwatch.yaml"
    interval_ms = round(2 * PARTITIONS * 1000 / rate)
    config.write_text(
        f'mm2: "{pair.mirror.properties_file}"\nmirror_version: "4.3"\n'
        f'canary: {{interval: {interval_ms}ms}}\nhttp: {{listen: "127.0.0.1:{free_port()}"}}\n',
        encoding="utf-8",
    )
    service = _python("bench.recorded_service", str(config), str(folder / "service"))
    client = pair.b.client_properties()
    wait_until(lambda: partition_count(client, TOPIC) == PARTITIONS, deadline_s=60, what="The mirrored topic")
    time.sleep(SETTLE_S)
    readers = [
        _python(
            "bench.plain_reader",
            client["bootstrap.servers"],
            TOPIC,
            str(PARTITIONS),
            str(seconds + 2),
            str(folder / f"reader-{number}"),
        )
        for number in (1, 2)
    ]
    time.sleep(2)
    cpu = _cpu_s(service.pid)
    time.sleep(seconds)
    cpu_share = (_cpu_s(service.pid) - cpu) / seconds
    pss_mb = _pss_mb(service.pid)
    for reader in readers:
        reader.wait(timeout=60)
    service.send_signal(signal.SIGTERM)
    service.wait(timeout=60)
    ours, one, other = (_seen(folder / name) for name in ("service", "reader-1", "reader-2"))
    return {
        "rate_per_s": rate,
        "records_compared": len(set(ours) & set(one) & set(other)),
        "service_minus_reader_1_ms": _difference(ours, one),
        "service_minus_reader_2_ms": _difference(ours, other),
        "reader_1_minus_reader_2_ms": _difference(one, other),
        "cpu_share_of_a_core": round(cpu_share, 3),
        "pss_mb": round(pss_mb, 1),
    }


def _python(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", module, *arguments])


def _seen(file: Path) -> dict[tuple[int, int], int]:
    numbers = array("q", file.read_bytes())
    return {(numbers[at], numbers[at + 1]): numbers[at + 2] for at in range(0, len(numbers), 3)}


def _difference(one: dict[tuple[int, int], int], other: dict[tuple[int, int], int]) -> dict[str, float]:
    """Return quantiles of the signed difference in ms, and p99 and p99.9 of its absolute value."""
    signed = sorted((one[key] - other[key]) / 1e6 for key in set(one) & set(other))
    size = sorted(abs(value) for value in signed)

    def at(values: list[float], share: float) -> float:
        return round(values[min(int(len(values) * share), len(values) - 1)], 3)

    return {
        "p1": at(signed, 0.01),
        "p50": at(signed, 0.5),
        "p99": at(signed, 0.99),
        "abs_p99": at(size, 0.99),
        "abs_p99.9": at(size, 0.999),
    }


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
