"""What is watched: flows, the clusters that they touch, a sender for each source. All of it comes and goes.

This is the one place where a flow begins, with what the store knows of it, and where one ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from canary.dispatch import Dispatch
from canary.doubt import Doubts
from canary.flows import watch_flow
from canary.persistence.latches import Latch
from canary.site.probing import Probing
from canary.site.site import Site
from canary.tracker.events import Dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow, WatchedFlow
    from canary.inbox import Inbox
    from canary.persistence.heritage import FlowHeritage, Left
    from canary.report import Memory, Reporter
    from canary.tracker.events import Flagged
    from canary.watch.findings import Findings
    from canary.watch.watch import Instant
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock


class Roster:
    """Keeps `sites` and `probings` by alias and `flows` by name; `drain` takes in what was seen so far.

    `latches` are by source and topic; `on_latched` is told of one that falls here.
    """

    def __init__(
        self,
        config: CanaryConfig,
        *,
        installation: str,
        memory: Memory,
        clock: WaitingClock,
        inbox: Inbox,
        reporter: Reporter,
        drain: Callable[[], None],
        latches: Mapping[tuple[str, str], Latch],
        on_latched: Callable[[Latch], None],
    ) -> None:
        self.config = config
        self.sites: dict[str, Site] = {}
        self.flows: dict[str, WatchedFlow] = {}
        self.probings: dict[str, Probing] = {}
        self.latches = dict(latches)
        self.wanted_since: dict[tuple[str, str], float] = {}  # by cluster and topic, epoch s
        self.dispatch = Dispatch(
            (), clock=clock, reporter=reporter, on_carried=memory.note_carried, on_looped=self._latch
        )
        running = self.dispatch.running.values()  # as they come and go
        self.doubts = Doubts(running, self.sites, clock=clock, tell=self.dispatch.tell, reporter=reporter)
        self.doubts.on_clock_set.append(self._move_instants)
        self._installation = installation
        self._memory = memory
        self._incarnation = memory.incarnation
        self._clock = clock
        self._inbox = inbox
        self._reporter = reporter
        self._drain = drain
        self._on_latched = on_latched
        self._first_minutes: dict[str, int] = {}  # of flows that were watched before: as last given out
        self._found: dict[str, tuple[str, Findings]] = {}  # of flows that were dropped: source, and all found
        self._left: dict[str, Mapping[str, Left]] = {}  # of the same flows: what they had not finished with
        self._sequences: dict[str, dict[tuple[str, int], int]] = {}  # by source; none is given out twice

    # --- flows and clusters come and go

    def add(self, flow: CanaryFlow, heritage: FlowHeritage) -> None:
        """Begin to watch a flow, whose clusters are there, with what the store knows of it."""
        now = self.dispatch.now()
        held = watch_flow(
            flow,
            self.config,
            installation=self._installation,
            incarnation=self._incarnation,
            carried=heritage.carried,
            first_minute=self._first_minute(flow.name, now),
        )
        self.flows[flow.name] = held
        if flow.off:
            return
        self.dispatch.add(held)
        if flow.name in self._left:
            heritage = replace(heritage, left=self._left.pop(flow.name))
        _, found = self._found.pop(flow.name, ("", None))
        held.watch.inherit(heritage, now, found)
        self._memory.watch(held)
        self._want()
        if flow.source not in self.probings:
            self.probings[flow.source] = self._probing(flow.source)

    def _first_minute(self, name: str, now: Instant) -> int:
        """Return from which minute on rows are a new watch's: those of the former are not written over."""
        if name not in self._first_minutes:
            return 0
        first = max(int(now.at // 60), self._first_minutes[name]) + 1
        self._first_minutes[name] = first
        return first

    def drop(self, name: str) -> WatchedFlow:
        """Watch a flow no more and return it: what was in flight has an outcome, its books are final."""
        held = self.flows[name]
        if not held.flow.off:
            self._drain()
            self.dispatch.advance(held, self.dispatch.now())
            self.dispatch.tell(held, Dropped())
            self.dispatch.drop(held)
            self.doubts.forget_flow(held.flow)
            self._memory.forget(held)
            self._left[name] = held.watch.unfinished()
            self._found[name] = (held.flow.source, held.watch.found)
            self._first_minutes.setdefault(name, 0)
        del self.flows[name]
        self._want()
        return held

    def take_idle(self) -> list[Probing]:
        """Give away the senders of sources that no flow leaves any more; the caller ends them."""
        idle = [alias for alias in self.probings if alias not in self.dispatch.by_source]
        for alias in idle:
            self.doubts.note_report(alias)  # what was never reported says nothing about the next producer
        return [self.probings.pop(alias) for alias in idle]

    def use(self, config: CanaryConfig) -> None:
        """Make what begins from now on by this section; its topic and mode are those that they were."""
        self.config = config

    def add_site(self, alias: str, settings: ClientSettings) -> None:
        """Know a cluster; the caller keeps its site running. One of this alias is replaced and gone on with.

        That one has ended and reads no more: its counters and positions are taken over.
        """
        before = self.sites.get(alias)
        site = Site(
            alias,
            settings,
            mode=self.config.mode,
            nonce=self._incarnation.encode(),
            clock=self._clock,
            inbox=self._inbox,
            reporter=self._reporter,
        )
        if before is not None:
            site.take_over(before)
        site.control.notice = self.doubts.notice
        self.sites[alias] = site
        if alias in self.probings:
            self.probings[alias] = self._probing(alias)

    def drop_site(self, alias: str) -> Site:
        """Know a cluster no more that no flow touches, and return its site, which the caller ends."""
        return self.sites.pop(alias)

    async def leave(self, alias: str) -> None:
        """Send to this cluster and read it no more, until it is added again; its site has ended."""
        if alias in self.probings:
            await self.probings[alias].stop(f"the client settings of {alias} are changing")
        await self.sites[alias].reader.stop()
        self._drain()

    def _probing(self, alias: str) -> Probing:
        probing = Probing(
            self.sites[alias],
            self.config,
            installation=self._installation,
            incarnation=self._incarnation,
            clock=self._clock,
            inbox=self._inbox,
            sequences=self._sequences.setdefault(alias, {}),
        )
        probing.latched = (alias, self.config.topic) in self.latches
        return probing

    def _want(self) -> None:
        """Have each site look for the topics of the flows that run, and for no others."""
        flows = [held.flow for held in self.dispatch.running.values()]
        for alias, site in self.sites.items():
            arriving = {flow.target_topic for flow in flows if flow.target == alias}
            wanted = arriving | {flow.source_topic for flow in flows if flow.source == alias}
            for topic in site.wanted - wanted:
                site.forget(topic)
                self.doubts.forget(alias, topic)
            for topic in wanted - site.wanted:
                self.wanted_since[alias, topic] = self._clock.wall_s()
            site.wanted, site.reader.eager = wanted, arriving

    def _move_instants(self, by_s: float) -> None:
        """Move what is kept with a wall clock that was set by this many seconds; latches are the store's."""
        for place in self.wanted_since:
            self.wanted_since[place] += by_s
        for _, found in self._found.values():
            found.move_instants(by_s)

    # --- latches

    def hold_latches(self, latches: Mapping[tuple[str, str], Latch]) -> None:
        """Send nothing where a latch is, and go on where there is none any more."""
        lifted = self.latches.keys() - latches.keys()
        self.latches = dict(latches)
        for alias, probing in self.probings.items():
            probing.latched = (alias, self.config.topic) in self.latches
        for alias, topic in lifted:
            for held in self.dispatch.by_source.get(alias, ()):
                held.watch.found.forget_loops()
                self._memory.forget_loops(held.flow.name)
            for name, (source, found) in self._found.items():
                if source == alias:
                    found.forget_loops()
                    self._memory.forget_loops(name)
            self._reporter.event("the canary sends again after a loop", kafka_cluster=alias, topic=topic)

    def _latch(self, held: WatchedFlow, looped: Flagged) -> None:
        """Send no more to a source to which a probe came back: it would go round for ever."""
        alias, topic = held.flow.source, held.flow.source_topic
        if (alias, topic) in self.latches:
            return
        sentence = (
            f"probe {looped.sequence} of partition {looped.partition} came back to its source;"
            f" {looped.sentence}"
        )
        latch = Latch(alias, topic, looped.topic_id, self._clock.wall_s(), sentence)
        self.hold_latches({**self.latches, latch.key: latch})
        self._reporter.event("the canary stopped: a loop", kafka_cluster=alias, topic=topic, why=sentence)
        self._on_latched(latch)
