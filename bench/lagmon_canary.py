"""Whether the canary stamps as exactly while commits are read: as bench/canary_timing.py measures it.

Three times on one pair of brokers with a mirror: without the lag monitor, while a backlog is read, and while
groups commit. A backlog is soon read, so processes like the service's own read it again and again meanwhile,
one after the other.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench import canary_timing
from bench.lagmon_commits import PARTITIONS, RECORDS, topic_name, write_commits
from bench.lagmon_ingest import Ingest
from bench.lagmon_stack import fill, make_topics
from deploy.local.pair import Pair
from deploy.local.process import python_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RATE = 200  # probes a second over both flows
_LAG = {"commits": "topic"}
_READ_S = 60.0


def measure(folder: Path, *, groups: int, turns: int, seconds: float, commits_per_s: int) -> dict[str, Any]:
    """Return for each of the three how far arrivals are above the readers' own, and the service's cost."""
    with Pair(folder / "pair", flows=("A->B", "B->A"), settings={"tasks.max": "1"}) as pair:
        canary_timing.make_topics(pair)
        client = pair.a.client_properties()
        make_topics(client, [topic_name(0)], partitions=PARTITIONS, deadline_s=60)
        fill(client, [topic_name(0)], partitions=PARTITIONS, records=RECORDS, deadline_s=60)

        def run(name: str, lag: dict[str, str] | None, beside: Any) -> dict[str, Any]:
            found = canary_timing.measure_on(
                pair, folder / name, rate=RATE, seconds=seconds, lag=lag, beside=beside
            )
            return _short(found)

        @contextmanager
        def nothing() -> Iterator[None]:
            yield

        @contextmanager
        def backlog() -> Iterator[None]:
            with _reading(folder / "reading", client):
                yield

        @contextmanager
        def live() -> Iterator[None]:
            arguments = (client["bootstrap.servers"], str(groups), "1", str(commits_per_s), str(seconds))
            committing = python_process(
                "committing", "bench.lagmon_commits", *arguments, str(folder / "made.json"), folder=folder
            )
            committing.start()
            try:
                yield
            finally:
                committing.wait(deadline_s=120)

        without = run("without", None, nothing)
        write_commits(client, range(groups), topics=1, turns=turns)
        return {"without": without, "backlog": run("backlog", _LAG, backlog), "live": run("live", _LAG, live)}


@contextmanager
def _reading(folder: Path, client: dict[str, str]) -> Iterator[None]:
    """Read the backlog again and again, in another thread's processes, until the block ends."""
    ending = threading.Event()

    def read() -> None:
        while not ending.is_set():
            with Ingest(folder, client) as ingest:
                ingest.read(deadline_s=_READ_S)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        ending.set()
        reader.join()


def _short(found: dict[str, Any]) -> dict[str, Any]:
    arrivals = found["arrivals"]
    return {
        "arrivals_p99_above_the_readers_ms": arrivals["p99_above_the_readers_ms"],
        "arrivals_p50_ms": arrivals["service_minus_reader_1_ms"]["p50"],
        "readers_p99_ms": arrivals["reader_1_minus_reader_2_ms"]["p99"],
        "records": arrivals["records"],
        "queueing_p99_above_plain_ms": found["queueing"]["p99_above_plain_ms"],
        "cpu_share_of_a_core": found["cpu_share_of_a_core"],
        "pss_mb": found["pss_mb"],
        "machine_busy_share": found["machine"]["busy_share"],
    }
