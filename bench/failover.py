"""How long it takes to judge 100,000 checkpoints: 1,000 groups on 100 partitions, with offset syncs."""

from __future__ import annotations

import time
from typing import Any

from lagmon.failover.places import runs_of
from lagmon.failover.readiness import Checkpoint, PartitionFacts, Status, judge_group
from lagmon.syncs.pairs import SyncPair

GROUPS, PARTITIONS, SYNCS = 1_000, 100, 256
_EVERY = 100  # records between two offset syncs


def measure() -> dict[str, Any]:
    """Return the seconds of processor time to judge them, and to write down the facts before."""
    pairs = [SyncPair(0, number, number * _EVERY, number * _EVERY, 0) for number in range(SYNCS)]
    end = SYNCS * _EVERY
    began = time.process_time()
    runs = [runs_of(pairs) for _ in range(PARTITIONS)]
    facts = {
        f"group-{group}": [
            _facts(partition, (group * 7_919 + partition * 31) % end, end, runs[partition])
            for partition in range(PARTITIONS)
        ]
        for group in range(GROUPS)
    }
    written = time.process_time()
    found = [judge_group(group, partitions) for group, partitions in facts.items()]
    judged = time.process_time()
    assert {one.status for one in found} == {Status.READY}
    return {
        "checkpoints": GROUPS * PARTITIONS,
        "facts_s": round(written - began, 3),
        "judged_s": round(judged - written, 3),
    }


def _facts(partition: int, committed: int, end: int, runs: Any) -> PartitionFacts:
    start = committed // _EVERY * _EVERY
    return PartitionFacts(
        topic="orders",
        partition=partition,
        committed=committed,
        source_end=end,
        replicated=end,
        checkpoint=Checkpoint(committed, start, 0),
        runs=runs,
        target_committed=start,
        target_start=0,
        target_end=end,
    )
