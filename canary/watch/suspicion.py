"""What makes the prober suspect a part of itself, from what was noted of that part. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator

BEHIND_LOOKS = 3  # looks in a row at which a reader was not where its partition ended at the look before
STORE_FAILING_S = 10.0  # a store that cannot be written for longer spoils what should be kept


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One reason to doubt: its kind, half a sentence, and since when (monotonic ns) it may have been so.

    A kind holds the place and what a cluster or the store said, so that the same trouble elsewhere is another
    one. The sentence is told once: it stays true while the kind is the same, and has no duration that grows.
    """

    kind: str
    sentence: str
    since_ns: int


@dataclass(slots=True)
class _Place:
    position: int
    moved: bool
    end: int
    looks: int
    well_ns: int


class Ends:
    """Compares how far readers have got with the ends of partitions, as the cluster tells them.

    A reader that gets, by the next look, to where the partition ended at this one keeps up; one that stands,
    or that reads and does not keep up, stamps arrivals late or not at all.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, int], _Place] = {}

    def compare(self, key: tuple[str, str, int], *, position: int, end: int, now_ns: int) -> None:
        """Note a reader's position and the partition's end, asked for after; -1: it has not begun."""
        known = self._places.get(key)
        if position >= end or known is None or position >= known.end:
            self._places[key] = _Place(position, True, end, 0, now_ns)
            return
        known.moved = position != known.position
        known.position, known.end, known.looks = position, end, known.looks + 1

    def forget(self, alias: str, topic: str) -> None:
        """Begin anew with a topic."""
        for key in [key for key in self._places if key[:2] == (alias, topic)]:
            del self._places[key]

    def why(self, alias: str, topic: str) -> Suspicion | None:
        """Return what is wrong with our reading of a topic, None where nothing is."""
        for partition, place in self._of(alias, topic):
            if place.looks < BEHIND_LOOKS:
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
            return Suspicion(f"{how} {alias} {where}", what, place.well_ns)
        return None

    def _of(self, alias: str, topic: str) -> Iterator[tuple[int, _Place]]:
        return ((key[2], place) for key, place in self._places.items() if key[:2] == (alias, topic))


class StoreDoubt:
    """Knows for how long nothing could be written to the store."""

    def __init__(self) -> None:
        self._failing_since_ns: int | None = None
        self._sentence = ""

    def note(self, error: str | None, now_ns: int) -> None:
        """Note a write that failed with this sentence, or (None) one that succeeded."""
        if error is None:
            self._failing_since_ns = None
        else:
            self._sentence = error
            if self._failing_since_ns is None:
                self._failing_since_ns = now_ns

    def why(self, now_ns: int) -> Suspicion | None:
        """Return what is wrong with the store, None while it is well or has failed only for a moment."""
        since_ns = self._failing_since_ns
        if since_ns is None or (now_ns - since_ns) / 1e9 <= STORE_FAILING_S:
            return None
        lasted = f"{duration_text(STORE_FAILING_S)} or longer"
        return Suspicion(
            f"store {self._sentence}", f"its store cannot be written for {lasted}: {self._sentence}", since_ns
        )
