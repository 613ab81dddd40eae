"""How many partitions the canary's topic has, with what settings, and when each of them is probed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TICKS_AT_ONCE = 10_000


def partitions_for(*, source_brokers: int, target_brokers: int, tasks_max: int, at_most: int) -> int:
    """Return the partitions that put a probe in every mirror task and on every broker, as far as they go.

    MirrorMaker deals out contiguous partitions round-robin, so as many partitions as tasks reach them all.
    """
    return min(max(source_brokers, target_brokers, tasks_max, 1), at_most)


def settings_text(config: Mapping[str, str]) -> str:
    """Write the settings of a topic for a sentence, such as `retention.ms=3600000, segment.ms=600000`."""
    return ", ".join(f"{key}={value}" for key, value in config.items())


@dataclass(frozen=True, slots=True)
class Tick:
    """A probe of this partition is due at this monotonic instant."""

    partition: int
    at_ns: int


class Schedule:
    """An open-loop schedule: every partition once an interval, ticks spread evenly over it.

    The instants are fixed at the start and never moved by how late somebody asks, so that a delay of ours
    shows as queueing and is not left out of the measure.
    """

    def __init__(self, *, start_ns: int, interval_ns: int, partitions: int) -> None:
        self._start_ns = start_ns
        self._interval_ns = interval_ns
        self._partitions = partitions
        self._done = 0

    @property
    def next_ns(self) -> int:
        """Return when the next tick is due."""
        return self._at(self._done)

    def due(self, now_ns: int) -> list[Tick]:
        """Return the ticks up to now that were not returned before, in order.

        After a long standstill they come in portions of MAX_TICKS_AT_ONCE: ask again while `next_ns` is past.
        """
        ticks: list[Tick] = []
        while self._at(self._done) <= now_ns and len(ticks) < MAX_TICKS_AT_ONCE:
            ticks.append(Tick(self._done % self._partitions, self._at(self._done)))
            self._done += 1
        return ticks

    def _at(self, number: int) -> int:
        return self._start_ns + number * self._interval_ns // self._partitions
