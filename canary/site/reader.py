"""The taps of one cluster, re-created when the partitions to read change, and their positions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runtime.kafka.tap import Place, Tap, TapFault, TappedEnd, TappedRecord
from runtime.kafka.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from canary.inbox import Inbox
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

JOIN_S = 10.0
_TAP = "-tap-"


def alias_of(tap_name: str) -> str:
    """Return the alias of the cluster that the tap of this name reads."""
    return tap_name.rpartition(_TAP)[0]


class Reader:
    """Keeps the taps on the partitions of one cluster: an eager one and a lazy one, as needed.

    `eager` are the topics whose arrivals are timed; other topics are read lazily. `positions` is the next
    offset of each (topic, partition). The generation number in a tap's name identifies items of older taps.
    """

    def __init__(self, settings: ClientSettings, *, alias: str, clock: Clock, inbox: Inbox) -> None:
        self.alias = alias
        self.positions: dict[tuple[str, int], int] = {}
        self.eager: set[str] = set()
        self.ended = False  # a tap has ended unexpectedly
        self.throttle = Throttle(clock)
        self._settings = settings
        self._clock = clock
        self._inbox = inbox
        self._taps: list[Tap] = []
        self._names: tuple[str, str] = (f"{alias}{_TAP}0", f"{alias}{_TAP}0-lazy")  # of the current taps
        self._generation = 0
        self._read_eagerly: set[str] = set()  # by the current taps
        self._gone_back: set[tuple[str, int]] = set()  # one tap read a smaller offset than before

    @property
    def tap_name(self) -> str:
        """Return the current eager tap's name."""
        return self._names[0]

    @property
    def silent_s(self) -> float:
        """Return how long the eager tap's thread has not polled; 0 without one."""
        return self._silence_s(lazy=False)

    @property
    def lazily_silent_s(self) -> float:
        """Return the same for the lazy tap."""
        return self._silence_s(lazy=True)

    @property
    def outdated(self) -> bool:
        """Return whether the taps must be re-created: one has ended, or reads a topic in the wrong mode."""
        topics = {topic for topic, _ in self.positions}
        dead = any(tap.dead for tap in self._taps)
        return dead or self.ended or (self.eager & topics) != (self._read_eagerly & topics)

    def take_over(self, before: Reader) -> None:
        """Take over the positions of another reader of this cluster."""
        self.positions, self.eager = before.positions, before.eager
        self._generation = before._generation
        self.ended = bool(self.positions)

    def leaps(self, tapped: TappedRecord | TappedEnd) -> bool:
        """Return whether records before this one were deleted unread.

        A step over one offset is a transaction's marker. If everything was deleted, the end arrives first,
        and the record after it skips nothing.
        """
        position = self.positions.get((tapped.topic, tapped.partition))
        at = tapped.offset if isinstance(tapped, TappedRecord) else tapped.position
        return position is not None and at > position + 1

    def note(self, tapped: TappedRecord | TappedEnd) -> bool:
        """Advance the position; false for an item of an older tap or of a partition not read any more."""
        key = (tapped.topic, tapped.partition)
        if tapped.tap not in self._names or key not in self.positions:
            return False
        if isinstance(tapped, TappedRecord):
            at, then = tapped.offset, tapped.offset + 1
        else:  # an empty log reports its end before any record
            at = then = tapped.position
        if at < self.positions[key]:
            self._gone_back.add(key)
        self.positions[key] = then
        return True

    def note_fault(self, fault: TapFault) -> bool:
        """Note a fault of a current tap; false for an older tap's fault."""
        if fault.tap not in self._names:
            return False
        self.ended = self.ended or fault.lasting
        return True

    @property
    def gone_back(self) -> frozenset[tuple[str, int]]:
        """Return the partitions that went back, in a log that is not known yet."""
        return frozenset(self._gone_back)

    def confirm(self, places: Iterable[tuple[str, int]]) -> None:
        """Note that these went back within the same log: their topics are unchanged."""
        self._gone_back.difference_update(places)

    async def read(
        self, places: Mapping[tuple[str, int], int], *, drop: set[str], drain: Callable[[], None]
    ) -> None:
        """Read these partitions too, and stop reading the topics of `drop`.

        `drain` processes what the old taps left in the inbox, so that the new ones continue after it. An old
        tap may have moved to the new log of a re-created topic, which shows by a smaller offset. The new tap
        then continues at that position and reads nothing twice.
        """
        await self.stop()
        drain()
        found = {key: self.positions[key] for key in places if key in self._gone_back}
        for key in [key for key in self.positions if key[0] in drop]:
            del self.positions[key]
            self._gone_back.discard(key)
        self._gone_back.difference_update(places)
        self.positions.update({**places, **found})
        self._generation += 1
        name = f"{self.alias}{_TAP}{self._generation}"
        self._names = (name, f"{name}-lazy")
        self.ended = False
        self._read_eagerly = set(self.eager)
        places_by_laziness: dict[bool, list[Place]] = {False: [], True: []}
        for (topic, partition), offset in self.positions.items():
            places_by_laziness[topic not in self.eager].append(Place(topic, partition, offset))
        for lazy, its_places in places_by_laziness.items():
            if its_places:
                self._start(self._names[lazy], its_places, lazy=lazy)

    def _silence_s(self, *, lazy: bool) -> float:
        seen_ns = [tap.last_poll_ns for tap in self._taps if tap.lazy is lazy]
        return (self._clock.monotonic_ns() - min(seen_ns)) / 1e9 if seen_ns else 0.0

    async def stop(self) -> None:
        """Stop the current taps and wait for their threads."""
        taps, self._taps = self._taps, []
        for tap in taps:
            tap.stop()
        await asyncio.gather(*(asyncio.to_thread(tap.join, JOIN_S) for tap in taps))

    def _start(self, name: str, places: list[Place], *, lazy: bool) -> None:
        tap = Tap(
            self._settings,
            name=name,
            cluster=self.alias,
            clock=self._clock,
            sink=self._inbox.put_when_room,
            lazy=lazy,
            throttled=self.throttle.hear,
        )
        tap.start(places)
        self._taps.append(tap)
