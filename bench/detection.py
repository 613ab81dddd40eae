"""How soon `/metrics` shows a mirror that stands and a probe that was dropped.

A real mirror is frozen again and again, and after that drops probes; the benchmark scrapes fifty times a
second. A freeze counts from its signal, so that the bar is threshold + one interval: the first probe that
cannot come was due at most one interval later. A drop counts from when a plain reader of the target's topic
got the next probe of that partition, which is the first that can prove it.
"""

from __future__ import annotations

import re
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Self, cast

from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from bench.watched_service import WatchedService, samples
from canary.tracker.stamp import Intact, decode
from deploy.local.pair import Pair
from deploy.local.topics import partition_count
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from types import TracebackType

    from deploy.local.mirror import MirrorMaker

FLOW, TOPIC, COPY = "A->B", "mirrorwatch-canary", "A.mirrorwatch-canary"
PARTITIONS = 2
THRESHOLD_S, INTERVAL_S = 5.0, 1.0
LOOK_S = 0.02
DROPPED_ONE_IN = 9
_GIVE_UP_S = 60.0
_FIGURES = re.compile(r"mirrorwatch_(flow_verdict|canary_(settled|probes)_total)$")


def measure(*, rounds: int = 10) -> dict[str, Any]:
    """Return the seconds of so many freezes and as many dropped probes: quickest, median, slowest."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-bench-") as name:
        folder = Path(name)
        with Pair(folder / "pair", flows=(FLOW,), settings={"tasks.max": str(PARTITIONS)}) as pair:
            assert pair.mirror is not None
            service = WatchedService(
                folder / "service",
                mm2=pair.mirror.properties_file,
                canary={"interval": f"{INTERVAL_S:g}s", "threshold": f"{THRESHOLD_S:g}s"},
            )
            service.start()
            try:
                service.wait_healthy(FLOW, deadline_s=_GIVE_UP_S, held_s=THRESHOLD_S)
                frozen = [_freeze(service, pair.mirror) for _ in range(rounds)]
                dropped = _drop(service, pair, rounds)
            finally:
                service.stop()
    return {
        "frozen_mirror": {
            "rounds": rounds,
            "bar_s": THRESHOLD_S + INTERVAL_S,
            "stalled_after_s": _spread([stalled for stalled, _ in frozen]),
            "settled_minus_good_after_s": _spread([settled for _, settled in frozen]),
        },
        "dropped_probe": {"probes": len(dropped), "bar_s": 2.0, "lost_after_next_s": _spread(dropped)},
    }


def _freeze(service: WatchedService, mirror: MirrorMaker) -> tuple[float, float]:
    """Freeze the mirror until it shows; return when it was `stalled`, and when a probe had settled badly."""
    before = _scrape(service)
    began = time.monotonic()
    mirror.freeze()
    found: dict[str, float] = {}

    def look() -> bool:
        said = _scrape(service)
        passed = time.monotonic() - began
        if said["stalled"]:
            found.setdefault("stalled", passed)
        if said["settled"] - said["good"] > before["settled"] - before["good"]:
            found.setdefault("settled", passed)
        return len(found) == len(("stalled", "settled"))

    try:
        wait_until(look, deadline_s=_GIVE_UP_S, what="The frozen mirror in /metrics", every_s=LOOK_S)
    finally:
        mirror.thaw()
    service.wait_healthy(FLOW, deadline_s=_GIVE_UP_S, held_s=2 * INTERVAL_S)
    return found["stalled"], found["settled"]


def _drop(service: WatchedService, pair: Pair, count: int) -> list[float]:
    """Have the mirror drop so many probes; return how long after its next one each was counted as lost."""
    assert pair.mirror is not None
    before = _scrape(service)["lost"]
    counted: list[float] = []
    with Gaps(pair.b.client_properties()) as gaps:
        pair.mirror.switch.on("drop", topics=TOPIC, modulus=DROPPED_ONE_IN)

        def look() -> bool:
            lost = int(_scrape(service)["lost"] - before)
            counted.extend([time.monotonic()] * (lost - len(counted)))
            return lost >= count

        try:
            wait_until(look, deadline_s=count * 30.0, what="Lost probes in /metrics", every_s=LOOK_S)
        finally:
            pair.mirror.switch.off()
    # Counted in the order in which they could be proved, but for those of one and the same instant.
    return [max(0.0, at - gap_at) for at, gap_at in zip(counted, sorted(gaps.at), strict=False)]


class Gaps:
    """A plain reader of the copies on its own thread; `at` is when it got each first probe after a gap."""

    def __init__(self, client: dict[str, str]) -> None:
        self.at: list[float] = []
        self._client = client
        self._last: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: len(self._last) == PARTITIONS, deadline_s=_GIVE_UP_S, what="The plain reader")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        wait_until(
            lambda: partition_count(self._client, COPY) == PARTITIONS, deadline_s=_GIVE_UP_S, what=COPY
        )
        consumer = Consumer({**self._client, "group.id": "bench-gaps", "enable.auto.commit": False})
        consumer.assign([TopicPartition(COPY, number, OFFSET_END) for number in range(PARTITIONS)])
        while not self._over.is_set():
            message = consumer.poll(0.1)
            at = time.monotonic()
            if message is not None and message.error() is None:
                headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
                self._note(decode(message.key(), message.value(), headers), at)
        consumer.close()

    def _note(self, reading: object, at: float) -> None:
        if isinstance(reading, Intact):
            stamp = reading.stamp
            last = self._last.get(stamp.partition, stamp.sequence - 1)
            self.at += [at] * (stamp.sequence - last - 1)
            self._last[stamp.partition] = stamp.sequence


def _scrape(service: WatchedService) -> dict[str, float]:
    """Return what the flow's series say: `stalled` 0 or 1, and the counters."""
    return {
        sample.labels.get("verdict") or sample.labels.get("outcome") or "settled": sample.value
        for sample in samples(service.get("/metrics"))
        if _FIGURES.match(sample.name) and sample.labels["flow"] == FLOW
    }


def _spread(values_s: list[float]) -> dict[str, float]:
    ordered = sorted(values_s)
    return {"least": round(ordered[0], 3), "median": round(median(ordered), 3), "most": round(ordered[-1], 3)}
