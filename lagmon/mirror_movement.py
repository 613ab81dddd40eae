"""What the service joins with its canary: where a flow stands, when it moved, how far the canary's topic is.

Pure. Call it under the locks of what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.mirror_orders import CONNECT_OFFSETS
from lagmon.mirror_sight import STOPPED

if TYPE_CHECKING:
    from lagmon.mirror_flow import FlowSight, MirrorFlow

LISTED = 20  # topics
_NEVER = -1


def movement_document(flow: MirrorFlow, found: FlowSight, *, canary_topic: str) -> dict[str, Any]:
    """Return what stands, and when an offset of another topic than the canary's was last written anew.

    `standing` names topics, the canary's first where it is one of them. `canary` is None where the mirror has
    no offset of that topic.
    """
    sight, windows = found.sight, flow.windows
    count = len(sight.used)
    own = np.zeros(count, np.bool_)
    own[[*_own_slots(flow, canary_topic, count).values()]] = True
    stands = sight.used & np.isin(sight.rows.reason, STOPPED) & ~sight.not_committing
    others = {*np.flatnonzero(stands & ~own).tolist()}
    # By the names: a slot may have been given back since the look that this is about.
    topics = sorted({topic for topic, _, slot in windows.slots() if slot in others}) if others else []
    moved_ms = windows.moved_ms[:count][sight.used & ~own]
    return {
        "standing": [*([canary_topic] if (stands & own).any() else []), *topics][:LISTED],
        "settles_s": sight.stopped_after_ms / 1000,
        "moved_ms": _known(int(moved_ms.max(initial=_NEVER))),
        "canary": _canary_document(flow, canary_topic, count),
    }


def _canary_document(flow: MirrorFlow, topic: str, count: int) -> dict[str, Any] | None:
    """Return the next offset of each partition; only N of Connect's says that all before it was copied."""
    slots = _own_slots(flow, topic, count)
    if not slots or flow.order.lag_from != CONNECT_OFFSETS:
        return None
    return {
        "source_topic_id": flow.topics.ids.get((topic, "source")),
        "next_offsets": [[number, int(flow.windows.next_offset[slot])] for number, slot in slots.items()],
    }


def _own_slots(flow: MirrorFlow, topic: str, count: int) -> dict[int, int]:
    """Return the slot of each partition that has an offset."""
    numbers = range(flow.source.topics.get(topic, 0)) if topic else ()
    found = ((number, flow.windows.slot(topic, number)) for number in numbers)
    return {number: slot for number, slot in found if slot is not None and slot < count}


def _known(number: int) -> int | None:
    return number if number >= 0 else None
