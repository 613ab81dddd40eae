"""The polled log ends of one partition as a document. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.logs.heads import Heads


def polled_ends(heads: Heads, place: int) -> list[dict[str, int]]:
    """Return the polls, oldest first: all recent ones, fewer with age."""
    kept = heads.state(np.array([place], np.int32))
    ends, times = kept.ends[:, 0].tolist(), kept.times[:, 0].tolist()
    return [
        {"offset": end, "read_at_ms": kept.origin_ms + time}
        for end, time in zip(ends, times, strict=True)
        if end >= 0
    ]
