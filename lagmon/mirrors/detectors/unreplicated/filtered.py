"""Topics of which the mirror skips every record: a filter or a transform drops them all. Pure.

Such a topic has a target that stays empty. The source has records, and the mirror writes no offset for any of
them while offsets of other topics move. A task that hangs, has failed or is halted looks the same, and so
does one that has just continued. So nothing is reported while any partition of the flow is stalled (unless
its task moves with others), while any task is reported as not running, or before the mirror has had its time
since. Time in which Mirrorwatch did not run does not count.

A task whose other partitions are idle does not show that it hangs. A mirror that may not read a topic, or
does not reach a leader, moves with all others. So this is proved only for a mirror that is known to apply a
transform which may drop records (fleet's `Handling`). For any other it is a suspicion, and the topic waits. A
mirror that skips aborted transactions does the same with a topic of only such records; so does one that
starts at the log end with earlier records. That is a suspicion as well, but nothing waits for it.

Whoever created the target topic, the mirror may still have to find the source topic, as long as it takes to
refresh its topics: an operator may create a target topic before the mirror does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import MirrorFinding
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.partitions.snapshot import POLL_MS, STOPPED
from lagmon.mirrors.progress.first_offsets import starts_at_log_start
from lagmon.mirrors.tasks.assigned_tasks import assigned_tasks, passed_over
from lagmon.mirrors.tasks.states import NOT_RUNNING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView


_MAY_NOT_READ = (
    "No transform that drops records is known: check the mirror's READ permission on the topic on the "
    "source, and its log."
)


@dataclass(frozen=True, slots=True)
class KeptFiltered:
    """What is kept over a restart."""

    since_ms: dict[str, int] = field(default_factory=dict)
    reported: frozenset[str] = frozenset()


@dataclass(slots=True)
class Filtered(Detector):
    """Follows since when topics of the flow have looked filtered."""

    _since_ms: dict[str, int] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)  # those that have looked filtered for long enough
    _blind: bool = True  # whether no topic can be decided now
    _held_ms: int | None = (
        None  # the last time at which this began, something was stalled, or a task did not run
    )

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Find the topics that have looked filtered for long enough."""
        now_ms, self._blind = partitions.now_ms, True
        if flow.read_to_ms < 0 or not flow.target.topics or not flow.topics.remote:
            return
        empty = _empty_targets(flow)
        self._since_ms = {topic: self._since_ms.get(topic, now_ms) for topic in empty}
        slots = np.flatnonzero(partitions.used)
        if self._held_ms is None:
            self._held_ms = now_ms
        if flow.states.in_state(*NOT_RUNNING) or _may_hang(flow, partitions, slots):
            self._reported, self._held_ms = set(), now_ms
            return
        moved_ms, within_ms = int(flow.windows.moved_ms[slots].max(initial=-1)), partitions.stopped_after_ms
        earliest_ms = self._held_ms + within_ms  # after this time the mirror has had its time
        due_ms = {
            topic: max(earliest_ms, since_ms + within_ms + flow.refresh_ms)
            for topic, since_ms in self._since_ms.items()
        }
        due = {topic for topic, at_ms in due_ms.items() if now_ms - within_ms > at_ms and moved_ms > at_ms}
        self._reported, self._blind = (self._reported & due_ms.keys()) | due, False

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:
        """Return every skipped record, by partition."""
        if self._blind:
            return []
        return [one for topic in sorted(self._reported) for one in self._of_topic(flow, topic, now_ms)]

    def explained(self, flow: FlowView) -> set[str]:
        """Return the topics that need not wait for the mirror to read them."""
        return set(self._reported) if flow.order.flow.handling.drops or _by_design(flow) else set()

    def kept(self) -> KeptFiltered:
        """Return what is kept over a restart."""
        return KeptFiltered(dict(self._since_ms), frozenset(self._reported))

    def restore(self, kept: KeptFiltered) -> None:
        """Restore what an earlier process knew."""
        self._since_ms |= kept.since_ms
        self._reported |= kept.reported

    def _of_topic(self, flow: FlowView, topic: str, now_ms: int) -> list[MirrorFinding]:
        remote, target, without = flow.topics.remote[topic], flow.order.flow.target, flow.waiting_without()
        since = instant_text(self._since_ms[topic])
        drops, by_design = flow.order.flow.handling.drops, _by_design(flow)
        may = f"It applies {', '.join(drops)}, which may drop records." if drops else _MAY_NOT_READ
        found = []
        for partition in range(len(flow.source.places.listed_of(topic))):
            start, records = without.get((topic, partition), (-1, 0))
            if records > 0:
                end = start + records
                least = max(1, flow.record_bounds(topic, partition, records).least)
                sentence = (  # more may have arrived since the last poll
                    f"At least {count_text(least, 'record')} of {topic}-{partition} on "
                    f"{flow.order.flow.source} ({start} to {end - 1}) did not reach {target}: {remote} never "
                    f"had a record, while the mirror replicates other topics (since {since} at the latest). "
                    f"{may}{by_design}"
                )
                found.append(
                    MirrorFinding(
                        code=Cause.FILTERED,
                        topic=topic,
                        partition=partition,
                        at_ms=now_ms,
                        records=least,
                        first_offset=start,
                        last_offset=end - 1,
                        proved=bool(drops) and not by_design,
                        sentence=sentence,
                    )
                )
        return found


def _may_hang(flow: FlowView, partitions: PartitionsSnapshot, slots: NDArray[np.intp]) -> bool:
    """Return whether a partition is stalled for another reason than dropped records."""
    stalled = slots[np.isin(partitions.rows.reason[slots], STOPPED)]
    if not len(stalled):
        return False
    slack_ms, since_ms = partitions.cadence_ms + POLL_MS, int(partitions.rows.since_ms[stalled].max())
    known = assigned_tasks(flow, stalled, slack_ms)
    return known is None or not passed_over(
        flow, partitions, stalled, since_ms=since_ms, slack_ms=slack_ms, known=known
    )


def _by_design(flow: FlowView) -> str:
    """Return why the mirror may skip a whole topic by design, "" if it does not."""
    order = flow.order.flow
    by_design = ""
    if order.isolation_level == "read_committed":
        by_design += " They may all be of aborted transactions, which it does not replicate."
    if not starts_at_log_start(flow):
        reset = order.offset_reset
        by_design += f" With auto.offset.reset={reset} it skips what was written before it started to read."
    return by_design


def _empty_targets(flow: FlowView) -> list[str]:
    """Return the topics with records, no offset of the mirror, and a target that never had a record."""
    source, target = flow.source, flow.target
    waiting = {topic for topic, _, records in flow.partitions_without() if records > 0}
    found = []
    for topic, remote in flow.topics.remote.items():
        if topic not in waiting or remote not in target.topics or flow.windows.slot(topic, 0) is not None:
            continue
        places = source.places.listed_of(topic)
        if any(flow.windows.slot(topic, number) is not None for number in range(len(places))):
            continue
        target_ends = target.heads.end[target.places.listed_of(remote)]
        if len(target_ends) and (target_ends == 0).all():
            found.append(topic)
    return found
