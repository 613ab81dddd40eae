"""Whether slices are of this plan and cover its ranges. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from checksum.plan.pacing import Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.digest.cell_rows import Side
    from checksum.plan.places import Place


@dataclass(frozen=True, slots=True)
class Stamp:
    """What makes digests comparable: the plan, the version of the hash, the side."""

    plan_id: str
    version: int
    side: Side


class SliceRow(NamedTuple):
    """What one slice read of one partition: offsets [first, until), and the result.

    `topic` is the source's name. `first_offset` and `last_offset` are of records, None without any.
    `slice_cells` and `slice_records` are of the whole slice.
    """

    number: int
    topic: str
    partition: int
    first: int
    until: int
    records: int
    size_bytes: int
    first_offset: int | None
    last_offset: int | None
    slice_cells: int
    slice_records: int


def stamp_mismatch(stamp: Stamp, plan_id: object, version: object, side: object) -> str | None:
    """Return why a row with this stamp is of another digest, or None."""
    if version != stamp.version:
        return f"unsupported version {version}, this release uses {stamp.version}; digest again"
    if plan_id != stamp.plan_id:
        return (
            f"digest of plan {str(plan_id)[:12]}, not of plan {stamp.plan_id[:12]}; name the folder of this "
            "plan, or an empty one"
        )
    if side != str(stamp.side):
        return f"digest of the {side}, not of the {stamp.side}; name the other folder"
    return None


def coverage_gap(places: Sequence[Place], slices: Iterable[SliceRow]) -> str | None:
    """Return which ranges of the plan are missing or were read twice, or None."""
    left = remaining(places, slices)
    if isinstance(left, str):
        return left
    if left:
        place, offsets = places[left[0].place], sum(one.span for one in left)
        return (
            f"incomplete digest: {offsets} offsets in {len(left)} ranges are missing, first "
            f"{place.read_as}-{place.partition} from {left[0].first} to {left[0].until - 1}; "
            "digest this side again, it continues where it stopped"
        )
    return None


def remaining(places: Sequence[Place], slices: Iterable[SliceRow]) -> list[Stretch] | str:
    """Return what no slice has read yet, in the plan's order, or why these slices cannot be used."""
    numbers = {(place.topic, place.partition): place.number for place in places}
    by_place: dict[int, list[SliceRow]] = {}
    for (topic, partition), rows in groupby(
        sorted(slices, key=attrgetter("topic", "partition", "first")), attrgetter("topic", "partition")
    ):
        if (topic, partition) not in numbers:
            return f"contains {topic}-{partition}, which is not in the plan; digest into an empty folder"
        by_place[numbers[topic, partition]] = list(rows)
    left = []
    for place in places:
        at = place.offsets.first
        for row in by_place.get(place.number, []):
            if row.first < at or not row.first < row.until <= place.offsets.until:
                return (
                    f"slice {row.number} contains {place.topic}-{place.partition} from {row.first} to "
                    f"{row.until - 1}, which is in another slice or not in the plan; digest into an empty "
                    "folder"
                )
            if row.first > at:
                left.append(Stretch(place.number, at, row.first))
            at = row.until
        if at < place.offsets.until:
            left.append(Stretch(place.number, at, place.offsets.until))
    return left
