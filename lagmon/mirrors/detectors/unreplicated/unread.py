"""Partitions whose log was not read after the mirror's offset: whether they are behind is unknown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from collections.abc import Collection

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

SHOWN = 3  # topics


def sentence(flow: FlowView, partitions: PartitionsSnapshot, *, refused_only: bool = False) -> str:
    """Return which partitions these are, why, and what to do; "" if none.

    `refused_only` omits those that are only not read yet.
    """
    unread = np.flatnonzero(partitions.used & (partitions.rows.reason == Reason.UNREAD)).tolist()
    refused = [slot for slot in unread if is_refused(flow, slot)]
    slots = refused if refused_only or len(refused) == len(unread) else unread
    if not slots:
        return ""
    alias = flow.order.flow.source
    offsets, topics = int(partitions.lag[slots].sum()), {flow.windows.name(slot)[0] for slot in slots}
    opening = (
        f"Lag of {count_text(len(slots), 'partition')} of {_names(topics)} is unknown: up to "
        f"{count_text(offsets, 'record')} may not be replicated"
    )
    if slots is not refused:
        return f"{opening}. Mirrorwatch has not read the log behind the mirror's offset on {alias} yet."
    return f"{opening}. {missing_permission(topics, alias)}"


def is_refused(flow: FlowView, slot: int) -> bool:
    """Return whether reading a partition's topic is refused."""
    return flow.windows.name(slot)[0] in flow.source.tails.refused


def missing_permission(topics: Collection[str], alias: str) -> str:
    """Return which permission Mirrorwatch lacks, and on what."""
    return (
        f"Mirrorwatch has no READ permission on {_names(topics)} on {alias}, so it cannot distinguish "
        "records from transaction markers there; grant READ."
    )


def _names(topics: Collection[str]) -> str:
    shown, others = sorted(topics)[:SHOWN], len(topics) - SHOWN
    what = "topic" if len(topics) == 1 else "topics"
    more = f" and {others:,} more" if others > 0 else ""
    return f"{what} {', '.join(shown)}{more}"
