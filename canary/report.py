"""What the canary's loops tell the service besides verdicts: problems for a person, and counts of errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fleet.series import catalogue as series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from canary.flows import WatchedFlow
    from fleet.series.kinds import Sample


class Reporter(Protocol):
    """Where problems go; told once and again at a decent interval, which is the receiver's business."""

    def problem(self, where: str, sentence: str) -> None:
        """Tell of something that needs a person."""
        ...

    def settled(self, where: str) -> None:
        """Tell that it is over."""
        ...

    def event(self, sentence: str, **facts: object) -> None:
        """Tell of something that happened and needs nobody."""
        ...


class Memory(Protocol):
    """What outlives the process: it is told what is watched, and keeps its books."""

    @property
    def incarnation(self) -> str:
        """Return the name of this process's probes."""
        ...

    def watch(self, held: WatchedFlow) -> None:
        """Keep this flow's books from now on."""
        ...

    def forget(self, held: WatchedFlow) -> None:
        """Note the last of a flow that is watched no more."""
        ...

    def forget_loops(self, flow: str) -> None:
        """Have no loop of this flow come back at a start or a reload, of those that were found until now."""
        ...

    def note_carried(self, flow: str, topic_id: str, partition: int) -> None:
        """Have it kept that a flow carries this partition."""
        ...


@dataclass(slots=True)
class CollectorCounts:
    """By collector of one cluster: when it last succeeded (epoch s), and how often it failed."""

    last_success_at: dict[str, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(series.CANARY_COLLECTORS, 0)))
    strangers: int = 0  # records in the canary's topics that are no probes

    def move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds."""
        for collector in self.last_success_at:
            self.last_success_at[collector] += by_s

    def samples(self, alias: str) -> Iterator[Sample]:
        """Yield the counters of this cluster as series."""
        for collector, at in self.last_success_at.items():
            yield series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS, (alias, collector), at
        for collector, count in self.errors.items():
            yield series.COLLECTOR_ERRORS_TOTAL, (alias, collector), count
        yield series.CANARY_STRANGERS_TOTAL, (alias,), self.strangers
