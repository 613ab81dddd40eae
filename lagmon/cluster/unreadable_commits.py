"""Group-partitions whose newest commit could not be read, as of a newer Kafka's format. Pure.

Their last readable offset says nothing of the present.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.groups.sweep import Sweep


def mark_unreadable(rows: Sweep, unreadable: NDArray[np.bool_]) -> Sweep:
    """Return the verdicts with UNREADABLE_COMMIT for the `unreadable` rows."""
    marked = np.flatnonzero(unreadable)
    if not len(marked):
        return rows
    reason, lag, since_ms = rows.reason.copy(), rows.lag.copy(), rows.since_ms.copy()
    reason[marked], lag[marked], since_ms[marked] = np.int8(Reason.UNREADABLE_COMMIT), -1, -1
    return replace(rows, reason=reason, lag=lag, since_ms=since_ms)
