"""What the rules of a flow's tracker share: policy, partitions, deadlines, and how the prober is."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.books import Outcome
from canary.events import Carried
from canary.ledger import Ledger
from canary.partition import PartitionState, Probe
from canary.ranges import Absent

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class TrackerPolicy:
    """What a flow's probes are held to; durations in nanoseconds."""

    installation: str
    incarnation: str
    threshold_ns: int
    horizon_ns: int
    warmup_ns: int  # the longest that a flow may take to carry a new topic or partition


class Tracking:
    """The state of one tracker, and the rules that more than one side needs."""

    __slots__ = (
        "_carried",
        "_horizons",
        "_pushed",
        "_thresholds",
        "by_partition",
        "impaired",
        "ledger",
        "policy",
        "restored_ns",
        "states",
    )

    def __init__(self, policy: TrackerPolicy, carried: Iterable[tuple[str, int]]) -> None:
        self.policy = policy
        self.ledger = Ledger()
        self.states: dict[tuple[str, int], PartitionState] = {}
        self.by_partition: dict[int, PartitionState] = {}  # of the present topic id
        self.impaired: str | None = None
        self.restored_ns = -1
        self._carried = set(carried)
        # Thresholds come in the order of scheduling; horizons nearly so, hence the heap.
        self._thresholds: deque[tuple[int, PartitionState, int]] = deque()
        self._horizons: list[tuple[int, int, PartitionState, int]] = []
        self._pushed = 0

    def state_of(self, topic_id: str, partition: int, at_ns: int) -> PartitionState:
        """Return this partition's state, begun at this instant if there was none."""
        key = (topic_id, partition)
        state = self.states.get(key)
        if state is None:
            state = PartitionState(
                topic_id=topic_id,
                partition=partition,
                warmup_until_ns=at_ns + self.policy.warmup_ns,
                carried=key in self._carried,
            )
            self.states[key] = self.by_partition[partition] = state
        return state

    def carry(self, state: PartitionState) -> None:
        """Note that this partition was seen downstream; the first time ends its warm-up."""
        if not state.carried:
            state.carried = True
            self._carried.add((state.topic_id, state.partition))
            self.ledger.tell(Carried(state.topic_id, state.partition))

    def await_threshold(self, state: PartitionState, probe: Probe) -> None:
        """Have `pass_deadlines` look at this probe when its threshold passes."""
        self._thresholds.append((probe.scheduled_ns + self.policy.threshold_ns, state, probe.sequence))

    def await_horizon(self, state: PartitionState, probe: Probe) -> None:
        """Have `pass_deadlines` look at this probe when its horizon passes."""
        self._pushed += 1
        due_ns = probe.scheduled_ns + self.policy.horizon_ns
        heapq.heappush(self._horizons, (due_ns, self._pushed, state, probe.sequence))

    def pass_deadlines(self, now_ns: int) -> None:
        """Apply every threshold and horizon up to now."""
        while self._thresholds and self._thresholds[0][0] <= now_ns:
            _, state, sequence = self._thresholds.popleft()
            probe = state.in_flight.get(sequence)
            if probe is not None:
                probe.due = True
                self.settle_if_due(probe)
                self.await_horizon(state, probe)
        while self._horizons and self._horizons[0][0] <= now_ns:
            _, _, state, sequence = heapq.heappop(self._horizons)
            probe = state.in_flight.get(sequence)
            if probe is not None:
                self.pass_horizon(state, probe, now_ns)
            state.unlocated.pop(sequence, None)

    def pass_horizon(self, state: PartitionState, probe: Probe, now_ns: int) -> None:
        """End a probe that is still in flight at its horizon."""
        if probe.warm:
            del state.in_flight[probe.sequence]
            state.absent.add(Absent(probe.sequence, probe.sequence, Outcome.WARMUP))
        elif self.impaired_since(probe):
            sentence = "the prober was impaired while it was in flight"
            self.ledger.conclude(state, probe, Outcome.UNKNOWN, now_ns, sentence)
        elif not probe.on_source:
            sentence = "no acknowledgement came, and the source did not show it"
            self.ledger.conclude(state, probe, Outcome.PRODUCE_UNKNOWN, now_ns, sentence)
        else:
            sentence = f"it is on the source at offset {probe.offset}; nothing newer has arrived either"
            self.ledger.conclude(state, probe, Outcome.OVERDUE, now_ns, sentence)

    def settle_if_due(self, probe: Probe) -> None:
        """Settle a probe that is known to be on the source and whose threshold has passed."""
        if probe.due and probe.on_source and not probe.warm and not self.impaired_since(probe):
            self.ledger.settle(probe)

    def impaired_since(self, probe: Probe) -> bool:
        """Tell whether the prober was impaired at any time since this probe was due."""
        return self.impaired is not None or self.restored_ns > probe.scheduled_ns
