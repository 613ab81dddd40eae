"""The command `migrate verify`: what a new mirror has skipped and repeated, by reading both logs. Blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.quantity import between_text, count_text
from mirrorwatch.check.sheet import FIRST, Sheet, rest
from mirrorwatch.cli.surroundings import make_console
from mirrorwatch.migration.comparing import compare, window_of
from mirrorwatch.migration.mirror import read_mirror
from mirrorwatch.migration.planning import new_order, refuse_other_clusters
from mirrorwatch.migration.positions import read_positions
from mirrorwatch.trace.clusters import Clusters
from mirrorwatch.trace.content import content_hash
from runtime.process.clock import SystemClock
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.migration.comparing import Compared
    from mirrorwatch.migration.mirror import MirrorState
    from mirrorwatch.migration.positions import MirrorPositions, Position
    from mirrorwatch.trace.clusters import TraceCluster

MOST_OFFSETS = 1_000_000  # of one partition
NOTHING_NEW = "no new record since the export"


@dataclass(frozen=True, slots=True)
class Verified:
    """One partition: its comparison, or why it was not compared. `repeated_most` is what was expected."""

    place: Place
    compared: Compared | None = None
    problem: str = ""
    exact: bool = True
    repeated_most: int | None = None

    @property
    def is_skipped(self) -> bool:
        """Return whether records are missing on the target."""
        return self.compared is not None and self.compared.missing > 0

    @property
    def is_beyond(self) -> bool:
        """Return whether more records were repeated than the plan said."""
        most = self.repeated_most
        return self.compared is not None and most is not None and self.compared.repeated > most


def verify_migration(config: Configuration, *, path: Path, flow: str | None) -> int:
    """Print what the new mirror has skipped and repeated; return the exit status."""
    file = read_positions(path)
    order = new_order(config, file, flow)
    clock = SystemClock()
    with Clusters(config.clients, clock) as clusters:
        mirror = read_mirror(config, order, clusters, now_ms=round(clock.wall_s() * 1000))
        refuse_other_clusters(file, order, clusters, path=path)
        found = verified_partitions(file, mirror, clusters)
    sheet = Sheet(make_console(), Redactor(config.secrets))
    _print(sheet, order.name, found)
    if any(one.is_skipped or one.is_beyond for one in found):
        return 1
    return 3 if any(one.compared is None and one.problem != NOTHING_NEW for one in found) else 0


class _DeletedError(Exception):
    """A log no longer has a record that was to be read."""


def verified_partitions(file: MirrorPositions, mirror: MirrorState, clusters: Clusters) -> list[Verified]:
    """Return each partition of the file, compared or with the reason why not."""
    return list(_Reading(file, mirror, clusters).partitions())


class _Reading:
    """Both logs of a flow, of which the ends are read at first."""

    def __init__(self, file: MirrorPositions, mirror: MirrorState, clusters: Clusters) -> None:
        flow = mirror.topics.order.flow
        self._committed = mirror.committed or {}
        self._source, self._target = clusters[flow.source], clusters[flow.target]
        self._old = {place: (one.target_topic, place[1]) for one in file.topics for place in one.places}
        self._positions = file.places
        names = {one.topic: flow.decide(one.topic).remote_topic for one in file.topics}
        self._replicated = frozenset(topic for topic, name in names.items() if name is not None)
        self._remote = {
            place: (name, place[1])
            for place in self._positions
            if (name := names[place[0]]) is not None and place[1] < self._target.topics.get(name, 0)
        }
        here = [place for place in self._positions if place[1] < self._source.topics.get(place[0], 0)]
        # The target before the source: what is there by now has its source record within the source's end.
        old = [place for place in self._old.values() if place[1] < self._target.topics.get(place[0], 0)]
        there = list(dict.fromkeys([*old, *self._remote.values()]))
        self._target_starts, self._target_ends = self._target.logs(there)
        self._starts, self._ends = self._source.logs(here)
        self._compacted = self._source.reader.compacted({topic for topic, _ in here})

    def partitions(self) -> Iterator[Verified]:
        for place, position in self._positions.items():
            problem = self._problem(place, position)
            yield Verified(place, problem=problem) if problem else self._verified(place, position)

    def _problem(self, place: Place, position: Position) -> str:
        """Return why a partition cannot be compared; "" if it can."""
        passed, begins = self._committed.get(place), position.next_offset
        reasons = (
            (place[0] not in self._replicated, "the new mirror does not replicate this topic"),
            (place not in self._starts, "it no longer exists on the source"),
            (passed is None and self._ends.get(place, 0) <= begins, NOTHING_NEW),
            (place not in self._remote, "it does not exist on the target yet"),
            (passed is None, "the new mirror has committed no offset yet"),
            (self._starts.get(place, 0) > begins, "the source has deleted records since the export"),
        )
        return next((sentence for holds, sentence in reasons if holds), "")

    def _verified(self, place: Place, position: Position) -> Verified:
        old, new = self._old[place], self._remote[place]
        window = window_of(
            position, source_start=self._starts[place], target_start=self._target_starts.get(old, 0)
        )
        if window is None:
            return Verified(place, problem="the target has deleted records since the export")
        here = place, window.source, self._ends[place]
        there = [(old, window.target, self._target_ends[old])] if old in self._target_ends else []
        if new != old:
            there.append((new, self._target_starts[new], self._target_ends[new]))
        if max(last - first for _, first, last in (here, *there)) > MOST_OFFSETS:
            return Verified(place, problem=f"more than {MOST_OFFSETS:,} offsets to read")
        try:
            found = compare(
                _contents(self._source, *here),
                (content for each in there for _, content in _contents(self._target, *each)),
                self._committed[place] + 1,
            )
        except _DeletedError:
            return Verified(place, problem="records were deleted while they were read; try again")
        if place[0] in self._compacted and found.missing:
            return Verified(place, problem="compacted, so records may be missing for that reason")
        return Verified(place, found, exact=window.exact, repeated_most=position.repeated_most)


def _contents(cluster: TraceCluster, place: Place, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    while first < last:
        stretch = cluster.read(place, first, last)
        for record in stretch.records:
            yield record.offset, content_hash(record)
        if stretch.last <= first:
            raise _DeletedError
        first = stretch.last


def _print(sheet: Sheet, name: str, found: list[Verified]) -> None:
    compared = [(one, one.compared) for one in found if one.compared is not None]
    passed, missing, repeated = (
        sum(getattr(each, what) for _, each in compared) for what in ("passed", "missing", "repeated")
    )
    sheet.heading(f"{name}: {_verdict(found, missing)}")
    bounded = any(each.bounded for _, each in compared)
    inexact = any(not one.exact for one, _ in compared)
    sheet.fact(
        "compared", f"{count_text(passed, 'record')} of {count_text(len(compared), 'partition')}", indent=2
    )
    sheet.fact("skipped", between_text(missing, None if bounded else missing), indent=2)
    bounds = [one.repeated_most for one, _ in compared]
    expected = "" if None in bounds else f" (at most {sum(each or 0 for each in bounds):,} expected)"
    most = None if bounded or inexact else repeated
    sheet.fact("repeated", between_text(repeated, most) + expected, indent=2)
    bad = [(one, each) for one, each in compared if one.is_skipped or one.is_beyond]
    if bad:
        rows = [
            (
                f"{one.place[0]}-{one.place[1]}",
                f"{each.missing:,}",
                "" if each.first_missing is None else f"{each.first_missing}",
                f"{each.repeated:,}",
                "?" if one.repeated_most is None else f"{one.repeated_most:,}",
            )
            for one, each in bad
        ]
        sheet.figures(("partition", "skipped", "first", "repeated", "expected"), rows[:FIRST])
        if more := rest(rows):
            sheet.say(more)
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.compared is None:
            reasons.setdefault(one.problem, []).append(f"{one.place[0]}-{one.place[1]}")
    for reason, places in reasons.items():
        sheet.say(f"not compared, {reason}: {', '.join(places[:FIRST])}{rest(places, joined=True)}")


def _verdict(found: list[Verified], missing: int) -> str:
    if missing:
        return "records were skipped"
    if any(one.is_beyond for one in found):
        return "nothing skipped, but more records repeated than expected"
    if all(one.compared is None for one in found):
        return "nothing compared yet"
    return "nothing skipped" + (" in what was compared" if any(one.compared is None for one in found) else "")
