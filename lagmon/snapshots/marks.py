"""State of single partitions of a cluster besides their log ends: re-creations, transactions, gaps. Pure.

In a document a row for each entry, which begins with the partition's number within its frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fleet.errors import MalformedError
from lagmon.cluster.marks import NEVER
from lagmon.logs.readable_gaps import MOST_GAPS, Gap
from lagmon.snapshots.reading import MOST_LONG, instant, number
from lagmon.snapshots.reading import rows as entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lagmon.cluster.state import ClusterLag


@dataclass(frozen=True, slots=True)
class Marks:
    """The state of some partitions, in order."""

    remade_ms: list[int]  # when the topic was re-created
    held: list[tuple[int, int, int]]  # the last blocking transaction: last seen, offset, first seen
    gaps: list[list[Gap]]  # offsets without a record that a consumer would see

    @classmethod
    def of(cls, lag: ClusterLag, places: Sequence[int]) -> Marks:
        """Copy the state of these places; call it under the cluster's lock."""
        remade_ms, held = lag.marks(places)
        return cls(remade_ms, held, lag.readable.gaps(np.array(places, np.int32)))

    def document(self) -> dict[str, Any]:
        """Return the document to store."""
        return {
            "remade": [(row, at_ms) for row, at_ms in enumerate(self.remade_ms) if at_ms >= 0],
            "held": [(row, *one) for row, one in enumerate(self.held) if one != NEVER],
            "gaps": [(row, *gap) for row, gaps in enumerate(self.gaps) for gap in gaps],
        }


def read_marks(document: Mapping[str, Any], count: int) -> Marks:
    """Return the stored state of this many partitions; raises MalformedError with a sentence."""
    found = Marks([-1] * count, [NEVER] * count, [[] for _ in range(count)])
    for row, (at_ms,) in _told(document, "remade", count, least=1, most=1):
        found.remade_ms[row] = instant(at_ms)
    for row, (at_ms, *more) in _told(document, "held", count, least=1, most=3):
        # An older version stored no offset (then any counts, until that poll) and no first time.
        stable, since_ms = (*more, *(0, at_ms)[len(more) :])
        found.held[row] = instant(at_ms), number(stable, least=0, most=MOST_LONG), instant(since_ms)
    for row, told in _told(document, "gaps", count, least=3, most=3):
        found.gaps[row].append(_gap(told))
        if len(found.gaps[row]) > MOST_GAPS:
            raise MalformedError(f"snapshot: more than {MOST_GAPS} gaps of a log")
    return found


def _gap(told: Sequence[object]) -> Gap:
    first, end = (number(one, least=0, most=MOST_LONG) for one in told[:2])
    if first > end:
        raise MalformedError("snapshot: a gap ends before it begins")
    return Gap(first, end, instant(told[2]))


def _told(
    document: Mapping[str, Any], name: str, count: int, *, least: int, most: int
) -> Iterator[tuple[int, list[object]]]:
    """Yield partition and values of each row; an older version stored no gaps."""
    told = document.get(name)
    for one in told if isinstance(told, list) else ():
        row, *values = entries(one, least=1 + least, most=1 + most)
        partition = number(row, least=0, most=MOST_LONG)
        if partition >= count:
            raise MalformedError("snapshot: unknown partition")
        yield partition, values
