"""What is known of one partition before its ranges are decided. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.verdicts.flow import EARLIEST

if TYPE_CHECKING:
    from checksum.anchors.pairs import Logs, Pair, Usable
    from checksum.plan.due import Due
    from checksum.plan.shape import Anchored


@dataclass(frozen=True, slots=True)
class Verified:
    """Where the last run of a partition ended, on both sides, and the ids of both topics."""

    source_until: int
    target_until: int
    source_topic_id: str | None
    target_topic_id: str | None


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known of one partition before any of its records was read.

    `anchored` is how offsets of both sides are matched; `verified` is of these topic ids. `beginning` and
    `inside` are pairs found by equal records at equal times, without offset syncs. `offset_reset` is where
    MirrorMaker starts to read a partition. `due` is what it had time to replicate, if known; `leaves_out`: it
    may drop records.
    """

    topic: str
    partition: int
    logs: Logs
    usable: Usable
    anchored: Anchored
    verified: Verified | None = None
    compacted: bool = False
    timestamps: bool = True
    exactly_once: bool = False
    beginning: Pair | None = None
    inside: tuple[Pair, ...] = ()
    offset_reset: str = EARLIEST
    due: Due | None = None
    leaves_out: bool = False

    @property
    def whole(self) -> bool:
        """Return whether MirrorMaker replicates all that the source holds."""
        return self.offset_reset == EARLIEST
