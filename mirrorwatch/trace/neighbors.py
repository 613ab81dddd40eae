"""What the records around a missing one prove. Pure.

The mirror keeps the order of a partition. So if the records before and after it on the source are on the
target, it is between them there, and as many records are between them if none was dropped. A target record
that equals another source record is not the one searched for. A neighbor counts only if its content is unique
among those read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mirrorwatch.trace.content import Part, is_same, shares

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
    known = (*before, record, *after)
    later = next(((each, one) for each in after if (one := _anchor(each, known, here)) is not None), None)
    if later is None:
        return Around()
    after_it, end = later
    earlier = next(
        ((each, one) for each in reversed(before) if (one := _anchor(each, known, here)) is not None), None
    )
    if earlier is None or earlier[1].offset > end.offset:
        return Around(True, end.offset)
    before_it, start = earlier
    inner = [one for one in here if start.offset < one.offset < end.offset]
    free = unclaimed(known, inner)
    if not free and end.offset == start.offset + 1 + len(inner):
        return Around(True, end.offset, adjacent=True)
    lost = [one for one in known if before_it.offset < one.offset < after_it.offset]
    lost = [one for one in lost if _count(one, lost) > _count(one, inner)]
    if len(free) == len(lost):
        return Around(True, end.offset, changed=free[lost.index(record)])
    return Around(True, end.offset, changed=_only(one for one in free if _is_most_like(one, record, lost)))


def alike(
    record: PickedRecord, known: Sequence[PickedRecord], here: Sequence[PickedRecord]
) -> PickedRecord | None:
    """Return the only target record with the same timestamp and the same key or value, wherever it is.

    It equals no other known source record, and is like none that is missing.
    """
    free = unclaimed(known, here)
    lost = [one for one in known if _count(one, known) > _count(one, here)]
    return _only(
        one
        for one in free
        if Part.TIMESTAMP in (common := shares(record, one))
        and not common.isdisjoint({Part.KEY, Part.VALUE})
        and _is_most_like(one, record, lost)
    )


def may_be(record: PickedRecord, target: PickedRecord) -> bool:
    """Return whether a mirror that changes one part, or key and value, can have made one of the other."""
    common = shares(record, target)
    if Part.TIMESTAMP in common:
        return True
    payload = {part for part, one in ((Part.KEY, record.key), (Part.VALUE, record.value)) if one}
    if target.stamped or record.timestamp_ms < 0:
        return not common.isdisjoint(payload)
    return bool(payload) and payload <= common


def unclaimed(known: Sequence[PickedRecord], here: Iterable[PickedRecord]) -> list[PickedRecord]:
    """Return the target records that equal none of these source records."""
    return [one for one in here if not _is_one_of(one, known)]


def _is_most_like(target: PickedRecord, record: PickedRecord, lost: Iterable[PickedRecord]) -> bool:
    """Return whether a target record shares more parts with a record than with any other lost one."""
    others = (len(shares(one, target)) for one in lost if one is not record)
    return len(shares(record, target)) > max(others, default=0)


def _count(record: PickedRecord, others: Iterable[PickedRecord]) -> int:
    return sum(is_same(record, one) for one in others)


def _only(candidates: Iterable[PickedRecord]) -> PickedRecord | None:
    found = list(candidates)
    return found[0] if len(found) == 1 else None


def _is_one_of(target: PickedRecord, others: Iterable[PickedRecord]) -> bool:
    return any(is_same(one, target) for one in others)


def _anchor(
    record: PickedRecord, known: Sequence[PickedRecord], here: Sequence[PickedRecord]
) -> PickedRecord | None:
    """Return the target record that equals a neighbor, if both are the only ones with this content."""
    equal = [one for one in here if is_same(record, one)]
    if len(equal) != 1 or sum(_is_one_of(equal[0], [one]) for one in known) != 1:
        return None
    return equal[0]
