"""Where the log of one place ended at the looks that are kept, as a document has it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lagmon.heads import Heads


def looks_of(heads: Heads, place: int) -> list[dict[str, int]]:
    """Return the looks, oldest first: all of late, fewer with age."""
    kept = heads.state()
    ends, times = kept.ends[:, place].tolist(), kept.times[:, place].tolist()
    return [
        {"offset": end, "read_at_ms": kept.origin_ms + time}
        for end, time in zip(ends, times, strict=True)
        if end >= 0
    ]
