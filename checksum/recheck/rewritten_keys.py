"""Keys of a compacted topic that were written again after the compared range.

Blocking; call it on a thread. Reading is limited for each request and each check; beyond, it is unknown which
of the other keys were written again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.anchors.records import key_digest
from checksum.compare.latest_by_key import keys_lacking, not_replaced
from checksum.digest.cell_rows import Side
from checksum.plan.shape import OffsetRange
from checksum.recheck.record_chunks import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checksum.anchors.reading import Place, Reader
    from checksum.compare.findings import Finding
    from checksum.compare.latest_by_key import OfKey
    from checksum.digest.cell_rows import Planned

MOST_RECORDS = 200_000  # of one partition and side
MOST_IN_ALL = 2_000_000  # of one check


class RewrittenKeys:
    """Reads both sides in one check; `undecided` are partitions with too much to read."""

    def __init__(self, readers: Mapping[Side, Reader]) -> None:
        self._readers = readers
        self._left = MOST_IN_ALL
        self.undecided: set[Place] = set()

    def without_replaced(self, planned: Planned, found: Sequence[OfKey]) -> list[Finding]:
        """Return the findings of a whole partition that compaction cannot explain."""
        topic, held = planned.topic, planned.partition
        lacking = keys_lacking(found)
        again = {
            Side.SOURCE: self._behind(
                Side.SOURCE, (topic.topic, held.partition), held.source.until, lacking[Side.SOURCE]
            ),
            Side.TARGET: self._behind(
                Side.TARGET, (topic.target_topic, held.partition), held.target.until, lacking[Side.TARGET]
            ),
        }
        if None in again.values():
            self.undecided.add((topic.topic, held.partition))
        return not_replaced(
            found, {side: lacking[side] if keys is None else keys for side, keys in again.items()}
        )

    def _behind(
        self, side: Side, place: Place, first: int, keys: set[bytes | None]
    ) -> set[bytes | None] | None:
        """Return those of the keys that occur from the offset on; None: not everything was read."""
        reader, found = self._readers[side], set[bytes | None]()
        if not keys:
            return found
        left, until = min(MOST_RECORDS, self._left), reader.ends([place])[place]
        if first < until and left <= 0:
            return None
        for some in chunks(reader, place, OffsetRange(first, until)):
            self._left -= len(some)
            left -= len(some)
            found |= keys & {key_digest(record.key) for record in some}
            if len(found) == len(keys):
                break
            if left <= 0 and some[-1].offset < until - 1:
                return None
        return found
