"""The verdict on a flow from its offsets, its cause where the evidence gives one, and the sentence. Pure.

Words map as in interface.md: OK healthy, WARN late, STOP, STALL and ERR stalled, REWIND repeating, no data
unknown. Rules in order, the first that holds: records deleted unread (overtaken); a partition stands
(topic_missing, partition_missing, mirror_down where none moves, else task_stuck); a topic is not mirrored
though it was waited for (not_mirrored); it went back (duplicating); a topic was made anew; it falls behind;
offsets are not committed; nothing known; healthy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import duration_text
from fleet.vocabulary import Cause, Verdict
from lagmon.mirror_sight import STOPPED
from lagmon.rules_sentences import instant_text
from lagmon.words import RANK, Reason, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirror_flow import FlowSight, MirrorFlow
    from lagmon.mirror_topics import Recreation

_RANKS = np.array([RANK[status] for status in Status], np.int8)
REMADE_FOR_MS = 900_000  # how long a topic that was made anew is told


@dataclass(frozen=True, slots=True)
class MirrorVerdict:
    """A flow's verdict; `worst` are its slots that are not well, the worst first."""

    status: Status
    verdict: Verdict
    cause: Cause | None
    sentence: str
    lag: int  # records over the partitions of which it is known, -1 where it is of none
    lag_s: float  # the largest, -1 where none is known
    unknown: int  # partitions of which lag is not known
    worst: NDArray[np.intp]


def judge_flow(flow: MirrorFlow, found: FlowSight) -> MirrorVerdict:
    """Judge a flow by what is seen of its partitions and topics."""
    sight = found.sight
    used = np.flatnonzero(sight.used)
    status = sight.rows.status
    order = np.lexsort((used, -sight.lag[used], -_RANKS[status[used]]))
    known = sight.lag[used] >= 0
    status_told, verdict, cause, sentence = _decide(flow, found, used, used[order])
    return MirrorVerdict(
        status_told,
        verdict,
        cause,
        sentence,
        int(sight.lag[used][known].sum()) if known.any() else -1,
        float(sight.lag_s[used].max(initial=-1.0)),
        int(np.count_nonzero(~known)),
        used[order][_RANKS[status[used[order]]] > RANK[Status.OK]],
    )


_Told = tuple[Status, Verdict, Cause | None, str]


def _decide(
    flow: MirrorFlow, found: FlowSight, used: NDArray[np.intp], worst_first: NDArray[np.intp]
) -> _Told:
    sight = found.sight
    if found.read_to_ms < 0:
        return Status.UNKNOWN, Verdict.UNKNOWN, None, flow.problem or _reading(flow)
    reason = sight.rows.reason
    gone = used[(reason[used] == Reason.DELETED_UNREAD) & (sight.deleted[used] > 0)]
    if len(gone):
        return Status.ERR, Verdict.STALLED, Cause.OVERTAKEN, _overtaken_sentence(flow, found, gone)
    stands = used[np.isin(reason[used], STOPPED) & ~sight.not_committing[used]]
    if len(stands):
        worst = Status.STALL if (reason[stands] == Reason.STALLED).all() else Status.STOP
        return worst, Verdict.STALLED, *_standing(flow, found, used, stands)
    for one in found.missing:
        if one.due and one.code in ("not_mirrored", "topic_missing"):
            return Status.STOP, Verdict.STALLED, Cause(one.code), one.sentence
    return _decide_milder(flow, found, used, worst_first)


def _decide_milder(
    flow: MirrorFlow, found: FlowSight, used: NDArray[np.intp], worst_first: NDArray[np.intp]
) -> _Told:
    sight, reason = found.sight, found.sight.rows.reason
    back = used[reason[used] == Reason.REWOUND]
    behind = used[reason[used] == Reason.GROWING]
    idle = used[sight.not_committing[used]]
    remade = {one.topic: one for one in flow.topics.recreations if found.now_ms - one.at_ms <= REMADE_FOR_MS}
    really_back = [slot for slot in back.tolist() if flow.windows.name(slot)[0] not in remade]
    if really_back:
        return Status.REWIND, Verdict.REPEATING, Cause.DUPLICATING, _row(flow, found, really_back[0])
    if remade:
        told = _remade(flow, list(remade.values())[-1])
        return Status.UNKNOWN, Verdict.UNKNOWN, Cause.TOPIC_RECREATED, told
    if len(behind):
        slot = behind[np.argmax(sight.lag[behind])]
        return Status.WARN, Verdict.LATE, None, _row(flow, found, int(slot))
    if len(idle):
        return Status.UNKNOWN, Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, _uncommitted(flow, idle)
    return _decide_rest(flow, found, used, worst_first)


def _decide_rest(
    flow: MirrorFlow, found: FlowSight, used: NDArray[np.intp], worst_first: NDArray[np.intp]
) -> _Told:
    if not len(used):
        return Status.UNKNOWN, Verdict.UNKNOWN, None, _nothing(flow)
    if found.sight.rows.status[worst_first[0]] == Status.UNKNOWN:
        return Status.UNKNOWN, Verdict.UNKNOWN, None, _row(flow, found, int(worst_first[0]))
    return Status.OK, Verdict.HEALTHY, None, _well(found, used)


def _remade(flow: MirrorFlow, one: Recreation) -> str:
    seen = f"seen at {instant_text(one.at_ms)}"
    if one.side == "source":
        return (
            f"{one.topic}: the topic on {flow.order.flow.source} was made anew, {seen}: what the mirror had "
            "not copied of the old one is lost, and it may pass over the beginning of the new one."
        )
    return (
        f"{one.topic}: its copy on {flow.order.flow.target} was made anew, {seen}: what was mirrored before "
        "is not sent again."
    )


def _standing(
    flow: MirrorFlow, found: FlowSight, used: NDArray[np.intp], stands: NDArray[np.intp]
) -> tuple[Cause, str]:
    sight = found.sight
    since_ms = int(sight.rows.since_ms[stands].min())
    lag, count = int(sight.lag[stands].sum()), len(stands)
    topics = {flow.windows.name(slot)[0] for slot in stands.tolist()}
    said = (
        f"{_partitions(count)} of {_topics(topics)} stood since {instant_text(since_ms)}, "
        f"{duration_text((found.now_ms - since_ms) / 1000)}, with {_records(lag)} to copy"
    )
    newest_ms = int(flow.windows.moved_ms[used].max())
    moved_since = newest_ms > since_ms + sight.cadence_ms
    missing = {one.code: one for one in found.missing if one.topic in topics}
    for code in ("topic_missing", "partition_missing"):
        if code in missing:
            return Cause(code), f"{said}. {missing[code].sentence} The whole task waits for that."
    if not moved_since:
        return (
            Cause.MIRROR_DOWN,
            f"No partition moves: {said}. The mirror's newest offset is of {instant_text(newest_ms)}.",
        )
    return Cause.TASK_STUCK, f"{said}, while other partitions of the flow move."


def _overtaken_sentence(flow: MirrorFlow, found: FlowSight, gone: NDArray[np.intp]) -> str:
    sight = found.sight
    parts = sorted((*flow.windows.name(slot), int(sight.deleted[slot])) for slot in gone.tolist())
    total = sum(count for *_, count in parts)
    shown = ", ".join(f"{count} of {topic}-{partition}" for topic, partition, count in parts[:5])
    more = f" and {len(parts) - 5} more partitions" if len(parts) > 5 else ""
    return (
        f"Retention has overtaken the mirror: {flow.order.flow.source} deleted {_records(total)} before "
        f"they were copied ({shown}{more}), by the offsets that the mirror has written so far."
    )


def _uncommitted(flow: MirrorFlow, slots: NDArray[np.intp]) -> str:
    topic, partition = flow.windows.name(int(slots[0]))
    since_ms = int(flow.windows.committed_ms[slots].min())
    return (
        f"{_partitions(len(slots))}, {topic}-{partition} among them, reach {flow.order.flow.target}, and the "
        f"mirror has written no offset for them since {instant_text(since_ms)}: a restart of the mirror "
        "will copy all that again."
    )


def _row(flow: MirrorFlow, found: FlowSight, slot: int) -> str:
    topic, partition = flow.windows.name(slot)
    return f"{topic}-{partition}: {row_sentence(found, slot)}"


def row_sentence(found: FlowSight, slot: int) -> str:
    """Return why a partition's verdict was given; what reads here is the mirror, not a group."""
    sight = found.sight
    told = sight.rows.sentence(slot).replace("The group's", "The mirror's").replace("The group", "The mirror")
    told = told.replace("the group", "the mirror")
    if sight.tail[slot]:
        told += (
            f" The {_records(int(sight.tail[slot]))} before that are passed when more is written: markers of "
            "transactions, records that a filter leaves out, or such as were not copied."
        )
    if sight.not_committing[slot]:
        told += " The topic's end on the target advances meanwhile."
    return told


def _well(found: FlowSight, used: NDArray[np.intp]) -> str:
    sight = found.sight
    lag = sight.lag[used]
    known = lag[lag >= 0]
    age_s = max(0, found.now_ms - found.read_to_ms) / 1000
    return (
        f"{_partitions(len(used))} move or have nothing to copy: {_records(int(known.sum()))} behind when "
        f"the mirror last wrote its offsets (every {duration_text(sight.cadence_ms / 1000)}, "
        f"read {duration_text(age_s)} ago)."
    )


def _reading(flow: MirrorFlow) -> str:
    order = flow.order
    if not order.offsets_topic:
        return (
            "Nothing tells in which topic the worker of this mirror keeps its offsets (its "
            f"offset.storage.topic): write it under flows.{order.name}.offsets."
        )
    return f"The mirror's offsets, {order.offsets_topic} on {order.offsets_cluster}, are not read yet."


def _nothing(flow: MirrorFlow) -> str:
    order = flow.order
    named = f" of the connector {order.connector}" if order.connector else ""
    return (
        f"{order.offsets_topic} on {order.offsets_cluster} holds no offset{named} for {order.flow.source}: "
        "the mirror has copied nothing yet, or keeps its offsets in another topic."
    )


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def _topics(topics: set[str]) -> str:
    first = min(topics)
    return first if len(topics) == 1 else f"{len(topics)} topics ({first} among them)"
