"""Flows, clusters and senders that are watched; all of them may be added and removed.

A flow starts and ends only here; it starts with the state that the store has of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from canary.dispatch import Dispatch
from canary.flows import watch_flow
from canary.persistence.latches import Latch
from canary.self_check import SelfCheck
from canary.site.probing import Probing
from canary.site.site import Site
from canary.tracker.events import Dropped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow, WatchedFlow
    from canary.inbox import Inbox
    from canary.persistence.inherited import InheritedState, Unfinished
    from canary.report import Memory, Reporter
    from canary.tracker.events import Flagged
    from canary.watch.findings import Findings
    from canary.watch.watch import Instant
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock


class Roster:
    """Keeps `sites` and `probings` by alias and `flows` by name; `drain` processes the inbox.

    `latches` are by source and topic; `on_latched` receives each new one.
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
        running = self.dispatch.running.values()  # a live view
        self.self_check = SelfCheck(
            running, self.sites, clock=clock, deliver=self.dispatch.deliver_to_flow, reporter=reporter
        )
        self.self_check.on_clock_set.append(self._move_instants)
        self._installation = installation
        self._memory = memory
        self._incarnation = memory.incarnation
        self._clock = clock
        self._inbox = inbox
        self._reporter = reporter
        self._drain = drain
        self._on_latched = on_latched
        self._first_minutes: dict[str, int] = {}  # of removed flows: as last returned
        self._found: dict[str, tuple[str, Findings]] = {}  # of removed flows: source, and all findings
        self._left: dict[str, Mapping[str, Unfinished]] = {}  # of removed flows: what they had not finished
        self._sequences: dict[str, dict[tuple[str, int], int]] = {}  # by source; each is used once

    # --- add and remove flows and clusters

    def add(self, flow: CanaryFlow, inherited: InheritedState) -> None:
        """Watch a flow, starting with the state in the store; its clusters must be known."""
        now = self.dispatch.now()
        watched = watch_flow(
            flow,
            self.config,
            installation=self._installation,
            incarnation=self._incarnation,
            carried=inherited.carried,
            first_minute=self._first_minute(flow.name, now),
        )
        self.flows[flow.name] = watched
        if flow.off:
            return
        self.dispatch.add(watched)
        if flow.name in self._left:
            inherited = replace(inherited, left=self._left.pop(flow.name))
        _, found = self._found.pop(flow.name, ("", None))
        watched.watch.inherit(inherited, now, found)
        self._memory.watch(watched)
        self._want()
        if flow.source not in self.probings:
            self.probings[flow.source] = self._probing(flow.source)

    def _first_minute(self, name: str, now: Instant) -> int:
        """Return the first minute of a new watch, so that it does not overwrite rows of the former one."""
        if name not in self._first_minutes:
            return 0
        first = max(int(now.at // 60), self._first_minutes[name]) + 1
        self._first_minutes[name] = first
        return first

    def drop(self, name: str) -> WatchedFlow:
        """Stop watching a flow and return it; its probes have outcomes and its counters are final."""
        watched = self.flows[name]
        if not watched.flow.off:
            self._drain()
            self.dispatch.advance(watched, self.dispatch.now())
            self.dispatch.deliver_to_flow(watched, Dropped())
            self.dispatch.drop(watched)
            self.self_check.forget_flow(watched.flow)
            self._memory.forget(watched)
            self._left[name] = watched.watch.unfinished()
            self._found[name] = (watched.flow.source, watched.watch.found)
            self._first_minutes.setdefault(name, 0)
        del self.flows[name]
        self._want()
        return watched

    def take_idle(self) -> list[Probing]:
        """Remove and return the senders of sources without flows; the caller stops them."""
        idle = [alias for alias in self.probings if alias not in self.dispatch.by_source]
        for alias in idle:
            self.self_check.note_report(alias)  # a missing report says nothing about the next producer
        return [self.probings.pop(alias) for alias in idle]

    def use(self, config: CanaryConfig) -> None:
        """Use this configuration for whatever starts from now on; topic and mode never change."""
        self.config = config

    def add_site(self, alias: str, settings: ClientSettings) -> None:
        """Add a cluster; the caller runs its site. A site of the same alias is replaced.

        The old site has ended; the new one takes over its counters and positions.
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
        site.control.notice = self.self_check.notice
        self.sites[alias] = site
        if alias in self.probings:
            self.probings[alias] = self._probing(alias)

    def drop_site(self, alias: str) -> Site:
        """Remove a cluster without flows and return its site, which the caller stops."""
        return self.sites.pop(alias)

    async def leave(self, alias: str) -> None:
        """Stop sending to this cluster and reading it, until it is added again."""
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
        """Set the topics that each site watches to those of the running flows."""
        flows = [watched.flow for watched in self.dispatch.running.values()]
        for alias, site in self.sites.items():
            arriving = {flow.target_topic for flow in flows if flow.target == alias}
            wanted = arriving | {flow.source_topic for flow in flows if flow.source == alias}
            for topic in site.wanted - wanted:
                site.forget(topic)
                self.self_check.forget(alias, topic)
            for topic in wanted - site.wanted:
                self.wanted_since[alias, topic] = self._clock.wall_s()
            site.wanted, site.reader.eager = wanted, arriving

    def _move_instants(self, by_s: float) -> None:
        """Move stored instants after the wall clock was set; latches belong to the store."""
        for place in self.wanted_since:
            self.wanted_since[place] += by_s
        for _, found in self._found.values():
            found.move_instants(by_s)

    # --- latches

    def hold_latches(self, latches: Mapping[tuple[str, str], Latch]) -> None:
        """Stop sending to latched topics, and resume where a latch was removed."""
        lifted = self.latches.keys() - latches.keys()
        self.latches = dict(latches)
        for alias, probing in self.probings.items():
            probing.latched = (alias, self.config.topic) in self.latches
        for alias, topic in lifted:
            for watched in self.dispatch.by_source.get(alias, ()):
                watched.watch.found.forget_loops()
                self._memory.forget_loops(watched.flow.name)
            for name, (source, found) in self._found.items():
                if source == alias:
                    found.forget_loops()
                    self._memory.forget_loops(name)
            self._reporter.event("the canary sends again after a loop", kafka_cluster=alias, topic=topic)

    def _latch(self, watched: WatchedFlow, looped: Flagged) -> None:
        """Stop sending to a source that a probe came back to: it would loop for ever."""
        alias, topic = watched.flow.source, watched.flow.source_topic
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
