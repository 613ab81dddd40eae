"""The timeline of the page: what is known of each partition at each time. Pure.

A row is a partition, or many without problems; a column is a span of record time. Both are limited, however
large the run: rows and columns are joined if there are more, and show the worst of what they stand for.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_ROWS = 60
MOST_TOPIC_ROWS = 40
MOST_COLUMNS = 120
_TAIL = 0.005  # share of outliers at either end of the axis
_SQUEEZED = 4  # outliers get one column if they widen the axis so many times
_STEPS = (1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 4 * 96, 7 * 96, 28 * 96)
_BUCKET_MS = 900_000  # if the document has none
_DIFFERENCE = 1  # the exit status

Place = tuple[str, int | None]
"""A topic and a partition; None: all of them."""


class Kind(IntEnum):
    """What is known of a cell of the timeline, the worst last."""

    NOTHING = 0  # no records
    EQUAL = 1
    EXPECTED = 2  # duplicates and aborted records that at-least-once allows
    LEFT_OUT = 3
    NOT_VERIFIED = 4
    DIFFERENCE = 5


class Cell(NamedTuple):
    """What is known of one partition in the bucket that starts at `at_ms`, and its records."""

    place: Place
    at_ms: int
    kind: Kind
    records: int


@dataclass(frozen=True, slots=True)
class Axis:
    """The columns: `columns` of `column_ms` from `begin_ms`, and one on each side for outliers."""

    begin_ms: int
    column_ms: int
    columns: int
    earlier: bool
    later: bool

    @property
    def all_columns(self) -> int:
        """Return how many columns there are, with those for outliers."""
        return self.columns + self.earlier + self.later

    def column(self, at_ms: int) -> int:
        """Return the column of a time."""
        inside = (at_ms - self.begin_ms) // self.column_ms
        if inside < 0:
            return 0
        return min(inside, self.columns - (not self.later)) + self.earlier


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its place, how many more it stands for, of how many topics, and what each column shows."""

    place: Place
    more: int
    topics: int
    kinds: tuple[Kind, ...]
    left_out: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows and their columns; single rows have the worst first."""

    axis: Axis
    rows: tuple[Row, ...]

    @property
    def summed(self) -> int:
        """Return how many partitions have no row of their own."""
        return sum(row.more + 1 for row in self.rows if row.more)


def make_timeline(
    cells: Sequence[Cell], *, whole: Mapping[Place, Kind], left_out: Iterable[Place], bucket_ms: int
) -> Timeline | None:
    """Return the timeline, or None if no cell has a time.

    `whole` is what is known of a partition at every time; `left_out` are places that were partly not
    compared.
    """
    if not cells:
        return None
    axis = axis_of([(cell.at_ms, cell.records) for cell in cells], bucket_ms)
    absent = set(left_out)
    columns: dict[Place, dict[int, Kind]] = defaultdict(dict)
    for cell in cells:
        kinds, column = columns[cell.place], axis.column(cell.at_ms)
        kinds[column] = max(kinds.get(column, Kind.NOTHING), cell.kind, whole.get(cell.place, Kind.NOTHING))
    for place, kind in whole.items():
        columns.setdefault(place, dict.fromkeys(range(axis.all_columns), kind))
    for place in absent:
        columns.setdefault(place, {})
    worst = {
        place: max([*kinds.values(), Kind.LEFT_OUT if place in absent else Kind.NOTHING])
        for place, kinds in columns.items()
    }
    order = sorted(columns, key=lambda place: (-worst[place], *_sort_key(place)))
    single, rest = order, []
    if len(order) > MOST_ROWS:
        single = [place for place in order if worst[place] > Kind.EQUAL][: MOST_ROWS - 1]
        known = set(single)
        rest = [place for place in order if place not in known]
    if len(order) <= MOST_ROWS:
        single = sorted(single, key=_sort_key)
    rows = [_row([place], columns, absent, axis) for place in single]
    return Timeline(axis, tuple(rows + [_row(some, columns, absent, axis) for some in _by_topic(rest)]))


def axis_of(found: Sequence[tuple[int, int]], bucket_ms: int) -> Axis:
    """Return the axis for buckets that start at these times and have so many records.

    A few much older or newer records, such as those without a timestamp, share a column at the end.
    """
    instants = sorted(found)
    low, high = instants[0][0], instants[-1][0]
    near = _near(instants)
    if high - low > _SQUEEZED * (near[1] - near[0] + bucket_ms):
        low, high = near
    buckets = (high - low) // bucket_ms + 1
    step = next((one for one in _STEPS if buckets <= one * (MOST_COLUMNS - 3)), None)
    if step is None:
        step = -(-buckets // (MOST_COLUMNS - 3))
    column_ms = step * bucket_ms
    begin_ms = low - low % column_ms
    columns = (high - begin_ms) // column_ms + 1
    return Axis(
        begin_ms,
        column_ms,
        columns,
        instants[0][0] < begin_ms,
        instants[-1][0] >= begin_ms + columns * column_ms,
    )


def _near(instants: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the times between which nearly all records are."""
    tail = sum(records for _, records in instants) * _TAIL
    ends = []
    for some in (instants, list(reversed(instants))):
        seen = 0
        for at_ms, records in some:
            seen += records
            if seen > tail:
                ends.append(at_ms)
                break
        else:
            ends.append(some[0][0])
    return ends[0], max(ends)


def _row(
    places: Sequence[Place], columns: Mapping[Place, Mapping[int, Kind]], absent: set[Place], axis: Axis
) -> Row:
    kinds = [Kind.NOTHING] * axis.all_columns
    for place in places:
        for column, kind in columns[place].items():
            kinds[column] = max(kinds[column], kind)
    first = places[0]
    topics = len({topic for topic, _ in places})
    return Row(first, len(places) - 1, topics, tuple(kinds), any(place in absent for place in places))


def _by_topic(places: Sequence[Place]) -> list[list[Place]]:
    """Group places by topic; topics beyond the limit share one group."""
    topics: dict[str, list[Place]] = defaultdict(list)
    for place in sorted(places, key=_sort_key):
        topics[place[0]].append(place)
    groups = list(topics.values())
    if len(groups) <= MOST_TOPIC_ROWS:
        return groups
    return [*groups[: MOST_TOPIC_ROWS - 1], [one for group in groups[MOST_TOPIC_ROWS - 1 :] for one in group]]


def _sort_key(place: Place) -> tuple[str, int]:
    return place[0], -1 if place[1] is None else place[1]


def timeline_of(run: Mapping[str, Any]) -> Timeline | None:
    """Return the timeline of a run, or None if no count has a time.

    A bucket is a difference if a finding has its time, or if its counts differ without an explanation:
    expected records, unknown extra records, or unverified offsets (retention deletes on one side first). A
    certain difference counts even if its offsets are not verified.

    Unverified offsets have the times of their buckets if the document has them (`unverified` in its counts),
    otherwise all times of their partition.
    """
    counts = run["counts"]
    bucket_ms = counts["bucket_ms"] or _BUCKET_MS
    wrong, expected = _times(run, "findings", bucket_ms), _times(run, "expected", bucket_ms)
    unsettled = _times(run, "unsettled", bucket_ms)
    whole = _whole(run, by_bucket=counts["tells_unverified"])
    # A counts-only run has findings for its differences.
    explained = run["counts_only"]
    certain = _certain(run)
    cells: list[Cell] = []
    known: set[tuple[Place, int]] = set()
    for one in counts["shown"]:
        at_ms = _at_ms(one["bucket_at"])
        if at_ms is None:
            continue
        where = (_place(one), at_ms - at_ms % bucket_ms)
        source, target = one["source_records"], one["target_records"]
        known.add(where)
        kind = Kind.EQUAL
        allowed = explained or where in expected or where in unsettled
        allowed = allowed or (one["unverified"] and where[0] not in certain)
        if where in wrong or (source != target and not allowed):
            kind = Kind.DIFFERENCE
        elif one["unverified"] or where in unsettled:
            kind = Kind.NOT_VERIFIED
        elif where in expected:
            kind = Kind.EXPECTED
        cells.append(Cell(*where, kind, max(source, target)))
    cells += [
        Cell(*where, kind, 1)
        for found, kind in (
            (wrong, Kind.DIFFERENCE),
            (expected, Kind.EXPECTED),
            (unsettled, Kind.NOT_VERIFIED),
        )
        for where in found - known
    ]
    return make_timeline(cells, whole=whole, left_out=_left_out(run), bucket_ms=bucket_ms)


def _certain(run: Mapping[str, Any]) -> set[Place]:
    """Return the partitions with a certain difference that was not resolved to records."""
    if run["status"] != _DIFFERENCE:
        return set()
    return {_place(one) for one in run["not_read_again"]["shown"] if one["certain"]}


def _times(run: Mapping[str, Any], name: str, bucket_ms: int) -> set[tuple[Place, int]]:
    found: set[tuple[Place, int]] = set()
    for one in run[name]["shown"]:
        at_ms = _at_ms(one["at"])
        if at_ms is not None:
            found.add((_place(one), at_ms - at_ms % bucket_ms))
    return found


def _whole(run: Mapping[str, Any], *, by_bucket: bool) -> dict[Place, Kind]:
    """Return what is known of whole partitions: nothing verified, or it is unknown what."""
    found: dict[Place, Kind] = {}
    for one in run["partitions"]["shown"]:
        nothing = one["offsets"] and not one["verified"]
        if one["not_compared"] or nothing or (one["unverified"] and not by_bucket):
            found[_place(one)] = Kind.NOT_VERIFIED
    for one in run["left_out"]["shown"]:
        if one["partition"] is None and not one["later"]:
            found[_place(one)] = Kind.LEFT_OUT
    return found


def _left_out(run: Mapping[str, Any]) -> set[Place]:
    return {_place(one) for one in run["left_out"]["shown"] if not one["later"]}


def _place(one: Mapping[str, Any]) -> Place:
    return one["topic"], one["partition"]


def _at_ms(at: str | None) -> int | None:
    """Return the time of an ISO 8601 text, or None."""
    try:
        moment = datetime.fromisoformat(at) if at else None
    except ValueError:
        return None
    if moment is None:
        return None
    return round(moment.timestamp() * 1000) if moment.tzinfo is not None else None
