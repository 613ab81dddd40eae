"""The snapshot and verdict of a flow whose judgement failed with a bug of Mirrorwatch. Pure."""

from __future__ import annotations

import numpy as np

from fleet.verdicts.vocabulary import Verdict
from lagmon.groups.rules.words import Status
from lagmon.logs.heads import Heads
from lagmon.mirrors.partitions.snapshot import POLL_MS, MirrorPace, Sides, take_snapshot
from lagmon.mirrors.partitions.window import MirrorWindows
from lagmon.mirrors.snapshot import FlowSnapshot
from lagmon.mirrors.verdict import MirrorVerdict


def failed_flow(now_ms: int, text: str) -> tuple[FlowSnapshot, MirrorVerdict]:
    """Return a snapshot without partitions, and the verdict "unknown"; `text` is the error."""
    none, never = np.zeros(0, np.int32), np.zeros(0, np.int64)
    pace = MirrorPace(POLL_MS, -1, committed_only=False)
    partitions = take_snapshot(
        MirrorWindows(), Sides(Heads(), Heads(), none, none, never), pace, now_ms=now_ms
    )
    sentence = (
        f"Unknown: the lag monitor failed on this flow ({text}); please report it with the output of "
        "--log-level debug."
    )
    return FlowSnapshot(now_ms, -1, partitions, (), ()), MirrorVerdict(
        Status.UNKNOWN, Verdict.UNKNOWN, None, sentence, -1, -1.0, 0, np.zeros(0, np.intp)
    )
