"""The prober checks its own parts: while one fails, a verdict about a mirror would be a guess.

Checks in order, and the flows concerned:

1. all flows: the event loop was blocked, or the machine slept; also for a while afterwards, until the backlog
   is processed;
2. flows into a cluster: the reader of that cluster does not run, may not read, or does not reach the log end;
   or the cluster's topics cannot be described, so that a re-created topic would be missed;
3. flows out of a cluster: the same check of its topics, and a producer that reports nothing.

Checks 2 and 3 apply only while the cluster's control probes succeed: otherwise the cluster is at fault. A
reader that does not run is the exception, because its thread is local. A stalled reader of a source does not
affect arrivals: its flows only learn that the source is not read.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from canary.site.probing import report_within_s
from canary.tracker.events import Event, Impaired, Restored, Slept, SourceUnseen
from canary.tracker.latency import Histogram
from canary.watch.prober_faults import ProberFault, ReaderProgress
from fleet.quantity import duration_text
from fleet.series import catalogue as series
from fleet.verdicts.evidence import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from canary.flows import CanaryFlow, WatchedFlow
    from canary.report import Reporter
    from canary.site.site import Site
    from fleet.series.kinds import Sample
    from runtime.process.clock import WaitingClock

TICK_S = 0.1
LOOP_LATE_S = 1.0  # a loop blocked for longer spoils what was in flight
JUMP_S = 0.5  # shortest sleep or clock change that is reported
STEP_S = 0.001  # smallest clock change that cannot come from reading two clocks in turn
SETTLE_S = 3.0  # longest time to process the backlog after the loop was blocked
TAP_SILENT_S = 3.0
DESCRIBE_SILENT_S = 15.0  # topics are described every two seconds, which may take five
REPORT_LATE_S = 5.0  # how long after its own limit the producer may still report


class SelfCheck:
    """Watches the prober's parts, and tells the flows concerned when one of them fails."""

    def __init__(
        self,
        flows: Collection[WatchedFlow],
        sites: Mapping[str, Site],
        *,
        clock: WaitingClock,
        deliver: Callable[[WatchedFlow, Event], None],
        reporter: Reporter,
    ) -> None:
        """Start without faults; `flows` and `sites` may change later."""
        self.loop_delay = Histogram(0.001)
        self.on_clock_set: list[Callable[[float], None]] = []  # called with the seconds by which it was set
        self._flows = flows
        self._sites = sites
        self._clock = clock
        self._deliver = deliver
        self._reporter = reporter
        self._impaired: dict[str, ProberFault] = {}  # by flow: as delivered
        self._unseen: dict[str, ProberFault] = {}  # by flow: why its source is not read, as delivered
        self._ends = ReaderProgress()
        self._refused: dict[tuple[str, str], str] = {}  # by cluster and topic: the error
        self._unreported: dict[
            str, int
        ] = {}  # by cluster: when the first probe after its last report was sent
        self._seen_ns = clock.monotonic_ns()  # when the loop was last seen to run
        self._slept_ns = clock.slept_ns()
        self._blocked: tuple[int, ProberFault] | None = (
            None  # until when measurements are unreliable, and why
        )

    def forget_flow(self, flow: CanaryFlow) -> None:
        """Forget a flow that is removed."""
        self._impaired.pop(flow.name, None)
        if self._unseen.pop(flow.name, None) is None:
            return
        of_source = {watched.flow.name for watched in self._flows if watched.flow.source == flow.source}
        if not (of_source - {flow.name}) & self._unseen.keys():
            self._reporter.settled(_seeing(flow))

    async def watch(self) -> None:
        """Check every tenth of a second, until cancelled."""
        while True:
            asked_ns = self._clock.monotonic_ns()
            await asyncio.sleep(TICK_S)
            self.loop_delay.observe(max(0.0, (self._clock.monotonic_ns() - asked_ns) / 1e9 - TICK_S))
            self.check()

    def samples(self) -> Iterator[Sample]:
        """Yield how late timers of the event loop run, as a series."""
        yield series.EVENT_LOOP_DELAY_SECONDS, (), self.loop_delay.copy()

    def notice(self) -> None:
        """Detect a blocked loop or a clock change; call it before drawing conclusions from time."""
        now_ns, slept_ns, before_ns = self._clock.monotonic_ns(), self._clock.slept_ns(), self._seen_ns
        slept_s = (slept_ns - self._slept_ns) / 1e9
        blocked_s = (now_ns - before_ns) / 1e9 - TICK_S
        self._seen_ns, self._slept_ns = now_ns, slept_ns
        if slept_s > JUMP_S:
            for watched in self._flows:
                self._deliver(watched, Slept(before_ns, now_ns))
            self._note_blocked(before_ns, now_ns, slept_s, f"the machine slept for {duration_text(slept_s)}")
        elif blocked_s > self._longest_blocked_s():
            what = f"its event loop was blocked for {duration_text(blocked_s)}"
            self._note_blocked(before_ns, now_ns, blocked_s, what)
        set_s = self._clock.follow()
        if abs(set_s) > STEP_S:
            self._move_instants(set_s)

    def check(self) -> None:
        """Deliver to each flow whether it can be measured, if that changed."""
        self.notice()
        now_ns = self._clock.monotonic_ns()
        for watched in self._flows:
            name = watched.flow.name
            why, told = self._why(watched, now_ns), self._impaired.get(name)
            if why is not None and (told is None or told.kind != why.kind):
                self._impaired[name] = why
                self._deliver(watched, Impaired(why.sentence, now_ns, why.since_ns))
            elif why is None and told is not None:
                del self._impaired[name]
                self._deliver(watched, Restored(now_ns))
            self._check_source(watched, now_ns)

    # --- notes from other parts

    def compare(self, alias: str, topic: str, partition: int, *, position: int, end: int) -> None:
        """Note a reader's position and the log end offset; position -1: not started."""
        self._ends.compare(
            (alias, topic, partition), position=position, end=end, now_ns=self._clock.monotonic_ns()
        )

    def forget(self, alias: str, topic: str) -> None:
        """Reset a topic that appeared, was deleted or was re-created."""
        self._ends.forget(alias, topic)
        self.clear_refusal(alias, topic)

    def note_refusal(self, alias: str, topic: str, sentence: str) -> None:
        """Note that a cluster refuses a topic; an empty name means all of its topics."""
        self._refused[alias, topic] = sentence

    def clear_refusal(self, alias: str, topic: str) -> None:
        """Note that the topic can be read."""
        if self._refused:
            self._refused.pop((alias, topic), None)
            self._refused.pop((alias, ""), None)

    def note_sent(self, alias: str, at_ns: int) -> None:
        """Note that a probe was passed to a cluster's producer."""
        self._unreported.setdefault(alias, at_ns)

    def note_report(self, alias: str) -> None:
        """Note that a cluster's producer reported anything."""
        self._unreported.pop(alias, None)

    # --- conclusions

    def _note_blocked(self, before_ns: int, now_ns: int, lost_s: float, what: str) -> None:
        """Mark measurements as unreliable over the gap, until the backlog is processed."""
        until_ns = now_ns + int(min(SETTLE_S, lost_s) * 1e9)
        self._blocked = until_ns, ProberFault("standstill", what, before_ns)
        self._reporter.event(f"the canary's measurements are not reliable: {what}")
        for site in self._sites.values():
            site.control.disturb(now_ns)
        self.check()

    def _longest_blocked_s(self) -> float:
        """Return how long the loop may be blocked: too short to make a probe late by itself."""
        return min([LOOP_LATE_S, *(watched.flow.threshold_s / 2 for watched in self._flows)])

    def _move_instants(self, by_s: float) -> None:
        """Move every stored instant with the wall clock, so that no age jumps."""
        if abs(by_s) > JUMP_S:
            way = "forward" if by_s > 0 else "back"
            self._reporter.event(f"the machine's clock was set {way} by {duration_text(abs(by_s))}")
        for site in self._sites.values():
            site.move_instants(by_s)
        for watched in self._flows:
            watched.watch.found.move_instants(by_s)
        for move in self.on_clock_set:
            move(by_s)

    def _why(self, watched: WatchedFlow, now_ns: int) -> ProberFault | None:
        if self._blocked is not None and now_ns < self._blocked[0]:
            return self._blocked[1]
        return (
            self._why_target(watched, now_ns)
            or self._why_not_described(self._sites[watched.flow.target], watched.flow.target_topic, now_ns)
            or self._why_not_described(self._sites[watched.flow.source], watched.flow.source_topic, now_ns)
            or self._why_producer(watched, now_ns)
        )

    def _why_target(self, watched: WatchedFlow, now_ns: int) -> ProberFault | None:
        target, topic = self._sites[watched.flow.target], watched.flow.target_topic
        silent_s = target.reader.silent_s
        if silent_s > TAP_SILENT_S:
            what = _not_run(target)
            return ProberFault("reader", what, now_ns - int(silent_s * 1e9))
        if target.control.control is Control.FAILING:
            return None  # the cluster is down, not our reader
        refused = self._refused.get((target.alias, topic)), target.refused.get(topic), target.unreached
        for refusal in refused:
            if refusal:
                what = f"it may not read {topic} on {target.alias}: {refusal}"
                return ProberFault(f"refused {refusal}", what, now_ns)
        return self._ends.why(target.alias, topic)

    def _why_not_described(self, site: Site, topic: str, now_ns: int) -> ProberFault | None:
        """Find a topic that cannot be described: a re-created one would be missed."""
        if not site.reached or site.control.control is Control.FAILING:
            return None
        described_ns, error = site.last_described(topic)
        silent_s = (now_ns - described_ns) / 1e9
        if silent_s <= DESCRIBE_SILENT_S:
            return None
        what = (
            f"it could not describe {topic} on {site.alias} for {duration_text(DESCRIBE_SILENT_S)} or longer"
        )
        told = f"{what}: {error}" if error else what
        return ProberFault(f"looks {site.alias} {topic} {error}", told, described_ns)

    def _why_producer(self, watched: WatchedFlow, now_ns: int) -> ProberFault | None:
        alias, sent_ns = watched.flow.source, self._unreported.get(watched.flow.source)
        if sent_ns is None or self._sites[alias].control.control is Control.FAILING:
            return None
        limit_s = report_within_s(watched.watch.horizon_s) + REPORT_LATE_S
        if (now_ns - sent_ns) / 1e9 <= limit_s:
            return None
        what = f"its producer to {alias} has reported nothing for {duration_text(limit_s)} or longer"
        return ProberFault("producer", what, sent_ns)

    def _why_source(self, watched: WatchedFlow, now_ns: int) -> ProberFault | None:
        source = self._sites[watched.flow.source]
        silent_s = source.reader.lazily_silent_s
        if silent_s > TAP_SILENT_S:
            return ProberFault("reader", _not_run(source), now_ns - int(silent_s * 1e9))
        if source.control.control is Control.FAILING:
            return None
        return self._ends.why(source.alias, watched.flow.source_topic)

    def _check_source(self, watched: WatchedFlow, now_ns: int) -> None:
        """Deliver to a flow whether its source can be read."""
        flow, why = watched.flow, self._why_source(watched, now_ns)
        told = self._unseen.get(flow.name)
        if why is not None and (told is None or told.kind != why.kind):
            self._unseen[flow.name] = why
            self._deliver(watched, SourceUnseen(why.sentence, now_ns))
            what = f"the canary does not read {flow.source_topic} on {flow.source}"
            self._reporter.problem(_seeing(flow), f"{what}: {why.sentence}")
        elif why is None and told is not None:
            del self._unseen[flow.name]
            self._deliver(watched, SourceUnseen("", now_ns))
            self._reporter.settled(_seeing(flow))


def _not_run(site: Site) -> str:
    return f"its reader of {site.alias} has not run for {duration_text(TAP_SILENT_S)} or longer"


def _seeing(flow: CanaryFlow) -> str:
    """Return the place of a problem with reading the flow's source."""
    return f"{flow.source}: reading at the source {flow.source_topic}"
