"""A group's offset on the target for its committed offset on the source. Pure.

The basis of an offset, best first:

exact       the next record of the group is there, by offset syncs
safe        the group misses nothing from there, and reads some records again
earliest    retention has deleted the group's next record there, so it is the log start offset
checkpoint  the newest checkpoint of MirrorMaker, which is not newer than the committed offset
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lagmon.failover.readiness import next_start

if TYPE_CHECKING:
    from lagmon.failover.readiness import PartitionFacts


class Basis(StrEnum):
    """What an offset on the target is derived from."""

    EXACT = "exact"
    SAFE = "safe"
    EARLIEST = "earliest"
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Translated:
    """A group's offset on the target. It reads at most `again_most` records again, None if unknown."""

    offset: int
    basis: Basis
    again_most: int | None


def translate_offset(facts: PartitionFacts) -> Translated | None:
    """Return where a group continues on the target; None if that is unknown.

    It misses nothing from there but what retention has deleted.

    RemoteClusterUtils of MirrorMaker returns the offset of the newest checkpoint instead.
    """
    if facts.target_start is None or facts.target_end is None or facts.other_log:
        return None
    found = next_start(facts)
    if found is not None:
        assert found.most is not None
        if found.least == found.most or found.least > 0:
            offset = min(max(found.least, facts.target_start), facts.target_end)
            basis = Basis.EXACT if found.least == found.most == offset else Basis.SAFE
            if found.most < offset:
                basis = Basis.EARLIEST
            return Translated(offset, basis, max(0, found.most - offset))
    checkpoint, committed = facts.checkpoint, facts.committed
    if checkpoint is None or not facts.target_start <= checkpoint.downstream <= facts.target_end:
        return None
    if committed is not None and checkpoint.upstream > committed:
        return None  # the group was set back since
    return Translated(checkpoint.downstream, Basis.CHECKPOINT, None)
