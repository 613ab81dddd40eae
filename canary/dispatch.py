"""Pass each event to the flows concerned, and act on the output of their trackers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.tracker.counters import Flag
from canary.tracker.events import Carried, Event, Flagged, TrackerOutput
from canary.watch.watch import Instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from canary.flows import WatchedFlow
    from canary.report import Reporter
    from runtime.process.clock import Clock


class Dispatch:
    """Index of running flows by source and by target topic."""

    def __init__(
        self,
        flows: Iterable[WatchedFlow],
        *,
        clock: Clock,
        reporter: Reporter,
        on_carried: Callable[[str, str, int], None],
        on_looped: Callable[[WatchedFlow, Flagged], None] = lambda _watched, _flagged: None,
    ) -> None:
        self.running: dict[str, WatchedFlow] = {}
        self.by_source: dict[str, list[WatchedFlow]] = {}
        self.by_target: dict[tuple[str, str], list[WatchedFlow]] = {}
        self._clock = clock
        self._reporter = reporter
        self._on_carried = on_carried
        self._on_looped = on_looped
        for watched in flows:
            self.add(watched)

    def add(self, watched: WatchedFlow) -> None:
        """Deliver events to this flow from now on."""
        self.running[watched.flow.name] = watched
        self.by_source.setdefault(watched.flow.source, []).append(watched)
        self.by_target.setdefault((watched.flow.target, watched.flow.target_topic), []).append(watched)

    def drop(self, watched: WatchedFlow) -> None:
        """Deliver no more events to this flow."""
        del self.running[watched.flow.name]
        for index, key in (
            (self.by_source, watched.flow.source),
            (self.by_target, (watched.flow.target, watched.flow.target_topic)),
        ):
            index[key].remove(watched)  # type: ignore[index]  # each with its own kind of key
            if not index[key]:  # type: ignore[index]
                del index[key]  # type: ignore[arg-type]

    def now(self) -> Instant:
        """Return the current instant on both clocks."""
        return Instant(self._clock.monotonic_ns(), self._clock.wall_s())

    def deliver_to_source(self, alias: str, event: Event, now: Instant | None = None) -> None:
        """Deliver an event of this source to each of its flows.

        `now` is the instant of a batch of events. It only dates records and measures nothing.
        """
        now = now or self.now()
        for watched in self.by_source.get(alias, ()):
            self.deliver_to_flow(watched, event, now)

    def deliver_to_target(self, alias: str, topic: str, event: Event, now: Instant | None = None) -> None:
        """Deliver an event of this topic to each flow into it; `now` as in `deliver_to_source`."""
        now = now or self.now()
        for watched in self.by_target.get((alias, topic), ()):
            self.deliver_to_flow(watched, event, now)

    def deliver_to_flow(self, watched: WatchedFlow, event: Event, now: Instant | None = None) -> None:
        """Deliver an event to one flow; `now` as in `deliver_to_source`."""
        outputs = watched.watch.handle(event, now or self.now())
        if outputs:
            self._follow(watched, outputs)

    def advance(self, watched: WatchedFlow, now: Instant) -> None:
        """Apply the deadlines of one flow up to now."""
        self._follow(watched, watched.watch.advance(now))

    def _follow(self, watched: WatchedFlow, outputs: list[TrackerOutput]) -> None:
        for output in outputs:
            match output:
                case Carried(topic_id, partition):
                    self._on_carried(watched.flow.name, topic_id, partition)
                case Flagged(flag=Flag.RETURNED):
                    self._reporter.event(
                        "a probe reported as lost arrived after all",
                        flow=watched.flow.name,
                        partition=output.partition,
                        sequence=output.sequence,
                        target_offset=output.target_offset,
                        why=output.sentence,
                    )
                case Flagged(flag=Flag.LOOPED):
                    self._on_looped(watched, output)
                case _:
                    pass
