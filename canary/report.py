"""Problems and error counts that the canary reports to the service."""

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
    """Receives problems; it decides how often to log one."""

    def problem(self, where: str, sentence: str) -> None:
        """Report a problem that the user must fix."""
        ...

    def settled(self, where: str) -> None:
        """Report that the problem is over."""
        ...

    def event(self, sentence: str, **facts: object) -> None:
        """Report an event that needs no action."""
        ...


class Memory(Protocol):
    """State that outlives the process: the counters of watched flows."""

    @property
    def incarnation(self) -> str:
        """Return the name of this process, as its probes carry it."""
        ...

    def watch(self, watched: WatchedFlow) -> None:
        """Save this flow's counters from now on."""
        ...

    def forget(self, watched: WatchedFlow) -> None:
        """Save the last state of a flow that is removed."""
        ...

    def forget_loops(self, flow: str) -> None:
        """Delete the loops found so far for this flow, so that none returns after a restart."""
        ...

    def note_carried(self, flow: str, topic_id: str, partition: int) -> None:
        """Save that a flow replicates this partition."""
        ...


@dataclass(slots=True)
class CollectorCounts:
    """Last success (epoch s) and error count of each collector of one cluster."""

    last_success_at: dict[str, float] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(series.CANARY_COLLECTORS, 0)))
    foreign_records: int = 0  # records in the canary's topics that are not probes

    def move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set by this many seconds."""
        for collector in self.last_success_at:
            self.last_success_at[collector] += by_s

    def samples(self, alias: str) -> Iterator[Sample]:
        """Yield the counters of this cluster as series."""
        for collector, at in self.last_success_at.items():
            yield series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS, (alias, collector), at
        for collector, count in self.errors.items():
            yield series.COLLECTOR_ERRORS_TOTAL, (alias, collector), count
        yield series.CANARY_FOREIGN_RECORDS_TOTAL, (alias,), self.foreign_records
