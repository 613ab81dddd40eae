"""State that the rules of a tracker share: policy, partitions, deadlines, impairments."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.tracker.counters import Outcome
from canary.tracker.events import Carried
from canary.tracker.impairment import Impairments
from canary.tracker.ledger import Ledger, absent
from canary.tracker.minutes import Minutes
from canary.tracker.partition import PartitionState, Probe, Run
from canary.tracker.proof import lose_if_proved

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.tracker.adoption import Adoption
    from canary.tracker.events import Coverage

MAX_GONE = 100  # remembered ids of deleted topics, to ignore late events


@dataclass(frozen=True, slots=True)
class TrackerPolicy:
    """Limits of a flow's probes; durations in nanoseconds."""

    installation: str
    incarnation: str
    threshold_ns: int
    horizon_ns: int
    warmup_ns: int  # longest time until a flow replicates a new topic or partition
    first_minute: int = 0  # since the epoch; earlier rows belong to others


class Tracking:
    """State of one tracker, and rules that both sides need."""

    __slots__ = (
        "_carried",
        "_horizons",
        "_pushed",
        "_thresholds",
        "adoptions",
        "by_partition",
        "compared",
        "gone",
        "impairments",
        "ledger",
        "minutes",
        "now_ns",
        "policy",
        "read_before",
        "removed_coverages",
        "source_topic",
        "source_unseen",
        "source_unseen_until_ns",
        "states",
    )

    def __init__(
        self, policy: TrackerPolicy, carried: Iterable[tuple[str, int]], source_topic: str | None
    ) -> None:
        self.policy = policy
        self.source_topic = source_topic
        self.ledger = Ledger()
        self.states: dict[tuple[str, int], PartitionState] = {}
        self.by_partition: dict[int, PartitionState] = {}  # of the present topic id
        self.minutes: dict[str, Minutes] = {
            policy.incarnation: Minutes(policy.first_minute)
        }  # by incarnation
        self.adoptions: dict[str, Adoption] = {}  # by incarnation
        self.removed_coverages: list[Coverage] = []  # of partitions removed since the last snapshot
        self.impairments = Impairments(threshold_ns=policy.threshold_ns, horizon_ns=policy.horizon_ns)
        self.source_unseen = ""  # why the source is not read now
        self.source_unseen_until_ns = -1
        self.now_ns = 0  # the latest instant of any event
        self.compared: dict[tuple[int, int], int] = {}  # by partition and offset: when the record was read
        self.read_before: dict[int, int] = {}  # by target partition: end of what was ever read
        self.gone: dict[str, None] = {}
        self._carried = set(carried)
        # Thresholds are in the order of scheduling; horizons nearly so, hence the heap.
        self._thresholds: deque[tuple[int, PartitionState, int]] = deque()
        self._horizons: list[tuple[int, int, PartitionState, Run, int]] = []
        self._pushed = 0

    def state_of(self, topic_id: str, partition: int, at_ns: int) -> PartitionState | None:
        """Return this partition's state, created if missing; None if its topic was deleted."""
        key = (topic_id, partition)
        state = self.states.get(key)
        if state is None and topic_id not in self.gone:
            own = self.policy.incarnation
            state = PartitionState(
                topic_id=topic_id,
                partition=partition,
                warmup_until_ns=at_ns + self.policy.warmup_ns,
                carried=key in self._carried,
                own=Run(own, self.minutes[own]),
            )
            self.states[key] = self.by_partition[partition] = state
        return state

    def make_current(self, state: PartitionState) -> None:
        """Make this state the current one of its partition: its topic is the current topic.

        States of several topics may be taken over in any order; only one topic exists.
        """
        self.by_partition[state.partition] = state

    def remove(self, topic_id: str, new_topic_id: str) -> list[PartitionState]:
        """Remove and return the states of a deleted topic; create no new ones for it.

        The states of `new_topic_id` become the current ones.
        """
        self.gone[topic_id] = None
        if len(self.gone) > MAX_GONE:
            del self.gone[next(iter(self.gone))]
        dropped = [self.states.pop(key) for key in [key for key in self.states if key[0] == topic_id]]
        for state in dropped:
            if self.by_partition.get(state.partition) is state:
                del self.by_partition[state.partition]
        for (present_id, _), state in self.states.items():
            if present_id == new_topic_id:
                self.make_current(state)
        return dropped

    def carry(self, state: PartitionState) -> None:
        """Note that this partition is replicated; the first time ends its warm-up."""
        if not state.carried:
            state.carried = True
            self._carried.add((state.topic_id, state.partition))
            self.ledger.emit(Carried(state.topic_id, state.partition))

    def is_ours(self, incarnation: str) -> bool:
        """Return whether this process judges this incarnation's probes: its own, or taken over."""
        return incarnation in self.minutes

    def await_threshold(self, state: PartitionState, probe: Probe) -> None:
        """Have `pass_deadlines` check this probe when its threshold passes."""
        self._thresholds.append((probe.scheduled_ns + self.policy.threshold_ns, state, probe.sequence))

    def await_horizon(self, state: PartitionState, run: Run, probe: Probe) -> None:
        """Have `pass_deadlines` check this probe when its horizon passes."""
        self._pushed += 1
        due_ns = probe.scheduled_ns + self.policy.horizon_ns
        heapq.heappush(self._horizons, (due_ns, self._pushed, state, run, probe.sequence))

    def pass_deadlines(self, now_ns: int) -> None:
        """Apply every threshold and horizon up to now.

        A record that was read before a horizon and is still being compared delays the horizon: it may be
        the awaited one.
        """
        self.now_ns = max(self.now_ns, now_ns)
        while self._thresholds and self._thresholds[0][0] <= now_ns:
            _, state, sequence = self._thresholds.popleft()
            probe = state.own.in_flight.get(sequence)
            if probe is not None:
                probe.due = True
                self.settle_if_due(probe)
                self.await_horizon(state, state.own, probe)
        until_ns = now_ns
        if self.compared and self._horizons and self._horizons[0][0] <= now_ns:
            until_ns = min(now_ns, min(self.compared.values()) - 1)
        while self._horizons and self._horizons[0][0] <= until_ns:
            _, _, state, run, sequence = heapq.heappop(self._horizons)
            probe = run.in_flight.get(sequence)
            if probe is not None:
                self.pass_horizon(state, run, probe, now_ns)
            run.arrived.pop(sequence, None)

    def pass_horizon(self, state: PartitionState, run: Run, probe: Probe, now_ns: int) -> None:
        """End a probe that is still in flight at its horizon."""
        ledger = self.ledger
        if probe.warm:
            run.take_out(probe)
            run.absent.add(absent(probe, Outcome.WARMUP))
            return
        if self.impairments.spoil_horizon(probe.scheduled_ns):
            sentence = "the canary could not measure while it was in flight"
            ledger.conclude(state, run, probe, Outcome.UNKNOWN, now_ns, sentence)
            return
        if run.adopted:
            lose_if_proved(state, run, probe, now_ns, ledger)
            if probe.sequence not in run.in_flight:
                return
        if probe.copy_seen:
            ledger.settle(probe)
            sentence = f"only a {probe.copy_seen} record of it arrived before its horizon"
            ledger.conclude(state, run, probe, Outcome.LOST, now_ns, sentence)
        elif probe.stale:
            sentence = "the source log lost its end, perhaps with this record"
            ledger.conclude(state, run, probe, Outcome.UNKNOWN, now_ns, sentence)
        elif probe.offset is None and (why := self._why_unseen(probe)):
            sentence = f"not acknowledged, and unknown whether it is on the source: {why}"
            ledger.conclude(state, run, probe, Outcome.UNKNOWN, now_ns, sentence)
        elif probe.offset is None:
            sentence = "not acknowledged, and not found on the source"
            ledger.conclude(state, run, probe, Outcome.PRODUCE_UNKNOWN, now_ns, sentence)
        else:
            ledger.settle(probe)
            after = (
                "newer ones arrived, but the target was not read to its end since"
                if state.read.newest_on_target > probe.offset
                else "nothing newer arrived either"
            )
            sentence = f"written to source at offset {probe.offset}; {after}"
            ledger.conclude(state, run, probe, Outcome.OVERDUE, now_ns, sentence)

    def settle_if_due(self, probe: Probe) -> None:
        """Settle a probe that is known to be on the source and whose threshold has passed."""
        known = probe.due and probe.on_source and not probe.warm
        if known and not self.impairments.spoil_goodness(probe.scheduled_ns):
            self.ledger.settle(probe)

    def _why_unseen(self, probe: Probe) -> str:
        """Return why the source's log could not be read for a probe, or an empty text."""
        if self.source_unseen_until_ns > probe.scheduled_ns:
            return self.source_unseen or "the canary did not read the source for a while"
        return self.source_unseen

    def note_source_seen(self, why_not: str, at_ns: int) -> None:
        """Note that the source is read, or why it is not."""
        if self.source_unseen and not why_not:
            self.source_unseen_until_ns = at_ns
        self.source_unseen = why_not
