"""Faults of the prober's own parts, found from notes about them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BEHIND_POLLS = 3  # polls in a row at which a reader was not where its partition ended at the look before


@dataclass(frozen=True, slots=True)
class ProberFault:
    """One fault: its kind, a clause, and since when (monotonic ns) it may exist.

    The kind includes the place and the error, so that the same fault elsewhere is another one. The sentence
    is delivered once: it stays true while the kind is the same, and has no growing duration.
    """

    kind: str
    sentence: str
    since_ns: int


@dataclass(slots=True)
class _Place:
    position: int
    moved: bool
    end: int
    polls: int
    well_ns: int


class ReaderProgress:
    """Compares the positions of readers with log end offsets.

    A reader keeps up if it reaches, by the next poll, the log end offset of this poll. One that is stalled or
    does not keep up stamps arrivals late or not at all.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, int], _Place] = {}

    def compare(self, key: tuple[str, str, int], *, position: int, end: int, now_ns: int) -> None:
        """Note a reader's position and a later log end offset; -1: not started."""
        known = self._places.get(key)
        if position >= end or known is None or position >= known.end:
            self._places[key] = _Place(position, True, end, 0, now_ns)
            return
        known.moved = position != known.position
        known.position, known.end, known.polls = position, end, known.polls + 1

    def forget(self, alias: str, topic: str) -> None:
        """Reset a topic."""
        for key in [key for key in self._places if key[:2] == (alias, topic)]:
            del self._places[key]

    def why(self, alias: str, topic: str) -> ProberFault | None:
        """Return the fault of the reader of a topic, or None."""
        for partition, place in self._of(alias, topic):
            if place.polls < BEHIND_POLLS:
                continue
            where = f"{topic}, partition {partition}"
            how = "begun"
            if place.position < 0:
                what = f"its reader of {alias} has not started {where}, and the partition grows"
            elif not place.moved:
                how = "stands"
                stalled = f"its reader of {alias} is stalled at offset {place.position} of {where}"
                what = f"{stalled}, and the partition grows"
            else:
                how = "behind"
                was_at = f"it was at offset {place.position} when the log end was at {place.end}"
                what = f"its reader of {alias} does not keep up with {where}: {was_at}"
            return ProberFault(f"{how} {alias} {where}", what, place.well_ns)
        return None

    def _of(self, alias: str, topic: str) -> Iterator[tuple[int, _Place]]:
        return ((key[2], place) for key, place in self._places.items() if key[:2] == (alias, topic))
