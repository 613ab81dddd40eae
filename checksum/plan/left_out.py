"""Why offsets of a partition are left out, in words with numbers that a person can look up. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.anchors.records import Agreement
from checksum.plan.shape import Anchored
from fleet.quantity import count_text

if TYPE_CHECKING:
    from checksum.anchors.pairs import Logs, Usable
    from checksum.anchors.search import Anchors
    from checksum.plan.due import Due

OUTSIDE = "no offset sync lies within what both logs still hold"


def gone(logs: Logs) -> str:
    """Say why what the source held when the last run ended is not compared any more."""
    return (
        "retention took them from the source before they were compared: its log begins at"
        f" {logs.source_start}"
    )


def overtaken(jump: tuple[int, int]) -> str:
    """Say why what the source held between two offsets was never copied."""
    before, after = jump
    return (
        f"deleted on the source before they were copied: the mirror went from offset {before} to {after} at"
        " once, where the source's log begins"
    )


def nothing_found(anchored: Anchored, known: Usable, anchors: Anchors, *, ends: int) -> str:
    """Say why nothing at all is compared; `ends` is how many pairs could have been an end."""
    seen = _against(anchors)
    match anchored:
        case Anchored.EQUAL_OFFSETS:
            return seen or "both logs have no offset in common"
        case Anchored.TIMESTAMPS:
            by_time = "the target's last records were not found on the source by their times"
            return seen or f"{_no_pairs(known)}, and {by_time}"
    if anchors.end is not None:
        return seen or OUTSIDE
    if ends:
        looked = count_text(anchors.read, "offset sync")
        return f"of {looked} that were looked at none holds: {seen}"
    return OUTSIDE if known.pairs else _no_pairs(known)


def no_beginning(anchored: Anchored, known: Usable, anchors: Anchors, logs: Logs) -> str:
    """Say why what stands before the beginning of the ranges is not compared."""
    if anchored is Anchored.EQUAL_OFFSETS:
        return f"the target's log begins at {logs.target_start}"
    if anchored is Anchored.TIMESTAMPS:
        return "they stand before the first records that were found on both sides"
    before = "they stand before the oldest offset sync"
    if known.of_other_topics or known.before_a_fall:
        return (
            f"{before} since a topic was made anew or lost its end: no offset tells what became of them;"
            " see what the lag monitor says about it"
        )
    seen = _against(anchors)
    if seen is not None:
        return f"{before} that holds: {seen}"
    return f"{before} within both logs; the target's begins at {logs.target_start}"


def begun_late(offset_reset: str) -> str:
    """Say why what stands before the first record that the mirror copied is not compared."""
    return (
        "they stand before the first record that was copied, and the mirror's consumer has auto.offset.reset"
        f" = {offset_reset}: which of them it was to copy is not known"
    )


def ahead(furthest: int) -> str:
    """Say why what was copied behind the end of the ranges is not compared yet."""
    return (
        "the target grew by more records than the source there, so the mirror may have been ahead, up to"
        f" source offset {furthest}, and gone back: they are compared once it has come further"
    )


def no_end(anchored: Anchored, logs: Logs, due: Due | None) -> str:
    """Say why what stands behind the end of the ranges is not compared yet."""
    if due is not None:
        return (
            "not due yet: newer than what the plan found on the source, or behind the mirror's newest offset"
            " sync"
        )
    if anchored is Anchored.EQUAL_OFFSETS:
        return f"not mirrored when the plan was made: the target's log ended at {logs.target_end}"
    return "not mirrored when the plan was made, or behind the mirror's newest offset sync"


def _no_pairs(known: Usable) -> str:
    if known.of_other_topics:
        several = count_text(known.of_other_topics, "offset sync")
        return f"no offset sync of this topic is known, only {several} of one that had its name before"
    return "no offset sync of this partition is known"


def _against(anchors: Anchors) -> str | None:
    """Say what was seen at a pair that was not believed."""
    if anchors.against is None:
        return None
    pair, found = anchors.against
    where = f"source offset {pair.upstream} and target offset {pair.downstream}"
    if found is Agreement.UNREADABLE:
        return f"{where} do not both hold a record that can be read"
    return f"{where} hold different records"
