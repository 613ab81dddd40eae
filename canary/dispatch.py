"""To the trackers: each event goes to the flows that it is about, and what they tell goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.books import Mark
from canary.events import Carried, Event, Marked, TrackerOutput
from canary.watch import Instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from canary.flows import WatchedFlow
    from canary.report import Reporter
    from runtime.clock import Clock


class Dispatch:
    """Knows which flows leave a cluster and which arrive in a topic of one; `flows` are those that run."""

    def __init__(
        self,
        flows: Iterable[WatchedFlow],
        *,
        clock: Clock,
        reporter: Reporter,
        on_carried: Callable[[str, str, int], None],
    ) -> None:
        self.by_source: dict[str, list[WatchedFlow]] = {}
        self.by_target: dict[tuple[str, str], list[WatchedFlow]] = {}
        self._clock = clock
        self._reporter = reporter
        self._on_carried = on_carried
        for held in flows:
            self.by_source.setdefault(held.flow.source, []).append(held)
            self.by_target.setdefault((held.flow.target, held.flow.target_topic), []).append(held)

    def now(self) -> Instant:
        """Return this moment on both clocks."""
        return Instant(self._clock.monotonic_ns(), self._clock.wall_s())

    def tell_source(self, alias: str, event: Event) -> None:
        """Hand an event of this source to every flow that leaves it."""
        for held in self.by_source[alias]:
            self.tell(held, event)

    def tell_target(self, alias: str, topic: str, event: Event) -> None:
        """Hand an event of this topic to every flow that arrives in it."""
        for held in self.by_target.get((alias, topic), ()):
            self.tell(held, event)

    def tell(self, held: WatchedFlow, event: Event) -> None:
        """Hand an event to one flow."""
        self._follow(held, held.watch.handle(event, self.now()))

    def advance(self, held: WatchedFlow, now: Instant) -> None:
        """Let the deadlines of one flow pass."""
        self._follow(held, held.watch.advance(now))

    def _follow(self, held: WatchedFlow, outputs: list[TrackerOutput]) -> None:
        for output in outputs:
            match output:
                case Carried(topic_id, partition):
                    self._on_carried(held.flow.name, topic_id, partition)
                case Marked(mark=Mark.RETURNED):
                    self._reporter.event(
                        "a probe came back after it had been given up",
                        flow=held.flow.name,
                        partition=output.partition,
                        sequence=output.sequence,
                        target_offset=output.target_offset,
                        why=output.sentence,
                    )
                case _:
                    pass
