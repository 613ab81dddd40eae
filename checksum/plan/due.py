"""What MirrorMaker had time to replicate before a plan was made. Pure.

A record's timestamp proves nothing about its age, because producers set it. So both log end offsets are read
twice, and MirrorMaker's newest offset syncs in between (checksum/inventory/waiting.py). What the source had
at the first reading is *due* at the second one, at the latest after the flow's horizon plus an offset flush.

Due records that are not replicated count as lost only if MirrorMaker continued without them:

- its newest offset sync of the partition is at or past the last of these records, or
- it wrote offset syncs of other partitions meanwhile, its configuration may drop records (a transform, or
  errors.tolerance), and it replicated nothing to this partition.

If MirrorMaker is behind, stopped or hung, these records are not verified, and not lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from fleet.mm2.handling import Handling


@dataclass(frozen=True, slots=True)
class Due:
    """What was seen of one partition while its plan waited for MirrorMaker.

    `source_until` and `target_until` are the earlier log end offsets, the target's read first: nothing before
    `target_until` was replicated from an offset at or after `source_until`. `passed`: MirrorMaker's newest
    offset sync is at or past the last due record. `others`: it wrote offset syncs of other partitions.
    """

    source_until: int
    target_until: int
    passed: bool
    others: bool
    waited_s: float


def may_drop_records(handling: Handling) -> bool:
    """Return whether MirrorMaker may continue without a record: by a transform, or by skipping errors."""
    return bool(handling.drops) or handling.skips_failed is not False


def continued_without(due: Due, *, target_end: int, leaves_out: bool) -> bool:
    """Return whether MirrorMaker continued without the due records after the newest pair of offsets.

    `target_end` is the target's log end offset now; `leaves_out` is whether MirrorMaker may drop records.
    """
    return target_end == due.target_until and (due.passed or (due.others and leaves_out))


def not_replicated(due: Due, *, target_end: int, at: int | None) -> str:
    """Return why due records are not verified; `at` is the last replicated source offset, if known."""
    waited = duration_text(max(1.0, round(due.waited_s)))
    head = f"not replicated {waited} after the plan found them on the source"
    place = f"at source offset {at}" if at is not None else "before the first record"
    if target_end != due.target_until:
        return f"{head}: MirrorMaker is behind, {place} or later"
    if due.others or due.passed:
        return (
            f"{head}: MirrorMaker is still {place} and replicates other partitions; see the lag of this"
            " partition"
        )
    return (
        f"{head}: MirrorMaker is {place} and wrote no offset sync of any partition meanwhile: it is stopped,"
        " hung or idle"
    )
