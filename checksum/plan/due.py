"""What the mirror had time to replicate before a plan was made, and what was seen of it meanwhile. Pure.

A record's own time proves nothing about its age: a producer sets it. So the ends of both logs are read
twice, and the mirror's newest offset syncs between them (checksum/inventory/waiting.py). What the source
held at the first reading is *due* at the second one, at the latest after the flow's horizon plus its
worker's offset flush.

What is due and not replicated is only lost if the mirror went on without it:

- the mirror's newest offset sync of the partition is at or past the last of these records, or
- the mirror wrote offset syncs of other partitions meanwhile, its configuration lets it leave records out
  (a transform, or errors.tolerance), and it copied nothing to this partition.

A mirror that is behind, stopped or stalled still owes these records: they are not verified, and not lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from fleet.mm2.handling import Handling


@dataclass(frozen=True, slots=True)
class Due:
    """What was seen of one partition while its plan waited for the mirror.

    `source_until` and `target_until` are where both logs ended before, the target's read first: nothing
    before `target_until` is a copy of what lies at or behind `source_until`. `passed`: the mirror's newest
    offset sync is of the last due record or of a later one. `others`: it wrote some of other partitions.
    """

    source_until: int
    target_until: int
    passed: bool
    others: bool
    waited_s: float


def may_leave_out(handling: Handling) -> bool:
    """Tell whether a mirror may go on without a record: by a transform, or where it skips what fails."""
    return bool(handling.drops) or handling.skips_failed is not False


def left_behind(due: Due, *, target_end: int, leaves_out: bool) -> bool:
    """Tell whether the mirror went on without the due records behind the newest pair of offsets.

    `target_end` is where the target's log ends now, `leaves_out` whether the mirror may leave records out.
    """
    return target_end == due.target_until and (due.passed or (due.others and leaves_out))


def not_replicated(due: Due, *, target_end: int, at: int | None) -> str:
    """Return why due records are not verified; `at` is the last source offset that is known to be copied."""
    waited = duration_text(max(1.0, round(due.waited_s)))
    head = f"not replicated {waited} after the plan found them on the source"
    place = f"at source offset {at}" if at is not None else "before the first record"
    if target_end != due.target_until:
        return f"{head}: the mirror is behind, {place} or later"
    if due.others or due.passed:
        return (
            f"{head}: the mirror has not moved past them, {place}, and replicates other partitions; see what"
            " the lag monitor reports of this one"
        )
    return (
        f"{head}: the mirror is {place} and wrote no offset sync of any partition meanwhile: it is stopped,"
        " stalled or idle"
    )
