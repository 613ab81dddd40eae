"""Partitions with an empty log that starts after the mirror's offset, with a stalled target. Pure.

Nothing is left to replicate, so by its lag such a mirror seems OK. The deleted offsets may be records, of a
mirror that is down, or the marker of a transaction that no mirror passes on an idle topic (mm2.md). Nothing
shows which. So the sentence reports this, and neither that all is OK nor that records are lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.groups.rules.sentences import instant_text
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.partitions.stalls import Stalls
    from lagmon.mirrors.view import FlowView

    Slots = NDArray[np.intp]


def stalled_before_deleted(partitions: PartitionsSnapshot, stalls: Stalls) -> Slots:
    """Return partitions stalled before deleted offsets, with a target that is stalled or not polled."""
    return np.flatnonzero(partitions.used & (partitions.rows.reason == Reason.DELETED_UNREAD) & stalls.mirror)


def sentence(flow: FlowView, partitions: PartitionsSnapshot, slots: Slots) -> str:
    """Return what it means that nothing is left to replicate."""
    topic, partition = flow.windows.name(int(slots[0]))
    source, records = flow.order.flow.source, int(partitions.deleted[slots].sum())
    since_ms = int(flow.windows.moved_ms[slots].max())  # since then for none of them
    heads, places = flow.source.heads, partitions.places[slots]
    several = len(slots) > 1
    logs, are, start = ("logs", "are", "start") if several else ("log", "is", "starts")
    where = f"{topic}-{partition}"
    if several:
        where = f"{count_text(len(slots), 'partition')} ({where} among them)"
    empty = f"{are} empty"
    if (heads.end[places] > heads.start[places]).any():  # after an open transaction
        empty = f"{'have' if several else 'has'} nothing that the mirror may read"
    return (
        f"The {logs} of {where} on {source} {empty} and {start} after the mirror's newest offset (from"
        f" {instant_text(since_ms)}). Up to {count_text(records, 'record')} may be lost, if the mirror is "
        "down;"
        " or these offsets were transaction markers, which are not replicated."
    )
