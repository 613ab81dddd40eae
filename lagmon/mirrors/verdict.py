"""The verdict on a flow from its offsets, its cause if the evidence gives one, and the sentence. Pure.

Statuses map as in interface.md: OK healthy, WARN late, STOP, STALL and ERR stalled, REWIND repeating, no data
unknown. The verdict is about now. What was lost or altered is reported as findings, and the sentence ends
with the worst.

The rules, in order; the first that holds decides:

1. A stalled mirror has records that were deleted unread (overtaken).
2. A partition is stalled (why: stall_causes.py).
3. A task has failed, and records wait that it may be assigned to.
4. A topic is not replicated after the time that the mirror needs to find it.
5. A hanging transaction keeps records from being read (unreplicated/blocked.py).
6. The mirror went back (duplicating).
7. A topic was re-created, and it is unknown where the mirror continued.
8. The mirror falls behind.
9. Offsets are not committed.
10. A log was emptied before a mirror that may be down (retention/emptied.py).
11. Nothing is known (source_down or target_down if a cluster does not answer).
12. Healthy.

If no topic of a required cluster is known, nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import between_text, count_text
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.cluster.readiness import away_sentence
from lagmon.groups.rules.sentences import instant_text
from lagmon.groups.rules.words import RANK, Reason, Status
from lagmon.mirrors import sentences as mirror_sentences
from lagmon.mirrors import stall_causes
from lagmon.mirrors.answers import facts as mirror_facts
from lagmon.mirrors.detectors.retention import emptied as mirror_emptied
from lagmon.mirrors.detectors.rewinds.rewinds import is_same_topic
from lagmon.mirrors.detectors.rewinds.steps import Rewound
from lagmon.mirrors.detectors.unreplicated import blocked as mirror_blocked
from lagmon.mirrors.detectors.unreplicated import unread as mirror_unread
from lagmon.mirrors.partitions.snapshot import POLL_MS
from lagmon.mirrors.tasks.states import FAILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.mirrors.detectors.rewinds.steps import Step
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.view import FlowView

_RANKS = np.array([RANK[status] for status in Status], np.int8)


@dataclass(frozen=True, slots=True)
class MirrorVerdict:
    """A flow's verdict; `worst` are its slots that are not OK, the worst first."""

    status: Status
    verdict: Verdict
    cause: Cause | None
    sentence: str
    lag: int  # records of the partitions with a known lag; -1: none
    lag_s: float  # the largest; -1: none known
    unknown: int  # partitions with unknown lag, also those without an offset that may have records
    worst: NDArray[np.intp]
    # Why an overtaken mirror does not move, else None: `cause` is how it lost records.
    standstill: tuple[Cause, str] | None = None


def judge_flow(flow: MirrorFlow, snapshot: FlowSnapshot) -> MirrorVerdict:
    """Judge a flow by its partitions and topics."""
    partitions = snapshot.partitions
    used = np.flatnonzero(partitions.used)
    status = partitions.rows.status
    order = np.lexsort((used, -partitions.lag[used], -_RANKS[status[used]]))
    known = (partitions.lag[used] >= 0) & (partitions.rows.reason[used] != Reason.UNREAD)
    flow_status, verdict, cause, sentence = _with_unreachable(
        flow, _decide(flow, snapshot, used, used[order])
    )
    standstill = None
    if cause is Cause.OVERTAKEN:
        stalled = np.union1d(
            _overtaken(flow, snapshot, used), stall_causes.stalled_slots(flow, snapshot, used)
        )
        now_by, why = stall_causes.why(flow, snapshot, used, stalled)
        standstill = now_by, _with_facts(flow, snapshot, f"{why} {sentence}")
    return MirrorVerdict(
        flow_status,
        verdict,
        cause,
        _with_facts(flow, snapshot, sentence),
        int(partitions.lag[used][known].sum()) if known.any() else -1,
        float(partitions.lag_s[used].max(initial=-1.0)),
        int(np.count_nonzero(~known)) + snapshot.without_offset,
        used[order][_RANKS[status[used[order]]] > RANK[Status.OK]],
        standstill,
    )


def _with_facts(flow: MirrorFlow, snapshot: FlowSnapshot, sentence: str) -> str:
    other_facts = mirror_facts.other_facts(flow, snapshot, sentence=sentence)
    return f"{sentence} {other_facts}" if other_facts else sentence


_Decision = tuple[Status, Verdict, Cause | None, str]


def _decide(
    flow: MirrorFlow, snapshot: FlowSnapshot, used: NDArray[np.intp], worst_first: NDArray[np.intp]
) -> _Decision:
    partitions = snapshot.partitions
    not_known = _not_known(flow, snapshot)
    if not_known:
        return Status.UNKNOWN, Verdict.UNKNOWN, None, not_known
    reason = partitions.rows.reason
    deleted = _deleted_unread(snapshot, used)
    lost = [flow.windows.name(slot) for slot in _overtaken(flow, snapshot, used).tolist()]
    if lost:
        sentence = mirror_sentences.overtaken(flow.order, [snapshot.uncounted[name] for name in sorted(lost)])
        return Status.ERR, Verdict.STALLED, Cause.OVERTAKEN, sentence
    stalled = stall_causes.stalled_slots(flow, snapshot, used)
    if len(stalled):
        worst = Status.STALL if (reason[stalled] == Reason.STALLED).all() else Status.STOP
        cause, sentence = stall_causes.why(flow, snapshot, used, stalled)
        if len(deleted):
            sentence += " " + mirror_sentences.perhaps_overtaken(
                flow.order, int(partitions.deleted[deleted].sum()), len(deleted)
            )
        return worst, Verdict.STALLED, cause, sentence
    return _decide_waiting(flow, snapshot, used) or _decide_milder(flow, snapshot, used, worst_first)


def _decide_waiting(flow: MirrorFlow, snapshot: FlowSnapshot, used: NDArray[np.intp]) -> _Decision | None:
    """Return the decision for records that wait though no partition is known to be stalled."""
    left = stall_causes.left_by_failed(flow, snapshot, used)
    if len(left):
        sentence = stall_causes.failed_sentence(flow, snapshot, left)
        return Status.STOP, Verdict.STALLED, Cause.TASK_FAILED, sentence
    waiting = _waiting(snapshot)
    if waiting:
        return Status.STOP, Verdict.STALLED, *_why_waiting(flow, waiting)
    if snapshot.blocked:
        sentence = mirror_blocked.sentence(flow, snapshot.blocked)
        return Status.STALL, Verdict.STALLED, Cause.TRANSACTION_HANGS, sentence
    return None


def _deleted_unread(snapshot: FlowSnapshot, used: NDArray[np.intp]) -> NDArray[np.intp]:
    partitions = snapshot.partitions
    deleted: NDArray[np.bool_] = (partitions.rows.reason[used] == Reason.DELETED_UNREAD) & (
        partitions.deleted[used] > 0
    )
    slots: NDArray[np.intp] = used[deleted]
    return slots


def _overtaken(flow: MirrorFlow, snapshot: FlowSnapshot, used: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the partitions that are stalled at records that are known to be lost."""
    slots = _deleted_unread(snapshot, used).tolist()
    return np.array([slot for slot in slots if flow.windows.name(slot) in snapshot.uncounted], np.intp)


def _with_unreachable(flow: MirrorFlow, decision: _Decision) -> _Decision:
    """Name the clusters that do not answer or refuse access, if that is why nothing is known."""
    status, verdict, cause, sentence = decision
    if verdict is not Verdict.UNKNOWN or cause is not None:
        return decision
    for cluster, alias, down in (
        (flow.source, flow.order.flow.source, Cause.SOURCE_DOWN),
        (flow.target, flow.order.flow.target, Cause.TARGET_DOWN),
    ):
        fault = cluster.failing
        if fault is not None:
            sentence = f"{sentence.rstrip()} {away_sentence(alias, fault)}"
            cause = cause or (None if fault.refused else down)
    return status, verdict, cause, sentence


def _not_known(flow: MirrorFlow, snapshot: FlowSnapshot) -> str:
    """Return why nothing is known: unread offsets, or unlisted logs; else ""."""
    if snapshot.read_to_ms < 0:
        return flow.problem or mirror_sentences.reading(flow)
    order = flow.order.flow
    needed = [(order.source, flow.source)]
    if not flow.order.progress.commits:
        needed.append((order.target, flow.target))
    return next((mirror_sentences.unlisted(alias, one) for alias, one in needed if not one.topics), "")


def _waiting(snapshot: FlowSnapshot) -> list[Missing]:
    """Return what keeps records from being replicated for longer than the mirror needs to find topics.

    One for each topic, the longest first. A topic or partition that does not exist yet and has no record
    waits for nothing.
    """
    if not stall_causes.is_read(snapshot):
        return []
    records = {one.topic: one for one in snapshot.missing if one.code == "not_mirrored" and one.due}
    reasons = {one.topic: one for one in snapshot.missing if one.code != "not_mirrored" and one.due}
    due = [reasons.get(topic, one) for topic, one in records.items()]
    return sorted(due, key=lambda one: (one.since_ms, one.topic))


def _why_waiting(flow: MirrorFlow, waiting: Sequence[Missing]) -> tuple[Cause, str]:
    halted = stall_causes.halted_before(flow, waiting[0].since_ms)
    sentence = mirror_sentences.waiting(waiting)
    failed = flow.states.in_state(FAILED)
    # The connector creates what is missing, not a task.
    if any(one.task is None or waiting[0].code == Cause.NOT_MIRRORED for one in failed):
        return Cause.TASK_FAILED, f"{sentence} {mirror_sentences.failed(flow.states)}"
    if halted is not None and halted.task is None:  # it does not refresh its topics either
        return Cause.PAUSED, f"{sentence} {flow.states.halted_sentence()}"
    return Cause(waiting[0].code), sentence


def _decide_milder(
    flow: MirrorFlow, snapshot: FlowSnapshot, used: NDArray[np.intp], worst_first: NDArray[np.intp]
) -> _Decision:
    partitions, reason = snapshot.partitions, snapshot.partitions.rows.reason
    back = used[reason[used] == Reason.REWOUND]
    behind = used[reason[used] == Reason.GROWING]
    idle = used[partitions.not_committing[used] | _passed_deleted(snapshot, used)]
    if not flow.order.progress.commits:
        idle = idle[:0]  # there are no offsets to write
        same = [slot for slot in back.tolist() if is_same_topic(flow, slot, snapshot.now_ms)]
        again, open_steps = [slot for slot in same if slot not in snapshot.fell_with_source], []
    else:
        means = {slot: snapshot.rewinds.get(flow.windows.name(slot)) for slot in back.tolist()}
        again = [slot for slot, step in means.items() if step is not None and _repeats(flow, slot, step)]
        open_steps = [slot for slot, step in means.items() if step is not None and step.means is Rewound.OPEN]
    if again:
        return Status.REWIND, Verdict.REPEATING, Cause.DUPLICATING, _row(flow, snapshot, again[0])
    if snapshot.undecided:
        sentence = mirror_facts.may_lose(flow, snapshot)
        return Status.UNKNOWN, Verdict.UNKNOWN, Cause.TOPIC_RECREATED, sentence
    if open_steps:
        return Status.UNKNOWN, Verdict.UNKNOWN, None, _row(flow, snapshot, open_steps[0])
    if len(behind):
        slot = behind[np.argmax(partitions.lag[behind])]
        return Status.WARN, Verdict.LATE, None, _row(flow, snapshot, int(slot))
    if len(idle):
        return Status.UNKNOWN, Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, _uncommitted(flow, idle)
    return _decide_rest(flow, snapshot, used, worst_first)


def _repeats(flow: MirrorFlow, slot: int, step: Step) -> bool:
    """Return whether a step back repeats records, and these have not all arrived yet."""
    if step.means is not Rewound.REPEATED:
        return False
    return step.cut < 0 or int(flow.windows.next_offset[slot]) < step.cut


def _decide_rest(
    flow: MirrorFlow, snapshot: FlowSnapshot, used: NDArray[np.intp], worst_first: NDArray[np.intp]
) -> _Decision:
    if not len(used):
        return Status.UNKNOWN, Verdict.UNKNOWN, None, mirror_sentences.nothing(flow)
    emptied = used[np.isin(used, snapshot.emptied) & (snapshot.partitions.lag[used] == 0)]
    if len(emptied):
        return (
            Status.UNKNOWN,
            Verdict.UNKNOWN,
            None,
            mirror_emptied.sentence(flow, snapshot.partitions, emptied),
        )
    unknown = worst_first[snapshot.partitions.rows.status[worst_first] == Status.UNKNOWN]
    if len(unknown):  # the first may be one that lost nothing
        others = unknown[snapshot.partitions.rows.reason[unknown] != Reason.UNREAD]
        if not len(others):
            return Status.UNKNOWN, Verdict.UNKNOWN, None, mirror_unread.sentence(flow, snapshot.partitions)
        sentence = _row(flow, snapshot, int(others[0]))
        if flow.problem and snapshot.partitions.rows.reason[others[0]] == Reason.COMMITS_STALE:
            sentence += f" {flow.problem}"
        return Status.UNKNOWN, Verdict.UNKNOWN, None, sentence
    return Status.OK, Verdict.HEALTHY, None, mirror_sentences.well(flow, snapshot, used)


def _passed_deleted(snapshot: FlowSnapshot, used: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which partitions have an offset before the log start, of a mirror that replicated on."""
    partitions = snapshot.partitions
    known_ms = min(snapshot.now_ms, snapshot.read_to_ms)
    stalled = known_ms - partitions.behind_since_ms[used] > 2 * partitions.cadence_ms + POLL_MS
    passed: NDArray[np.bool_] = stalled & (partitions.rows.reason[used] == Reason.DELETED_UNREAD)
    return passed & ~np.isin(used, snapshot.emptied)


def _uncommitted(flow: MirrorFlow, slots: NDArray[np.intp]) -> str:
    topic, partition = flow.windows.name(int(slots[0]))
    since_ms = int(flow.windows.committed_ms[slots].max())  # since then for none of them
    what = f"{topic}-{partition}"
    if len(slots) > 1:
        what = f"{count_text(len(slots), 'partition')} ({what} among them)"
    return (
        f"No offset stored for {what} since {instant_text(since_ms)}, though records reach "
        f"{flow.order.flow.target}: a restart of the mirror will replicate them again."
    )


def _row(flow: MirrorFlow, snapshot: FlowSnapshot, slot: int) -> str:
    topic, partition = flow.windows.name(slot)
    return f"{topic}-{partition}: {row_sentence(flow, snapshot, slot)}"


def row_sentence(flow: FlowView, snapshot: FlowSnapshot, slot: int) -> str:
    """Return the reason of a partition's verdict."""
    partitions = snapshot.partitions
    sentence = mirror_sentences.row(flow, snapshot, slot)
    if partitions.rows.reason[slot] == Reason.UNREAD and mirror_unread.is_refused(flow, slot):
        sentence += " " + mirror_unread.missing_permission(
            {flow.windows.name(slot)[0]}, flow.order.flow.source
        )
    tail = int(partitions.tail[slot])
    if tail:
        holds = "holds" if tail == 1 else "hold"
        sentence += (
            f" The last {count_text(tail, 'offset')} before that {holds} no record: transaction markers,"
            " aborted or compacted records."
        )
    lost = snapshot.uncounted.get(flow.windows.name(slot))
    if lost is not None and lost.copied_most and partitions.rows.reason[slot] == Reason.DELETED_UNREAD:
        is_known = "is" if lost.most == 1 else "are"
        sentence += (
            f" {between_text(lost.copied, lost.copied_most).capitalize()} of them had reached"
            f" {flow.order.flow.target}: {between_text(lost.records, lost.most)} {is_known} known to be lost."
        )
    step = snapshot.rewinds.get(flow.windows.name(slot))
    if step is not None and partitions.rows.reason[slot] == Reason.REWOUND:
        sentence += mirror_sentences.rewound(step)
    if slot in snapshot.fell_with_source:
        sentence += mirror_sentences.LOST_WITH_SOURCE
    if partitions.not_committing[slot]:
        sentence += " The log end on the target still advances."
    return sentence
