"""A group's offset on the target for its committed offset on the source. Pure.

The basis of an offset, best first:

exact       the next record of the group is there, by offset syncs
safe        the group misses nothing from there, and reads some records again
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
    CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Translated:
    """A group's offset on the target. It reads at most `again_most` records again, None if unknown."""

    offset: int
    basis: Basis
    again_most: int | None


def translate_offset(facts: PartitionFacts) -> Translated | None:
    """Return where a group continues on the target so that it misses nothing; None if that is unknown.

    RemoteClusterUtils of MirrorMaker returns the offset of the newest checkpoint instead.
    """
    if facts.target_start is None or facts.target_end is None:
        return None
    found = next_start(facts)
    if found is not None:
        assert found.most is not None
        exact = found.least == found.most
        if exact or found.least > 0:
            offset = max(found.least, facts.target_start)
            return Translated(offset, Basis.EXACT if exact else Basis.SAFE, max(0, found.most - offset))
    checkpoint = facts.checkpoint
    if checkpoint is None or not facts.target_start <= checkpoint.downstream <= facts.target_end:
        return None
    return Translated(checkpoint.downstream, Basis.CHECKPOINT, None)
