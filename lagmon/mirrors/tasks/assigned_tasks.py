"""Which task is assigned to which partitions of a flow, checked against their movement. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.partitions.snapshot import POLL_MS, STALE_MS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot

_ASKED_AT_ONCE = 1_000  # moved partitions per step, newest first


def assigned_tasks(
    flow: FlowFacts, slots: NDArray[np.intp], slack_ms: int
) -> Mapping[tuple[str, int], int] | None:
    """Return the task of each of these partitions that has one; None if that is unknown.

    `slack_ms` is for how long after an instant an offset of a partition may still be written that stalled
    then.
    """
    names = [flow.windows.name(slot) for slot in slots.tolist()]
    known = flow.assignments.assigned_tasks(names)
    if known is None:
        return None
    left_ms = flow.windows.moved_ms[slots[[name not in known for name in names]]]
    if int(left_ms.max(initial=-1)) > flow.assignments.dealt_ms + slack_ms:
        return None  # they moved without a task: the known assignment is not the present one
    return known


def may_be_assigned(
    flow: FlowFacts,
    slots: NDArray[np.intp],
    known: Mapping[tuple[str, int], int] | None,
    tasks: Collection[int | None],
) -> NDArray[np.bool_]:
    """Return for each partition whether one of these tasks may be assigned to it; true if not `known`.

    None among the tasks is the connector itself, on which all depends.
    """
    if known is None or None in tasks:
        return np.ones(len(slots), np.bool_)
    return np.array([known.get(flow.windows.name(slot), -1) in tasks for slot in slots.tolist()], np.bool_)


def passed_over(
    flow: FlowFacts,
    partitions: PartitionsSnapshot,
    slots: NDArray[np.intp],
    *,
    since_ms: int,
    slack_ms: int,
    known: Mapping[tuple[str, int], int],
) -> bool:
    """Return whether each task of these partitions moves with other partitions: then it does not hang.

    A task reads all its partitions in one loop, and its worker writes their offsets at each flush.
    """
    if len(known) < len(slots) or not reached(flow, partitions, slots):
        return False
    others = np.setdiff1d(np.flatnonzero(partitions.used), slots)
    return tasks_moved(flow, others, {*known.values()}, max(since_ms, flow.assignments.dealt_ms), slack_ms)


def reached(flow: FlowFacts, partitions: PartitionsSnapshot, slots: NDArray[np.intp]) -> bool:
    """Return whether the target has the topics of these partitions, and answered lately for each."""
    targets = partitions.target_places[slots]
    answered_ms = flow.target.heads.sampled_ms[targets]
    found: NDArray[np.bool_] = (targets >= 0) & (partitions.now_ms - answered_ms <= STALE_MS)
    return bool(found.all())


def tasks_moved(
    flow: FlowFacts, used: NDArray[np.intp], wanted: Collection[int], since_ms: int, slack_ms: int
) -> bool:
    """Return whether each of these tasks has moved with some of these partitions since an instant.

    One offset is not enough: after an outage a task writes the offset of one partition before that of
    another. So it must have written an offset of a partition after the instant, and again at a later flush,
    further from it than `slack_ms`.
    """
    apart_ms = max(POLL_MS, (slack_ms - POLL_MS) * 3 // 4)  # two flushes are one cadence apart, or a bit less
    rings, moved_ms = flow.windows.rings, flow.windows.moved_ms[used]
    late = np.flatnonzero(moved_ms > since_ms + slack_ms)
    late = late[np.argsort(-moved_ms[late])]
    left = {*wanted}
    for at in range(0, len(late), _ASKED_AT_ONCE):
        some = late[at : at + _ASKED_AT_ONCE]
        written_ms = rings.committed_ms[used[some]]
        before = (written_ms > since_ms) & (written_ms <= moved_ms[some][:, np.newaxis] - apart_ms)
        names = [flow.windows.name(slot) for slot in used[some[before.any(axis=1)]].tolist()]
        left -= {*(flow.assignments.assigned_tasks(names) or {}).values()}
        if not left:
            return True
    return False
