"""Two or more clusters in memory with the records of their topics, as `trace` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.errors import RefusedError
from mirrorwatch.trace.clusters import TraceCluster
from runtime.kafka.picking import Picked, PickedRecord
from tests.mirrorwatch.failover.cluster import FakeCluster, progress, sync

FIRST_MS = 1_790_000_000_000


def record(number, *, key=b"", value=b"", headers=(), at_ms=None, stamped=False):
    """Return a record with an offset of its own number; empty key and value get unique ones."""
    return PickedRecord(
        number,
        FIRST_MS + number * 1000 if at_ms is None else at_ms,
        stamped,
        b"key %d" % (number % 7) if key == b"" else key,
        b"value %d" % number if value == b"" else value,
        list(headers),
    )


@dataclass
class Log:
    """Records by offset, with the log start and log end offset; `aborted` are offsets, `stable` the stable end."""

    records: dict[int, PickedRecord] = field(default_factory=dict)
    start: int = 0
    end: int = 0
    aborted: frozenset[int] = frozenset()
    stable: int | None = None

    def append(self, one, *, skip=0):
        offset = self.end + skip
        self.records[offset] = one._replace(offset=offset)
        self.end = offset + 1
        return offset


@dataclass
class LogCluster(FakeCluster):
    logs: dict[tuple[str, int], Log] = field(default_factory=dict)
    policies: dict[str, str] | None = field(default_factory=dict)
    reads: int = 0
    forbidden: str = ""  # why the mirror's topics cannot be read

    def news(self, followed, partitions):
        if self.forbidden:
            raise RefusedError(self.forbidden)
        return super().news(followed, partitions)

    def topics(self):
        found = super().topics()
        for topic, number in self.logs:
            found[topic] = max(found.get(topic, 0), number + 1)
        return found

    def offsets(self, places, which):
        found = {}
        for place in places:
            log = self.logs.get(place, Log())
            stable = log.end if log.stable is None else log.stable
            found[place] = {"start": log.start, "end": log.end, "stable": stable}[which.value]
        return {place: offset for place, offset in found.items() if place not in self.silent}

    def cleanup_policies(self, topics):
        if self.policies is None:
            raise RefusedError(f"cluster {self.alias}: no permission")
        return {topic: self.policies.get(topic, "delete") for topic in topics}


class FakePicker:
    """Answers like `Picker`, a few records at a time."""

    def __init__(self, cluster, *, committed=False, at_once=100):
        self._cluster = cluster
        self._committed = committed
        self._at_once = at_once

    def pick(self, wanted, *, longest_s):
        assert longest_s > 0
        found = {}
        for place, (offset, count) in wanted.items():
            log = self._cluster.logs[place]
            assert log.start <= offset <= log.end
            hidden = (
                {
                    one
                    for one in log.records
                    if one in log.aborted or (log.end if log.stable is None else log.stable) <= one
                }
                if self._committed
                else set()
            )
            some = [
                one
                for at, one in sorted(log.records.items())
                if max(offset, log.start) <= at and at not in hidden
            ]
            few = some[: min(count, self._at_once)]
            self._cluster.reads += len(few)
            found[place] = Picked(
                few,
                ended=few == some and len(few) < count,
                size_bytes=sum(len(one.value or b"") for one in few),
            )
        return found

    def close(self):
        self._cluster = None  # a closed one must not be used

    def since(self, times_ms):
        found = {}
        for place, at_ms in times_ms.items():
            log = self._cluster.logs[place]
            later = [
                at for at, one in sorted(log.records.items()) if at >= log.start and one.timestamp_ms >= at_ms
            ]
            if later:
                found[place] = later[0]
        return found


class FakeClusters(dict):
    """Clusters by alias, as `Clusters` gives them."""

    def __init__(self, *clusters, excluded_headers=()):
        super().__init__()
        for one in clusters:
            self[one.alias] = TraceCluster(
                one,
                lambda committed, one=one: FakePicker(one, committed=committed),
                excluded_headers=excluded_headers,
            )

    def __getitem__(self, alias):
        found = super().__getitem__(alias)
        _ = found.topics
        return found


def mirrored(source_log, target_log, *, syncs_every=10, drop=frozenset(), change=None, upto=None):
    """Replicate a log as MirrorMaker does; return the offset syncs as pairs of offsets."""
    pairs, last = [], None
    for offset, one in sorted(source_log.records.items()):
        if offset in drop:
            continue
        if upto is not None and offset >= upto:
            break
        there = target_log.append(one if change is None else change(offset, one))
        if last is None or offset != last[0] + 1 or there - pairs[-1][1] > syncs_every:
            pairs.append((offset, there))
        last = offset, there
    return pairs


def syncs(topic, number, pairs):
    """Return the records of a topic of offset syncs."""
    return [sync(topic, number, *one) for one in pairs]


def committed(topic, number, offset):
    """Return the records of a worker's topic of offsets."""
    return [progress(topic, number, offset)]
