"""Offsets that were committed on partitions which their topic does not have. Pure.

Brokers accept such commits, but the log has no end to read. The partition may also be newer than the list of
topics, so the sentence refers to the list.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.cluster.names import Places
    from lagmon.groups.sweep import Sweep


def mark_unlisted(
    rows: Sweep, place: NDArray[np.int32], places: Places, partitions: Mapping[str, int]
) -> Sweep:
    """Return the verdicts with NO_PARTITION instead of NO_HEAD for rows without a listed partition.

    `place` is that of each row, -1 for none; `partitions` are the numbers of partitions of listed topics, 0
    if not known.
    """
    counts = {}
    for row in np.flatnonzero((rows.reason == Reason.NO_HEAD) & (place >= 0)).tolist():
        topic, partition = places.name(int(place[row]))
        count = partitions.get(topic, 0)
        if 0 < count <= partition:
            counts[row] = count
    if not counts:
        return rows
    reason, before = rows.reason.copy(), rows.before.copy()
    unlisted = list(counts)
    reason[unlisted], before[unlisted] = Reason.NO_PARTITION, list(counts.values())
    return replace(rows, reason=reason, before=before)
