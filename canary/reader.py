"""One cluster's tap, made anew whenever what it has to read changes, and where it has got to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runtime.kafka.tap import Place, Tap, TapFault, TappedEnd, TappedRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from canary.inbox import Inbox
    from runtime.clock import Clock
    from runtime.kafka.translation import ClientSettings

JOIN_S = 10.0
_TAP = "-tap-"


def alias_of(tap_name: str) -> str:
    """Return the alias of the cluster that the tap of this name reads."""
    return tap_name.rpartition(_TAP)[0]


class Reader:
    """Keeps one tap on a set of partitions of one cluster.

    `positions` is the next offset to read of each (topic, partition); a generation number in the tap's
    name lets what an older tap still says be told apart.
    """

    def __init__(self, settings: ClientSettings, *, alias: str, clock: Clock, inbox: Inbox) -> None:
        self.alias = alias
        self.positions: dict[tuple[str, int], int] = {}
        self.ended = False  # the tap reads no more, although it was not told to stop
        self._settings = settings
        self._clock = clock
        self._inbox = inbox
        self._tap: Tap | None = None
        self._generation = 0
        self._gone_back: set[tuple[str, int]] = set()  # read a smaller offset than before, under one tap

    @property
    def tap_name(self) -> str:
        """Return the present tap's name."""
        return f"{self.alias}{_TAP}{self._generation}"

    @property
    def silent_s(self) -> float:
        """Return for how long the tap's thread has not been seen; 0 where there is no tap."""
        if self._tap is None:
            return 0.0
        return (self._clock.monotonic_ns() - self._tap.last_poll_ns) / 1e9

    def note(self, tapped: TappedRecord | TappedEnd) -> bool:
        """Move the position on; false for what an older tap says, or of a partition no longer read."""
        key = (tapped.topic, tapped.partition)
        if tapped.tap != self.tap_name or key not in self.positions:
            return False
        position = tapped.offset + 1 if isinstance(tapped, TappedRecord) else tapped.position
        if position <= self.positions[key] and isinstance(tapped, TappedRecord):
            self._gone_back.add(key)
        self.positions[key] = position
        return True

    def note_fault(self, fault: TapFault) -> bool:
        """Note what the present tap complains of; false for an older one's complaint."""
        if fault.tap != self.tap_name:
            return False
        self.ended = self.ended or fault.lasting
        return True

    def confirm(self) -> None:
        """Note that the topics are those that they were: whatever went back did so within the same log."""
        self._gone_back.clear()

    async def read(
        self, places: Mapping[tuple[str, int], int], *, drop: set[str], drain: Callable[[], None]
    ) -> None:
        """Read these partitions beside those that are read already, and no topic of `drop` any more.

        `drain` takes in what the old tap has left in the inbox, so that the new one begins behind it. Of a
        topic that was made anew the old tap may have found its way into the new log already, which shows by
        its going back: then the new one goes on where it stands, and reads nothing twice.
        """
        await self.stop()
        drain()
        found = {key: self.positions[key] for key in places if key in self._gone_back}
        self._gone_back.clear()
        for key in [key for key in self.positions if key[0] in drop]:
            del self.positions[key]
        self.positions.update({**places, **found})
        self._generation += 1
        self.ended = False
        if not self.positions:
            return
        self._tap = Tap(
            self._settings,
            name=self.tap_name,
            cluster=self.alias,
            clock=self._clock,
            sink=self._inbox.put_when_room,
        )
        self._tap.start([Place(topic, partition, at) for (topic, partition), at in self.positions.items()])

    async def stop(self) -> None:
        """End the present tap and wait for its thread."""
        tap, self._tap = self._tap, None
        if tap is not None:
            tap.stop()
            await asyncio.to_thread(tap.join, JOIN_S)
