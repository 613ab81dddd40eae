"""To the trackers: each event goes to the flows that it is about, and what they tell goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.tracker.books import Flag
from canary.tracker.events import Carried, Event, Flagged, TrackerOutput
from canary.watch.watch import Instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from canary.flows import WatchedFlow
    from canary.report import Reporter
    from runtime.process.clock import Clock


class Dispatch:
    """Knows which flows leave a cluster and which arrive in a topic of one; `flows` are those that run."""

    def __init__(
        self,
        flows: Iterable[WatchedFlow],
        *,
        clock: Clock,
        reporter: Reporter,
        on_carried: Callable[[str, str, int], None],
        on_looped: Callable[[WatchedFlow, Flagged], None] = lambda _held, _flagged: None,
    ) -> None:
        self.running: dict[str, WatchedFlow] = {}
        self.by_source: dict[str, list[WatchedFlow]] = {}
        self.by_target: dict[tuple[str, str], list[WatchedFlow]] = {}
        self._clock = clock
        self._reporter = reporter
        self._on_carried = on_carried
        self._on_looped = on_looped
        for held in flows:
            self.add(held)

    def add(self, held: WatchedFlow) -> None:
        """Hand this flow its events from now on."""
        self.running[held.flow.name] = held
        self.by_source.setdefault(held.flow.source, []).append(held)
        self.by_target.setdefault((held.flow.target, held.flow.target_topic), []).append(held)

    def drop(self, held: WatchedFlow) -> None:
        """Hand this flow nothing more."""
        del self.running[held.flow.name]
        for index, key in (
            (self.by_source, held.flow.source),
            (self.by_target, (held.flow.target, held.flow.target_topic)),
        ):
            index[key].remove(held)  # type: ignore[index]  # each with its own kind of key
            if not index[key]:  # type: ignore[index]
                del index[key]  # type: ignore[arg-type]

    def now(self) -> Instant:
        """Return this moment on both clocks."""
        return Instant(self._clock.monotonic_ns(), self._clock.wall_s())

    def tell_source(self, alias: str, event: Event, now: Instant | None = None) -> None:
        """Hand an event of this source to every flow that leaves it.

        `now` may be given by who tells many at once: it dates what is kept, and measures nothing.
        """
        now = now or self.now()
        for held in self.by_source.get(alias, ()):
            self.tell(held, event, now)

    def tell_target(self, alias: str, topic: str, event: Event, now: Instant | None = None) -> None:
        """Hand an event of this topic to every flow that arrives in it; `now` as in `tell_source`."""
        now = now or self.now()
        for held in self.by_target.get((alias, topic), ()):
            self.tell(held, event, now)

    def tell(self, held: WatchedFlow, event: Event, now: Instant | None = None) -> None:
        """Hand an event to one flow; `now` as in `tell_source`."""
        outputs = held.watch.handle(event, now or self.now())
        if outputs:
            self._follow(held, outputs)

    def advance(self, held: WatchedFlow, now: Instant) -> None:
        """Let the deadlines of one flow pass."""
        self._follow(held, held.watch.advance(now))

    def _follow(self, held: WatchedFlow, outputs: list[TrackerOutput]) -> None:
        for output in outputs:
            match output:
                case Carried(topic_id, partition):
                    self._on_carried(held.flow.name, topic_id, partition)
                case Flagged(flag=Flag.RETURNED):
                    self._reporter.event(
                        "a probe reported as lost arrived after all",
                        flow=held.flow.name,
                        partition=output.partition,
                        sequence=output.sequence,
                        target_offset=output.target_offset,
                        why=output.sentence,
                    )
                case Flagged(flag=Flag.LOOPED):
                    self._on_looped(held, output)
                case _:
                    pass
