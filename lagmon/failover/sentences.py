"""How a group would start, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import Bounds, between_text, count_text
from lagmon.failover.readiness import Status

if TYPE_CHECKING:
    from lagmon.failover.readiness import GroupReadiness, PartitionReadiness

WORDS = {
    Status.SKIPS: "skips records",
    Status.OUT_OF_RANGE: "out of range",
    Status.NOT_REPLICATED: "not replicated",
    Status.NO_CHECKPOINT: "no checkpoint",
    Status.UNKNOWN: "unknown",
    Status.UNCERTAIN: "uncertain",
    Status.STALE: "stale",
    Status.NOT_APPLIED: "not applied",
    Status.READY: "ready",
}


def bounds_text(bounds: Bounds | None) -> str:
    """Return a count with its bounds, `?` if it is unknown."""
    return "?" if bounds is None else between_text(*bounds)


def partition_sentence(one: PartitionReadiness, target: str) -> str:
    """Return why a group would start so in one partition."""
    facts = one.facts
    place = f"{facts.topic}-{facts.partition}"
    origin = "the newest checkpoint is" if one.at_checkpoint else f"the committed offset on {target} is"
    found = f"{origin} {one.start} in {place}"
    if one.at_empty_log:
        found = f"{place} is empty on {target}"
    skipped = between_text(*(one.skipped_records or Bounds(0, None)), "record")
    sentences = {
        Status.SKIPS: f"{found}, after {skipped} that the group has not read",
        Status.OUT_OF_RANGE: (
            f"{found}, but {target} holds {facts.target_start} to {facts.target_end}:"
            " auto.offset.reset would decide"
        ),
        Status.NOT_REPLICATED: f"{place} is not on {target}; check the mirror's topics and its topic refresh",
        Status.NO_CHECKPOINT: f"no checkpoint for {place}, and no commit on {target}; {_no_checkpoint(one)}",
        Status.UNKNOWN: f"not enough data for {place}: {_missing(one, target)}",
        Status.UNCERTAIN: f"{found}; it may be after {skipped} not read yet: {_bounded(one)}",
        Status.STALE: (
            f"{found}, and MirrorMaker writes no newer checkpoint; check that MirrorCheckpointConnector runs"
        ),
        Status.NOT_APPLIED: f"{found}; commit it on {target} before the group starts",
        Status.READY: found,
    }
    return sentences[one.status]


def _bounded(one: PartitionReadiness) -> str:
    if one.facts.equal_offsets:
        return "some offsets may hold no record"
    return "offset syncs give bounds only"


def _no_checkpoint(one: PartitionReadiness) -> str:
    facts = one.facts
    if facts.committed is None:
        return "its committed offset on the source is unknown"
    if not facts.runs:
        return "MirrorMaker has written no offset sync of it"
    first = facts.runs[-1][0].upstream
    if facts.committed is not None and facts.committed < first:
        return f"its committed offset {facts.committed} is before the first offset sync, {first}"
    return "check that MirrorCheckpointConnector runs; it writes after its next refresh of groups"


def _missing(one: PartitionReadiness, target: str) -> str:
    facts = one.facts
    if facts.target_start is None or facts.target_end is None:
        return f"{target} did not return its log offsets"
    where, end = (
        (target, facts.target_end) if facts.other_log == "target" else ("the source", facts.source_end)
    )
    if facts.recreated:
        return f"its topic on {where} was re-created, and no newer offset sync is known"
    if facts.shorter_log:
        return (
            f"its log on {where} ends at {end}, before records that were replicated:"
            " the topic was re-created or lost its end"
        )
    return "no offset syncs" if not facts.runs else "no committed offset of the source"


def group_sentence(group: GroupReadiness, target: str) -> str:
    """Return the status of a group with its worst partition."""
    worst = [one for one in group.partitions if one.status is group.status]
    first = partition_sentence(worst[0], target)
    if len(worst) == 1:
        return f"{first}."
    return f"{first} ({count_text(len(worst) - 1, 'more partition')} likewise)."
