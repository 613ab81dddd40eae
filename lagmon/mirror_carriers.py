"""Which task carries which partitions of a flow, held against how these have moved. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from lagmon.mirror_flow import MirrorFlow

_MOST_ASKED = 2_000  # of what moves: what was asked is kept


def carriers(
    flow: MirrorFlow, slots: NDArray[np.intp], slack_ms: int
) -> Mapping[tuple[str, int], int] | None:
    """Return the task of each of these partitions that one carries; None where that cannot be told.

    `slack_ms` is until when after an instant a partition may be written that stood from then on.
    """
    names = [flow.windows.name(slot) for slot in slots.tolist()]
    known = flow.assignments.carriers(names)
    if known is None:
        return None
    left_ms = flow.windows.moved_ms[slots[[name not in known for name in names]]]
    if int(left_ms.max(initial=-1)) > flow.assignments.dealt_ms + slack_ms:
        return None  # they moved on without being carried: what is known is not how it is
    return known


def may_carry(
    flow: MirrorFlow, slots: NDArray[np.intp], tasks: Collection[int | None], slack_ms: int
) -> NDArray[np.bool_]:
    """Tell of each of these partitions whether one of these tasks carries it, or that is not known.

    None among them is the connector itself, which all depends on.
    """
    known = carriers(flow, slots, slack_ms)
    if known is None or None in tasks:
        return np.ones(len(slots), np.bool_)
    return np.array([known.get(flow.windows.name(slot), -1) in tasks for slot in slots.tolist()], np.bool_)


def moving(flow: MirrorFlow, used: NDArray[np.intp], after_ms: int) -> frozenset[int]:
    """Return the tasks that carry a partition of which an offset was written after an instant."""
    moved_ms = flow.windows.moved_ms[used]
    later = np.flatnonzero(moved_ms > after_ms)
    newest = later[np.argsort(moved_ms[later])][-_MOST_ASKED:]
    names = [flow.windows.name(slot) for slot in used[newest].tolist()]
    return frozenset((flow.assignments.carriers(names) or {}).values())
