"""The canary at work: taps and producers feed one loop, which hands each event to the flows concerned."""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from typing import TYPE_CHECKING

from canary.books import Mark
from canary.doubt import Doubts
from canary.events import (
    Acked,
    AckTimedOut,
    Carried,
    Event,
    Marked,
    Refused,
    SeenAtSource,
    SeenAtTarget,
    Stopping,
    TargetRead,
    TargetReplaced,
    TopicReplaced,
    TrackerOutput,
)
from canary.flow_evidence import flow_evidence
from canary.flows import CanaryFlow, WatchedFlow, watch_flow
from canary.inbox import Inbox
from canary.plan import partitions_for
from canary.probing import Probing, Tag
from canary.site import Site
from canary.stamp import Intact, Reading, decode
from canary.strangers import Strangers
from canary.watch import Instant
from fleet.errors import RefusedError
from fleet.evidence import CanaryState
from runtime.kafka.sender import Delivered, NotDelivered, SenderFault
from runtime.kafka.tap import TapFault, TappedEnd, TappedRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.config import CanaryConfig
    from canary.report import Reporter
    from canary.topics import TopicChange
    from fleet.evidence import FlowEvidence
    from runtime.clock import WaitingClock
    from runtime.kafka.sender import Report
    from runtime.kafka.tap import Tapped
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
        self._on_carried = on_carried
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
        self._by_source: dict[str, list[WatchedFlow]] = {}
        self._by_target: dict[tuple[str, str], list[WatchedFlow]] = {}
        for held in running:
            self._by_source.setdefault(held.flow.source, []).append(held)
            self._by_target.setdefault((held.flow.target, held.flow.target_topic), []).append(held)
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
                tell=self._tell_source,
            )
            for alias in self._by_source
        }
        self._strangers = {alias: Strangers() for alias in self._by_source}
        self.doubts = Doubts(running, self.sites, clock=clock, tell=self._tell)

    # --- loops

    async def pump(self) -> None:
        """Take in what was seen and let deadlines pass, until cancelled."""
        while True:
            await self._inbox.wait(PUMP_S)
            self._take(self._inbox.drain(AT_ONCE))
            now = self._now()
            for strangers in self._strangers.values():
                strangers.release(now.ns)
            for held in self.flows.values():
                self._follow(held, held.watch.advance(now))

    async def send(self, stopping: asyncio.Event) -> None:
        """Send each probe when it is due, until `stopping`."""
        while not stopping.is_set():
            instants = [ns for ns in (one.next_ns for one in self.probings.values()) if ns is not None]
            now_ns = self._clock.monotonic_ns()
            wait_s = min(0.2, *((ns - now_ns) / 1e9 for ns in instants)) if instants else 0.2
            if wait_s > 0:
                await self._clock.wait(stopping, timeout_s=wait_s)
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
            self._tell(held, Stopping())

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
            if change.name == self._config.topic and site.alias in self._by_source:
                self._tell_source(site.alias, TopicReplaced(change.old.topic_id, now_ns))
            for held in self._by_target.get((site.alias, change.name), ()):
                self._tell(held, TargetReplaced(now_ns))

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
        for held in self._by_source[site.alias]:
            held.watch.log_starts = starts

    async def _compare_ends(self, site: Site) -> None:
        """Tell how far the tap is from the ends of what the flows to this cluster write."""
        for (alias, name), watched in self._by_target.items():
            present = site.topics.present.get(name)
            if alias != site.alias or present is None:
                continue
            ends = await site.admin.end_offsets(name, range(present.partitions))
            for number, end in ends.items():
                position = site.reader.positions.get((name, number), -1)
                self.doubts.compare(site.alias, name, number, position=position, end=end)
                if position >= 0:
                    for held in watched:
                        self._tell(held, TargetRead(number, position, end))

    def _partitions(self, alias: str) -> int:
        flows = [held.flow for held in self._by_source[alias]]
        return partitions_for(
            source_brokers=self.sites[alias].brokers,
            target_brokers=max(self.sites[flow.target].brokers for flow in flows),
            tasks_max=max(flow.tasks_max for flow in flows),
            at_most=self._config.max_partitions,
        )

    # --- what taps and producers see

    def drain(self) -> None:
        """Take in everything that taps and producers have seen."""
        self._take(self._inbox.drain())

    def _take(self, items: list[Tapped | Report]) -> None:
        for item in items:
            match item:
                case TappedRecord():
                    self._take_record(item)
                case TappedEnd():
                    self._take_end(item)
                case TapFault():
                    self._take_fault(item)
                case Delivered(tag, offset, at_ns):
                    assert isinstance(tag, Tag)
                    acked = Acked(tag.topic_id, tag.partition, tag.sequence, offset, at_ns)
                    self._tell_source(tag.alias, acked)
                    self.sites[tag.alias].counts.last_success_at["sender"] = self._clock.wall_s()
                    self._reporter.settled(f"{tag.alias}: writing {self._config.topic}")
                case NotDelivered():
                    self._take_refusal(item)
                case SenderFault(alias, error):
                    self._note_not_written(alias, str(error))

    def _take_record(self, record: TappedRecord) -> None:
        site = self.sites[record.tap.rsplit("-tap-", 1)[0]]
        if not site.reader.note(record):
            return
        self._note_read(site, record.topic)
        reading = decode(record.key, record.value, record.headers)
        if record.topic == self._config.topic and site.alias in self._by_source:
            seen = SeenAtSource(record.partition, record.offset, reading, record.at_ns)
            self._tell_source(site.alias, seen)
            if not isinstance(reading, Intact):
                self._strangers[site.alias].add(record)
        end = max(record.end_offset, record.offset + 1)
        for held in self._by_target.get((site.alias, record.topic), ()):
            give = partial(self._tell_seen, held, record, end)
            self._strangers[held.flow.source].sort(record, reading, give)

    def _take_end(self, end: TappedEnd) -> None:
        site = self.sites[end.tap.rsplit("-tap-", 1)[0]]
        if not site.reader.note(end):
            return
        self._note_read(site, end.topic)
        for held in self._by_target.get((site.alias, end.topic), ()):
            self._tell(held, TargetRead(end.partition, end.position, end.position))

    def _note_read(self, site: Site, topic: str) -> None:
        site.counts.last_success_at["tap"] = self._clock.wall_s()
        self.doubts.clear_refusal(site.alias, topic)
        self._reporter.settled(f"{site.alias}: reading {topic}")
        self._reporter.settled(f"{site.alias}: reading")

    def _take_fault(self, fault: TapFault) -> None:
        site = self.sites[fault.tap.rsplit("-tap-", 1)[0]]
        if not site.reader.note_fault(fault):
            return
        site.counts.errors["tap"] += 1
        if isinstance(fault.error, RefusedError):
            self.doubts.note_refusal(site.alias, fault.topic, str(fault.error))
        self._reporter.problem(f"{site.alias}: reading {fault.topic}".rstrip(), str(fault.error))

    def _take_refusal(self, report: NotDelivered) -> None:
        tag = report.tag
        assert isinstance(tag, Tag)
        if not report.ended:
            self._note_not_written(tag.alias, str(report.error))
        # One that we gave up ourselves was not refused: it is left for the source's tap, or for the shutdown.
        if report.in_doubt or report.ended:
            self._tell_source(tag.alias, AckTimedOut(tag.topic_id, tag.partition, tag.sequence))
        else:
            refused = Refused(tag.topic_id, tag.partition, tag.sequence, str(report.error))
            self._tell_source(tag.alias, refused)

    def _note_not_written(self, alias: str, sentence: str) -> None:
        self.sites[alias].counts.errors["sender"] += 1
        self._reporter.problem(f"{alias}: writing {self._config.topic}", sentence)

    # --- to the trackers

    def _tell_source(self, alias: str, event: Event) -> None:
        for held in self._by_source[alias]:
            self._tell(held, event)

    def _tell_seen(self, held: WatchedFlow, record: TappedRecord, end: int, reading: Reading) -> None:
        self._tell(held, SeenAtTarget(record.partition, record.offset, end, reading, record.at_ns))

    def _tell(self, held: WatchedFlow, event: Event) -> None:
        self._follow(held, held.watch.handle(event, self._now()))

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

    def _now(self) -> Instant:
        return Instant(self._clock.monotonic_ns(), self._clock.wall_s())

    # --- for the verdict

    def evidence(self, name: str) -> FlowEvidence:
        """Return what is known of a flow at this moment."""
        held = self.flows[name]
        source, target = self.sites[held.flow.source], self.sites[held.flow.target]
        state, sentence = self.state(name)
        return flow_evidence(held, source, target, self._now(), state=state, sentence=sentence)

    def state(self, name: str) -> tuple[CanaryState, str]:
        """Return whether a flow's canary runs, and why if it does not."""
        flow = self.flows[name].flow
        if flow.off:
            return CanaryState.OFF, flow.off
        probing = self.probings[flow.source]
        if probing.topic is None:
            return CanaryState.WAITING, probing.sentence
        return CanaryState.RUNNING, ""
