"""What a scrape of 100,000 lag series costs, beside the client library's own exposition of the same."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from fleet.series.lag import GROUP_PARTITION_LAG_RECORDS, REPLICATION_PARTITION_LAG_SECONDS
from lagmon.exposition.compression import Deflated
from lagmon.exposition.families import Exposition
from lagmon.exposition.family import Family
from lagmon.exposition.format import Form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fleet.series.kinds import Series

GROUPS, PARTITIONS, TOPICS = 1_000, 100, 500
SERIES = GROUPS * PARTITIONS
REPEATS = 7
_LARGEST_LAG = 5_000_000


def measure() -> dict[str, Any]:
    """Return the processor time of each way to write the same series, and the bytes that labels take."""
    lags = np.random.default_rng(1).integers(0, _LARGEST_LAG, SERIES)
    ours, held, put_ms = _family(GROUP_PARTITION_LAG_RECORDS, _group_labels())
    told = Exposition([ours])
    theirs = _registry(lags)
    text = b"".join(told.render({ours: lags}, Form.PLAIN))
    _must_be_the_same(text, generate_latest(theirs))
    library_ms = _spent_ms(lambda: generate_latest(theirs))
    ours_ms = _spent_ms(lambda: list(told.render({ours: lags}, Form.PLAIN)))
    seconds, _, _ = _family(REPLICATION_PARTITION_LAG_SECONDS, _flow_labels())
    lasting = Exposition([seconds])
    chunks = list(told.render({ours: lags}, Form.PLAIN))
    packed = list(Deflated(chunks))
    return {
        "series": SERIES,
        "records_ms": ours_ms,
        "seconds_ms": _spent_ms(lambda: list(lasting.render({seconds: lags / 1000}, Form.PLAIN))),
        "library_ms": library_ms,
        "times_faster": round(library_ms / ours_ms, 1),
        "longest_stretch_ms": _longest_stretch_ms(lambda: told.render({ours: lags}, Form.PLAIN)),
        "gzip_ms": _spent_ms(lambda: list(Deflated(chunks))),
        "library_gzip_ms": _spent_ms(lambda: gzip.compress(text)),
        "text_bytes": len(text),
        "gzip_bytes": sum(map(len, packed)),
        "labels_bytes": held,
        "put_us": round(put_ms * 1000 / SERIES, 2),
    }


def _group_labels() -> list[tuple[str, ...]]:
    return [
        ("A", f"group-{group:04d}", f"orders-{group * 7 % TOPICS:03d}", str(partition))
        for group in range(GROUPS)
        for partition in range(PARTITIONS)
    ]


def _flow_labels() -> list[tuple[str, ...]]:
    return [
        ("A->B", "A", "B", f"orders-{topic:04d}", str(partition))
        for topic in range(GROUPS)
        for partition in range(PARTITIONS)
    ]


def _family(series: Series, labels: Sequence[tuple[str, ...]]) -> tuple[Family, int, float]:
    """Return a full family, the bytes that it holds, and the processor time of filling one, in ms."""
    tracemalloc.start()
    counted = _filled(series, labels)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    began = time.process_time()
    _filled(series, labels)
    return counted, held, (time.process_time() - began) * 1000


def _filled(series: Series, labels: Sequence[tuple[str, ...]]) -> Family:
    family = Family(series, max_series=SERIES)
    for row, values in enumerate(labels):
        family.put(row, values)
    return family


def _registry(lags: Iterable[int]) -> CollectorRegistry:
    one = GROUP_PARTITION_LAG_RECORDS
    registry = CollectorRegistry()
    gauge = Gauge(one.full_name, one.help, one.label_names, registry=registry)
    for values, lag in zip(_group_labels(), lags, strict=True):
        gauge.labels(*values).set(lag)
    return registry


def _must_be_the_same(ours: bytes, theirs: bytes) -> None:
    # The library sorts labels and writes whole numbers as floats: as many series, the sum of the same values.
    def sums(text: bytes) -> tuple[int, float]:
        lines = [line for line in text.splitlines() if line.startswith(b"mirrorwatch_group_")]
        return len(lines), sum(float(line.rsplit(b" ", 1)[1]) for line in lines)

    if sums(ours) != sums(theirs):
        raise AssertionError(f"the same series were written differently: {sums(ours)}, {sums(theirs)}")


def _spent_ms(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return round(median(spent) * 1000, 1)


def _longest_stretch_ms(render: Callable[[], Iterable[bytes]]) -> float:
    """Return the median over the repeats of the longest processor time between two chunks."""
    longest = []
    for _ in range(REPEATS):
        began, most = time.process_time(), 0.0
        for _ in render():
            now = time.process_time()
            began, most = now, max(most, now - began)
        longest.append(most)
    return round(median(longest) * 1000, 2)
