"""How far retention is from overtaking a mirror, on one partition: in records and in seconds. Pure.

The record to be read next is deleted when the log start passes it. Two estimates are made of when:

- by retention.ms: a record may go when it is that old. If the mirror stood from now on, not before
  retention.ms less the record's age; a segment goes as a whole, with its newest record, so rather later.
  The age is from our looks at the log, or from the record's own timestamp, which is what the broker goes by.
  Where neither is known but only that the record is so old at least, retention.ms less that is *at most* what
  is left, and no more than a bound.
- by speed: at the present rates, the log start's against the mirror's. This sees what retention.ms does not:
  retention.bytes and DeleteRecords. The log start moves in steps, a segment at a time, so it has a speed only
  after it was seen to move twice, and then from its first step to its last.

The sooner of the two is told, and which it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lagmon.groups.rules.words import How
from lagmon.logs.time_lag import LagKind

if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST_S = 1e9  # beyond thirty years is not in sight


_BY = {
    LagKind.NONE: How.AT_MOST,
    LagKind.EXACT: How.BY_RETENTION,
    LagKind.AT_LEAST: How.AT_MOST,
    LagKind.ESTIMATE: How.BY_RECORD_TIME,
}


@dataclass(frozen=True, slots=True)
class Headroom:
    """Records and seconds until retention overtakes.

    Negative records are those deleted before they were read. Seconds are None where overtaking is not in
    sight, and where too little is known to say; with `AT_MOST` they are an upper bound.
    """

    records: int
    seconds: float | None
    how: How


def replication_headroom(
    *,
    start: int,
    next_offset: int,
    now_ms: int,
    start_looks: Sequence[tuple[int, int]] = (),
    mirror_per_s: float | None = None,
    retention_ms: int | None = None,
    produced_ms: int | None = None,
    produced: LagKind = LagKind.EXACT,
) -> Headroom:
    """Return the headroom of a mirror that reads `next_offset` next, on a log that begins at `start`.

    `start_looks` are (epoch ms, log start) over a window, oldest first; `mirror_per_s` is what the mirror
    reads of this partition in offsets per second; `retention_ms` is the topic's, -1 for no limit;
    `produced_ms` is when the record at `next_offset` was written, and `produced` what that is worth. None, or
    a negative time, where it is not known.
    """
    records = next_offset - start
    if records < 0:
        return Headroom(records, 0.0, How.OVERTAKEN)
    found: list[tuple[float, How]] = []
    if retention_ms is not None and retention_ms >= 0 and produced_ms is not None and produced_ms >= 0:
        age_ms = max(0, now_ms - produced_ms)
        left_s = max(0, retention_ms - age_ms) / 1000
        # As old as that already: no less is left, however much older it is.
        found.append((left_s, _BY[produced] if left_s else How.BY_RETENTION))
    closing_per_s = _closing_per_s(start_looks, mirror_per_s)
    if closing_per_s is not None and closing_per_s > 0:
        found.append((records / closing_per_s, How.BY_SPEED))
    in_sight = [one for one in found if one[0] < LONGEST_S]
    if in_sight:
        return Headroom(records, *min(in_sight))
    known = bool(found) or closing_per_s is not None
    return Headroom(records, None, How.NOT_IN_SIGHT if known else How.NOT_KNOWN)


def _closing_per_s(start_looks: Sequence[tuple[int, int]], mirror_per_s: float | None) -> float | None:
    """Return by how much the log start is faster than the mirror, None where either speed is not known."""
    if mirror_per_s is None or len(start_looks) < 2:
        return None
    if start_looks[0][1] == start_looks[-1][1]:
        return -mirror_per_s  # it stood
    steps = [new for old, new in pairwise(start_looks) if new[1] > old[1]]
    if not steps:
        return None
    (first_ms, first), (last_ms, last) = steps[0], steps[-1]
    if last <= first or last_ms <= first_ms:
        return None  # one step only; or the start fell or the clock was set back in between
    return (last - first) * 1000 / (last_ms - first_ms) - mirror_per_s
