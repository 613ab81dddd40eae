"""What is under way with the probes of one incarnation that was taken over."""

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
    """One incarnation that was taken over, and how far the source was read for it."""

    at_ns: int
    since_ms: int = 0  # probes that were due before were not sent for this flow
    interrupted: bool = False  # a former watch had begun with it
    partitions: int | None = None  # of the source's topic
    gaps: set[int] = field(default_factory=set)  # partitions whose copies may have been deleted unread
    ends: dict[int, int] = field(default_factory=dict)  # by partition: the end that is to be read to
    read: set[int] = field(default_factory=set)  # partitions of which all of its probes were found
    # Copies whose originals were not read yet: by partition, by topic id and sequence, the target's offset.
    early: dict[int, dict[tuple[str, int], int]] = field(default_factory=dict)
    finished: bool = False  # and told so

    def note_early(self, stamp: Stamp, offset: int) -> None:
        """Note a copy whose original was not read yet."""
        if sum(map(len, self.early.values())) < MAX_EARLY:
            self.early.setdefault(stamp.partition, {})[stamp.topic_id, stamp.sequence] = offset
        else:
            self.gaps.add(stamp.partition)  # not every copy is known any more

    def why_unknown(self, partition: int) -> str:
        """Return why nobody can say what becomes of a probe of this partition, empty where one can."""
        if self.interrupted:
            return INTERRUPTED
        return DELETED_UNREAD if partition in self.gaps else ""

    def was_early(self, stamp: Stamp) -> bool:
        """Tell whether a copy of this probe was read before, and forget it."""
        early = self.early.get(stamp.partition, {})
        return early.pop((stamp.topic_id, stamp.sequence), None) is not None

    def early_from(self, partition: int) -> int | None:
        """Return where the first of these copies stands: the next process has to read them again."""
        return min(self.early.get(partition, {}).values(), default=None)

    def begin_again(self) -> None:
        """Forget every offset of the target."""
        self.early = {partition: dict.fromkeys(copies, 0) for partition, copies in self.early.items()}
