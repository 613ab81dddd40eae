"""What the records around a missing one prove. Pure.

The mirror keeps the order of a partition. So if the records before and after it on the source are on the
target, it is between them there, and as many records are between them if none was dropped. A target record
that equals another source record is not the one searched for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mirrorwatch.trace.content import Part, differences, shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mirrorwatch.trace.facts import Searched
    from runtime.kafka.picking import PickedRecord


class Around(NamedTuple):
    """What the neighbors prove.

    `passed`: a later record is on the target, at the offset `later`. `adjacent`: the records before and after
    it are at offsets in a row, so that none is left for it. `changed` is the record on the target that is in
    its place with another content.
    """

    passed: bool = False
    later: int | None = None
    adjacent: bool = False
    changed: PickedRecord | None = None


def around(
    record: PickedRecord,
    before: Sequence[PickedRecord],
    after: Sequence[PickedRecord],
    searched: Searched,
) -> Around:
    """Return what the records around a missing one prove; both sequences are in the order of the source."""
    here = searched.records
    later = next(((each, one) for each in after if (one := _first_equal(each, here)) is not None), None)
    if later is None:
        return Around()
    after_it, end = later
    earlier = next(
        (
            (each, one)
            for each in reversed(before)
            if (one := _first_equal(each, [x for x in reversed(here) if x.offset < end.offset])) is not None
        ),
        None,
    )
    if earlier is None:
        return Around(True, end.offset)
    before_it, start = earlier
    inner = [one for one in here if start.offset < one.offset < end.offset]
    unclaimed = [one for one in inner if not _is_one_of(one, (*before, *after))]
    if not unclaimed and end.offset == start.offset + 1 + len(inner):
        return Around(True, end.offset, adjacent=True)
    lost = [one for one in (*before, record, *after) if before_it.offset < one.offset < after_it.offset]
    lost = [one for one in lost if one is record or _first_equal(one, here) is None]
    if unclaimed and len(unclaimed) == len(lost):
        return Around(True, end.offset, changed=unclaimed[lost.index(record)])
    return Around(True, end.offset, changed=_only(one for one in unclaimed if shares(record, one)))


def alike(record: PickedRecord, candidates: Iterable[PickedRecord]) -> PickedRecord | None:
    """Return the only candidate with the same timestamp and the same key or value, wherever it is."""
    return _only(
        one
        for one in candidates
        if Part.TIMESTAMP in (common := shares(record, one)) and not common.isdisjoint({Part.KEY, Part.VALUE})
    )


def unclaimed_by(others: Sequence[PickedRecord], candidates: Iterable[PickedRecord]) -> list[PickedRecord]:
    """Return the candidates on the target that equal none of these source records."""
    return [one for one in candidates if not _is_one_of(one, others)]


def _only(candidates: Iterable[PickedRecord]) -> PickedRecord | None:
    found = list(candidates)
    return found[0] if len(found) == 1 else None


def _is_one_of(target: PickedRecord, others: Iterable[PickedRecord]) -> bool:
    return any(not differences(one, target) for one in others)


def _first_equal(record: PickedRecord, candidates: Iterable[PickedRecord]) -> PickedRecord | None:
    return next((one for one in candidates if not differences(record, one)), None)
