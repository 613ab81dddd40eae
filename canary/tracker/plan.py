"""How many partitions the canary's topic has, with what settings, and when and how often each is probed."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Kafka deletes whole segments, and the one that is written to never: without segment.ms a day is eight, and
# an hour a week.
PROBES_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "86400000", "segment.ms": "21600000"}
# Stamped by the broker, which shows how far its clock is from ours.
CONTROL_SETTINGS = {
    "cleanup.policy": "delete",
    "retention.ms": "3600000",
    "segment.ms": "600000",
    "message.timestamp.type": "LogAppendTime",
}
MAX_TICKS_AT_ONCE = 10_000
_LONGEST_DELAY_NS = 1_000_000_000


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


class Attempt(NamedTuple):
    """A tick was handled: probe `sequence` was due at `at_ns`, and `sent_ns` is None where it was skipped.

    `due_at_ms` is the scheduled instant on the wall clock.
    """

    alias: str
    topic_id: str
    partition: int
    sequence: int
    at_ns: int
    due_at_ms: int
    sent_ns: int | None


class Schedule:
    """An open-loop schedule: every partition once an interval, ticks spread evenly over it.

    The instants are fixed at the start and do not move with a late caller, so that a delay of the prober
    shows as queueing.
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
        """Return the new ticks up to now, in order.

        It returns at most MAX_TICKS_AT_ONCE: call again while `next_ns` is past.
        """
        ticks: list[Tick] = []
        while self._at(self._done) <= now_ns and len(ticks) < MAX_TICKS_AT_ONCE:
            ticks.append(Tick(self._done % self._partitions, self._at(self._done)))
            self._done += 1
        return ticks

    def _at(self, number: int) -> int:
        return self._start_ns + number * self._interval_ns // self._partitions


def even_interval_s(interval_s: float, *, partitions: int, max_rate: float) -> float:
    """Return the interval at which so many partitions are probed at no more than `max_rate` a second in all.

    It is `interval_s` or longer, in steps of a tenth of it: one partition more or less among many
    does not change every schedule.
    """
    needed = partitions / max_rate
    # A rounding error must not add a tenth.
    tenths = max(10, math.ceil(round(needed / interval_s * 10, 6)))
    return interval_s * tenths / 10 if tenths > 10 else interval_s


def first_tick_ns(now_ns: int, *, source: str, interval_ns: int, partitions: int) -> int:
    """Return when a schedule starts, at or after now: each source has its own place between two ticks.

    The place depends on the name alone, so it is the same after a restart, and sources that start at the
    same moment do not send at the same moments. The delay is at most a second.
    """
    grain_ns = max(1, min(interval_ns // partitions, _LONGEST_DELAY_NS))
    place_ns = zlib.crc32(source.encode()) * grain_ns >> 32
    return now_ns + (place_ns - now_ns) % grain_ns
