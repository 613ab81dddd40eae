"""Sends each probe of one source when it is due, on its own thread.

The event loop's own delays do not reach it: it sleeps to the next tick, stamps, and calls `produce()`.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from canary.tracker.plan import Attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from canary.inbox import Inbox
    from canary.tracker.plan import Schedule, Tick
    from runtime.process.clock import Clock

LATE_TICK_S = 1.0  # a tick handled later than this is not sent
NAP_S = 0.05  # the longest sleep that cannot be interrupted
SET_CLOCK_MS = 500.0  # the wall clock was set if it moves by more against the monotonic one


class Sending:
    """Sends the probes of one topic by `send(partition, sequence, due_at_ms)`.

    `send` returns when it called `produce()`, or None if the probe was not sent. `sequences` is the next
    sequence number of each partition, which this class counts on. Every due tick becomes an Attempt in the
    inbox, before any other item about that probe.
    """

    def __init__(
        self,
        schedule: Schedule,
        *,
        alias: str,
        topic_id: str,
        sequences: dict[tuple[str, int], int],
        send: Callable[[int, int, int], int | None],
        clock: Clock,
        inbox: Inbox,
    ) -> None:
        self._schedule = schedule
        self._alias = alias
        self._topic_id = topic_id
        self._sequences = sequences
        self._send = send
        self._clock = clock
        self._inbox = inbox
        self._offset_ms: float | None = None  # of the wall clock from the monotonic one
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"sending-{alias}", daemon=True)

    @property
    def ended(self) -> bool:
        """Return whether its thread has ended, stopped or failed."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; the first tick is due at the schedule's start."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait until every handled tick is in the inbox."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()

    def send_due(self) -> None:
        """Handle every due tick; returns early once stopped."""
        for tick in self._schedule.due(self._clock.monotonic_ns()):
            if self._ending.is_set():
                return
            self._attempt(tick)

    def _run(self) -> None:
        while not self._ending.is_set():
            wait_s = (self._schedule.next_ns - self._clock.monotonic_ns()) / 1e9
            if wait_s > NAP_S:
                self._ending.wait(wait_s - NAP_S / 2)
            else:
                if wait_s > 0:
                    time.sleep(wait_s)  # more exact than an event's wait, at a third of its cost
                self.send_due()

    def _attempt(self, tick: Tick) -> None:
        key = (self._topic_id, tick.partition)
        sequence = self._sequences.get(key, 0)
        self._sequences[key] = sequence + 1
        due_at_ms = self._wall_ms(tick.at_ns, self._clock.monotonic_ns())
        sent_ns = None
        held = self._inbox.hold()
        try:
            if self._clock.monotonic_ns() - tick.at_ns <= LATE_TICK_S * 1e9:
                sent_ns = self._send(tick.partition, sequence, due_at_ms)
        finally:
            held.item = Attempt(
                self._alias, self._topic_id, tick.partition, sequence, tick.at_ns, due_at_ms, sent_ns
            )

    def _wall_ms(self, instant_ns: int, now_ns: int) -> int:
        """Return the wall clock time of a scheduled instant, by one offset until the clock is set.

        One offset keeps the minutes of a schedule even; a clock that was set gives a new one.
        """
        offset_ms = self._clock.wall_s() * 1000 - now_ns / 1e6
        if self._offset_ms is None or abs(offset_ms - self._offset_ms) > SET_CLOCK_MS:
            self._offset_ms = offset_ms
        return int(self._offset_ms + instant_ns / 1e6)
