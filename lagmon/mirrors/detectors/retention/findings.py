"""Findings about records that the source deleted before they were replicated. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import between_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding
from lagmon.mirrors.detectors.retention.overtaken import NO_OFFSET
from lagmon.mirrors.progress.first_offsets import starts_at_log_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.mirrors.detectors.retention.overtaken import Overtaken
    from lagmon.mirrors.view import FlowView


def findings_of(flow: FlowView, lost: Sequence[Overtaken], now_ms: int) -> list[MirrorFinding]:
    """Return what was lost, for as long as it is shown."""
    return [_finding(flow, one) for one in lost if 0 <= now_ms - one.at_ms <= HELD_MS]


def _finding(flow: FlowView, one: Overtaken) -> MirrorFinding:
    were, target = "it was" if one.most == 1 else "they were", flow.order.flow.target
    reached = "none" if not one.copied_most else between_text(one.copied, one.copied_most)
    next_record = f" (the next record is at {one.mirrored_to + one.gap})" if one.gap else ""
    had = (
        f"the mirror had stored {one.mirrored_to} as its next offset{next_record}, and {reached} of the"
        f" records after it had reached {target}"
    )
    if one.written == NO_OFFSET:
        had = "the mirror had stored no offset of it"
    if not flow.order.progress.commits:
        had = f"its log on {target} ended at {one.mirrored_to}"
    lost = between_text(one.records, one.most, "record")
    log_start = f"its log starts at {one.start}"
    if not starts_at_log_start(flow):
        reset = flow.order.flow.offset_reset
        log_start = (
            f"with auto.offset.reset={reset} the mirror continues at the log end, at {one.start} or later"
        )
    return MirrorFinding(
        code=Cause.OVERTAKEN,
        topic=one.topic,
        partition=one.partition,
        at_ms=one.at_ms,
        records=one.records,
        records_most=one.most,
        first_offset=one.next_offset if one.records else one.start - one.most,
        last_offset=one.start - 1,
        sentence=(
            f"Retention on {flow.order.flow.source} deleted {lost} of {one.topic}-{one.partition} before"
            f" {were} replicated: {log_start} (seen at {instant_text(one.first_at_ms)}), {had}."
        ),
        proved=one.records > 0,
    )
