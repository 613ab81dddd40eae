"""How fast Spark digests a topic, beside a bare count of the same offsets with the same reader's options."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from checksum.compare.digest_findings import compared
from checksum.compare.verdicts import result
from checksum.digest.cell_rows import Side
from checksum.digest.coverage import Stamp
from checksum.digest.files import DigestFolder
from checksum.digest.kafka_options import Cluster, client_options, reading_options
from checksum.digest.query import records
from checksum.digest.side import SideDigest
from checksum.plan.document import plan_id
from checksum.plan.pacing import Stretch
from checksum.plan.places import places_of
from runtime.process.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from checksum.digest.cell_rows import CellRow
    from checksum.plan.shape import Plan

RUN: Final = "round-0"  # the digests that other parts are about


@dataclass(frozen=True, slots=True)
class Bench:
    """What is read: one plan of two clusters, whose Java properties are given by alias."""

    plan: Plan
    properties: Mapping[str, Mapping[str, str]]
    folder: Path

    @property
    def records(self) -> int:
        """Return how many records each side has."""
        return sum(one.source.span for topic in self.plan.topics for one in topic.partitions)

    def place(self, side: Side, run: str) -> Path:
        """Return where a run keeps the digest of a side."""
        return self.folder / run / side

    def cluster(self, side: Side) -> Cluster:
        """Return how Spark reads a side; the count and the digest alike."""
        alias = self.plan.source if side is Side.SOURCE else self.plan.target
        return Cluster(
            alias,
            client_options(self.properties[alias], cluster=alias, file="the benchmark")
            | reading_options(
                client_id="bench",
                digest=f"{plan_id(self.plan)[:12]}-{side}",
                isolation=self.plan.isolation_source,
            ),
        )

    def digests(self, spark: SparkSession, side: Side, run: str) -> DigestFolder:
        """Return the files of a run's digest of a side."""
        stamp = Stamp(plan_id(self.plan), self.plan.version, side)
        return DigestFolder(spark, str(self.place(side, run)), stamp)

    def digest(self, spark: SparkSession, side: Side, run: str) -> int:
        """Digest a side as the command does, from the first record to the written files; return the records.

        Raises RuntimeError where not all of them came.
        """
        work = SideDigest(
            spark,
            self.plan,
            side,
            places=places_of(self.plan, side),
            cluster=self.cluster(side),
            folder=self.digests(spark, side, run),
            clock=SystemClock(),
            pause=time.sleep,
        )
        *_, last = work.run()
        return self._all(last.records)

    def count(self, spark: SparkSession, side: Side) -> int:
        """Count the records of a side and do nothing else with them.

        Raises RuntimeError where not all of them came.
        """
        places = places_of(self.plan, side)
        stretches = [Stretch(one.number, one.offsets.first, one.offsets.until) for one in places]
        options = self.cluster(side).options
        return self._all(
            records(spark, options, places, stretches, headers=self.plan.topics[0].headers).count()
        )

    def _all(self, found: int) -> int:
        if found != self.records:
            raise RuntimeError(f"{found} records came of {self.records} that were written.")
        return found

    def rows(self, spark: SparkSession, run: str) -> dict[Side, list[CellRow]]:
        """Return the cells of both sides."""
        return {side: self.digests(spark, side, run).cells(places_of(self.plan, side)) for side in Side}


def warm_up(spark: SparkSession, bench: Bench) -> None:
    """Let Java compile what both do."""
    for side in Side:
        bench.count(spark, side)
        bench.digest(spark, side, "warming-up")


def speeds(spark: SparkSession, bench: Bench, *, sides: tuple[Side, ...], rounds: int) -> dict[str, Any]:
    """Return by side the medians of counts and digests in turn, and the median ratio of each pair.

    What comes first in a pair finds the machine as the other left it, so they change places.
    """
    took: dict[Side, list[dict[str, float]]] = {side: [] for side in sides}
    for number in range(rounds):
        for side in sides:
            work: dict[str, Callable[[], int]] = {
                "count": partial(bench.count, spark, side),
                "digest": partial(bench.digest, spark, side, f"round-{number}"),
            }
            pair = {}
            for name in sorted(work, reverse=number % 2 == 1):
                began = time.monotonic()
                work[name]()
                pair[name] = time.monotonic() - began
            took[side].append(pair)
    return {str(side): _figures(bench.records, pairs) for side, pairs in took.items()}


def scaled(spark: SparkSession, few: Bench, many: Bench, cores: int) -> dict[str, float]:
    """Return how long digests of the source of both take, medians of three, and the slope between them.

    What a night of a billion records on each side takes is a calculation from that slope.
    """
    warm_up(spark, few)
    took: dict[int, list[float]] = {few.records: [], many.records: []}
    for number in range(3):
        for bench in (few, many):
            began = time.monotonic()
            bench.digest(spark, Side.SOURCE, f"cores-{cores}-{number}")
            took[bench.records].append(time.monotonic() - began)
    few_s, many_s = (median(took[bench.records]) for bench in (few, many))
    slope_s = (many_s - few_s) / (many.records - few.records)
    return {
        "few_s": round(few_s, 2),
        "many_s": round(many_s, 2),
        "slope_us": round(1e6 * slope_s, 3),
        "billion_each_side_h": round(2 * 1e9 * slope_s / 3600, 2),
    }


def _figures(records_: int, pairs: list[dict[str, float]]) -> dict[str, float]:
    count_s, digest_s = (median(pair[name] for pair in pairs) for name in ("count", "digest"))
    return {
        "count_records_per_s": round(records_ / count_s),
        "digest_records_per_s": round(records_ / digest_s),
        "digest_by_count": round(median(pair["count"] / pair["digest"] for pair in pairs), 3),
        "digest_by_count_worst": round(min(pair["count"] / pair["digest"] for pair in pairs), 3),
    }


def sizes(bench: Bench, run: str, *, record_bytes: int) -> dict[str, float]:
    """Return how large a run's digests are, beside the records'."""
    files = [path for path in (bench.folder / run).rglob("*") if path.is_file()]
    digest_bytes = sum(path.stat().st_size for path in files)
    payload_bytes = 2 * bench.records * record_bytes
    return {
        "digest_bytes": digest_bytes,
        "payload_bytes": payload_bytes,
        "share_percent": round(100 * digest_bytes / payload_bytes, 4),
    }


def comparison(spark: SparkSession, bench: Bench, run: str) -> dict[str, float]:
    """Compare two digests as the command does, without the second look, for which there is nothing.

    A session that is there has not started all of Spark: whatever it is asked first takes seconds, so that is
    timed apart. Raises RuntimeError where the digests differ.
    """
    started = time.monotonic()
    spark.range(1).collect()
    began = time.monotonic()
    rows = bench.rows(spark, run)
    read = time.monotonic()
    found = compared(bench.plan, rows[Side.SOURCE], rows[Side.TARGET])
    told = result(bench.plan, found.cells, found.known, exactly_once=False)
    ended = time.monotonic()
    if told.status:
        raise RuntimeError(f"Equal records were not told as such: status {told.status}")
    return {
        "cells": len(rows[Side.SOURCE]) + len(rows[Side.TARGET]),
        "first_query_s": round(began - started, 2),
        "files_read_s": round(read - began, 2),
        "compared_s": round(ended - read, 2),
        "whole_s": round(ended - began, 2),
    }


def again(spark: SparkSession, bench: Bench, run: str) -> dict[str, float]:
    """Digest both sides into folders that hold all of it already."""
    began = time.monotonic()
    for side in Side:
        bench.digest(spark, side, run)
    return {"whole_s": round(time.monotonic() - began, 2)}
