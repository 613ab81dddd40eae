"""How many probes the tracker judges a second, with a clock that only the benchmark moves."""

from __future__ import annotations

import gc
import time
import tracemalloc
from typing import Any

from canary.tracker.events import Acked, Scheduled, SeenAtSource, SeenAtTarget, Sent
from canary.tracker.stamp import Intact, Stamp
from canary.tracker.tracker import Tracker
from canary.tracker.tracking import TrackerPolicy

S = 1_000_000_000
PROBES = 60_000
OUTAGE_PROBES = 60_000
TOPIC_ID = "bench"


def measure() -> dict[str, Any]:
    """Return probes per second of processor time when all is well, and what an outage takes of memory."""
    began = time.process_time()
    tracker = _tracker()
    for number in range(PROBES):
        _probe(tracker, number, arrives=True)
    took_s = time.process_time() - began
    assert tracker.counters.good == PROBES and not tracker.counters.discrepancies()  # noqa: PT018
    return {"probes_per_s": round(PROBES / took_s), "events_per_probe": 5, **_outage()}


def _outage() -> dict[str, Any]:
    """Let nothing arrive for 60,000 probes, one a second, and measure what the tracker holds."""
    tracker = _tracker()
    tracemalloc.start()
    held = []
    for number in range(OUTAGE_PROBES):
        _probe(tracker, number, arrives=False)
        if number % 60 == 59:  # once a minute, as the store takes what has changed
            tracker.snapshot(number // 60)
        if number in (3600, OUTAGE_PROBES - 1):
            gc.collect()  # which empties the interpreter's lists of freed objects too
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert not tracker.counters.discrepancies()
    return {"outage_after_1h_bytes": held[0], "outage_after_60000_bytes": held[1]}


def _tracker() -> Tracker:
    policy = TrackerPolicy("bench", "00000000000000aa", 5 * S, 60 * S, 0)
    return Tracker(policy, carried=[(TOPIC_ID, 0)])


def _probe(tracker: Tracker, number: int, *, arrives: bool) -> None:
    at = number * S
    reading = Intact(Stamp("bench", "00000000000000aa", number, TOPIC_ID, "mirrorwatch-canary", 0, 0))
    tracker.handle(Scheduled(TOPIC_ID, 0, number, at, at // 1_000_000))
    tracker.handle(Sent(TOPIC_ID, 0, number, at))
    tracker.handle(Acked(TOPIC_ID, 0, number, number, at + S // 1000))
    tracker.handle(SeenAtSource(0, number, reading, at + S // 1000))
    if arrives:
        tracker.handle(SeenAtTarget(0, number, number + 1, reading, at + S // 100))
    tracker.advance(at + S // 2)
