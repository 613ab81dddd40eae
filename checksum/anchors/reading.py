"""Read the records of pairs on both sides, for many partitions at once.

A *side* is one cluster: its reader, and the names of the source's topics there. Few and small records are
read; each round reads both sides at once, on threads.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from checksum.anchors.records import SeenRecord, seen_record

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from checksum.anchors.pairs import Pair
    from checksum.anchors.search import Anchors, Records
    from runtime.kafka.picking import Picked, PickedRecord

FEWEST_RECORDS = 40  # of a window with large records
MOST_QUESTIONS = 20
"""Requests for one window: each returns a megabyte, or one larger record (picking)."""

Place = tuple[str, int]
"""Topic (the source's name unless noted) and partition."""


class Reader(Protocol):
    """The part of `runtime.kafka.picking.Picker` that the checksum needs."""

    def starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the log start offsets."""
        ...

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the offsets up to which each log can be read."""
        ...

    def since(self, times_ms: Mapping[Place, int]) -> dict[Place, int]:
        """Return the first offset at or after a time, if there is one."""
        ...

    def pick(self, wanted: Mapping[Place, tuple[int, int]]) -> dict[Place, Picked]:
        """Return at most so many records from an offset on."""
        ...


@dataclass(slots=True)
class Sample:
    """Properties of the records of one topic that were read."""

    records: int = 0
    size_bytes: int = 0
    headers: bool = False
    stamped: bool = False  # the log sets timestamps


@dataclass(slots=True)
class Side:
    """One side of a flow, and samples of the records read there, by the source's topic."""

    reader: Reader
    names: Mapping[str, str]  # topic names here, by their names on the source
    excluded_headers: frozenset[str]
    samples: dict[str, Sample] = field(default_factory=dict)

    def starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the log start offsets, by the source's place."""
        back = {self._here(place): place for place in places}
        return {back[here]: offset for here, offset in self.reader.starts(back).items()}

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the offsets up to which each log can be read, by the source's place."""
        back = {self._here(place): place for place in places}
        return {back[here]: offset for here, offset in self.reader.ends(back).items()}

    def since(self, times_ms: Mapping[Place, int]) -> dict[Place, int]:
        """Return the first offset at or after a time, if there is one, by the source's place."""
        back = {self._here(place): place for place in times_ms}
        wanted = {here: times_ms[place] for here, place in back.items()}
        return {back[here]: offset for here, offset in self.reader.since(wanted).items()}

    def windows(self, wanted: Mapping[Place, tuple[int, int]]) -> dict[Place, list[SeenRecord]]:
        """Return at most so many records from an offset on, by the source's place.

        Requests are repeated for large records, up to MOST_QUESTIONS, until there are FEWEST_RECORDS, which
        may be fewer than wanted.
        """
        back = {self._here(place): place for place in wanted}
        asked = {here: wanted[place] for here, place in back.items()}
        seen: dict[Place, list[SeenRecord]] = {place: [] for place in wanted}
        for _ in range(MOST_QUESTIONS):
            found, left = self.reader.pick(asked), {}
            for here, picked in found.items():
                place, records = back[here], picked.records
                seen[place] += self._seen(place[0], records)
                missing = min(wanted[place][1], FEWEST_RECORDS) - len(seen[place])
                if records and missing > 0 and not picked.ended:
                    left[here] = (records[-1].offset + 1, missing)
            if not left:
                break
            asked = left
        return seen

    def first_from(self, offsets: Mapping[Place, int]) -> dict[Place, int | None]:
        """Return by the source's place the offset of the first record at or after an offset, or None."""
        back = {self._here(place): place for place in offsets}
        found = self.reader.pick({here: (offsets[place], 1) for here, place in back.items()}) if back else {}
        return {back[here]: _first(picked, offsets[back[here]]) for here, picked in found.items()}

    def stamped(self, topic: str) -> bool:
        """Return whether the log set the timestamps of records that were read."""
        return topic in self.samples and self.samples[topic].stamped

    def at(self, offsets: Mapping[Place, int]) -> dict[Place, SeenRecord | None]:
        """Return the record at exactly this offset, or None."""
        found = self.windows({place: (offset, 1) for place, offset in offsets.items()})
        return {
            place: records[0] if records and records[0].offset == offsets[place] else None
            for place, records in found.items()
        }

    def _here(self, place: Place) -> Place:
        return self.names[place[0]], place[1]

    def _seen(self, topic: str, records: Iterable[PickedRecord]) -> list[SeenRecord]:
        sample = self.samples.setdefault(topic, Sample())
        found = []
        for record in records:
            seen = seen_record(
                record.offset,
                record.timestamp_ms,
                record.key,
                record.value,
                record.headers,
                excluded=self.excluded_headers,
            )
            sample.records += 1
            sample.size_bytes += seen.size_bytes
            sample.headers |= seen.has_headers
            sample.stamped |= record.stamped
            found.append(seen)
        return found


def _first(picked: Picked, asked: int) -> int | None:
    if picked.records:
        return picked.records[0].offset
    return None if picked.ended else asked  # if it was deleted, one may have existed


async def read_anchors(
    searches: Mapping[Place, Generator[Pair, Records, Anchors]], *, source: Side, target: Side
) -> dict[Place, Anchors]:
    """Run all searches to their ends, one pair of each in a round."""
    found: dict[Place, Anchors] = {}
    wanted: dict[Place, Pair] = {}
    for place, search in searches.items():
        try:
            wanted[place] = next(search)
        except StopIteration as done:
            found[place] = done.value
    while wanted:
        ups, downs = await asyncio.gather(
            asyncio.to_thread(source.at, {place: pair.upstream for place, pair in wanted.items()}),
            asyncio.to_thread(target.at, {place: pair.downstream for place, pair in wanted.items()}),
        )
        following: dict[Place, Pair] = {}
        for place in wanted:
            try:
                following[place] = searches[place].send((ups[place], downs[place]))
            except StopIteration as done:
                found[place] = done.value
        wanted = following
    return found
