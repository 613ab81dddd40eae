"""Progress with the probes of one incarnation that was taken over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from canary.tracker.stamp import Stamp

MAX_EARLY = 100_000
DELETED_UNREAD = "the target may have deleted its replicated record before the canary read it"
INTERRUPTED = "its flow was reconfigured before the canary found it on the source"


@dataclass(slots=True)
class Adoption:
    """One incarnation that was taken over, and how far its source was read."""

    at_ns: int
    since_ms: int = 0  # probes due before were not sent for this flow
    interrupted: bool = False  # a former watch had started with it
    partitions: int | None = None  # of the source's topic
    gaps: set[int] = field(default_factory=set)  # partitions whose records may have been deleted unread
    ends: dict[int, int] = field(default_factory=dict)  # by partition: the offset to read to
    read: set[int] = field(default_factory=set)  # partitions whose probes were all found
    # Records on the target whose original was not read yet: by partition, then by topic id and sequence.
    early: dict[int, dict[tuple[str, int], int]] = field(default_factory=dict)
    finished: bool = False  # and reported

    def note_early(self, stamp: Stamp, offset: int) -> None:
        """Note a record on the target whose original was not read yet."""
        if sum(map(len, self.early.values())) < MAX_EARLY:
            self.early.setdefault(stamp.partition, {})[stamp.topic_id, stamp.sequence] = offset
        else:
            self.gaps.add(stamp.partition)  # some of them are forgotten

    def why_unknown(self, partition: int) -> str:
        """Return why the outcome of a probe of this partition is unknown, or an empty text."""
        if self.interrupted:
            return INTERRUPTED
        return DELETED_UNREAD if partition in self.gaps else ""

    def was_early(self, stamp: Stamp) -> bool:
        """Return whether this probe was read on the target before, and forget that."""
        early = self.early.get(stamp.partition, {})
        return early.pop((stamp.topic_id, stamp.sequence), None) is not None

    def early_from(self, partition: int) -> int | None:
        """Return the smallest offset of these records: the next process must read them again."""
        return min(self.early.get(partition, {}).values(), default=None)

    def forget_target_offsets(self) -> None:
        """Forget every offset of the target."""
        self.early = {partition: dict.fromkeys(copies, 0) for partition, copies in self.early.items()}
