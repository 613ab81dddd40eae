"""The canary at work: taps and producers feed one loop, which hands each event to the flows concerned."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from canary.dispatch import Dispatch
from canary.doubt import Doubts
from canary.events import (
    Stopping,
    TargetRead,
    TargetReplaced,
    TopicReplaced,
)
from canary.flow_evidence import flow_evidence
from canary.flows import CanaryFlow, watch_flow
from canary.inbox import Inbox
from canary.intake import Intake
from canary.plan import partitions_for
from canary.probing import Probing
from canary.site import Site
from fleet.evidence import CanaryState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.config import CanaryConfig
    from canary.report import Reporter
    from canary.topics import TopicChange
    from fleet.evidence import FlowEvidence
    from runtime.clock import WaitingClock
    from runtime.kafka.translation import ClientSettings

AT_ONCE = 250  # items taken in before the event loop may do something else
PUMP_S = 0.05  # how often deadlines are looked at when nothing arrives
REWIND_S = 60.0  # how far before our start a tap begins to read: clocks of brokers may differ from ours


class Prober:
    """Runs the canary of every flow; sites and flows are fixed for its life."""

    def __init__(
        self,
        flows: Iterable[CanaryFlow],
        clusters: Mapping[str, ClientSettings],
        config: CanaryConfig,
        *,
        installation: str,
        carried: Mapping[str, set[tuple[str, int]]],
        clock: WaitingClock,
        reporter: Reporter,
        on_carried: Callable[[str, str, int], None],
    ) -> None:
        self._config = config
        self._clock = clock
        self._reporter = reporter
        self._inbox = Inbox(asyncio.get_running_loop())
        self._begun_at = clock.wall_s()
        incarnation = secrets.token_hex(8)
        self.sites = {
            alias: Site(
                alias,
                settings,
                mode=config.mode,
                nonce=incarnation.encode(),
                clock=clock,
                inbox=self._inbox,
                reporter=reporter,
            )
            for alias, settings in clusters.items()
        }
        self.flows = {
            flow.name: watch_flow(
                flow,
                config,
                installation=installation,
                incarnation=incarnation,
                carried=carried.get(flow.name, set()),
            )
            for flow in flows
        }
        running = [held for held in self.flows.values() if not held.flow.off]
        self._dispatch = Dispatch(running, clock=clock, reporter=reporter, on_carried=on_carried)
        for held in running:
            self.sites[held.flow.source].wanted.add(held.flow.source_topic)
            self.sites[held.flow.target].wanted.add(held.flow.target_topic)
        self.probings = {
            alias: Probing(
                self.sites[alias],
                config,
                installation=installation,
                incarnation=incarnation,
                clock=clock,
                inbox=self._inbox,
                tell=self._dispatch.tell_source,
            )
            for alias in self._dispatch.by_source
        }
        self.doubts = Doubts(running, self.sites, clock=clock, tell=self._dispatch.tell)
        self._intake = Intake(
            config.topic, self.sites, self._dispatch, self.doubts, clock=clock, reporter=reporter
        )

    # --- loops

    async def pump(self) -> None:
        """Take in what was seen and let deadlines pass, until cancelled."""
        while True:
            await self._inbox.wait(PUMP_S)
            self._intake.take(self._inbox.drain(AT_ONCE))
            now = self._dispatch.now()
            self._intake.release(now.ns)
            for held in self.flows.values():
                self._dispatch.advance(held, now)

    def drain(self) -> None:
        """Take in everything that taps and producers have seen so far."""
        self._intake.take(self._inbox.drain())

    async def send(self, stopping: asyncio.Event) -> None:
        """Send each probe when it is due, until `stopping`."""
        while not stopping.is_set():
            instants = [ns for ns in (one.next_ns for one in self.probings.values()) if ns is not None]
            now_ns = self._clock.monotonic_ns()
            wait_s = min(0.2, *((ns - now_ns) / 1e9 for ns in instants)) if instants else 0.2
            if wait_s > 0:
                await self._clock.wait(stopping, timeout_s=wait_s)
            else:
                await asyncio.sleep(0)  # more is due than can be sent: the rest of the loop has its turn too
            if stopping.is_set():
                break
            for probing in self.probings.values():
                probing.tick()

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
                if change.new is None:
                    await probing.stop(f"the topic {change.name} is gone from {site.alias}")
                elif change.replaced:
                    await probing.stop(f"the topic {change.name} was made anew on {site.alias}")
        # All questions to the cluster come before anything is changed: if one fails, nothing was done yet.
        places: dict[tuple[str, int], int] = {}
        for change in changes:
            if change.new is not None:
                places |= await self._places(site, change)
        for change in changes:
            self.doubts.forget(site.alias, change.name)
        # A topic that is gone stays assigned: it may come back with the same id, and then nothing is to be
        # read twice.
        drop = {change.name for change in changes if change.replaced}
        if places or drop:
            await site.reader.read(places, drop=drop, drain=self.drain)
        for change in changes:
            self._tell_replaced(site, change)

    def _tell_replaced(self, site: Site, change: TopicChange) -> None:
        now_ns = self._clock.monotonic_ns()
        if change.replaced and change.old is not None:
            self._reporter.event("topic was re-created", kafka_cluster=site.alias, topic=change.name)
            if change.name == self._config.topic and site.alias in self._dispatch.by_source:
                self._dispatch.tell_source(site.alias, TopicReplaced(change.old.topic_id, now_ns))
            self._dispatch.tell_target(site.alias, change.name, TargetReplaced(now_ns))

    async def _places(self, site: Site, change: TopicChange) -> dict[tuple[str, int], int]:
        """Return where to begin with the partitions of a topic that are not read yet."""
        assert change.new is not None
        name = change.name
        new = [
            number
            for number in range(change.new.partitions)
            if change.replaced or (name, number) not in site.reader.positions
        ]
        if change.old is not None:  # the topic was known before, so these began after we did
            return dict.fromkeys([(name, number) for number in new], 0)
        at_ms = int((self._begun_at - REWIND_S) * 1000)
        found = await site.admin.offsets_since(name, new, at_ms=at_ms)
        return {(name, number): offset for number, offset in found.items()}

    async def look_closer(self, site: Site) -> None:
        """Ask for the ends and starts of the canary's partitions, and see that what should run does run."""
        site.reader.confirm()
        if site.reader.ended:
            await site.reader.read({}, drop=set(), drain=self.drain)
        await self._compare_ends(site)
        probing = self.probings.get(site.alias)
        topic = self._config.topic
        if probing is None or topic not in site.topics.present:
            return
        described = site.topics.present[topic]
        if described is None:
            await probing.make_topic(self._partitions(site.alias))
            return
        if not probing.fits(described):
            await probing.begin(described)
            self._reporter.event(
                "probing", kafka_cluster=site.alias, topic=topic, partitions=described.partitions
            )
        starts = await site.admin.start_offsets(topic, range(described.partitions))
        for held in self._dispatch.by_source[site.alias]:
            held.watch.log_starts = starts

    async def _compare_ends(self, site: Site) -> None:
        """Tell how far the tap is from the ends of what the flows to this cluster write."""
        for alias, name in self._dispatch.by_target:
            present = site.topics.present.get(name)
            if alias != site.alias or present is None:
                continue
            ends = await site.admin.end_offsets(name, range(present.partitions))
            for number, end in ends.items():
                position = site.reader.positions.get((name, number), -1)
                self.doubts.compare(site.alias, name, number, position=position, end=end)
                if position >= 0:
                    self._dispatch.tell_target(alias, name, TargetRead(number, position, end))

    def _partitions(self, alias: str) -> int:
        flows = [held.flow for held in self._dispatch.by_source[alias]]
        return partitions_for(
            source_brokers=self.sites[alias].brokers,
            target_brokers=max(self.sites[flow.target].brokers for flow in flows),
            tasks_max=max(flow.tasks_max for flow in flows),
            at_most=self._config.max_partitions,
        )

    # --- for the verdict

    def evidence(self, name: str) -> FlowEvidence:
        """Return what is known of a flow at this moment."""
        held = self.flows[name]
        source, target = self.sites[held.flow.source], self.sites[held.flow.target]
        state, sentence = self.state(name)
        return flow_evidence(held, source, target, self._dispatch.now(), state=state, sentence=sentence)

    def state(self, name: str) -> tuple[CanaryState, str]:
        """Return whether a flow's canary runs, and why if it does not."""
        flow = self.flows[name].flow
        if flow.off:
            return CanaryState.OFF, flow.off
        probing = self.probings[flow.source]
        if probing.topic is None:
            return CanaryState.WAITING, probing.sentence
        return CanaryState.RUNNING, ""
