"""The partitions of one flow, a page at a time, the worst first. Pure.

Partitions outside the page cost only their place in the order: a flow may have 50,000 partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lagmon.groups.rules.words import RANK, STATUS_OF, Reason, Status
from lagmon.logs.polled_ends import polled_ends
from lagmon.mirrors.answers.rows import row_document
from lagmon.mirrors.progress.first_offsets import starts_at_log_start

if TYPE_CHECKING:
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.view import FlowView

_THERE = "there are records"
_NOT_KNOWN = "where the source's log ends is not known yet"

_Without = tuple[str, int, int]  # topic, partition, records (-1: not known)


def partition_page(
    flow: FlowView, snapshot: FlowSnapshot, *, first: int = 0, most: int | None = None, search: str = ""
) -> tuple[list[dict[str, Any]], int]:
    """Return rows from the `first` on, at most `most`, and how many there are.

    Only topics whose names contain `search` count, in any case. The worst come first, then those with the
    largest lag. Partitions without an offset of the mirror are included. Each row has the polls of the log
    end on the source, for a chart.
    """
    partitions, wanted = snapshot.partitions, search.casefold()
    ordered: list[tuple[int, int, str, int, int | _Without]] = [
        (-RANK[_status(partitions.rows.reason[slot])], -int(partitions.lag[slot]), topic, partition, slot)
        for topic, partition, slot in flow.windows.slots()
        if slot < len(partitions.used) and partitions.used[slot]
    ]
    ordered += [
        (-RANK[_status_without(one)], -one[2], one[0], one[1], one) for one in flow.partitions_without()
    ]
    if wanted:
        ordered = [one for one in ordered if wanted in one[2].casefold()]
    ordered.sort(key=lambda one: one[:4])
    end = None if most is None else first + most
    return [_row(flow, snapshot, what) for *_, what in ordered[first:end]], len(ordered)


def _row(flow: FlowView, snapshot: FlowSnapshot, what: int | _Without) -> dict[str, Any]:
    if isinstance(what, int):
        heads, place = flow.source.heads, int(snapshot.partitions.places[what])
        return row_document(flow, snapshot, what) | {"ends": polled_ends(heads, place)}
    topic, partition, records = what
    return {
        "topic": topic,
        "target_topic": flow.topics.remote.get(topic),
        "partition": partition,
        "status": _status_without(what).name,
        "reason": "no_offset",
        "sentence": (
            _nothing(flow)
            if not records
            else f"The mirror has written no offset for it, and {_THERE if records > 0 else _NOT_KNOWN}."
        ),
        "next_offset": None,
        "lag_records": None,
        "lag_s": None,
        "lag_s_kind": "none",
        "commits": [],
        "ends": polled_ends(flow.source.heads, flow.source.places.of(topic)[partition]),
    }


def _nothing(flow: FlowView) -> str:
    if starts_at_log_start(flow):
        return "There has been nothing to copy."
    reset = flow.order.flow.offset_reset
    return f"Nothing has come since the mirror was to read it; it begins late (auto.offset.reset={reset})."


def _status(reason: int) -> Status:
    return STATUS_OF[Reason(int(reason))]


def _status_without(one: _Without) -> Status:
    return Status.UNKNOWN if one[2] else Status.OK
