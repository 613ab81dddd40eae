"""What a mirror skipped or repeated after its source log lost its end, once it wrote another offset. Pure.

A mirror that is down when a log is cut reads at N + 1 after its restart. If the log is longer than that
again, it continues there, and new records below are not replicated; no offset ever shows that. The target
does: since the log was at its shortest, it has grown by N's own growth only (recreated/outcome.py).

That is proved under these conditions; everything else is a suspicion:

- The log was seen complete before, and to grow again below N + 1. An end that an old leader reports looks the
  same, and does not move.
- The topic id is the same throughout.
- The target continues to grow as N does. Transaction markers and filters would keep it behind by more
  and more.

The number is the least: the log may have been shorter than any poll saw.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import MirrorFinding
from lagmon.mirrors.detectors.lost_ends.steps import repeated_records
from lagmon.mirrors.detectors.recreated.followed import Followed
from lagmon.mirrors.detectors.recreated.outcome import Base, StartOutcome, judge_start
from lagmon.mirrors.detectors.recreated.starts import (
    partition_poll,
)

if TYPE_CHECKING:
    from lagmon.mirrors.detectors.lost_ends.cut import Cut
    from lagmon.mirrors.detectors.recreated.outcome import PartitionPoll
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

_NEVER = np.iinfo(np.int64).max


def is_same_log(flow: FlowView, topic: str, cut: Cut) -> bool:
    """Return whether the topic's id shows that the log was not re-created, from before to after the cut."""
    topics, key = flow.topics, (topic, "source")
    known = topics.known_since_ms.get(key, _NEVER) <= cut.complete_ms
    return known and topics.ids_at_ms.get(key, -1) >= cut.lowest_ms


def decide(flow: FlowView, partitions: PartitionsSnapshot, name: Name, cut: Cut) -> None:
    """Decide whether a mirror that has written another offset since skipped new records below it."""
    slot = flow.windows.slot(*name)
    assert slot is not None
    rings = flow.windows.rings
    since = rings.offset[slot][rings.committed_ms[slot] > cut.written_ms]
    if (since < cut.next_offset).any() or not flow.order.progress.resumes:
        cut.is_decided = True  # it went back: see rewinds/rewinds.py
        return
    places = int(partitions.places[slot]), int(partitions.target_places[slot])
    if places[1] < 0 or cut.target_end < 0:
        return
    polled_ms = tuple(
        int(one.sampled_ms[place])
        for one, place in zip((flow.source.heads, flow.target.heads), places, strict=True)
    )
    followed = Followed(
        flow.windows, flow.source.heads, flow.target.heads, flow.order.flow.source, by_record=True
    )
    base = Base(cut.next_offset, cut.written_ms, cut.target_end, sure=True)
    seen = partition_poll(followed, slot, places, (polled_ms[0], polled_ms[1]), base)
    if seen is None or seen.at_ms <= cut.lowest_ms:
        return
    outcome = judge_start(base, replace(seen, start=cut.lowest))
    if outcome is StartOutcome.REPLICATED:
        cut.is_decided, cut.found = True, _repeated(flow, partitions, name, cut, seen)
    if outcome is StartOutcome.SKIPPED:
        cut.first_low = seen.low if cut.first_low < 0 else cut.first_low
        cut.is_decided = _is_proved(flow, name, cut, seen)
        # The record before the newest offset was replicated from the present log.
        went_on = min(seen.high, int(since[-1]) - 1 if len(since) else seen.high)
        cut.found = _finding(flow, name, cut, seen, went_on=went_on)


def _is_proved(flow: FlowView, name: Name, cut: Cut, seen: PartitionPoll) -> bool:
    grew, went = seen.target_end - cut.target_end, seen.low - cut.next_offset
    just_as = went <= grew <= seen.high - cut.next_offset
    continues = went >= 2 * (cut.first_low - cut.next_offset)
    same = is_same_log(flow, name[0], cut)
    return cut.grows and same and just_as and continues and name[0] not in flow.settings.compacted


def _repeated(
    flow: FlowView, partitions: PartitionsSnapshot, name: Name, cut: Cut, seen: PartitionPoll
) -> MirrorFinding | None:
    """Return what was repeated by a mirror that started again, and has passed its old offset."""
    topic, partition = name
    slot = flow.windows.slot(topic, partition)
    if slot is None or not is_same_log(flow, topic, cut):
        return None
    start = int(flow.source.heads.start[partitions.places[slot]])
    again = repeated_records(cut, start=start, end=seen.high, target_end=seen.target_end)
    if again is None:
        return None
    return MirrorFinding(
        code=Cause.DUPLICATING,
        topic=topic,
        partition=partition,
        at_ms=seen.at_ms,
        records=again.records,
        records_most=cut.lowest - max(0, start),
        first_offset=cut.lowest - again.records,
        last_offset=cut.lowest - 1,
        sentence=(
            f"At least {count_text(again.records, 'record')} of {topic}-{partition} reached"
            f" {flow.order.flow.target} again: the log on {flow.order.flow.source} lost its end, as after an"
            f" unclean leader election (it ended at {cut.lowest}, seen at {instant_text(cut.lowest_ms)}), "
            "before"
            f" the mirror's offset, {cut.next_offset}; {again.proof}."
        ),
    )


def _finding(flow: FlowView, name: Name, cut: Cut, seen: PartitionPoll, *, went_on: int) -> MirrorFinding:
    """Return what was skipped of a log with which the mirror continued at `went_on` at most."""
    topic, partition = name
    offsets, grew = cut.next_offset - cut.lowest, seen.target_end - cut.target_end
    records = max(1, flow.record_bounds(topic, partition, offsets).least)
    uncertainty = (
        "" if cut.is_decided else " Markers of transactions, or a filter, may have left such a gap too."
    )
    return MirrorFinding(
        code=Cause.UNEXPLAINED,
        topic=topic,
        partition=partition,
        at_ms=seen.at_ms,
        records=records,
        records_most=max(went_on, cut.next_offset) - cut.start,
        first_offset=cut.lowest,
        last_offset=cut.next_offset - 1,
        proved=cut.is_decided,
        sentence=(
            f"At least {count_text(records, 'record')} of {topic}-{partition} ({cut.lowest} to"
            f" {cut.next_offset - 1}) {'was' if records == 1 else 'were'} not replicated: the log on"
            f" {flow.order.flow.source} lost its end, as after an unclean leader election. It ended at"
            f" {cut.lowest} (seen at {instant_text(cut.lowest_ms)}) when the mirror was at "
            f"{cut.next_offset}, and"
            f" the mirror continued there once the log had grown past that. The target grew by {grew:,} while"
            f" its offset went from {cut.next_offset} to {seen.low}.{uncertainty}"
        ),
    )
