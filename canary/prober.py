"""The canary at work: taps and producers feed one loop, which hands each event to the flows concerned."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from canary.inbox import Inbox
from canary.persistence.heritage import FlowHeritage
from canary.roster import Roster
from canary.site.beginnings import Beginnings, beginnings, tell_first_sight, tell_gaps
from canary.site.intake import Intake
from canary.site.topic_care import TopicCare
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

AT_ONCE = 250  # items taken in before the event loop may do something else
PUMP_S = 0.025  # how often what was seen is taken in; its instants were stamped before


class Prober:
    """Runs the canary of every flow. Flows and clusters come and go; the canary's topic and mode stay."""

    def __init__(
        self,
        flows: Iterable[CanaryFlow],
        clusters: Mapping[str, ClientSettings],
        config: CanaryConfig,
        *,
        installation: str,
        memory: Memory,
        heritage: Mapping[str, FlowHeritage],
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
        self.doubts, self._dispatch = self.roster.doubts, self.roster.dispatch
        self.care = TopicCare(self.roster, clock=clock, reporter=reporter)
        self._intake = Intake(config.topic, self.sites, self._dispatch, self.doubts, reporter=reporter)
        for alias, settings in clusters.items():
            self.roster.add_site(alias, settings)
        for flow in flows:
            self.roster.add(flow, heritage.get(flow.name, FlowHeritage()))

    @property
    def _config(self) -> CanaryConfig:
        return self.roster.config

    # --- loops

    async def pump(self) -> None:
        """Take in what was seen and let deadlines pass, until cancelled."""
        while True:
            await asyncio.sleep(PUMP_S)
            self.doubts.notice()
            # Deadlines pass only up to here: what comes meanwhile may have been seen before them.
            now = self._dispatch.now()
            waiting = len(self._inbox)
            while waiting > 0 and (items := self._inbox.drain(AT_ONCE)):
                self._intake.take(items)
                waiting -= len(items)
                await asyncio.sleep(0)
            self._intake.release(now)
            for held in self.flows.values():
                self._dispatch.advance(held, now)

    def drain(self) -> None:
        """Take in everything that taps and producers have seen so far."""
        self._intake.take(self._inbox.drain())
        self._intake.release(self._dispatch.now(), all_of_it=True)

    async def send(self, stopping: asyncio.Event) -> None:
        """Let probes be sent until `stopping`; then end that, and take in what was sent."""
        await stopping.wait()
        await asyncio.gather(*(probing.finish() for probing in self.probings.values()))
        self.drain()

    async def drain_flights(self) -> None:
        """After the last probe was sent, wait until what is in flight is settled or past its threshold."""
        longest_s = max((held.flow.threshold_s for held in self.flows.values()), default=0.0)
        until_ns = self._clock.monotonic_ns() + int(longest_s * 1e9)
        while self._clock.monotonic_ns() < until_ns:
            if all(held.watch.books.in_flight == 0 for held in self.flows.values()):
                break
            await asyncio.sleep(PUMP_S)

    async def close(self) -> None:
        """Stop producers and taps, and give what was never acknowledged its outcome."""
        await asyncio.gather(*(probing.stop() for probing in self.probings.values()))
        await asyncio.gather(*(site.reader.stop() for site in self.sites.values()))
        self.drain()
        for held in self.flows.values():
            self._dispatch.tell(held, Stopping())

    # --- what a site sees

    async def topics_changed(self, site: Site, changes: list[TopicChange]) -> None:
        """Take in that topics of the canary came, went or were made anew on this cluster."""
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
        # All questions to the cluster come before anything is changed: if one fails, nothing was done yet.
        found = [await self._beginnings(site, change) for change in changes if change.new is not None]
        places = {key: offset for one in found for key, offset in one.places.items()}
        for change in changes:
            self.doubts.forget(site.alias, change.name)
        # A topic that is gone stays assigned: it may come back with the same id, and then nothing is to be
        # read twice.
        drop = {change.name for change in changes if change.replaced}
        if places or drop:
            await site.reader.read(places, drop=drop, drain=self.drain)
        for change in changes:
            self._tell_change(site, change)
        for one in found:
            tell_gaps(one, self._dispatch, now_ns=self._clock.monotonic_ns())

    def _tell_change(self, site: Site, change: TopicChange) -> None:
        now_ns = self._clock.monotonic_ns()
        if change.new is not None:
            for held in self._dispatch.by_target.get((site.alias, change.name), ()):
                held.watch.target_topic_id = change.new.topic_id
            if change.old is None:
                topic = self._config.topic
                tell_first_sight(site, change, self._dispatch, topic=topic, now_ns=now_ns)
        if change.replaced and change.old is not None:
            self._reporter.event("topic was re-created", kafka_cluster=site.alias, topic=change.name)
            if change.name == self._config.topic and site.alias in self._dispatch.by_source:
                replaced = TopicReplaced(
                    change.old.topic_id, now_ns, change.new.topic_id if change.new else ""
                )
                self._dispatch.tell_source(site.alias, replaced)
                for held in self._dispatch.by_source[site.alias]:
                    held.watch.log_starts.clear()
            self._dispatch.tell_target(site.alias, change.name, TargetReplaced(now_ns))

    async def _beginnings(self, site: Site, change: TopicChange) -> Beginnings:
        since_at = self.roster.wanted_since.get((site.alias, change.name), self._clock.wall_s())
        return await beginnings(site, change, self._dispatch, topic=self._config.topic, since_at=since_at)

    def arriving(self, site: Site) -> list[CanaryFlow]:
        """Return the flows to this cluster, those without a canary included; none where nothing is read."""
        if self._config.mode is CanaryMode.OFF:
            return []
        return [held.flow for held in self.flows.values() if held.flow.target == site.alias]

    async def look_closer(self, site: Site) -> None:
        """Ask for the ends and starts of the canary's partitions, and see that what should run does run."""
        unwanted = {topic for topic, _ in site.reader.positions} - site.wanted
        if site.reader.outdated or unwanted:
            await site.reader.read({}, drop=unwanted, drain=self.drain)
        await self._compare_ends(site)
        for held in self._dispatch.by_source.get(site.alias, ()):
            if held.watch.waits(self._dispatch.now()):
                self.care.hasten(held.flow.target, held.flow.target_topic)
        await self.care.look(site)
        probing = self.probings.get(site.alias)
        topic = self._config.topic
        if probing is None or topic not in site.topics.present:
            return
        described = site.topics.present[topic]
        if described is None:
            if waiting := self.care.waits_for(site.alias):
                probing.sentence = waiting
                return
            await probing.make_topic(self.care.partitions(site.alias))
            return
        interval_s = self.care.interval_s()
        if not probing.fits(described, interval_s):
            await probing.begin(described, interval_s)
            self._reporter.event(
                "probing", kafka_cluster=site.alias, topic=topic, partitions=described.partitions
            )
        asked = site.leaders.answering(described, self._clock.monotonic_ns())
        starts = await site.admin.start_offsets(topic, asked, lenient=True)
        for held in self._dispatch.by_source.get(site.alias, ()):
            held.watch.log_starts.update(starts)
            held.watch.interval_s = interval_s

    async def _compare_ends(self, site: Site) -> None:
        """Tell how far the taps are from the ends of what flows write to this cluster, and of what we do."""
        names = {name for alias, name in self._dispatch.by_target if alias == site.alias}
        if site.alias in self._dispatch.by_source:
            names.add(self._config.topic)
        for name in sorted(names):
            present = site.topics.present.get(name)
            if present is None:
                continue
            asked = site.leaders.answering(present, self._clock.monotonic_ns())
            passed = [
                (held, held.positions.topic_id, held.positions.due())
                for held in self._dispatch.by_target.get((site.alias, name), ())
            ]
            ends = await site.admin.end_offsets(name, asked, lenient=True)
            site.leaders.note(present, asked, ends, self._clock.monotonic_ns())
            for number, end in ends.items():
                position = site.reader.positions.get((name, number), -1)
                self.doubts.compare(site.alias, name, number, position=position, end=end)
                if position < 0:
                    continue
                self._dispatch.tell_target(site.alias, name, TargetRead(number, position, end))
                if name == self._config.topic:
                    self._dispatch.tell_source(
                        site.alias, SourceRead(number, position, end, present.partitions)
                    )
            for held, topic_id, due in passed:
                for number in due.keys() & ends.keys():
                    self._dispatch.tell(held, MirrorPassed(topic_id, number, due[number], ends[number]))
                    held.positions.told(number, due[number])

    def note_positions(
        self, name: str, topic_id: str, next_offsets: Mapping[int, int], *, settles_s: float
    ) -> None:
        """Take in how far the mirror of a flow itself says that it is with the canary's topic, just now."""
        held = self._dispatch.running.get(name)
        if held is not None:
            now_ns = self._clock.monotonic_ns()
            held.positions.note(topic_id, next_offsets, settles_s=settles_s, now_ns=now_ns)

    # --- for the verdict

    def evidence(self, name: str) -> FlowEvidence:
        """Return what is known of a flow at this moment."""
        held = self.flows[name]
        source, target = self.sites[held.flow.source], self.sites[held.flow.target]
        state, sentence = self.state(name)
        refusal = self.care.refusals.get((held.flow.target, held.flow.target_topic))
        now = self._dispatch.now()
        return flow_evidence(held, source, target, now, state=state, sentence=sentence, refusal=refusal)

    def calm(self, name: str) -> Calm | None:
        """Return that a flow runs and is plainly well, if so: then there is no need for all the evidence."""
        state, _ = self.state(name)
        running = state is CanaryState.RUNNING
        return self.flows[name].watch.calm(name, self._dispatch.now()) if running else None

    def unreached(self, name: str) -> tuple[UnreachedBroker, ...]:
        """Return the brokers through which no probe of this flow passes, as last seen."""
        return self.care.unreached(self.flows[name].flow)

    def state(self, name: str) -> tuple[CanaryState, str]:
        """Return whether a flow's canary runs, and why if it does not."""
        flow = self.flows[name].flow
        if flow.off:
            return CanaryState.OFF, flow.off
        probing = self.probings[flow.source]
        latch = self.roster.latches.get((flow.source, flow.source_topic))
        if latch is not None:
            present = self.sites[flow.source].topics.present.get(flow.source_topic)
            return CanaryState.LATCHED, latch.told(name, present.topic_id if present else None)
        if probing.topic is None:
            _, refusal = self.sites[flow.source].looked(flow.source_topic)
            return CanaryState.WAITING, refusal or probing.sentence
        return CanaryState.RUNNING, ""
