"""Partitions whose log is empty and starts behind where the mirror stands, with a copy that stands too. Pure.

Nothing is left to copy, so by its lag such a mirror is well. What was deleted may be records, of a mirror
that is down, or the marker of a transaction that none passes on an idle topic (mm2.md). Nothing tells which:
so that is told, and not that all is well, nor that anything is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.groups.rules.sentences import instant_text
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.sight import MirrorSight
    from lagmon.mirrors.partitions.standing import Standing
    from lagmon.mirrors.view import FlowView

    Slots = NDArray[np.intp]


def still(sight: MirrorSight, stands: Standing) -> Slots:
    """Return the partitions that stand before what was deleted, their copies too or not looked at lately."""
    return np.flatnonzero(sight.used & (sight.rows.reason == Reason.DELETED_UNREAD) & stands.still)


def sentence(flow: FlowView, sight: MirrorSight, slots: Slots) -> str:
    """Return what it means of partitions of which nothing is left to copy."""
    topic, partition = flow.windows.name(int(slots[0]))
    source, records = flow.order.flow.source, int(sight.deleted[slots].sum())
    since_ms = int(flow.windows.moved_ms[slots].max())  # since then for none of them
    heads, places = flow.source.heads, sight.places[slots]
    one, several = records == 1, len(slots) > 1
    what = f"The log of {topic}-{partition} on {source}"
    if several:
        what = (
            f"The logs of {count_text(len(slots), 'partition')} on {source}, {topic}-{partition} among them,"
        )
    are = "are empty" if several else "is empty"
    if (heads.end[places] > heads.start[places]).any():  # behind a transaction that is open
        are = f"{'hold' if several else 'holds'} nothing that the mirror may read"
    return (
        f"{what} {are} and {'start' if several else 'starts'} behind the mirror's newest offset, which is of"
        f" {instant_text(since_ms)}: up to {count_text(records, 'record')} may have been deleted before the"
        f" mirror, if it is down, copied {'it' if one else 'them'}; or"
        f" {'it was a marker' if one else 'they were markers'} of transactions, which none copies."
    )
