"""Two replicas of a group on one store: how soon does the other one lead, and do the books agree?

The leader is ended again and again: by kill -9, by SIGSTOP (it wakes up once the other one leads), or in
order, as an upgrade does. It starts again as the one that stands by. The gap is the longest time between
two canary records of a partition on the source. At the end both topics are held against the books.
"""

from __future__ import annotations

import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.book_truth import books_and_topics
from bench.replica import Replica
from bench.topic_truth import read_topic
from deploy.local.pair import Pair
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPIC = "mirrorwatch-canary"
FLOW = "A->B"
INTERVAL_S = 0.25
HORIZON_S = 8.0
CANARY = {"interval": "250ms", "threshold": "2s", "horizon": f"{HORIZON_S:g}s"}
KILLED, STOPPED, ENDED = WAYS = ("killed", "stopped (SIGSTOP)", "ended in order")
_UP_S = 60.0


def measure(*, takeovers: int, ways: Sequence[str] = WAYS, store: str | None = None) -> dict[str, Any]:
    """Return gaps by the way in which the leader ended, and what does not agree."""
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-takeovers-") as name:
        folder = Path(name)
        with Pair(folder / "pair") as pair:
            return _measure(pair, folder, takeovers, ways, store)


def _measure(
    pair: Pair, folder: Path, takeovers: int, ways: Sequence[str], store: str | None
) -> dict[str, Any]:
    assert pair.mirror is not None
    database = folder / "mirrorwatch.db"
    mm2 = pair.mirror.properties_file
    replicas = [
        Replica(folder, name, store=store or f"sqlite:///{database}", mm2=mm2, canary=CANARY)
        for name in ("left", "right")
    ]
    ends: list[tuple[str, float]] = []
    answers_s: list[float] = []
    trouble: list[str] = []
    try:
        leader, other = replicas
        leader.start()
        wait_until(lambda: leader.leads and bool(leader.flows()), deadline_s=_UP_S, what="The leader")
        other.start()
        leader.wait_healthy(FLOW, deadline_s=120.0)
        for number in range(takeovers):
            wait_until(lambda: other.stands_by, deadline_s=_UP_S, what="The one that stands by")  # noqa: B023
            time.sleep(2.0)
            way = ways[number % len(ways)]
            ends.append((way, time.time()))
            _end(leader, way)
            began = time.monotonic()
            wait_until(lambda: other.leads and bool(other.flows()), deadline_s=_UP_S, what="A new leader")  # noqa: B023
            answers_s.append(time.monotonic() - began)
            trouble += _gone(leader, way)
            leader.start()
            leader, other = other, leader
        leader.wait_healthy(FLOW, deadline_s=120.0)
        time.sleep(2 * HORIZON_S + 2.0)
        for one in (other, leader):
            one.stop(grace_s=30.0)
        leader.leave_group()  # so that it ends only when everything in flight has its outcome
        leader.start()
        leader.wait_healthy(FLOW, deadline_s=120.0)
        time.sleep(2 * HORIZON_S + 2.0)
        leader.stop(grace_s=30.0)
    finally:
        for one in replicas:
            one.kill()
    source = read_topic(pair.a.client_properties(), TOPIC)
    gaps = _gaps(source, ends)
    violations: list[str] = []
    if store is None:
        target = read_topic(pair.b.client_properties(), f"A.{TOPIC}")
        truth = books_and_topics(database, FLOW, source, target)
        violations = truth.violations
    found: dict[str, Any] = {
        "takeovers": len(ends),
        "interval_s": INTERVAL_S,
        "violations": len(violations),
        "what_does_not_agree": [*violations, *trouble],
        "answers_after_s": _figures(answers_s),
    }
    for way in ways:
        found[f"gap_s, {way}"] = _figures([gap for one, gap in zip(ends, gaps, strict=True) if one[0] == way])
    return found


def _end(leader: Replica, way: str) -> None:
    if way == KILLED:
        leader.kill()
    elif way == STOPPED:
        leader.freeze()
    else:
        leader.request_stop()


def _gone(leader: Replica, way: str) -> list[str]:
    """Wait until a former leader has ended; return what is wrong with that."""
    if way == STOPPED:
        leader.thaw()
    wait_until(lambda: not leader.running, deadline_s=30.0, what=f"The end of {leader.name}")
    expected = {KILLED: -9, STOPPED: 4, ENDED: 0}[way]
    said = leader.logged()
    trouble = [word for word in ("Traceback", "fault of mirrorwatch") if word in said]
    if leader.exit_status != expected:
        trouble.append(f"{leader.name}, {way}: status {leader.exit_status}, not {expected}")
    return trouble


def _gaps(source: Any, ends: Sequence[tuple[str, float]]) -> list[float]:
    """Return for each end the longest time without a canary record of a partition around it."""
    due: dict[int, list[float]] = {}
    for content in source.values():
        due.setdefault(content[0], []).append(json.loads(content[2] or b"{}")["due_at_ms"] / 1000)
    found = []
    instants = [at for _, at in ends] + [float("inf")]
    for at, following in pairwise(instants):
        gaps = [
            after - before
            for times in due.values()
            for before, after in pairwise(sorted(times))
            if after >= at and before < following - 1.0  # the next end's gap is its own
        ]
        found.append(round(max(gaps, default=0.0), 2))
    return found


def _figures(numbers: Sequence[float]) -> dict[str, float]:
    if not numbers:
        return {}
    return {
        "least": round(min(numbers), 2),
        "median": round(median(numbers), 2),
        "most": round(max(numbers), 2),
    }
