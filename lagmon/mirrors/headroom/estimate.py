"""The headroom of one partition: records and seconds until retention overtakes the mirror. Pure.

The next record to read is deleted when the log start passes it. There are two estimates of when:

- by retention.ms: a record may be deleted at that age. If the mirror stopped now, that is retention.ms minus
  the record's age, or later: a segment is deleted as a whole, by its newest record. The age is from polls of
  the log, or from the record's own timestamp, which the broker uses. With LogAppendTime both are the same.
  With CreateTime a record may have been older when it was written: then polls give an *estimate*. If only a
  minimum age is known, retention.ms minus that age is *at most* what is left: a bound.
- by speed: the log start's present rate against the mirror's. This covers retention.bytes and DeleteRecords,
  which retention.ms does not show. The log start moves a segment at a time. So it has a speed only after two
  steps, measured from the first to the last.

The result is the sooner of the two, and which one it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lagmon.groups.rules.words import How
from lagmon.logs.time_lag import LagKind

if TYPE_CHECKING:
    from collections.abc import Sequence


LONGEST_S = 1e9  # thirty years: not in sight
_BY = {
    LagKind.NONE: How.AT_MOST,
    LagKind.EXACT: How.BY_RETENTION,
    LagKind.AT_LEAST: How.AT_MOST,
    LagKind.ESTIMATE: How.BY_RECORD_TIME,
}


@dataclass(frozen=True, slots=True)
class Headroom:
    """Records and seconds until retention overtakes the mirror.

    Negative records are deleted unread records. Seconds are None if overtaking is not in sight, or too little
    is known; with `AT_MOST` they are an upper bound. `by_polls`: the age of `BY_RETENTION` is that of polls,
    and the record's own timestamp may be another.
    """

    records: int
    seconds: float | None
    how: How
    by_polls: bool = False


def replication_headroom(
    *,
    start: int,
    next_offset: int,
    now_ms: int,
    log_starts: Sequence[tuple[int, int]] = (),
    mirror_per_s: float | None = None,
    retention_ms: int | None = None,
    produced_ms: int | None = None,
    produced: LagKind = LagKind.EXACT,
    append_time: bool = True,
) -> Headroom:
    """Return the headroom of a mirror that reads `next_offset` next, on a log that starts at `start`.

    `log_starts` are (epoch ms, log start) over a window, oldest first. `mirror_per_s` is how many offsets per
    second the mirror reads of this partition. `retention_ms` is the topic's; -1 for no limit. `produced_ms`
    is when the record at `next_offset` was written, and `produced` how good that time is. None, or a negative
    time, means unknown. `append_time`: that time is the timestamp of the record, by LogAppendTime.
    """
    records = next_offset - start
    if records < 0:
        return Headroom(records, 0.0, How.OVERTAKEN)
    found: list[tuple[float, How]] = []
    if retention_ms is not None and retention_ms >= 0 and produced_ms is not None and produced_ms >= 0:
        age_ms = max(0, now_ms - produced_ms)
        left_s = max(0, retention_ms - age_ms) / 1000
        # At the limit already: nothing is left, however old the record is.
        found.append((left_s, _BY[produced] if left_s else How.BY_RETENTION))
    closing_per_s = _closing_per_s(log_starts, mirror_per_s)
    if closing_per_s is not None and closing_per_s > 0:
        found.append((records / closing_per_s, How.BY_SPEED))
    in_sight = [one for one in found if one[0] < LONGEST_S]
    if in_sight:
        seconds, how = min(in_sight)
        return Headroom(records, seconds, how, by_polls=how is How.BY_RETENTION and not append_time)
    known = bool(found) or closing_per_s is not None
    return Headroom(records, None, How.NOT_IN_SIGHT if known else How.NOT_KNOWN)


def _closing_per_s(log_starts: Sequence[tuple[int, int]], mirror_per_s: float | None) -> float | None:
    """Return by how much the log start is faster than the mirror, None if either speed is unknown."""
    if mirror_per_s is None or len(log_starts) < 2:
        return None
    if log_starts[0][1] == log_starts[-1][1]:
        return -mirror_per_s  # the log start did not move
    steps = [new for old, new in pairwise(log_starts) if new[1] > old[1]]
    if not steps:
        return None
    (first_ms, first), (last_ms, last) = steps[0], steps[-1]
    if last <= first or last_ms <= first_ms:
        return None  # one step only; or the start fell, or the clock was set back
    return (last - first) * 1000 / (last_ms - first_ms) - mirror_per_s
