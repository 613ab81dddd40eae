"""Documents about a flow: a summary with its worst partitions, and one for each partition. Pure."""

from __future__ import annotations

from collections import defaultdict
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.groups.rules.words import STATUS_OF, Reason
from lagmon.logs.time_lag import LagKind, written
from lagmon.mirrors.answers.events import events_of
from lagmon.mirrors.answers.findings import listed
from lagmon.mirrors.detectors.retention.overtaken import NO_OFFSET
from lagmon.mirrors.detectors.unreplicated import unread as mirror_unread
from lagmon.mirrors.headroom.partition import headroom_of
from lagmon.mirrors.verdict import row_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lagmon.logs.heads import Heads
    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.verdict import MirrorVerdict
    from lagmon.mirrors.view import FlowView

WORST = 10
LISTED = 100  # groups, findings, missing topics of each cause, re-created or overtaken ones


def flow_document(
    flow: FlowView, snapshot: FlowSnapshot, verdict: MirrorVerdict, *, since_ms: int
) -> dict[str, Any]:
    """Return the summary of a flow."""
    partitions = snapshot.partitions
    overtaken = [one for one in snapshot.overtaken if one.records]
    events = events_of(snapshot.repeats, source=flow.order.flow.source, target=flow.order.flow.target)
    return {
        "flow": flow.order.name,
        "source_cluster": flow.order.flow.source,
        "target_cluster": flow.order.flow.target,
        "offsets": {"kafka_cluster": flow.order.offsets_cluster, "topic": flow.order.offsets_topic},
        "lag_from": flow.order.lag_from,
        "groups": list(flow.groups[:LISTED]),
        "status": verdict.status.name,
        "verdict": str(verdict.verdict),
        "cause": None if verdict.cause is None else str(verdict.cause),
        "sentence": verdict.sentence,
        "standstill": None
        if verdict.standstill is None
        else {"cause": str(verdict.standstill[0]), "sentence": verdict.standstill[1]},
        "since_ms": since_ms,
        "read_to_ms": _known(snapshot.read_to_ms),
        "cadence_s": partitions.cadence_ms / 1000,
        "partitions": int(np.count_nonzero(partitions.used)),
        "lag_records": _known(verdict.lag),
        "lag_s": _seconds(verdict.lag_s),
        "lag_estimated": bool(partitions.used[_estimated(flow, partitions)].any()),
        "lag_s_kind": _largest_kind(flow, partitions, verdict.unknown).name.lower(),
        "unknown_partitions": verdict.unknown,
        "tail_records": int(partitions.tail[partitions.used].sum()),
        "unread": mirror_unread.sentence(flow, partitions, refused_only=True),
        "overtaken": [
            {
                "topic": one.topic,
                "partition": one.partition,
                "records": one.records,
                "records_most": one.most,
                "next_offset": one.next_offset,
                "written_offset": None if one.written == NO_OFFSET else one.mirrored_to,
                "start_offset": one.start,
                "first_at_ms": one.first_at_ms,
                "at_ms": one.at_ms,
            }
            for one in overtaken[-LISTED:]
        ],
        "overtaken_total": len(overtaken),
        "missing": [
            {"code": one.code, "topic": one.topic, "sentence": one.sentence, "since_ms": one.since_ms}
            for one in _oldest(snapshot.missing)
        ],
        "missing_total": len(snapshot.missing),
        "findings": [one.document() for one in listed(snapshot.findings, most=LISTED)],
        "findings_total": len(snapshot.findings),
        "events": [one.document() for one in events],
        # Whether these findings are final: no further partition can turn out to have lost records.
        "findings_settled": not (snapshot.uncounted or snapshot.before_deleted or snapshot.undecided),
        "recreated": [
            {"topic": one.topic, "side": one.side, "at_ms": one.at_ms, "before": one.before, "now": one.after}
            for one in flow.topics.recreations
        ],
        "worst": [row_document(flow, snapshot, int(slot)) for slot in verdict.worst[:WORST].tolist()],
    }


def _oldest(missing: Iterable[Missing]) -> list[Missing]:
    """Return the oldest of each cause, at most `LISTED`: a verdict's evidence is taken from these."""
    by_cause: defaultdict[str, list[Missing]] = defaultdict(list)
    for one in missing:
        by_cause[one.code].append(one)
    found = [one for some in by_cause.values() for one in nsmallest(LISTED, some, key=_age)]
    return sorted(found, key=_age)


def _age(one: Missing) -> tuple[int, str, str]:
    return one.since_ms, one.topic, one.code


def row_document(flow: FlowView, snapshot: FlowSnapshot, slot: int) -> dict[str, Any]:
    """Return one partition with an offset, as it was judged: a newer offset may be known by now."""
    partitions, windows = snapshot.partitions, flow.windows
    topic, partition = windows.name(slot)
    source, place = flow.source.heads, int(partitions.places[slot])
    target_place = int(partitions.target_places[slot])
    rings, filled = windows.rings, int(windows.rings.filled[slot])
    next_offset = int(partitions.known_to[slot] - partitions.tail[slot])
    columns = slice(rings.length - filled, rings.length)
    start, next_record = int(source.start[place]), partitions.next_record[slot : slot + 1]
    produced_ms, produced = written(source, np.array([place], np.int32), next_record)
    headroom = headroom_of(flow, snapshot.partitions, slot, int(produced_ms[0]), LagKind(int(produced[0])))
    lost = snapshot.uncounted.get((topic, partition))
    return {
        "topic": topic,
        "target_topic": flow.topics.remote.get(topic),
        "partition": partition,
        "status": STATUS_OF[Reason(int(partitions.rows.reason[slot]))].name,
        "reason": Reason(int(partitions.rows.reason[slot])).name.lower(),
        "sentence": row_sentence(flow, snapshot, slot),
        "next_offset": next_offset,
        "next_offset_estimated": (topic, partition) in flow.estimated,
        "committed_at_ms": int(windows.committed_ms[slot]),
        "end_offset": _known(int(source.end[place])),
        "start_offset": _known(start),
        "target_end_offset": _end(flow.target.heads, target_place),
        "lag_records": _known(int(partitions.lag[slot])),
        "lag_s": _seconds(float(partitions.lag_s[slot])),
        "lag_s_kind": _kind(flow, partitions, slot).name.lower(),
        "tail_records": int(partitions.tail[slot]),
        "overtaken_records": 0 if lost is None else lost.records,
        "overtaken_records_most": 0 if lost is None else lost.most,
        "headroom_records": headroom.records if headroom is not None else None,
        "headroom_s": headroom.seconds if headroom is not None else None,
        "headroom_from": str(headroom.how) if headroom is not None else None,
        "headroom_by_polls": headroom is not None and headroom.by_polls,
        "offsets_not_committing": bool(partitions.not_committing[slot]),
        "source_topic_id": flow.topics.ids.get((topic, "source")),
        "target_topic_id": flow.topics.ids.get((topic, "target")),
        "commits": [
            {"offset": offset, "committed_at_ms": at_ms, "lag_records": _known(lag)}
            for offset, at_ms, lag in zip(
                rings.offset[slot, columns].tolist(),
                rings.committed_ms[slot, columns].tolist(),
                rings.lag[slot, columns].tolist(),
                strict=True,
            )
        ],
    }


def _estimated(flow: FlowView, partitions: PartitionsSnapshot) -> list[int]:
    """Return the slots whose newest offset is an estimate."""
    slots = (flow.windows.slot(*name) for name in flow.estimated)
    return [slot for slot in slots if slot is not None and slot < len(partitions.used)]


def _kind(flow: FlowView, partitions: PartitionsSnapshot, slot: int) -> LagKind:
    """Return the kind of a partition's time lag; after an estimated offset it is never exact."""
    kind = LagKind(int(partitions.lag_kind[slot]))
    return LagKind.ESTIMATE if kind is LagKind.EXACT and flow.windows.name(slot) in flow.estimated else kind


def _largest_kind(flow: FlowView, partitions: PartitionsSnapshot, unknown: int) -> LagKind:
    """Return the kind of the flow's largest time lag; a lower bound if any partition has one, or none."""
    used = np.flatnonzero(partitions.used)
    if not len(used):
        return LagKind.NONE
    if (partitions.lag_kind[used] == LagKind.AT_LEAST).any():
        return LagKind.AT_LEAST
    kind = _kind(flow, partitions, int(used[np.argmax(partitions.lag_s[used])]))
    return LagKind.AT_LEAST if kind is LagKind.EXACT and unknown else kind


def _end(heads: Heads, place: int) -> int | None:
    return _known(int(heads.end[place])) if place >= 0 else None


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def _seconds(seconds: float) -> float | None:
    return round(seconds, 3) if seconds >= 0 else None
