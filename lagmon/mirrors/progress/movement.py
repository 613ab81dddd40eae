"""The part of a flow's document that the service joins with its canary. Pure.

It shows which topics are stalled, when offsets last moved, and how far the canary's topic is. Call it under
the locks of what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.words import Reason
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS
from lagmon.mirrors.stall_causes import stalled_slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.view import FlowView

LISTED = 20  # topics
_NEVER = -1


def movement_document(flow: FlowView, snapshot: FlowSnapshot, *, canary_topic: str) -> dict[str, Any]:
    """Return the stalled topics, and when offsets of the canary's topic and of others last moved.

    `standing` lists topics, the canary's first if it is one of them. `canary` is None if the mirror has no
    offset of that topic.
    """
    partitions, windows = snapshot.partitions, flow.windows
    count = len(partitions.used)
    own = np.zeros(count, np.bool_)
    own[[*_own_slots(flow, canary_topic, count).values()]] = True
    stalled = _overtaken(flow, snapshot)
    stalled[stalled_slots(flow, snapshot, np.flatnonzero(partitions.used))] = True
    others = {*np.flatnonzero(stalled & ~own).tolist()}
    # By name: a slot may have been freed since that poll.
    topics_stalled = {topic for topic, _, slot in windows.slots() if slot in others} if others else set()
    blocked = {one.topic for one in snapshot.blocked}
    topics = sorted((topics_stalled | blocked) - {canary_topic})
    moved_ms = windows.moved_ms[:count]
    return {
        "standing": [*([canary_topic] if (stalled & own).any() or canary_topic in blocked else []), *topics][
            :LISTED
        ],
        "settles_s": partitions.stopped_after_ms / 1000,
        "moved_ms": _known(int(moved_ms[partitions.used & ~own].max(initial=_NEVER))),
        "own_moved_ms": _known(int(moved_ms[partitions.used & own].max(initial=_NEVER))),
        "canary": _canary_document(flow, canary_topic, count),
    }


def _overtaken(flow: FlowView, snapshot: FlowSnapshot) -> NDArray[np.bool_]:
    """Return which partitions are stalled at records that were provably deleted unread."""
    partitions = snapshot.partitions
    proved = np.zeros(len(partitions.used), np.bool_)
    for one in snapshot.findings:
        if one.code is Cause.OVERTAKEN and one.partition is not None:
            slot = flow.windows.slot(one.topic, one.partition)
            if slot is not None and slot < len(proved):
                proved[slot] = True
    proved &= partitions.used & (partitions.rows.reason == Reason.DELETED_UNREAD) & (partitions.deleted > 0)
    return proved


def _canary_document(flow: FlowView, topic: str, count: int) -> dict[str, Any] | None:
    """Return the next offset of each partition; only N of Connect shows that all before it was replicated.

    An offset after the log end of the last poll is left out: it is newer than that poll, or belongs to no
    record.
    """
    slots = _own_slots(flow, topic, count)
    if not slots or flow.order.lag_from != CONNECT_OFFSETS:
        return None
    ends = dict(enumerate(flow.source.heads.end[flow.source.places.of(topic)].tolist()))
    offsets = ((number, int(flow.windows.next_offset[slot])) for number, slot in slots.items())
    known = [[number, offset] for number, offset in offsets if 0 <= offset <= ends.get(number, -1)]
    return {"source_topic_id": flow.topics.ids.get((topic, "source")), "next_offsets": known}


def _own_slots(flow: FlowView, topic: str, count: int) -> dict[int, int]:
    """Return the slot of each partition that has an offset."""
    numbers = range(flow.source.topics.get(topic, 0)) if topic else ()
    found = ((number, flow.windows.slot(topic, number)) for number in numbers)
    return {number: slot for number, slot in found if slot is not None and slot < count}


def _known(number: int) -> int | None:
    return number if number >= 0 else None
