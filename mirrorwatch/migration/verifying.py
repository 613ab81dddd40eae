"""The command `migrate verify`: what a new mirror has skipped and repeated, by reading both logs. Blocks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleet.quantity import between_text, count_text
from mirrorwatch.check.sheet import FIRST, Sheet, rest
from mirrorwatch.cli.surroundings import make_console
from mirrorwatch.migration.comparing import compare, window_of
from mirrorwatch.migration.opening import opened
from mirrorwatch.migration.positions import Position
from mirrorwatch.migration.seeds import unlisted_places
from mirrorwatch.trace.content import content_hash
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.migration.comparing import Compared
    from mirrorwatch.migration.mirror import MirrorState
    from mirrorwatch.migration.positions import MirrorPositions
    from mirrorwatch.trace.clusters import Clusters, TraceCluster

MOST_OFFSETS = 1_000_000  # of one partition
PARTITIONS_AT_ONCE = 8  # each waits for its own clients most of the time
NOTHING_NEW = "no new record since the export"
BOUNDED = "lower bounds, as records not replicated yet have the same content"


@dataclass(frozen=True, slots=True)
class Verified:
    """One partition: its comparison, or why it was not compared.

    `remark` is what was left out of the comparison, `repeated_most` what was expected, None if unknown.
    `waiting` is the number of source offsets that the new mirror has not committed.
    """

    place: Place
    compared: Compared | None = None
    problem: str = ""
    remark: str = ""
    exact: bool = True
    repeated_most: int | None = None
    waiting: int = 0

    @property
    def is_skipped(self) -> bool:
        """Return whether records are missing on the target."""
        return self.compared is not None and self.compared.missing > 0

    @property
    def is_beyond(self) -> bool:
        """Return whether more records were repeated than the plan said, or others are new on the target."""
        one, most = self.compared, self.repeated_most
        return one is not None and most is not None and (one.repeated > most or one.strange > 0)

    @property
    def is_whole(self) -> bool:
        """Return whether all is compared and exact; without a new record there is nothing to compare."""
        one = self.compared
        return self.problem == NOTHING_NEW or (one is not None and not one.bounded and not self.remark)


def verify_migration(config: Configuration, *, path: Path, flow: str | None) -> int:
    """Print what the new mirror has skipped and repeated; return the exit status."""
    with opened(config, path, flow) as (file, mirror, clusters):
        found = verified_partitions(file, mirror, clusters)
    sheet = Sheet(make_console(), Redactor(config.secrets))
    stopped = f"the new mirror does not run: {mirror.evidence}" if mirror.runs is False else ""
    _print(sheet, mirror.topics.order.name, found, stopped)
    if any(one.is_skipped or one.is_beyond for one in found):
        return 1
    whole = all(one.is_whole for one in found) and any(one.compared is not None for one in found)
    return 0 if whole and not (stopped and any(one.waiting for one in found)) else 3


class _DeletedError(Exception):
    """A log no longer has a record that was to be read."""


def verified_partitions(file: MirrorPositions, mirror: MirrorState, clusters: Clusters) -> list[Verified]:
    """Return each partition that the new mirror replicates, compared or with the reason why not."""
    reading = _Reading(file, mirror, clusters)
    with ThreadPoolExecutor(PARTITIONS_AT_ONCE) as pool:
        return list(pool.map(reading.verified, reading.places))


class _Reading:
    """Both logs of a flow, of which the ends are read at first."""

    def __init__(self, file: MirrorPositions, mirror: MirrorState, clusters: Clusters) -> None:
        self._flow = mirror.topics.order.flow
        self._committed = mirror.committed or {}
        self._source, self._target = clusters[self._flow.source], clusters[self._flow.target]
        self._positions = file.places
        self._recreated = self._topics_recreated(file)
        old = {place: (one.target_topic, place[1]) for one in file.topics for place in one.places}
        self.places = [*self._positions, *unlisted_places(file, self._flow, self._source.topics)]
        names = {topic: self._flow.decide(topic).remote_topic for topic, _ in self.places}
        self._remote = {
            place: (name, place[1]) for place in self.places if (name := names[place[0]]) is not None
        }
        self._old = {
            place: old.get(place) or self._remote[place]
            for place in self.places
            if place in old or place in self._remote
        }
        # The target before the source: what is there by now has its source record within the source's end.
        self._target_starts, self._target_ends = self._target.logs(
            self._there({*self._old.values(), *self._remote.values()}, self._target)
        )
        here = self._there(self.places, self._source)
        self._starts, self._ends = self._source.logs(here)
        compacted = self._source.reader.compacted({topic for topic, _ in here})
        there = self._target.reader.compacted({topic for topic, _ in self._target_ends})
        self._compacted = compacted | {topic for topic, name in names.items() if name in there}

    @property
    def _reads_committed(self) -> bool:
        """Return whether the mirror leaves out aborted transactions of the source."""
        return self._flow.isolation_level == "read_committed"

    def _topics_recreated(self, file: MirrorPositions) -> frozenset[str]:
        """Return the source topics that were re-created since the export, or whose old target topic was."""
        here = self._source.reader.topic_ids(
            [one.topic for one in file.topics if one.topic in self._source.topics]
        )
        there = self._target.reader.topic_ids(
            [one.target_topic for one in file.topics if one.target_topic in self._target.topics]
        )
        return frozenset(
            one.topic for one in file.topics if one.is_recreated(here) or one.is_target_recreated(there)
        )

    @staticmethod
    def _there(places: Iterable[Place], cluster: TraceCluster) -> list[Place]:
        """Return those of these partitions that exist."""
        return [place for place in places if place[1] < cluster.topics.get(place[0], 0)]

    def verified(self, place: Place) -> Verified:
        """Return a partition, compared or with the reason why not."""
        position = self._positions.get(place) or self._new_position(place)
        problem = self._problem(place, position)
        return Verified(place, problem=problem) if problem else self._compared(place, position)

    def _new_position(self, place: Place) -> Position:
        """Return the position of a partition that is not in the file: the new mirror starts at its start."""
        start = self._starts.get(place, 0)
        return Position(
            partition=place[1],
            offset=None,
            committed=None,
            source_start=start,
            source_end=start,
            target_end=0,
        )

    def _problem(self, place: Place, position: Position) -> str:
        """Return why a partition cannot be compared; "" if it can."""
        passed = self._committed.get(place, -1)
        reasons = (
            (place not in self._remote, "the new mirror does not replicate this topic"),
            (place not in self._starts, "it no longer exists on the source"),
            (place[0] in self._recreated, "the topic was re-created since the export"),
            (self._ends.get(place, 0) <= position.next_offset, NOTHING_NEW),
            (self._remote.get(place) not in self._target_ends, "it does not exist on the target yet"),
            (passed < position.next_offset, "the new mirror has replicated nothing of it yet"),
        )
        return next((sentence for holds, sentence in reasons if holds), "")

    def _compared(self, place: Place, position: Position) -> Verified:
        old, new = self._old[place], self._remote[place]
        window = window_of(
            position, source_start=self._starts[place], target_start=self._target_starts.get(old, 0)
        )
        if window is None:
            return Verified(place, problem="the target has deleted records since the export")
        remark = ""
        if self._starts[place] > position.next_offset:
            first, last = position.next_offset, self._starts[place] - 1
            remark = f"offsets {first} to {last}, which the source has deleted since"
        passed, end = self._committed[place] + 1, self._ends[place]
        if end - window.source > MOST_OFFSETS:
            end = window.source + MOST_OFFSETS
            remark = f"offsets from {end} on"
        export_end = position.target_end or 0
        there = [(old, window.target, self._target_ends[old], export_end)] if old in self._target_ends else []
        if new != old:
            there.append((new, self._target_starts[new], self._target_ends[new], 0))
        there = [(at, first, min(last, first + 2 * MOST_OFFSETS), since) for at, first, last, since in there]
        try:
            found = compare(
                _contents(self._source, place, window.source, end, committed=self._reads_committed),
                (
                    (offset >= since, content)
                    for at, first, last, since in there
                    for offset, content in _contents(
                        self._target, at, first, last, committed=self._flow.exactly_once
                    )
                ),
                min(passed, end),
            )
        except _DeletedError:
            return Verified(place, problem="records were deleted while they were read; try again")
        if place[0] in self._compacted and found.missing:
            return Verified(place, problem="compacted, so records may be missing for that reason")
        if remark:  # what was not read may be on the target
            found = replace(found, strange=0)
        return Verified(
            place,
            found,
            remark=remark,
            exact=window.exact,
            repeated_most=position.repeated_most,
            waiting=max(0, self._ends[place] - passed),
        )


def _contents(
    cluster: TraceCluster, place: Place, first: int, last: int, *, committed: bool
) -> Iterator[tuple[int, bytes]]:
    while first < last:
        stretch = cluster.read(place, first, last, committed=committed)
        for record in stretch.records:
            yield record.offset, content_hash(record)
        if stretch.last <= first:
            raise _DeletedError
        first = stretch.last


def _print(sheet: Sheet, name: str, found: list[Verified], stopped: str) -> None:
    compared = [(one, one.compared) for one in found if one.compared is not None]
    passed, missing, repeated, strange = (
        sum(getattr(each, what) for _, each in compared)
        for what in ("passed", "missing", "repeated", "strange")
    )
    sheet.heading(f"{name}: {_verdict(found, missing)}")
    if stopped:
        sheet.say(stopped)
    bounded = any(each.bounded for _, each in compared)
    inexact = any(not one.exact for one, _ in compared)
    records = f"{count_text(passed, 'record')} of {count_text(len(compared), 'partition')}"
    sheet.fact("compared", records, indent=2)
    sheet.fact("skipped", _counted(missing, None if bounded else missing), indent=2)
    bounds = [one.repeated_most for one, _ in compared]
    expected = "" if None in bounds else f" (at most {sum(each or 0 for each in bounds):,} expected)"
    most = None if bounded or inexact or strange else repeated
    sheet.fact("repeated", _counted(repeated, most) + expected, indent=2)
    if strange:
        sheet.fact(
            "others",
            f"{count_text(strange, 'record')} new on the target: repeated from before the position, or of"
            " another writer",
            indent=2,
        )
    if waiting := sum(one.waiting for one, _ in compared):
        sheet.fact("waiting", f"up to {count_text(waiting, 'record')} not replicated yet", indent=2)
    _print_bad(sheet, [(one, each) for one, each in compared if one.is_skipped or one.is_beyond])
    reasons: dict[str, list[str]] = {}
    for one in found:
        if reason := one.problem or one.remark:
            reasons.setdefault(f"not compared, {reason}", []).append(f"{one.place[0]}-{one.place[1]}")
        if one.compared is not None and one.compared.bounded:
            reasons.setdefault(BOUNDED, []).append(f"{one.place[0]}-{one.place[1]}")
    for reason, places in reasons.items():
        sheet.say(f"{reason}: {', '.join(places[:FIRST])}{rest(places, joined=True)}")


def _print_bad(sheet: Sheet, bad: list[tuple[Verified, Compared]]) -> None:
    if not bad:
        return
    rows = [
        (
            f"{one.place[0]}-{one.place[1]}",
            f"{each.missing:,}",
            "" if each.first_missing is None else f"{each.first_missing}",
            f"{each.repeated:,}",
            "?" if one.repeated_most is None else f"{one.repeated_most:,}",
            f"{each.strange:,}",
        )
        for one, each in bad
    ]
    sheet.figures(("partition", "skipped", "first", "repeated", "expected", "others"), rows[:FIRST])
    if more := rest(rows):
        sheet.say(more)


def _counted(least: int, most: int | None) -> str:
    """Return bounds as text; no record found is no proof that there is none."""
    return "none found" if most is None and not least else between_text(least, most)


def _verdict(found: list[Verified], missing: int) -> str:
    if missing:
        return "records were skipped"
    if any(one.is_beyond for one in found):
        return "nothing skipped, but more records repeated than expected"
    if all(one.compared is None for one in found):
        return "nothing compared"
    return "nothing skipped" + ("" if all(one.is_whole for one in found) else " in what was compared")
