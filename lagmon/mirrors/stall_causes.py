"""Which partitions of a flow are stalled, and why, if the evidence shows it. Pure.

The causes, in order; the first that explains the stall counts:

1. A task has FAILED, and the stalled partitions have not moved since (task_failed).
2. An operator halted the mirror, before the stall or soon after it (paused).
3. The target lacks a topic or partition of the task (topic_missing, partition_missing).
4. Nothing has moved since the last partition stalled (mirror_down).
5. No task is assigned to the stalled partitions (not_mirrored).
6. A task is UNASSIGNED, for long enough that its offsets would show progress since (task_failed).
7. The tasks assigned to them move with other partitions (filtered if the mirror may skip records, else
   unexplained).
8. Only the last records of idle logs wait, and the mirror may skip records (filtered).
9. Others move (task_stuck).

A mirror may write the offset of a replicated record up to a cadence later. When a log passed an offset is
known only from two polls. So a partition has moved *since* an instant only if one of its offsets was written
more than a cadence and a poll after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text, duration_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.groups.rules.words import Reason
from lagmon.logs.readable import IDLE_POLLS
from lagmon.mirrors import sentences as mirror_sentences
from lagmon.mirrors.partitions.snapshot import POLL_MS, STALE_MS, STOPPED
from lagmon.mirrors.tasks.assigned_tasks import assigned_tasks, may_be_assigned, passed_over, reached
from lagmon.mirrors.tasks.states import FAILED, UNASSIGNED, Start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.tasks.states import Trouble
    from lagmon.mirrors.view import FlowView

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    Slots = NDArray[np.intp]
    Place = tuple[str, int]  # topic and partition

SEEN_LATE_MS = 120_000  # how long a pause may last before a poll of Connect finds it


@dataclass(frozen=True, slots=True)
class _Stall:
    """What is stalled; `since_ms`, `records` (to replicate) and `moved_ms` are by partition, as `slots`."""

    slots: Slots
    topics: frozenset[str]
    since_ms: Longs
    records: Longs
    moved_ms: Longs  # when the newest offset was written
    newest_ms: int  # when the newest offset of the flow was written
    slack_ms: int  # after an instant, until an offset shows what was replicated since

    @property
    def started_ms(self) -> int:
        """Return since when the first of them is stalled."""
        return int(self.since_ms.min())

    @property
    def ended_ms(self) -> int:
        """Return since when the last of those that moved after the first one is stalled."""
        moved_on = self.moved_ms > self.started_ms + self.slack_ms
        return int(self.since_ms[moved_on].max(initial=self.started_ms))

    @property
    def is_all_stalled(self) -> bool:
        """Return whether nothing of the flow has moved since."""
        return self.newest_ms <= self.ended_ms + self.slack_ms


def stalled_slots(flow: FlowView, snapshot: FlowSnapshot, used: Slots) -> Slots:
    """Return the stalled partitions: with records to replicate, and an offset that does not change."""
    stopped = (
        np.isin(snapshot.partitions.rows.reason[used], STOPPED) & ~snapshot.partitions.not_committing[used]
    )
    return used[stopped | np.isin(used, list(snapshot.before_deleted)) | _left(flow, snapshot, used)]


def is_read(snapshot: FlowSnapshot) -> bool:
    """Return whether offsets are read to the present: then a missing one was not written."""
    return snapshot.now_ms - snapshot.read_to_ms <= max(STALE_MS, snapshot.partitions.stopped_after_ms)


def left_by_failed(flow: FlowView, snapshot: FlowSnapshot, used: Slots) -> Slots:
    """Return the partitions that wait for a FAILED task, before they count as stalled.

    These have not moved since the task failed, and have records to replicate. Until the next poll of their
    log, which takes seconds, partitions that were moving when the task failed count as well. If the first
    poll found the task FAILED, the start of the failure is unknown. Then partitions must wait for longer than
    in a mirror that moves. A FAILED connector has no partitions itself, and its tasks run on.
    """
    failed = [one for one in flow.states.in_state(FAILED) if one.task is not None]
    if not failed or not len(used) or not is_read(snapshot):
        return used[:0]
    partitions = snapshot.partitions
    heads, places, slack_ms = flow.source.heads, partitions.places[used], _slack_ms(flow, snapshot)
    moved_ms = flow.windows.moved_ms[used]
    waits = flow.readable_ends[places] > partitions.known_to[used]
    left = np.zeros(len(used), np.bool_)
    starts_ms = [one.at_ms for one in failed if one.start is not Start.BEFORE]
    if starts_ms:
        since_ms = max(starts_ms)
        moving = since_ms - moved_ms <= slack_ms + partitions.cadence_ms
        left = (moved_ms <= since_ms + slack_ms) & (waits | (moving & (heads.sampled_ms[places] <= since_ms)))
    if len(starts_ms) < len(failed):
        left |= waits & (snapshot.now_ms - partitions.behind_since_ms[used] > slack_ms)
    # The offset of a re-created topic belongs to its old log; an unread log may have no record.
    unsure = np.isin(partitions.rows.reason[used], (Reason.RECREATED, Reason.UNREAD))
    found_left: Slots = used[left & ~unsure & ~partitions.not_committing[used]]
    known = assigned_tasks(flow, found_left, slack_ms)
    return found_left[may_be_assigned(flow, found_left, known, {one.task for one in failed})]


def failed_sentence(flow: FlowView, snapshot: FlowSnapshot, left: Slots) -> str:
    """Return which task has failed, and what waits for it as far as polled."""
    waits = flow.readable_ends[snapshot.partitions.places[left]] - snapshot.partitions.known_to[left]
    opening, some = mirror_sentences.failed(flow.states), waits > 0
    if not some.any():
        return opening
    count, records = int(np.count_nonzero(some)), int(waits[some].sum())
    topics = _topics({flow.windows.name(slot)[0] for slot in left[some].tolist()})
    return f"{opening} Lag {count_text(records, 'record')} on {count_text(count, 'partition')} of {topics}."


def why(flow: FlowView, snapshot: FlowSnapshot, used: Slots, stalled: Slots) -> tuple[Cause, str]:
    """Return why these partitions, of all used ones, do not move, and its sentence."""
    stall = _of(flow, snapshot, used, stalled)
    count, records = len(stalled), int(stall.records.sum())
    opening = (
        f"No progress for {duration_text((snapshot.now_ms - stall.started_ms) / 1000)} on"
        f" {count_text(count, 'partition')} of {_topics(stall.topics)} (since "
        f"{instant_text(stall.started_ms)}),"
        f" lag {count_text(records, 'record')}"
    )
    if _failed_explains(flow, stall):
        return Cause.TASK_FAILED, f"{opening}. {mirror_sentences.failed(flow.states)}"
    if halted_before(flow, stall.ended_ms + stall.slack_ms) is not None:
        return Cause.PAUSED, f"{opening}. {flow.states.halted_sentence()}"
    missing = _missing(flow, snapshot, stall)
    for one, explains in missing:
        if explains:
            return Cause(
                one.code
            ), f"{opening}. {one.sentence} Its task waits for that with all its partitions."
    harmless = [f"{one.sentence} The mirror moved since, so that is not why." for one, _ in missing[:1]]
    return _why_running(flow, snapshot, stall, opening, harmless)


def _why_running(
    flow: FlowView, snapshot: FlowSnapshot, stall: _Stall, opening: str, harmless: Sequence[str]
) -> tuple[Cause, str]:
    """Return why they do not move if no failure, pause or missing topic explains it."""
    unassigned = mirror_sentences.without_worker(flow.states)
    if stall.is_all_stalled:
        newest = instant_text(stall.newest_ms)
        sentence = f"{opening}. No other partition moves: the mirror's newest offset is from {newest}."
        if flow.order.flow.handling.drops and _are_tails(flow, snapshot, stall):
            sentence += f" {mirror_sentences.down_or_dropped(flow.order)}"
        return Cause.MIRROR_DOWN, " ".join([sentence, *filter(None, [unassigned]), *harmless])
    sentence = f"{opening}. Other partitions of the flow move."
    known = assigned_tasks(flow, stall.slots, stall.slack_ms)
    if known is not None:
        sentence += f" {_assignment(flow, stall, known)}"
        if not known:
            return Cause.NOT_MIRRORED, sentence
    # A worker writes UNASSIGNED for a moment as it joins again: that is how it comes back.
    stays_ms = snapshot.now_ms - stall.slack_ms
    tasks = {one.task for one in flow.states.in_state(UNASSIGNED) if one.at_ms <= stays_ms}
    if tasks and may_be_assigned(flow, stall.slots, known, tasks).any():
        return Cause.TASK_FAILED, f"{sentence} {unassigned}"
    since_ms, drops = int(stall.since_ms.max()), flow.order.flow.handling.drops
    if known is not None and passed_over(
        flow, snapshot.partitions, stall.slots, since_ms=since_ms, slack_ms=stall.slack_ms, known=known
    ):
        sentence += f" {mirror_sentences.passed_over(flow.order, len({*known.values()}), len(stall.slots))}"
        return Cause.FILTERED if drops else Cause.UNEXPLAINED, sentence
    if drops and _are_tails(flow, snapshot, stall):
        return Cause.FILTERED, f"{sentence} {mirror_sentences.dropped_tails(flow.order)}"
    return Cause.TASK_STUCK, " ".join([sentence, *harmless])


def _assignment(flow: FlowView, stall: _Stall, known: Mapping[Place, int]) -> str:
    connector, count = flow.assignments.connector, len(stall.slots)
    if not known:
        return mirror_sentences.unassigned(flow.order, connector, count, flow.assignments.dealt_ms)
    return mirror_sentences.assigned(connector, sorted({*known.values()}), partitions=len(known), of=count)


def _are_tails(flow: FlowView, snapshot: FlowSnapshot, stall: _Stall) -> bool:
    """Return whether only the last records of idle logs wait: with a hung task others would wait too."""
    idle = flow.source.heads.stood(IDLE_POLLS)[snapshot.partitions.places[stall.slots]]
    return bool(idle.all()) and reached(flow, snapshot.partitions, stall.slots)


def _of(flow: FlowView, snapshot: FlowSnapshot, used: Slots, stalled: Slots) -> _Stall:
    each = np.array([_since_and_records(flow, snapshot, slot) for slot in stalled.tolist()], np.int64)
    return _Stall(
        stalled,
        frozenset(flow.windows.name(slot)[0] for slot in stalled.tolist()),
        each[:, 0],
        each[:, 1],
        flow.windows.moved_ms[stalled],
        int(flow.windows.moved_ms[used].max()),
        _slack_ms(flow, snapshot),
    )


def _slack_ms(flow: FlowView, snapshot: FlowSnapshot) -> int:
    # Progress by target ends needs a poll of both logs, which may be the next but one.
    polls = 1 if flow.order.progress.resumes else 2
    return snapshot.partitions.cadence_ms + polls * POLL_MS


def _left(flow: FlowView, snapshot: FlowSnapshot, used: Slots) -> Flags:
    """Return which partitions have a new log with records that the mirror has had time to read."""
    left: Flags = snapshot.partitions.rows.reason[used] == Reason.RECREATED
    for at in np.flatnonzero(left).tolist():
        since_ms, records = _since_and_records(flow, snapshot, int(used[at]))
        left[at] = records > 0 and snapshot.now_ms - since_ms > snapshot.partitions.stopped_after_ms
    return left


def _since_and_records(flow: FlowView, snapshot: FlowSnapshot, slot: int) -> tuple[int, int]:
    """Return since when a partition is stalled, and its records to replicate: all of a new log."""
    partitions, heads = snapshot.partitions, flow.source.heads
    if partitions.rows.reason[slot] == Reason.DELETED_UNREAD:
        return int(partitions.behind_since_ms[slot]), int(partitions.lag[slot])
    if partitions.rows.reason[slot] != Reason.RECREATED:
        return int(partitions.rows.since_ms[slot]), int(partitions.lag[slot])
    topic, place = flow.windows.name(slot)[0], int(partitions.places[slot])
    recreated_ms = flow.topics.recreated_ms.get((topic, "source"), snapshot.now_ms)
    return recreated_ms, int(heads.end[place]) - max(0, int(heads.start[place]))


# --- explanations


def _failed_explains(flow: FlowView, stall: _Stall) -> bool:
    """Return whether a FAILED task may explain the stall.

    It does not if another task is assigned to the partitions, or if they have moved since. At the REST
    address, a task that was restarted and failed again between two polls seems FAILED all the time. So
    movement proves something only if a record shows since when the task has failed.
    """
    failed = flow.states.in_state(FAILED)
    if not failed:
        return False
    known = assigned_tasks(flow, stall.slots, stall.slack_ms)
    moved_ms = stall.moved_ms[may_be_assigned(flow, stall.slots, known, {one.task for one in failed})]
    written_ms = [one.at_ms for one in failed if one.start is Start.WRITTEN]
    if len(written_ms) < len(failed):
        return bool(len(moved_ms))
    return bool((moved_ms <= max(written_ms) + stall.slack_ms).any())


def halted_before(flow: FlowView, at_ms: int) -> Trouble | None:
    """Return what an operator had halted before an instant, as far as known; None if nothing."""
    one = flow.states.halted()
    if one is None or one.start is Start.BEFORE:
        return one
    return one if one.at_ms <= at_ms + SEEN_LATE_MS else None


def _missing(flow: FlowView, snapshot: FlowSnapshot, stall: _Stall) -> list[tuple[Missing, bool]]:
    """Return what the target lacks of the stalled topics, and whether that explains the stall.

    Explanations come first. A task that meets a missing partition stalls with all its partitions (mm2.md). So
    these must have stalled when there was a record for that partition: the topic's own partitions, or all
    stalled ones if nothing of the flow moves. Partitions that moved after that have another reason.
    """
    missing = [
        one for one in snapshot.missing if one.code != Cause.NOT_MIRRORED and one.topic in stall.topics
    ]
    if not missing:
        return []
    own: dict[str, list[int]] = {}
    for at, slot in enumerate(stall.slots.tolist()):
        own.setdefault(flow.windows.name(slot)[0], []).append(at)
    waiting_ms = {one.topic: one.since_ms for one in snapshot.missing if one.code == Cause.NOT_MIRRORED}
    explanations: list[tuple[Missing, bool]] = []
    for one in missing:
        since_ms = _met_since(flow, stall, one, own[one.topic], waiting_ms.get(one.topic))
        if since_ms is None or _is_made(flow, one, stall.slack_ms):
            continue
        moved_ms = stall.moved_ms if stall.is_all_stalled else stall.moved_ms[own[one.topic]]
        newest_ms = int(moved_ms.max())
        if one.seen_ms > newest_ms + stall.slack_ms:  # else the mirror may have created it since
            explanations.append((one, newest_ms <= since_ms + stall.slack_ms))
    codes = (Cause.TOPIC_MISSING, Cause.PARTITION_MISSING)
    return sorted(
        explanations, key=lambda each: (not each[1], codes.index(Cause(each[0].code)), each[0].since_ms)
    )


def _met_since(
    flow: FlowView, stall: _Stall, one: Missing, own: list[int], waiting_ms: int | None
) -> int | None:
    """Return since when records wait for what is missing, None if none do: then no task meets it.

    `own` are those of the topic that are stalled, `waiting_ms` since when records of it wait without an
    offset.
    """
    there = flow.target.topics.get(flow.topics.remote.get(one.topic, ""), 0)
    since_ms = [int(stall.since_ms[at]) for at in own if flow.windows.name(int(stall.slots[at]))[1] >= there]
    since_ms += [] if waiting_ms is None else [waiting_ms]
    return max(one.since_ms, min(since_ms)) if since_ms else None


def _is_made(flow: FlowView, one: Missing, slack_ms: int) -> bool:
    """Return whether an unlisted target topic exists: a mirror that moves with the topic has created it.

    Topics are listed once a minute only.
    """
    if one.code != Cause.TOPIC_MISSING:
        return False
    known = (flow.windows.slot(one.topic, number) for number in range(flow.source.topics.get(one.topic, 0)))
    slots = [slot for slot in known if slot is not None]
    return bool((flow.windows.moved_ms[slots] > one.since_ms + slack_ms).any())


def _topics(topics: frozenset[str] | set[str]) -> str:
    first = min(topics)
    return first if len(topics) == 1 else f"{len(topics)} topics ({first} among them)"
