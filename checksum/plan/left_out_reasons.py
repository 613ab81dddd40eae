"""Why offsets of a partition are left out, with numbers that can be checked. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.anchors.records import Agreement
from checksum.plan.shape import Anchored
from fleet.quantity import count_text

if TYPE_CHECKING:
    from checksum.anchors.pairs import Logs, Usable
    from checksum.anchors.search import Anchors
    from checksum.plan.due import Due

OUTSIDE = "no offset sync points to records that both logs still hold"


def deleted_unverified(logs: Logs) -> str:
    """Return why records of the source that no run compared are no longer there."""
    return (
        "retention deleted them on the source before they were compared: its log starts at offset"
        f" {logs.source_start}"
    )


def deleted_unreplicated(jump: tuple[int, int]) -> str:
    """Return why MirrorMaker never replicated the records between two offsets."""
    before, after = jump
    return (
        f"deleted on the source before they were replicated: MirrorMaker jumped from offset {before} to"
        f" {after}, where the source's log starts"
    )


def nothing_found(anchored: Anchored, known: Usable, anchors: Anchors, *, ends: int) -> str:
    """Return why nothing is compared; `ends` is how many pairs were candidates for an end."""
    seen = _rejection(anchors)
    match anchored:
        case Anchored.EQUAL_OFFSETS:
            return seen or "both logs have no offset in common"
        case Anchored.TIMESTAMPS:
            by_time = "the target's last records were not found on the source by timestamp"
            return seen or f"{_no_pairs(known)}, and {by_time}"
    if anchors.end is not None:
        return seen or OUTSIDE
    if ends:
        checked = count_text(anchors.read, "offset sync")
        return f"{checked} checked, none valid: {seen}"
    return OUTSIDE if known.pairs else _no_pairs(known)


def no_start(anchored: Anchored, known: Usable, anchors: Anchors, logs: Logs) -> str:
    """Return why offsets before the ranges are not compared."""
    if anchored is Anchored.EQUAL_OFFSETS:
        return f"the target's log starts at offset {logs.target_start}"
    if anchored is Anchored.TIMESTAMPS:
        return "older than the first records found on both sides"
    before = "older than the oldest offset sync"
    if known.of_other_topics or known.before_a_fall:
        return (
            f"{before} since a topic was re-created or truncated: no offset shows whether they were"
            " replicated; see the lag of this flow"
        )
    seen = _rejection(anchors)
    if seen is not None:
        return f"{before} that is valid: {seen}"
    return f"{before} within both logs; the target's log starts at offset {logs.target_start}"


def started_late(offset_reset: str) -> str:
    """Return why offsets before the first replicated record are not compared."""
    return (
        f"older than the first replicated record; with auto.offset.reset={offset_reset} it is unknown which"
        " of them MirrorMaker had to replicate"
    )


def replicated_ahead(furthest: int) -> str:
    """Return why replicated records after the ranges are not compared yet."""
    return (
        "the target grew by more records than the source, so MirrorMaker may have been ahead, up to source"
        f" offset {furthest}, and started again; a later run compares them"
    )


def no_end(anchored: Anchored, logs: Logs, due: Due | None) -> str:
    """Return why offsets after the ranges are not compared yet."""
    if due is not None:
        return "not due yet: newer than the plan, or after MirrorMaker's newest offset sync"
    if anchored is Anchored.EQUAL_OFFSETS:
        return f"not replicated when the plan was made: the target's log end offset was {logs.target_end}"
    return "not replicated when the plan was made, or after MirrorMaker's newest offset sync"


def _no_pairs(known: Usable) -> str:
    if known.of_other_topics:
        several = count_text(known.of_other_topics, "offset sync")
        return f"no offset sync of this topic, only {several} of an earlier topic with this name"
    return "no offset sync of this partition"


def _rejection(anchors: Anchors) -> str | None:
    """Return what is wrong with a rejected pair."""
    if anchors.rejected is None:
        return None
    pair, found = anchors.rejected
    where = f"source offset {pair.upstream} and target offset {pair.downstream}"
    if found is Agreement.UNREADABLE:
        return f"{where} do not both hold a readable record"
    return f"{where} hold different records"
