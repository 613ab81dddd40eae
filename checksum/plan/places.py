"""The table that Spark joins to records: the place in the plan of each topic, partition and offset. Pure.

A *place* is one partition of the plan on one side, numbered in the plan's order. Its runs and marks become
padded arrays of equal length for all places of a read, for a binary search: the count of entries at or below
an offset takes as many steps as the length has bits.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from checksum.digest.cell_rows import Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.plan.pacing import Stretch
    from checksum.plan.shape import OffsetRange, PartitionPlan, Plan, Run, TopicPlan

NEVER: Final = (1 << 63) - 1  # larger than any offset; pads the arrays


@dataclass(frozen=True, slots=True)
class Place:
    """One partition on one side; offsets, runs (first, until, delta) and marks are that side's own.

    `topic` is the source's name, `read_as` this side's. The source offset is this side's offset minus
    `delta`, which is 0 on the source.
    """

    number: int
    topic: str
    read_as: str
    partition: int
    offsets: OffsetRange
    runs: tuple[Run, ...]
    marks: tuple[int, ...]
    headers: bool
    timestamps: bool
    compacted: bool
    record_bytes: int


class PlaceRow(NamedTuple):
    """A place as Spark joins it to records, cut to one read.

    `run_starts` and `marks` are searched. With c entries at or below an offset, it is in a run if it is
    before `run_ends[c]`, whose delta is `run_deltas[c]`, and it is in segment `mark_base` + c.
    """

    topic: str
    partition: int
    place: int
    range_first: int
    run_starts: list[int]
    run_ends: list[int]
    run_deltas: list[int]
    mark_base: int
    marks: list[int]


def places_of(plan: Plan, side: Side) -> tuple[Place, ...]:
    """Return the places of one side of a plan, in the plan's order."""
    pairs = [(topic, partition) for topic in plan.topics for partition in topic.partitions]
    return tuple(_place(number, topic, partition, side) for number, (topic, partition) in enumerate(pairs))


def _place(number: int, topic: TopicPlan, partition: PartitionPlan, side: Side) -> Place:
    here = side is Side.SOURCE
    return Place(
        number=number,
        topic=topic.topic,
        read_as=topic.topic if here else topic.target_topic,
        partition=partition.partition,
        offsets=partition.source if here else partition.target,
        runs=tuple(run if here else _moved(run) for run in partition.runs),
        # If timestamps are compared they make the buckets, and segments are not used.
        marks=() if topic.timestamps else tuple(pair[0 if here else 1] for pair in partition.segments),
        headers=topic.headers,
        timestamps=topic.timestamps,
        compacted=topic.compacted,
        record_bytes=topic.record_bytes,
    )


def _moved(run: Run) -> Run:
    return type(run)(run.first + run.delta, run.until + run.delta, run.delta)


def place_rows(places: Sequence[Place], stretches: Iterable[Stretch], side: Side) -> list[PlaceRow]:
    """Return the rows for one read; their searched arrays have one length, 2^n - 1."""
    cut = [(places[stretch.place], stretch) for stretch in stretches]
    runs = [_runs_within(place, stretch) for place, stretch in cut]
    marks = [_marks_within(place, stretch) for place, stretch in cut]
    run_room, mark_room = _room(runs), _room(marks)
    return [
        PlaceRow(
            topic=place.read_as,
            partition=place.partition,
            place=place.number,
            range_first=place.offsets.first,
            run_starts=_padded([run.first for run in held], run_room),
            run_ends=_padded([-1, *(run.until for run in held)], run_room + 1),
            run_deltas=_padded([0, *(0 if side is Side.SOURCE else run.delta for run in held)], run_room + 1),
            mark_base=bisect_right(place.marks, stretch.first - 1),
            marks=_padded(inside, mark_room),
        )
        for (place, stretch), held, inside in zip(cut, runs, marks, strict=True)
    ]


def search_steps(room: int) -> list[int]:
    """Return the steps of a binary search in an array of `room` entries, largest first."""
    return [1 << bit for bit in reversed(range(room.bit_length()))]


def _runs_within(place: Place, stretch: Stretch) -> list[Run]:
    return [run for run in place.runs if run.first < stretch.until and stretch.first < run.until]


def _marks_within(place: Place, stretch: Stretch) -> list[int]:
    return [mark for mark in place.marks if stretch.first <= mark < stretch.until]


def _room(held: Iterable[Sequence[object]]) -> int:
    return int((1 << max((len(one) for one in held), default=0).bit_length()) - 1)


def _padded(values: list[int], room: int) -> list[int]:
    return values + [NEVER] * (room - len(values))
