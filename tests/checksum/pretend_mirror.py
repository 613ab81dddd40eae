"""One partition, its mirror and the offset syncs of it, moved by hand: what MirrorMaker does, and its faults.

The syncs are those of OffsetSyncWriter of Kafka 4.3: one at once at the start of a task's life, after a gap of
the source's offsets, after `lag_max` records, where downstream went back; else with the next flush.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from checksum.anchors.pairs import Logs, Pair, usable
from checksum.anchors.records import seen_record
from checksum.anchors.search import search_anchors
from checksum.plan.facts import PartitionFacts
from checksum.plan.ranges import beginnings_before, candidates, partition_ranges, tail_offset
from checksum.plan.shape import Anchored

MARKER = None


@dataclass
class Record:
    number: int  # who it is, wherever it stands
    key: bytes | None
    value: bytes | None
    at_ms: int
    headers: tuple = ()


@dataclass
class Log:
    records: list = field(default_factory=list)  # by offset; MARKER holds no record
    start: int = 0

    @property
    def end(self):
        return len(self.records)

    def read(self, offset):
        return self.records[offset] if self.start <= offset < self.end else None

    def numbers(self, first, until):
        found = [self.read(offset) for offset in range(first, until)]
        return [record.number for record in found if record is not MARKER]


class Mirrored:
    def __init__(self, *, lag_max=100):
        self.lag_max = lag_max
        self.source, self.target = Log(), Log()
        self.source_id, self.target_id = "S1", "T1"
        self.pairs = []
        self.position = 0
        self.now_ms = 1_790_000_000_000
        self.written = 0
        self.copies = {}  # by number: how often it was copied
        self.foreign = set()
        self.dropped = set()
        self.repeated = set()  # by a producer, behind the mirror's back
        self.committed = 0
        self._begin()

    def write(self, count=1, *, key=b"k"):
        for _ in range(count):
            self.now_ms += 7
            self.source.records.append(Record(self.written, key, b"v%d" % self.written, self.now_ms))
            self.written += 1

    def mark(self, *, target=False):
        (self.target if target else self.source).records.append(MARKER)

    def copy(self, count=10**9, *, drop=False, alter=None):
        """Copy so many of the records that wait; `drop`: leave them out; `alter` makes another record of one."""
        self.position = max(self.position, self.source.start)
        while count and self.position < self.source.end:
            upstream = self.position
            self.position += 1
            record = self.source.read(upstream)
            if record is MARKER:
                continue
            count -= 1
            if drop:
                self.dropped.add(record.number)
                continue
            self.copies[record.number] = self.copies.get(record.number, 0) + 1
            self.target.records.append(alter(replace(record)) if alter else record)
            self._sync(upstream, self.target.end - 1)

    def repeat(self):
        """Copy the last record of the target once more, as a producer does that heard no answer."""
        if self.target.end > self.target.start and self.target.records[-1] is not MARKER:
            record = self.target.records[-1]
            self.copies[record.number] = self.copies.get(record.number, 0) + 1
            self.repeated.add(record.number)
            self.target.records.append(record)

    def intrude(self):
        self.written += 1
        self.foreign.add(self.written - 1)
        self.target.records.append(Record(self.written - 1, b"x", b"foreign%d" % self.written, self.now_ms))

    def flush(self):
        if self._parked is not None:
            self._emit(*self._parked)
        self.committed = self.position

    def crash(self):
        """Lose what was not flushed, and go on where the offsets were written last."""
        self.position = self.committed
        self._begin()

    def expire(self, *, source=0, target=0):
        self.source.start = min(self.source.end, self.source.start + source)
        self.target.start = min(self.target.end, self.target.start + target)

    def remake_target(self):
        self.target, self.target_id = Log(), "T2"

    def remake_source(self):
        self.source, self.source_id = Log(), "S2"

    def _begin(self):
        self._last, self._previous, self._parked = None, None, None

    def _sync(self, upstream, downstream):
        due = (
            self._last is None
            or downstream >= self._last[1] + 1 + self.lag_max
            or upstream != self._previous[0] + 1
            or downstream < self._previous[1] + 1
        )
        self._previous = upstream, downstream
        if due:
            self._emit(upstream, downstream)
        else:
            self._parked = upstream, downstream

    def _emit(self, upstream, downstream):
        self.pairs.append(Pair(upstream, downstream, self.source_id, self.target_id))
        self._last, self._parked = (upstream, downstream), None

    # --- what a planner sees

    @property
    def logs(self):
        return Logs(self.source.start, self.source.end, self.target.start, self.target.end)

    def facts(self, *, ids=True, **others):
        pairs = (
            self.pairs
            if ids
            else [pair._replace(source_topic_id=None, target_topic_id=None) for pair in self.pairs]
        )
        known = usable(pairs, source_id=self.source_id, target_id=self.target_id)
        return PartitionFacts("t", 0, self.logs, known, Anchored.OFFSET_SYNCS, **others)

    def plan(self, *, ids=True, **others):
        """Return the plan of the partition, what is left out, and how many pairs were read."""
        facts = self.facts(ids=ids, **others)
        found = candidates(facts)
        anchors = drive(
            search_anchors(
                found.ends, partial(beginnings_before, facts), facts.usable.pairs, timestamps=facts.timestamps
            ),
            self,
        )
        tail = tail_offset(facts, found, anchors)
        held = [] if tail is None else range(tail, self.source.end)
        behind = next((at for at in held if self.source.read(at) is not MARKER), None)
        plan, left = partition_ranges(facts, found, anchors, behind=behind)
        return plan, left, anchors


def drive(search, mirrored):
    try:
        pair = next(search)
        while True:
            pair = search.send((seen(mirrored.source, pair.upstream), seen(mirrored.target, pair.downstream)))
    except StopIteration as done:
        return done.value


def seen(log, offset):
    record = log.read(offset)
    if record is MARKER:
        return None
    return seen_record(offset, record.at_ms, record.key, record.value, record.headers)
