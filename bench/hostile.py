"""A million records that other programs wrote into the canary's topic, between probes that all arrive.

Each is read, remembered as standing on the source, compared when its copy comes, and handed to the tracker,
as in the service; a second million has no original on the source. What is said of the flow at the end has to
be that it is healthy.
"""

from __future__ import annotations

import resource
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from canary.tracker.events import Acked, Scheduled, SeenAtSource, SeenAtTarget, Sent
from canary.tracker.stamp import Intact, Reading, Stamp, decode
from canary.tracker.tracking import TrackerPolicy
from canary.watch.foreign_records import ForeignRecords
from canary.watch.watch import FlowWatch, Instant
from deploy.local.strangers import strange_records
from fleet.verdicts.evidence import CanaryState, ClusterEvidence, Control, FlowEvidence, TopicEvidence
from fleet.verdicts.judgement import judge
from fleet.verdicts.vocabulary import Verdict
from runtime.kafka.tap import TappedRecord

if TYPE_CHECKING:
    from deploy.local.strangers import StrangeRecord
    from fleet.verdicts.words import Judgement

MILLION = 1_000_000
PROBE_EVERY = 100  # strange records to one probe
_S = 1_000_000_000
_TOPIC, _COPY, _ID = "mirrorwatch-canary", "A.mirrorwatch-canary", "HmGxAb_defgh-jklmnopqr"
_INCARNATION = "0123456789abcdef"


class Flood:
    """One flow of one partition whose probes arrive a hundredth of a second after they were due."""

    def __init__(self) -> None:
        policy = TrackerPolicy("ours", _INCARNATION, 5 * _S, 60 * _S, 0)
        self.watch = FlowWatch(
            policy, source_topic=_TOPIC, target_topic=_COPY, interval_s=1.0, carried=[(_ID, 0)]
        )
        self.strangers = ForeignRecords()
        self.now_ns = 0
        self._probes = self._source = self._target = 0

    def probe(self, *, arrives: bool = True) -> None:
        """Let a second pass, send a probe and let it arrive, or be lost."""
        self.now_ns += _S
        number, now = self._probes, self._now()
        self._probes += 1
        place = (_ID, 0, number)
        stamp = Intact(Stamp("ours", _INCARNATION, number, _ID, _TOPIC, 0, 0))
        self.strangers.release(self.now_ns)
        self.watch.handle(Scheduled(*place, self.now_ns, self.now_ns // 1_000_000), now)
        self.watch.handle(Sent(*place, self.now_ns), now)
        self.watch.handle(Acked(*place, self._source, self.now_ns + _S // 200), now)
        self.watch.handle(SeenAtSource(0, self._source, stamp, self.now_ns + _S // 200), now)
        self._source += 1
        if arrives:
            self._copy(stamp, (None, None, []), self.now_ns + _S // 100, on_source=False)
        self.watch.advance(now)

    def strange(self, record: StrangeRecord, *, on_source: bool) -> None:
        """Let a strange record be read, on the source too or on the target only."""
        self._copy(decode(record[0], record[1], _as_read(record)), record, self.now_ns, on_source=on_source)

    def settle(self) -> None:
        """Give on what waits for its original."""
        self.strangers.release(self.now_ns, all_of_it=True)

    def judged(self) -> Judgement:
        """Return what is said of the flow."""
        a, b = (ClusterEvidence(alias, Control.OK, last_ok_at=self.now_ns / _S) for alias in "AB")
        canary = self.watch.evidence(self._now(), state=CanaryState.RUNNING, sentence="")
        flow = FlowEvidence("A->B", a, b, canary, TopicEvidence(_TOPIC, _COPY, target_exists=True))
        return judge(flow, now_at=self.now_ns / _S)

    def _now(self) -> Instant:
        return Instant(self.now_ns, self.now_ns / _S)

    def _copy(self, reading: Reading, record: StrangeRecord, at_ns: int, *, on_source: bool) -> None:
        key, value, _ = record
        offset, self._target = self._target, self._target + 1
        tapped = TappedRecord("B", _COPY, 0, offset, offset + 1, key, value, _as_read(record), at_ns)
        if on_source:
            self.watch.handle(SeenAtSource(0, self._source, reading, at_ns), self._now())
            self._source += 1
            self.strangers.add(tapped)
        self.strangers.sort(tapped, reading, partial(self._give, offset, at_ns), line=("A->B", 0))

    def _give(self, offset: int, at_ns: int, reading: Reading) -> None:
        self.watch.handle(SeenAtTarget(0, offset, offset + 1, reading, at_ns), self._now())


def _as_read(record: StrangeRecord) -> list[tuple[str, bytes | None]]:
    return [(name, text.encode() if isinstance(text, str) else text) for name, text in record[2]]


def flood(count: int, *, on_source: bool, seed: int) -> tuple[Flood, float]:
    """Return a flow after that many strange records, with the seconds of CPU that they took.

    Raises SystemExit where one of them made a verdict, or cost a probe.
    """
    flow, began = Flood(), time.process_time()
    for number, record in zip(range(count), strange_records(seed), strict=False):
        if number % PROBE_EVERY == 0:
            flow.probe()
        flow.strange(record, on_source=on_source)
    took_s = time.process_time() - began
    for _ in range(3):
        flow.probe()
    flow.settle()
    books, judgement = flow.watch.counters, flow.judged()
    if judgement.verdict is not Verdict.HEALTHY or books.good != books.expected or books.discrepancies():
        raise SystemExit(f"{count} strange records made of a healthy flow: {judgement}; {books.as_dict()}")
    return flow, took_s


def measure(count: int = MILLION) -> dict[str, Any]:
    """Return what strange records cost, and how they were counted."""
    _, mirrored_s = flood(count, on_source=True, seed=7)
    alone, alone_s = flood(count, on_source=False, seed=8)
    return {
        "records": 2 * count,
        "mirrored, microseconds each": round(1e6 * mirrored_s / count, 2),
        "on the target only, microseconds each": round(1e6 * alone_s / count, 2),
        "on the target only, counted as corrupted": alone.watch.counters.corrupted,
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
