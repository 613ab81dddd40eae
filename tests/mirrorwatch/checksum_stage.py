"""The commands of the checksum over pretend clusters: no broker, and the reference digest in Spark's place."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass

from rich.console import Console

from checksum.config import ChecksumConfig
from checksum.digest.cell_rows import Side, joined
from checksum.digest.record_hash import Content
from fleet.errors import UnavailableError
from mirrorwatch.check.sheet import Sheet
from mirrorwatch.checksums.session import Session
from mirrorwatch.configuration.reading import read_configuration
from runtime.kafka.admin import TopicDescription
from runtime.process.clock import SystemClock
from runtime.process.logs import Redactor
from tests.checksum.pretend_clusters import Clusters
from tests.checksum.pretend_logs import Held, row
from tests.checksum.pretend_mirror import MARKER

CONFIG = """\
mirror_version: "4.3"
clusters:
  A: {bootstrap.servers: "a:1"}
  B: {bootstrap.servers: "b:1"}
flows:
  A->B: {topics: ".*"}
"""
SYNCS = "mm2-offset-syncs.B.internal"


@dataclass
class Progress:
    offsets: int
    of_offsets: int
    records: int
    size_bytes: int = 0
    empty_ranges: tuple = ()
    partitions: int = 0
    of_partitions: int = 0


class PretendDigests:
    """Digests by the Python reference, of what the pretend logs hold at that moment."""

    def __init__(self, stage):
        self.stage = stage
        self.kept = {}  # by folder
        self.asked = []
        self.headers = []  # whether they were read, by digest
        self.failing = []  # errors, raised one by one
        self.empty_ranges = ()

    def digest(self, plan, side, folder):
        self.asked.append((str(side), folder))
        self.headers.append([topic.headers for topic in plan.topics])
        if self.failing:
            raise self.failing.pop(0)
        rows = [one for topic in plan.topics for one in self._rows(plan, topic, side)]
        spans = [
            one.source.span if side is Side.SOURCE else one.target.span
            for topic in plan.topics
            for one in topic.partitions
        ]
        yield Progress(0, sum(spans), 0)
        self.kept[folder] = list(joined(rows).values())
        yield Progress(sum(spans), sum(spans), len(rows), 10 * len(rows), self.empty_ranges)

    def cells(self, _plan, _side, folder):
        return self.kept[folder]

    def _rows(self, plan, topic, side):
        clusters, source = self.stage.clusters, side is Side.SOURCE
        for planned in topic.partitions:
            mirrored = clusters.mirrors[topic.topic, planned.partition]
            log, span = (mirrored.source, planned.source) if source else (mirrored.target, planned.target)
            for offset in range(max(span.first, log.start), span.until):
                one = log.records[offset]
                if one is not MARKER:
                    headers = list(one.headers) if topic.headers else None
                    held = Held(offset, Content(one.key, one.value, one.at_ms, headers))
                    yield row(held, topic, planned, plan, side)


class PretendConnects:
    def __init__(self, clusters):
        self.clusters = clusters
        self.away = set()

    async def admin(self, alias, _stack):
        self._reach(alias)
        return self.clusters.a if alias == "A" else self.clusters.b

    async def reader(self, alias, _stack, **_how):
        self._reach(alias)
        return self.clusters.source if alias == "A" else self.clusters.target

    def settings(self, _alias):
        return None

    def _reach(self, alias):
        if alias in self.away:
            raise UnavailableError(f"cluster {alias}: no broker answers")


class SkippingClock(SystemClock):
    """The machine's clock, which a plan that waits moves on."""

    skipped_ns = 0

    def monotonic_ns(self):
        return super().monotonic_ns() + self.skipped_ns


class PretendSyncs:
    """What was read of the mirrors' offset syncs: all there are, and which are new since the last reading."""

    def __init__(self, mirrors, seen):
        self._mirrors = mirrors
        self._new = frozenset(place for place, one in mirrors.items() if len(one.pairs) > seen.get(place, 0))
        self.until = 0
        seen |= {place: len(one.pairs) for place, one in mirrors.items()}

    def of(self, topic, number):
        return self._mirrors[topic, number].pairs

    def places(self):
        return self._new

    def extend(self, _newer):
        """Leave it: what was read is asked of the mirrors each time."""


class Stage:
    """One flow A->B with its clusters, and what the commands wrote.

    `while_waiting` is done step by step while a plan waits for the mirror.
    """

    def __init__(self, tmp_path, mirrors, monkeypatch, *, config=CONFIG, **settings):
        self.clusters = Clusters(mirrors)
        self.clusters.a.topics[SYNCS] = TopicDescription(SYNCS, "X", (1,))
        self.folder = tmp_path
        path = tmp_path / "mirrorwatch.yaml"
        path.write_text(config)
        self.config = read_configuration(path, environ={})
        self.file = io.StringIO()
        self.pauses = []
        self.connects = PretendConnects(self.clusters)
        self.digests_made = PretendDigests(self)
        self.started = 0
        self.logs_kept = 0
        self.forgotten = []  # plans of which digests in `--folder` were deleted
        self.session = Session(
            self.config,
            ChecksumConfig(**{"cells": 4, **settings}),
            Sheet(Console(file=self.file, width=100, color_system=None), Redactor()),
            self.connects,
            SkippingClock(),
            self.pauses.append,
            sleep=self._sleep,
        )
        self.while_waiting = []
        self._syncs_seen = {}
        monkeypatch.setattr("checksum.plan.flow_plan.read_sync_topic", self._read_syncs)

    def _read_syncs(self, *_where, **_how):
        return PretendSyncs(self.clusters.mirrors, self._syncs_seen)

    async def _sleep(self, for_s):
        self.session.clock.skipped_ns += int(for_s * 1e9)
        if self.while_waiting:
            self.while_waiting.pop(0)()

    def chosen(self, *topics, flows=()):
        return self.session.chosen(flows, topics, everything=not topics)

    # --- what `checksum_spark.Spark` does

    def digests(self):
        self.started += 1
        return self.digests_made

    def folder_of(self, _plan, side, *, beside=None):
        return f"{beside or self.folder / 'kept'}/{side}"

    def forget(self, plan):
        self.forgotten.append(plan)

    def may_hold(self, folder):
        return folder in self.digests_made.kept

    def stages(self):
        return []

    def keep_log(self):
        self.logs_kept += 1

    @property
    def said(self):
        return re.sub(r"\s+", " ", self.file.getvalue())

    def read_json(self, path):
        return json.loads(path.read_text())
