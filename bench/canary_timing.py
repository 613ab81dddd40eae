"""How exactly the canary stamps, against plain loops in processes of their own, and what that costs.

Two brokers and a real mirror in both directions, `rate` probes a second over the two flows; one task a flow,
since the service is measured and not the mirror. Three instants are compared, each with two plain witnesses
on the same clock, which differ from each other by what no measurement gets below on this machine:

- arrivals: the signed difference service minus reader for each record of A->B, to each of two readers;
- queueing, t0'-t0: the service's own, beside that of two loops that sleep to a schedule and stamp;
- acknowledgements, t1-t0': the service's own, beside that of the same two loops' producers, which send to a
  topic that is mirrored too, each to one partition as often as the service does. One record has one producer,
  so that only distributions can be compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.processes import cpu_s, machine_s, pss_mb, thread_cpu_s, tree
from bench.recording import quantile, rows
from bench.watched_service import WatchedService
from deploy.local.jars import StackError
from deploy.local.pair import Pair
from deploy.local.topics import create_topic, partition_count
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PARTITIONS = 5  # so that 1,000 probes a second over two flows are one every 10 ms, the least interval
SOURCE_TOPIC, TOPIC = "mirrorwatch-canary", "A.mirrorwatch-canary"
PLAIN_TOPIC = "plain-sender"
SETTLE_S = 6.0


def measure(*, rate: int, seconds: float, warmup: float = 0.0) -> dict[str, Any]:
    """Return the differences in milliseconds and the service's CPU share and memory.

    With a `warmup` (seconds before anything is measured) the clusters' Java may compile as well as it can,
    which costs more at first and leaves the machine quieter afterwards.
    """
    before = os.environ.get("_JAVA_OPTIONS")
    if warmup:
        os.environ["_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=4"  # goes over the command line's
    try:
        with tempfile.TemporaryDirectory(prefix="mirrorwatch-bench-") as name:
            folder = Path(name)
            with Pair(folder / "pair", flows=("A->B", "B->A"), settings={"tasks.max": "1"}) as pair:
                make_topics(pair)
                return measure_on(pair, folder, rate=rate, seconds=seconds, warmup=warmup)
    finally:
        os.environ.pop("_JAVA_OPTIONS", None)
        if before is not None:
            os.environ["_JAVA_OPTIONS"] = before


def make_topics(pair: Pair) -> None:
    """Make what the service and the witnesses write to."""
    for broker in (pair.a, pair.b):
        for topic in (SOURCE_TOPIC, PLAIN_TOPIC):
            create_topic(broker.client_properties(), topic, partitions=PARTITIONS)


def measure_on(
    pair: Pair,
    folder: Path,
    *,
    rate: int,
    seconds: float,
    warmup: float = 0.0,
    lag: Mapping[str, str] | None = None,
    beside: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> dict[str, Any]:
    """Return the same on a pair that is there and has the topics, with what the service is told of `lag`.

    What `beside` makes goes on while it is measured.
    """
    assert pair.mirror is not None
    interval_ms = round(2 * PARTITIONS * 1000 / rate)
    service = WatchedService(
        folder / "service",
        mm2=pair.mirror.properties_file,
        canary={"interval": f"{interval_ms}ms"},
        lag=lag,
        module="bench.recorded_service",
    )
    service.start()
    try:
        client = pair.b.client_properties()
        wait_until(
            lambda: partition_count(client, TOPIC) == PARTITIONS, deadline_s=60, what="The mirrored topic"
        )
        time.sleep(SETTLE_S + warmup)
        witnesses = _start_witnesses(pair, folder, seconds + 3, interval_ms)
        time.sleep(2)
        stack = [pair.a.pid, pair.b.pid, pair.mirror.pid]
        threads_s = thread_cpu_s(tree(service.pid))
        began_s = [cpu_s(tree(service.pid)), cpu_s(stack), *machine_s()]
        with beside():
            time.sleep(seconds)
            ended_s = [cpu_s(tree(service.pid)), cpu_s(stack), *machine_s()]
            threads_s = {
                group: ended - threads_s[group] for group, ended in thread_cpu_s(tree(service.pid)).items()
            }
            memory_mb = pss_mb(tree(service.pid))
        for witness in witnesses:
            witness.wait(timeout=60)
        service.request_stop()
        if service.wait(deadline_s=60) != 0:
            raise StackError(f"The service ended with {service.exit_status}: {service.logged()[-1000:]}")
    finally:
        service.kill()
    ours, stack_s, busy_s, all_s = (after - begun for begun, after in zip(began_s, ended_s, strict=True))
    return {
        "rate_per_s": rate,
        "cpu_share_of_a_core": round(ours / seconds, 3),
        "cpu_share_of_a_core_by_thread": {
            group: round(used / seconds, 4) for group, used in threads_s.items()
        },
        "pss_mb": round(memory_mb, 1),
        **_timings(folder),
        "machine": {
            "busy_share": round(busy_s / all_s, 3),
            "clusters_and_mirror_share_of_a_core": round(stack_s / seconds, 3),
        },
    }


def _start_witnesses(
    pair: Pair, folder: Path, seconds: float, interval_ms: int
) -> list[subprocess.Popen[bytes]]:
    source, target = pair.a.client_properties(), pair.b.client_properties()
    found = []
    for number in range(2):
        found.append(
            _python(
                "bench.plain_reader",
                *(target["bootstrap.servers"], TOPIC, str(PARTITIONS), str(seconds)),
                str(folder / f"reader-{number + 1}"),
            )
        )
        found.append(
            _python(
                "bench.plain_sender",
                *(source["bootstrap.servers"], PLAIN_TOPIC, str(number), str(interval_ms), str(seconds)),
                str(folder / f"sender-{number + 1}"),
            )
        )
    return found


def _python(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", module, *arguments])


def _timings(folder: Path) -> dict[str, Any]:
    """Return what the files of service and witnesses say, of the time in which all of them ran."""
    seen, one, other = (
        {(partition, offset): at_ns for partition, offset, at_ns in rows(folder / name, 3)}
        for name in ("service/seen", "reader-1", "reader-2")
    )
    plain = [sorted(rows(folder / f"sender-{number}", 3)) for number in (1, 2)]
    begun_ns = max(rows[0][0] for rows in plain) + 1_000_000_000  # the clients have connected by then
    ended_ns = min(rows[-1][0] for rows in plain)
    sent, acked = (
        [row for row in rows(folder / "service" / name, 2) if begun_ns <= row[0] <= ended_ns]
        for name in ("sent", "acked")
    )
    plain = [[row for row in rows if begun_ns <= row[0] <= ended_ns] for rows in plain]
    arrivals: dict[str, Any] = {
        "records": len(set(seen) & set(one) & set(other)),
        "service_minus_reader_1_ms": _quantiles(_difference(seen, one)),
        "service_minus_reader_2_ms": _quantiles(_difference(seen, other)),
        "reader_1_minus_reader_2_ms": _quantiles(_difference(one, other)),
    }
    late_ms = max(arrivals[f"service_minus_reader_{number}_ms"]["p99"] for number in (1, 2))
    noise = arrivals["reader_1_minus_reader_2_ms"]
    arrivals["p99_above_the_readers_ms"] = round(late_ms - max(noise["p99"], -noise["p1"]), 3)
    return {
        "arrivals": arrivals,
        "queueing": _beside(sent, [[row[:2] for row in rows] for rows in plain]),
        "acknowledgements": _beside(acked, [[row[1:] for row in rows] for rows in plain]),
    }


def _beside(ours: list[tuple[int, ...]], plain: list[list[tuple[int, ...]]]) -> dict[str, Any]:
    """Compare how long something took for the service with what it took for the two plain loops."""
    quantiles = [_quantiles([(end - begin) / 1e6 for begin, end in rows]) for rows in (ours, *plain)]
    return {
        "probes": len(ours),
        "service_ms": quantiles[0],
        "plain_1_ms": quantiles[1],
        "plain_2_ms": quantiles[2],
        "p99_above_plain_ms": round(quantiles[0]["p99"] - max(one["p99"] for one in quantiles[1:]), 3),
    }


def _difference(one: dict[tuple[int, int], int], other: dict[tuple[int, int], int]) -> list[float]:
    return [(one[key] - other[key]) / 1e6 for key in set(one) & set(other)]


def _quantiles(values_ms: list[float]) -> dict[str, float]:
    """Return quantiles of signed values."""
    values_ms = sorted(values_ms)
    return {
        name: round(quantile(values_ms, share), 3)
        for name, share in (("p1", 0.01), ("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
    }
