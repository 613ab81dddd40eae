"""What became of each record, by a full read of both sides: nothing of this knows of digests, plans or hashes.

Every record that a test writes carries a number in its key, its value or a header (`#17#`), so that it is
known again whatever part of it a fault took away.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from checksum.digest.record_hash import Content
    from tests.checksum.pretend_logs import Held

    Logs = Mapping[tuple[str, int], Sequence[Held]]

_NUMBER = re.compile(rb"#(\d+)#")


class Stood(NamedTuple):
    """Where a record stands on one side; `topic` is the source's name on both."""

    topic: str
    partition: int
    offset: int
    content: Content


class Fate(NamedTuple):
    """What became of one record: of the source's, where it has a place there, else of the target's."""

    verdict: str
    number: int
    source: int | None = None
    target: int | None = None
    altered: tuple[str, ...] = ()
    found_in: tuple[str, int] | None = None


@dataclass
class Truth:
    """All fates of one topic but those of records that match, by partition; `displaced` could be reordered."""

    fates: dict[int, set[Fate]] = field(default_factory=lambda: defaultdict(set))
    reordered: dict[int, int] = field(default_factory=dict)  # how many at least changed places
    at_source: dict[tuple[int, int], int] = field(default_factory=dict)  # number by partition and offset
    at_target: dict[tuple[int, int], int] = field(default_factory=dict)

    def verdicts(self) -> set[str]:
        """Return which verdicts there are."""
        found = {fate.verdict for fates in self.fates.values() for fate in fates}
        return found | ({"reordered"} if any(self.reordered.values()) else set())


def number_of(content: Content) -> int:
    """Return the number that a record carries."""
    parts = [content.key, content.value, *(value for _, value in content.headers or ())]
    for part in parts:
        told = _NUMBER.search(part or b"")
        if told:
            return int(told[1])
    raise AssertionError(f"no number in {content}")


def truth_of(topic: str, source: Logs, target: Logs, *, written: Collection[int], stamped: bool) -> Truth:
    """Return the fates of a topic; `target` holds the copies of all topics, by their names on the source.

    `written` are the numbers of all records that the source ever held of it. Where the target is `stamped`,
    times are not compared.
    """
    found = Truth()
    copies: dict[int, list[Stood]] = defaultdict(list)
    for (name, partition), log in target.items():
        for offset, content in log:
            copies[number_of(content)].append(Stood(name, partition, offset, content))
    for (name, partition), log in source.items():
        if name == topic:
            _take_source(found, topic, partition, log, copies, stamped=stamped)
    known = set(found.at_source.values()) | set(written)
    for number, stood in copies.items():
        for one in stood:
            if one.topic == topic:
                found.at_target[one.partition, one.offset] = number
            if one.topic == topic and number not in known:
                found.fates[one.partition].add(Fate("extra", number, None, one.offset))
    return found


def _take_source(
    found: Truth,
    topic: str,
    partition: int,
    log: Sequence[Held],
    copies: Mapping[int, Sequence[Stood]],
    *,
    stamped: bool,
) -> None:
    """Add the fates of one partition's records."""
    places: list[int] = []
    for offset, content in log:
        number = number_of(content)
        found.at_source[partition, offset] = number
        fates, place = _fates(
            number, Stood(topic, partition, offset, content), copies.get(number, ()), stamped
        )
        found.fates[partition] |= fates
        places += [] if place is None else [place]
    found.reordered[partition] = len(places) - _longest(places)


def _fates(
    number: int, original: Stood, copies: Sequence[Stood], stamped: bool
) -> tuple[set[Fate], int | None]:
    """Return what became of one record, and where its one copy stands if it is there whole."""
    here = [one for one in copies if one[:2] == original[:2]]
    if not here:
        for one in copies:
            return {Fate("misrouted", number, original.offset, one.offset, (), one[:2])}, None
        return {Fate("lost", number, original.offset)}, None
    parts = _differing(original.content, here[0].content, stamped)
    fates = {Fate("duplicated", number, None, one.offset) for one in here[1:]}
    if parts:
        fates.add(Fate("altered", number, original.offset, here[0].offset, parts))
    return fates, here[0].offset if len(here) == 1 and not parts else None


def _differing(here: Content, there: Content, stamped: bool) -> tuple[str, ...]:
    differ = {
        "key": here.key != there.key,
        "value": here.value != there.value,
        "headers": (here.headers or []) != (there.headers or []),
        "time": not stamped and here.timestamp_ms != there.timestamp_ms,
    }
    return tuple(part for part, yes in differ.items() if yes)


def _longest(places: Sequence[int]) -> int:
    """Return the length of the longest rising sequence."""
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def compacted_truth(
    topic: str, source: Logs, target: Logs
) -> dict[int, set[tuple[str, int | None, int | None]]]:
    """Return by partition what is wrong with the last records of keys: (verdict, source offset, target offset)."""
    found: dict[int, set[tuple[str, int | None, int | None]]] = {}
    for (name, partition), log in source.items():
        if name != topic:
            continue
        here = {one.content.key: one for one in log}
        there = {one.content.key: one for one in target[name, partition]}
        held = {one.content for one in map(_hashable, log)}
        wrong = found.setdefault(partition, set())
        for key in here.keys() | there.keys():
            fate = _fate_of_key(here.get(key), there.get(key), held)
            if fate is not None:
                wrong.add(fate)
    return found


def _hashable(held: Held) -> Held:
    return held._replace(content=held.content._replace(headers=tuple(held.content.headers or ())))


def _fate_of_key(
    here: Held | None, there: Held | None, held: Collection[Content]
) -> tuple[str, int | None, int | None] | None:
    """Return what is wrong where the last records of a key are not the same; a tombstone may be gone."""
    live = [one is not None and one.content.value is not None for one in (here, there)]
    if not any(live) or (here and there and here.content == there.content):
        return None
    if here is None:
        return "extra", None, there.offset
    if (
        there is None
        or _hashable(there).content in held
        or here.content.timestamp_ms > there.content.timestamp_ms
    ):
        return "lost", here.offset, None
    return "altered", here.offset, there.offset
