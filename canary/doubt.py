"""The prober doubts itself: where its own parts fail, a verdict about a mirror would be a guess.

What is doubted, in the order in which it is asked, and whom it concerns:

1. every flow: the event loop stood still, or the machine slept; for a while after that too, until what came
   meanwhile is taken in;
2. every flow: the store cannot be written;
3. the flows into a cluster: our reader of it does not run, may not read, or does not get to the ends that
   the cluster tells; or the cluster's topics cannot be looked at, so that one made anew would not be seen;
4. the flows out of a cluster: the same look at its topics, and our producer, which reports nothing.

3 and 4 hold only while the cluster's control probes do not fail: otherwise the cluster is at fault. A reader
that does not run is the exception: its thread is ours, whatever the cluster does. A reader of a source that
shows nothing spoils no arrival: its flows are told that the source is not seen, no more.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from canary.site.probing import report_within_s
from canary.tracker.events import Event, Impaired, Restored, Slept, SourceUnseen
from canary.tracker.latency import Histogram
from canary.watch.suspicion import Ends, StoreDoubt, Suspicion
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
LOOP_LATE_S = 1.0  # the loop standing still for longer than this spoils what was in flight
JUMP_S = 0.5  # a sleep of the machine, or a setting of its clock, from which on it is told
STEP_S = 0.001  # a setting of its clock that is more than the two readings being taken one after the other
SETTLE_S = 3.0  # how long, at most, after a standstill what came meanwhile may still have to be taken in
TAP_SILENT_S = 3.0
LOOK_SILENT_S = 15.0  # a look at topics is due every two seconds and may take five
REPORT_LATE_S = 5.0  # how long after its own limit the producer may still be about to report


class Doubts:
    """Watches the prober's parts, and tells the flows concerned when they can't be trusted."""

    def __init__(
        self,
        flows: Collection[WatchedFlow],
        sites: Mapping[str, Site],
        *,
        clock: WaitingClock,
        tell: Callable[[WatchedFlow, Event], None],
        reporter: Reporter,
    ) -> None:
        """Begin without doubts; `flows` and `sites` may change under way."""
        self.loop_delay = Histogram(0.001)
        self.on_clock_set: list[Callable[[float], None]] = []  # called with the seconds by which it was set
        self._flows = flows
        self._sites = sites
        self._clock = clock
        self._tell = tell
        self._reporter = reporter
        self._impaired: dict[str, Suspicion] = {}  # by flow: what it was told
        self._unseen: dict[str, Suspicion] = {}  # by flow: why its source is not seen, as it was told
        self._ends = Ends()
        self._store = StoreDoubt()
        self._refused: dict[tuple[str, str], str] = {}  # by cluster and topic: what it said
        self._unreported: dict[str, int] = {}  # by cluster: when the first probe after its last report went
        self._seen_ns = clock.monotonic_ns()  # when the loop was last seen to run
        self._slept_ns = clock.slept_ns()
        self._stood: tuple[int, Suspicion] | None = (
            None  # until when a standstill is doubted, and what it was
        )

    def forget_flow(self, flow: CanaryFlow) -> None:
        """Forget what a flow was told, which is watched no more."""
        self._impaired.pop(flow.name, None)
        if self._unseen.pop(flow.name, None) is None:
            return
        of_source = {held.flow.name for held in self._flows if held.flow.source == flow.source}
        if not (of_source - {flow.name}) & self._unseen.keys():
            self._reporter.settled(_seeing(flow))

    async def watch(self) -> None:
        """Look every tenth of a second, until cancelled."""
        while True:
            asked_ns = self._clock.monotonic_ns()
            await asyncio.sleep(TICK_S)
            self.loop_delay.observe(max(0.0, (self._clock.monotonic_ns() - asked_ns) / 1e9 - TICK_S))
            self.look()

    def samples(self) -> Iterator[Sample]:
        """Yield how late timers of the event loop run, as a series."""
        yield series.EVENT_LOOP_DELAY_SECONDS, (), self.loop_delay.copy()

    def notice(self) -> None:
        """See whether the loop stood or a clock jumped: asked first by who draws conclusions from time."""
        now_ns, slept_ns, before_ns = self._clock.monotonic_ns(), self._clock.slept_ns(), self._seen_ns
        slept_s = (slept_ns - self._slept_ns) / 1e9
        stood_s = (now_ns - before_ns) / 1e9 - TICK_S
        self._seen_ns, self._slept_ns = now_ns, slept_ns
        if slept_s > JUMP_S:
            for held in self._flows:
                self._tell(held, Slept(before_ns, now_ns))
            self._stand(before_ns, now_ns, slept_s, f"the machine slept for {duration_text(slept_s)}")
        elif stood_s > self._most_s():
            what = f"its event loop was blocked for {duration_text(stood_s)}"
            self._stand(before_ns, now_ns, stood_s, what)
        set_s = self._clock.follow()
        if abs(set_s) > STEP_S:
            self._move_instants(set_s)

    def look(self) -> None:
        """Tell each flow whether it can be seen properly, where that has changed."""
        self.notice()
        now_ns = self._clock.monotonic_ns()
        for held in self._flows:
            name = held.flow.name
            why, told = self._why(held, now_ns), self._impaired.get(name)
            if why is not None and (told is None or told.kind != why.kind):
                self._impaired[name] = why
                self._tell(held, Impaired(why.sentence, now_ns, why.since_ns))
            elif why is None and told is not None:
                del self._impaired[name]
                self._tell(held, Restored(now_ns))
            self._look_at_source(held, now_ns)

    # --- what others note

    def compare(self, alias: str, topic: str, partition: int, *, position: int, end: int) -> None:
        """Note how far a reader is from the end that the cluster tells; position -1: it has not begun."""
        self._ends.compare(
            (alias, topic, partition), position=position, end=end, now_ns=self._clock.monotonic_ns()
        )

    def forget(self, alias: str, topic: str) -> None:
        """Begin anew with a topic that came, went or was made anew."""
        self._ends.forget(alias, topic)
        self.clear_refusal(alias, topic)

    def note_refusal(self, alias: str, topic: str, sentence: str) -> None:
        """Note that a cluster does not let us read a topic; an empty name is all of its topics."""
        self._refused[alias, topic] = sentence

    def clear_refusal(self, alias: str, topic: str) -> None:
        """Note that it lets us read this topic."""
        if self._refused:
            self._refused.pop((alias, topic), None)
            self._refused.pop((alias, ""), None)

    def note_store(self, ok: bool, sentence: str = "") -> None:
        """Note whether a write to the store succeeded, and what it said if not."""
        self._store.note(None if ok else sentence, self._clock.monotonic_ns())

    def note_sent(self, alias: str, at_ns: int) -> None:
        """Note that a probe was handed to a cluster's producer."""
        self._unreported.setdefault(alias, at_ns)

    def note_report(self, alias: str) -> None:
        """Note that a cluster's producer has reported, whatever it was."""
        self._unreported.pop(alias, None)

    # --- what follows

    def _stand(self, before_ns: int, now_ns: int, lost_s: float, what: str) -> None:
        """Doubt what was seen over a standstill, and what comes until it is all taken in."""
        until_ns = now_ns + int(min(SETTLE_S, lost_s) * 1e9)
        self._stood = until_ns, Suspicion("standstill", what, before_ns)
        self._reporter.event(f"the canary's measurements are not reliable: {what}")
        for site in self._sites.values():
            site.control.disturb(now_ns)
        self.look()

    def _most_s(self) -> float:
        """Return how long the loop may stand: never so long that it alone makes a probe late."""
        return min([LOOP_LATE_S, *(held.flow.threshold_s / 2 for held in self._flows)])

    def _move_instants(self, by_s: float) -> None:
        """Have every instant that is kept move with the wall clock, so that no age jumps with it."""
        if abs(by_s) > JUMP_S:
            way = "forward" if by_s > 0 else "back"
            self._reporter.event(f"the machine's clock was set {way} by {duration_text(abs(by_s))}")
        for site in self._sites.values():
            site.move_instants(by_s)
        for held in self._flows:
            held.watch.found.move_instants(by_s)
        for move in self.on_clock_set:
            move(by_s)

    def _why(self, held: WatchedFlow, now_ns: int) -> Suspicion | None:
        if self._stood is not None and now_ns < self._stood[0]:
            return self._stood[1]
        return (
            self._store.why(now_ns)
            or self._why_target(held, now_ns)
            or self._why_looks(self._sites[held.flow.target], held.flow.target_topic, now_ns)
            or self._why_looks(self._sites[held.flow.source], held.flow.source_topic, now_ns)
            or self._why_producer(held, now_ns)
        )

    def _why_target(self, held: WatchedFlow, now_ns: int) -> Suspicion | None:
        target, topic = self._sites[held.flow.target], held.flow.target_topic
        silent_s = target.reader.silent_s
        if silent_s > TAP_SILENT_S:
            what = _not_run(target)
            return Suspicion("reader", what, now_ns - int(silent_s * 1e9))
        if target.control.control is Control.FAILING:
            return None  # the cluster is down, not our reader
        refused = self._refused.get((target.alias, topic)), target.refused.get(topic), target.unreached
        for refusal in refused:
            if refusal:
                what = f"it may not read {topic} on {target.alias}: {refusal}"
                return Suspicion(f"refused {refusal}", what, now_ns)
        return self._ends.why(target.alias, topic)

    def _why_looks(self, site: Site, topic: str, now_ns: int) -> Suspicion | None:
        """Doubt a topic that cannot be looked at: if it were made anew, nobody would know."""
        if not site.reached or site.control.control is Control.FAILING:
            return None
        looked_ns, error = site.looked(topic)
        unlooked_s = (now_ns - looked_ns) / 1e9
        if unlooked_s <= LOOK_SILENT_S:
            return None
        what = f"it could not describe {topic} on {site.alias} for {duration_text(LOOK_SILENT_S)} or longer"
        told = f"{what}: {error}" if error else what
        return Suspicion(f"looks {site.alias} {topic} {error}", told, looked_ns)

    def _why_producer(self, held: WatchedFlow, now_ns: int) -> Suspicion | None:
        alias, sent_ns = held.flow.source, self._unreported.get(held.flow.source)
        if sent_ns is None or self._sites[alias].control.control is Control.FAILING:
            return None
        limit_s = report_within_s(held.watch.horizon_s) + REPORT_LATE_S
        if (now_ns - sent_ns) / 1e9 <= limit_s:
            return None
        what = f"its producer to {alias} has reported nothing for {duration_text(limit_s)} or longer"
        return Suspicion("producer", what, sent_ns)

    def _why_source(self, held: WatchedFlow, now_ns: int) -> Suspicion | None:
        source = self._sites[held.flow.source]
        silent_s = source.reader.lazily_silent_s
        if silent_s > TAP_SILENT_S:
            return Suspicion("reader", _not_run(source), now_ns - int(silent_s * 1e9))
        if source.control.control is Control.FAILING:
            return None
        return self._ends.why(source.alias, held.flow.source_topic)

    def _look_at_source(self, held: WatchedFlow, now_ns: int) -> None:
        """Tell a flow whether its source shows what is in its log."""
        flow, why = held.flow, self._why_source(held, now_ns)
        told = self._unseen.get(flow.name)
        if why is not None and (told is None or told.kind != why.kind):
            self._unseen[flow.name] = why
            self._tell(held, SourceUnseen(why.sentence, now_ns))
            what = f"the canary does not read {flow.source_topic} on {flow.source}"
            self._reporter.problem(_seeing(flow), f"{what}: {why.sentence}")
        elif why is None and told is not None:
            del self._unseen[flow.name]
            self._tell(held, SourceUnseen("", now_ns))
            self._reporter.settled(_seeing(flow))


def _not_run(site: Site) -> str:
    return f"its reader of {site.alias} has not run for {duration_text(TAP_SILENT_S)} or longer"


def _seeing(flow: CanaryFlow) -> str:
    """Return the place of a complaint about what the flow's source shows."""
    return f"{flow.source}: reading at the source {flow.source_topic}"
