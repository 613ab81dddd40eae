"""Loops of the canary: taps and producers feed one loop, which passes each event to its flows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.inbox import Inbox
from canary.persistence.inherited import InheritedState
from canary.roster import Roster
from canary.site.intake import Intake
from canary.site.start_offsets import StartOffsets, deliver_first_seen, deliver_gaps, find_start_offsets
from canary.site.topic_checks import TopicChecks
from canary.tracker.events import (
    MirrorPassed,
    SourceRead,
    Stopping,
    TargetRead,
    TargetReplaced,
    TopicReplaced,
)
from canary.watch.flow_evidence import flow_evidence
from fleet.verdicts.evidence import CanaryState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow
    from canary.persistence.latches import Latch
    from canary.report import Memory, Reporter
    from canary.site.site import Site
    from canary.site.topics import TopicChange
    from canary.watch.unreached import UnreachedBroker
    from fleet.verdicts.evidence import Calm, FlowEvidence
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock

AT_ONCE = 250  # items processed before the event loop may do something else
PUMP_S = 0.025  # how often the inbox is drained; items were stamped before
# systemd and Kubernetes kill after 90 s. Before that, clients must be closed and counts written.
LONGEST_DRAIN_S = 60.0


class Prober:
    """Runs the canary of every flow. Flows and clusters may change; the canary's topic and mode do not."""

    def __init__(
        self,
        flows: Iterable[CanaryFlow],
        clusters: Mapping[str, ClientSettings],
        config: CanaryConfig,
        *,
        installation: str,
        memory: Memory,
        inherited: Mapping[str, InheritedState],
        clock: WaitingClock,
        reporter: Reporter,
        latches: Mapping[tuple[str, str], Latch] | None = None,
        on_latched: Callable[[Latch], None] = lambda _latch: None,
    ) -> None:
        self._clock = clock
        self._reporter = reporter
        self._inbox = Inbox(asyncio.get_running_loop())
        self.roster = Roster(
            config,
            installation=installation,
            memory=memory,
            clock=clock,
            inbox=self._inbox,
            reporter=reporter,
            drain=self.drain,
            latches=latches or {},
            on_latched=on_latched,
        )
        self.sites, self.flows, self.probings = self.roster.sites, self.roster.flows, self.roster.probings
        self.self_check, self._dispatch = self.roster.self_check, self.roster.dispatch
        self.topic_checks = TopicChecks(self.roster, clock=clock, reporter=reporter)
        self._intake = Intake(config.topic, self.sites, self._dispatch, self.self_check, reporter=reporter)
        for alias, settings in clusters.items():
            self.roster.add_site(alias, settings)
        for flow in flows:
            self.roster.add(flow, inherited.get(flow.name, InheritedState()))

    @property
    def _config(self) -> CanaryConfig:
        return self.roster.config

    # --- loops

    async def pump(self) -> None:
        """Process the inbox and apply deadlines, until cancelled."""
        while True:
            await asyncio.sleep(PUMP_S)
            self.self_check.notice()
            # Deadlines apply only up to here: items that arrive meanwhile may have been stamped earlier.
            now = self._dispatch.now()
            waiting = len(self._inbox)
            while waiting > 0 and (items := self._inbox.drain(AT_ONCE)):
                self._intake.take(items)
                waiting -= len(items)
                await asyncio.sleep(0)
            self._intake.release(now)
            for watched in self.flows.values():
                self._dispatch.advance(watched, now)

    def drain(self) -> None:
        """Process everything in the inbox."""
        self._intake.take(self._inbox.drain())
        self._intake.release(self._dispatch.now(), all_of_it=True)

    async def send(self, stopping: asyncio.Event) -> None:
        """Send probes until `stopping`; then stop, and process what was sent."""
        await stopping.wait()
        await asyncio.gather(*(probing.finish() for probing in self.probings.values()))
        self.drain()

    async def drain_flights(self) -> None:
        """After the last probe, wait until none is in flight or all passed their threshold, 60 s at most."""
        longest_s = max((watched.flow.threshold_s for watched in self.flows.values()), default=0.0)
        until_ns = self._clock.monotonic_ns() + int(min(longest_s, LONGEST_DRAIN_S) * 1e9)
        while self._clock.monotonic_ns() < until_ns:
            if all(watched.watch.counters.in_flight == 0 for watched in self.flows.values()):
                break
            await asyncio.sleep(PUMP_S)

    async def close(self) -> None:
        """Stop producers and taps, and give unacknowledged probes their outcome."""
        await asyncio.gather(*(probing.stop() for probing in self.probings.values()))
        await asyncio.gather(*(site.reader.stop() for site in self.sites.values()))
        self.drain()
        for watched in self.flows.values():
            self._dispatch.deliver_to_flow(watched, Stopping())

    # --- changes at a site

    async def topics_changed(self, site: Site, changes: list[TopicChange]) -> None:
        """Process topics of the canary that appeared, were deleted or re-created on this cluster."""
        probing = self.probings.get(site.alias)
        for change in changes:
            # No probe of the old topic may be sent once the new one is known: it would belong to neither.
            if probing is not None and change.name == self._config.topic:
                if change.gone:
                    await probing.stop(f"the topic {change.name} was deleted on {site.alias}")
                elif change.new is None:
                    probing.await_topic()
                elif change.replaced:
                    await probing.stop(f"the topic {change.name} was re-created on {site.alias}")
        # Query the cluster before any change: if a query fails, nothing was changed.
        found = [await self._start_offsets(site, change) for change in changes if change.new is not None]
        places = {key: offset for one in found for key, offset in one.places.items()}
        for change in changes:
            self.self_check.forget(site.alias, change.name)
        # A deleted topic stays assigned: it may return with the same id, and then nothing may be
        # read twice.
        drop = {change.name for change in changes if change.replaced}
        if places or drop:
            await site.reader.read(places, drop=drop, drain=self.drain)
        for change in changes:
            self._deliver_change(site, change)
        for one in found:
            deliver_gaps(one, self._dispatch, now_ns=self._clock.monotonic_ns())

    def _deliver_change(self, site: Site, change: TopicChange) -> None:
        now_ns = self._clock.monotonic_ns()
        if change.new is not None:
            for watched in self._dispatch.by_target.get((site.alias, change.name), ()):
                watched.watch.target_topic_id = change.new.topic_id
            if change.old is None:
                topic = self._config.topic
                deliver_first_seen(site, change, self._dispatch, topic=topic, now_ns=now_ns)
        if change.replaced and change.old is not None:
            self._reporter.event("topic was re-created", kafka_cluster=site.alias, topic=change.name)
            if change.name == self._config.topic and site.alias in self._dispatch.by_source:
                replaced = TopicReplaced(
                    change.old.topic_id, now_ns, change.new.topic_id if change.new else ""
                )
                self._dispatch.deliver_to_source(site.alias, replaced)
                for watched in self._dispatch.by_source[site.alias]:
                    watched.watch.log_starts.clear()
            self._dispatch.deliver_to_target(site.alias, change.name, TargetReplaced(now_ns))

    async def _start_offsets(self, site: Site, change: TopicChange) -> StartOffsets:
        since_at = self.roster.wanted_since.get((site.alias, change.name), self._clock.wall_s())
        return await find_start_offsets(
            site, change, self._dispatch, topic=self._config.topic, since_at=since_at
        )

    def arriving(self, site: Site) -> list[CanaryFlow]:
        """Return the flows to this cluster, also those without a canary; none in mode off."""
        if self._config.mode is CanaryMode.OFF:
            return []
        return [watched.flow for watched in self.flows.values() if watched.flow.target == site.alias]

    async def poll_details(self, site: Site) -> None:
        """Poll log ends and starts of the canary's partitions, and restart what should run."""
        unwanted = {topic for topic, _ in site.reader.positions} - site.wanted
        if site.reader.outdated or unwanted:
            await site.reader.read({}, drop=unwanted, drain=self.drain)
        await self._compare_ends(site)
        for watched in self._dispatch.by_source.get(site.alias, ()):
            if watched.watch.waits(self._dispatch.now()):
                self.topic_checks.hasten(watched.flow.target, watched.flow.target_topic)
        await self.topic_checks.check(site)
        probing = self.probings.get(site.alias)
        topic = self._config.topic
        if probing is None or topic not in site.topics.present:
            return
        described = site.topics.present[topic]
        if described is None:
            if waiting := self.topic_checks.waits_for(site.alias):
                probing.sentence = waiting
                return
            await probing.make_topic(self.topic_checks.request(site.alias))
            return
        interval_s = self.topic_checks.interval_s()
        if not probing.fits(described, interval_s):
            await probing.begin(described, interval_s)
            self._reporter.event(
                "probing", kafka_cluster=site.alias, topic=topic, partitions=described.partitions
            )
        asked = site.leaders.answering(described, self._clock.monotonic_ns())
        starts = await site.admin.start_offsets(topic, asked, lenient=True)
        for watched in self._dispatch.by_source.get(site.alias, ()):
            watched.watch.log_starts.update(starts)
            watched.watch.interval_s = interval_s

    async def _compare_ends(self, site: Site) -> None:
        """Compare the taps' positions with the log end offsets on this cluster."""
        names = {name for alias, name in self._dispatch.by_target if alias == site.alias}
        if site.alias in self._dispatch.by_source:
            names.add(self._config.topic)
        for name in sorted(names):
            present = site.topics.present.get(name)
            if present is None:
                continue
            asked = site.leaders.answering(present, self._clock.monotonic_ns())
            passed = [
                (watched, watched.positions.topic_id, watched.positions.due())
                for watched in self._dispatch.by_target.get((site.alias, name), ())
            ]
            ends = await site.admin.end_offsets(name, asked, lenient=True)
            site.leaders.note(present, asked, ends, self._clock.monotonic_ns())
            for number, end in ends.items():
                position = site.reader.positions.get((name, number), -1)
                self.self_check.compare(site.alias, name, number, position=position, end=end)
                if position < 0:
                    continue
                self._dispatch.deliver_to_target(site.alias, name, TargetRead(number, position, end))
                if name == self._config.topic:
                    self._dispatch.deliver_to_source(
                        site.alias, SourceRead(number, position, end, present.partitions)
                    )
            for watched, topic_id, due in passed:
                for number in due.keys() & ends.keys():
                    self._dispatch.deliver_to_flow(
                        watched, MirrorPassed(topic_id, number, due[number], ends[number])
                    )
                    watched.positions.mark_delivered(number, due[number])

    def note_positions(
        self, name: str, topic_id: str, next_offsets: Mapping[int, int], *, settles_s: float
    ) -> None:
        """Process the mirror's committed offsets in the canary's topic."""
        watched = self._dispatch.running.get(name)
        if watched is not None:
            now_ns = self._clock.monotonic_ns()
            watched.positions.note(topic_id, next_offsets, settles_s=settles_s, now_ns=now_ns)

    # --- for the verdict

    def evidence(self, name: str) -> FlowEvidence:
        """Return the evidence for a flow now."""
        watched = self.flows[name]
        source, target = self.sites[watched.flow.source], self.sites[watched.flow.target]
        state, sentence = self.state(name)
        place = watched.flow.target, watched.flow.target_topic
        return flow_evidence(
            watched,
            source,
            target,
            self._dispatch.now(),
            state=state,
            sentence=sentence,
            refusal=self.topic_checks.refusals.get(place),
            shared=len(self._dispatch.by_target.get(place, ())) > 1,
        )

    def healthy(self, name: str) -> Calm | None:
        """Return proof that a flow is healthy, if a quick test shows it; None means: use the evidence."""
        state, _ = self.state(name)
        running = state is CanaryState.RUNNING
        return self.flows[name].watch.healthy(name, self._dispatch.now()) if running else None

    def unreached(self, name: str) -> tuple[UnreachedBroker, ...]:
        """Return the brokers that no probe of this flow passes through."""
        return self.topic_checks.unreached(self.flows[name].flow)

    def state(self, name: str) -> tuple[CanaryState, str]:
        """Return the state of a flow's canary, and why it does not run."""
        flow = self.flows[name].flow
        if flow.off:
            return CanaryState.OFF, flow.off
        probing = self.probings[flow.source]
        latch = self.roster.latches.get((flow.source, flow.source_topic))
        if latch is not None:
            present = self.sites[flow.source].topics.present.get(flow.source_topic)
            return CanaryState.LATCHED, latch.message(name, present.topic_id if present else None)
        if probing.topic is None:
            _, refusal = self.sites[flow.source].last_described(flow.source_topic)
            return CanaryState.WAITING, refusal or probing.sentence
        return CanaryState.RUNNING, ""
