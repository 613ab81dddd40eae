"""The prober doubts itself: where its own loop or readers fail, a verdict about a mirror would be a guess."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from canary.events import Event, Impaired, Restored
from canary.latency import Histogram
from fleet.evidence import Control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.flows import WatchedFlow
    from canary.site import Site
    from runtime.clock import WaitingClock

TICK_S = 0.1
LOOP_LATE_S = 1.0  # the loop standing still for longer than this spoils what was in flight
TAP_SILENT_S = 3.0
STUCK_LOOKS = 3  # looks in a row at which a reader stood while its partition went on


class Doubts:
    """Watches the event loop and the taps, and tells the flows concerned when they can't be trusted."""

    def __init__(
        self,
        flows: Iterable[WatchedFlow],
        sites: Mapping[str, Site],
        *,
        clock: WaitingClock,
        tell: Callable[[WatchedFlow, Event], None],
    ) -> None:
        self.loop_delay = Histogram(0.001)
        self._flows = list(flows)
        self._sites = sites
        self._clock = clock
        self._tell = tell
        self._impaired: dict[str, str] = {}  # by flow: what it was told
        self._stuck: dict[tuple[str, str, int], tuple[int, int]] = {}  # position, looks without progress
        self._refused: dict[tuple[str, str], str] = {}  # by cluster and topic: what it said

    async def watch(self) -> None:
        """Look every tenth of a second, until cancelled."""
        while True:
            asked_ns = self._clock.monotonic_ns()
            await asyncio.sleep(TICK_S)
            late_s = max(0.0, (self._clock.monotonic_ns() - asked_ns) / 1e9 - TICK_S)
            self.loop_delay.observe(late_s)
            self.look(late_s)

    def look(self, late_s: float) -> None:
        """Tell each flow whether it can be seen properly, where that has changed."""
        for held in self._flows:
            why = self._why(held, late_s)
            name = held.flow.name
            if why is not None and name not in self._impaired:
                self._impaired[name] = why
                self._tell(held, Impaired(why, self._clock.monotonic_ns()))
            elif why is None and self._impaired.pop(name, None) is not None:
                self._tell(held, Restored(self._clock.monotonic_ns()))

    def compare(self, alias: str, topic: str, partition: int, *, position: int, end: int) -> None:
        """Note how far a reader is from the end that the cluster tells; position -1: it has not begun."""
        key = (alias, topic, partition)
        before, looks = self._stuck.get(key, (-1, 0))
        if position >= end or position != before:
            self._stuck[key] = (position, 0)
        else:
            self._stuck[key] = (position, looks + 1)

    def forget(self, alias: str, topic: str) -> None:
        """Begin anew with a topic that came, went or was made anew."""
        for key in [key for key in self._stuck if key[:2] == (alias, topic)]:
            del self._stuck[key]
        self.clear_refusal(alias, topic)

    def note_refusal(self, alias: str, topic: str, sentence: str) -> None:
        """Note that a cluster does not let us read a topic; an empty name is all of its topics."""
        self._refused[alias, topic] = sentence

    def clear_refusal(self, alias: str, topic: str) -> None:
        """Note that it lets us read this topic."""
        if self._refused:
            self._refused.pop((alias, topic), None)
            self._refused.pop((alias, ""), None)

    def _why(self, held: WatchedFlow, late_s: float) -> str | None:
        if late_s > LOOP_LATE_S:
            return f"its event loop stood still for {late_s:.1f} s"
        target, topic = self._sites[held.flow.target], held.flow.target_topic
        if target.reader.silent_s > TAP_SILENT_S:
            return f"its reader of {target.alias} has not run for {target.reader.silent_s:.0f} s"
        if target.control.control is Control.FAILING:
            return None  # the cluster is down, not our reader
        for refusal in (self._refused.get((target.alias, topic)), target.refused.get(topic)):
            if refusal is not None:
                return f"it is not allowed to see {topic} on {target.alias}: {refusal}"
        for (alias, name, partition), (position, looks) in self._stuck.items():
            if (alias, name) == (target.alias, topic) and looks >= STUCK_LOOKS:
                stands = "has not begun with" if position < 0 else f"stands at offset {position} of"
                return (
                    f"its reader of {alias} {stands} {topic}, partition {partition}, while the partition"
                    " goes on"
                )
        return None
