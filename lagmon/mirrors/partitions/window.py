"""Windows of the offsets that a mirror's worker writes, partition by partition. Pure.

N is the last source offset that was replicated. The windows keep N + 1, the next one. A *slot* is one source
partition. Times are epoch milliseconds by Mirrorwatch's clock: the reader has corrected the worker's or
broker's clock.

Commits that follow each other closely share one column, the newest. An example is a worker that writes
offsets with each transaction. So a window always spans more than the time between two polls of the log end.

Rest: N stops before transaction markers, aborted records and compacted offsets at the end of a log, until
another record is written. Once a read of the log has shown no record there, the window's newest offset is
raised to the log end at that time. It is lowered again when the mirror moves.

If a mirror's offset is removed, it starts again: should it return, that is a step back to 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.growing import more_rows
from lagmon.groups.rings import Rings
from lagmon.mirrors.partitions.steps_back import MOST_STEPS, StepBack

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

MOST_OFFSET = (1 << 63) - 2  # the largest with a next one
NEAR_MS = 3_000  # commits closer than this share a column: ten columns span more than two polls of the end
_FIRST = 64


class MirrorWindows:
    """The windows of one flow."""

    def __init__(self) -> None:
        self.rings = Rings()
        self.next_offset = np.full(_FIRST, -1, np.int64)  # N + 1
        self.committed_ms = np.full(_FIRST, -1, np.int64)  # when the newest was written
        self.moved_ms = np.full(_FIRST, -1, np.int64)  # when the newest different one was
        self.rest = np.full(_FIRST, -1, np.int64)  # up to where an idle tail counts as read
        self.turns = np.zeros(_FIRST, np.int32)  # how often it was assigned and freed
        self.resets = 0
        self._slots: dict[tuple[str, int], int] = {}
        self._names: list[tuple[str, int] | None] = []
        self._free: list[int] = []
        self._other_log: set[int] = set()
        self._removed: dict[
            tuple[str, int], tuple[list[int], list[int]]
        ] = {}  # removed offsets, and their times
        self._steps_back: list[StepBack] = []
        self._live_ms = -1  # when the newest live one was written
        self._confirmed_ms: dict[int, int] = {}  # when an offset was known to belong to the current log

    def __len__(self) -> int:
        """Return one more than the largest slot ever used."""
        return len(self._names)

    @property
    def version(self) -> tuple[int, int]:
        """Return a value that changes when a slot is assigned or freed."""
        return len(self._names), int(self.turns.sum())

    def slots(self) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and slot of each partition."""
        return ((topic, partition, slot) for (topic, partition), slot in self._slots.items())

    def slot(self, topic: str, partition: int) -> int | None:
        """Return the slot of a partition, None if the mirror has no offset there."""
        return self._slots.get((topic, partition))

    def name(self, slot: int) -> tuple[str, int]:
        """Return topic and partition of a slot."""
        found = self._names[slot]
        assert found is not None
        return found

    def commits(self, slot: int | None) -> list[tuple[int, int]]:
        """Return the offsets of a slot's window and their times, oldest first, without raised tails."""
        if slot is None:
            return []
        rings, filled = self.rings, int(self.rings.filled[slot])
        columns = slice(rings.length - filled, rings.length)
        rest, offset = int(self.rest[slot]), int(self.next_offset[slot])
        found = rings.offset[slot, columns].tolist(), rings.committed_ms[slot, columns].tolist()
        return [(offset if one == rest else one, at_ms) for one, at_ms in zip(*found, strict=True)]

    def take(self, topic: str, partition: int, offset: int, at_ms: int, *, live: bool) -> None:
        """Take in that the record at this offset is replicated; `live` if it was read as it was written."""
        slot, offset = self.ensure_slot(topic, partition), min(offset, MOST_OFFSET)
        self._put_back(slot)
        is_other_log = slot in self._other_log
        if is_other_log:
            self._other_log.remove(slot)
            if offset + 1 < self.next_offset[slot]:  # else it continued at its old position
                self.rings.clear(np.array([slot], np.int32))
        if offset + 1 != self.next_offset[slot]:
            if not is_other_log and (live or at_ms > self._live_ms >= 0):  # else it is part of a backlog
                self._note_step(topic, partition, int(self.next_offset[slot]), offset + 1, at_ms)
            self.moved_ms[slot] = at_ms
            self.rest[slot] = -1
        if live:
            self._live_ms = max(self._live_ms, at_ms)
        self.next_offset[slot] = offset + 1
        self.committed_ms[slot] = at_ms
        rings, filled = self.rings, int(self.rings.filled[slot])
        near = filled > 1 and at_ms - rings.committed_ms[slot, -2] < NEAR_MS
        # Keep every step back, and the offset that it went to.
        if near and rings.offset[slot, -2] <= rings.offset[slot, -1] <= offset + 1:
            rings.offset[slot, -1], rings.committed_ms[slot, -1], rings.lag[slot, -1] = offset + 1, at_ms, -1
        else:
            one = np.array([slot], np.int32)
            rings.append(one, np.array([offset + 1]), np.array([at_ms]), np.full(1, -1, np.int64), live=live)
        if self.rest[slot] >= 0:
            self._lift(slot)

    def ensure_slot(self, topic: str, partition: int) -> int:
        """Return the slot of a partition; assign one if it has none."""
        slot = self._slots.get((topic, partition))
        return self._new_slot(topic, partition) if slot is None else slot

    def take_polls(self, slots: NDArray[np.intp], next_offsets: Longs, at_ms: Longs) -> None:
        """Take in the next offset of many slots at once, each once, as `take` does live."""
        special = self.rest[slots] >= 0
        if self._other_log:
            special |= np.isin(slots, list(self._other_log))
        for one in np.flatnonzero(special).tolist():
            self.take(*self.name(int(slots[one])), int(next_offsets[one]) - 1, int(at_ms[one]), live=True)
        slots, next_offsets, at_ms = slots[~special], next_offsets[~special], at_ms[~special]
        moved = next_offsets != self.next_offset[slots]
        for one in np.flatnonzero(next_offsets < self.next_offset[slots]).tolist():
            topic, partition = self.name(int(slots[one]))
            peak, back = int(self.next_offset[slots[one]]), int(next_offsets[one])
            self._note_step(topic, partition, peak, back, int(at_ms[one]))
        self._live_ms = max(self._live_ms, int(at_ms.max(initial=-1)))
        self.moved_ms[slots[moved]] = at_ms[moved]
        self.next_offset[slots], self.committed_ms[slots] = next_offsets, at_ms
        rings = self.rings
        near = (rings.filled[slots] > 1) & (at_ms - rings.committed_ms[slots, -2] < NEAR_MS)
        last, newest = rings.offset[slots, -2], rings.offset[slots, -1]
        near &= (last <= newest) & (newest <= next_offsets)
        same = slots[near]
        rings.offset[same, -1], rings.committed_ms[same, -1] = next_offsets[near], at_ms[near]
        rings.lag[same, -1] = -1
        others = slots[~near].astype(np.int32)
        unknown = np.full(len(others), -1, np.int64)
        rings.append(others, next_offsets[~near], at_ms[~near], unknown, live=True)

    def reset(self, topic: str, partition: int, at_ms: int = -1) -> None:
        """Take in that the mirror's offset was removed, and when if that is known; it starts again."""
        slot = self._slots.get((topic, partition))
        if slot is None:
            return
        self.resets += 1
        self._put_back(slot)
        rings = self.rings
        first = rings.length - int(rings.filled[slot])
        offsets, times = rings.offset[slot, first:].tolist(), rings.committed_ms[slot, first:].tolist()
        taken_ms = max(times[-1], at_ms)
        self._note_step(topic, partition, int(self.next_offset[slot]), 0, taken_ms)
        self.forget(topic, partition)
        self._removed[topic, partition] = [*offsets, 0], [*times, taken_ms]

    def take_steps_back(self) -> list[StepBack]:
        """Return the steps back since the last call."""
        steps, self._steps_back = self._steps_back, []
        return steps

    def _note_step(self, topic: str, partition: int, peak: int, back: int, at_ms: int) -> None:
        if back < peak and len(self._steps_back) < MOST_STEPS:
            self._steps_back.append(StepBack(topic, partition, peak, back, at_ms))

    def forget(self, topic: str, partition: int) -> None:
        """Forget an offset that no longer has a meaning; nothing was removed."""
        self._removed.pop((topic, partition), None)
        slot = self._slots.pop((topic, partition), None)
        if slot is None:
            return
        self.turns[slot] += 1
        self._names[slot] = None
        self._free.append(slot)
        self._clear(slot)

    def forget_until(self, names: Iterable[tuple[str, int]], at_ms: int) -> None:
        """Forget what was written for these partitions up to an instant: it belongs to removed logs."""
        for name in names:
            slot = self._slots.get(name)
            if slot is None:
                self._removed.pop(name, None)
                continue
            filled = int(self.rings.filled[slot])
            times = self.rings.committed_ms[slot, self.rings.length - filled :]
            since = int(np.count_nonzero(times > at_ms))
            if not since or self.committed_ms[slot] <= at_ms:
                self.forget(*name)
            elif since < filled:
                self._put_back(slot)
                self.rest[slot] = -1
                self.keep_newest(slot, since)

    def note_recreated(self, topics: Container[str]) -> None:
        """Note re-created topics: the next offset of a partition belongs to another log."""
        slots = {slot for (topic, _), slot in self._slots.items() if topic in topics}
        self.unsettle(np.array([slot for slot in slots if self.rest[slot] >= 0], np.int64))
        self._other_log |= slots
        self._removed = {name: one for name, one in self._removed.items() if name[0] not in topics}

    def confirm(self, slot: int, at_ms: int) -> None:
        """Note that an offset belongs to the log that existed at this instant, whenever it was written."""
        self._other_log.discard(slot)
        self._confirmed_ms[slot] = at_ms

    def confirmed_ms(self, slot: int) -> int:
        """Return up to when a slot's offset is known to belong to the current log."""
        return max(int(self.committed_ms[slot]), self._confirmed_ms.get(slot, -1))

    def confirmed(self) -> dict[tuple[str, int], int]:
        """Return, by partition, when an offset was known to belong to the log of that time."""
        return {self.name(slot): at_ms for slot, at_ms in self._confirmed_ms.items()}

    def keep_newest(self, slot: int, columns: int) -> None:
        """Keep only the newest `columns` offsets of a slot: the older ones belong to another log."""
        rings, first = self.rings, self.rings.length - columns
        for array in (rings.offset, rings.committed_ms, rings.lag):
            array[slot, :first] = -1
        rings.filled[slot] = min(int(rings.filled[slot]), columns)
        rings.live[slot] = min(int(rings.live[slot]), columns)

    def settle(self, slots: NDArray[np.integer], ends: Longs) -> None:
        """Count everything up to these ends as read: an idle tail, which N passes only with the next record.

        Not for a mirror that has gone back: what it had passed before is no tail, and may be replicated
        again.
        """
        for slot, end in zip(slots.tolist(), ends.tolist(), strict=True):
            self._put_back(slot)
            if self.rings.offset[slot].max() <= self.next_offset[slot]:
                self.rest[slot] = end
                self._lift(slot)

    def unsettle(self, slots: NDArray[np.integer]) -> None:
        """Stop counting everything up to an end as read: the log that was read was removed."""
        for slot in slots.tolist():
            self._put_back(slot)
            self.rest[slot] = -1

    def _lift(self, slot: int) -> None:
        row = self.rings.offset[slot]
        row[self._newest(slot)] = self.rest[slot]

    def _put_back(self, slot: int) -> None:
        if self.rest[slot] >= 0:
            row = self.rings.offset[slot]
            row[row == self.rest[slot]] = self.next_offset[slot]

    def _newest(self, slot: int) -> NDArray[np.bool_]:
        row = self.rings.offset[slot]
        filled = np.arange(self.rings.length) >= self.rings.length - self.rings.filled[slot]
        found: NDArray[np.bool_] = filled & (row == self.next_offset[slot])
        return found

    def _new_slot(self, topic: str, partition: int) -> int:
        if self._free:
            slot = self._free.pop()
            self._names[slot] = (topic, partition)
        else:
            slot = len(self._names)
            self._names.append((topic, partition))
            self._hold(slot + 1)
        self.turns[slot] += 1
        self._slots[topic, partition] = slot
        removed = self._removed.pop((topic, partition), None)
        if removed is not None:
            offsets, times = (np.array(one, np.int64) for one in removed)
            unknown = np.full(len(offsets), -1, np.int64)
            self.rings.append(np.full(len(offsets), slot, np.int32), offsets, times, unknown, live=True)
        return slot

    def _hold(self, slots: int) -> None:
        self.rings.hold(slots)
        if slots > len(self.next_offset):
            rows = max(slots, len(self.next_offset) * 5 // 4)
            for name in ("next_offset", "committed_ms", "moved_ms", "rest"):
                more_rows(self, name, rows, -1)
            more_rows(self, "turns", rows, 0)

    def _clear(self, slot: int) -> None:
        self.rings.clear(np.array([slot], np.int32))
        self._other_log.discard(slot)
        self._confirmed_ms.pop(slot, None)
        for array in (self.next_offset, self.committed_ms, self.moved_ms, self.rest):
            array[slot] = -1


LONGEST_MS = 600_000  # a longer gap shows little traffic, not rare commits
SLOW_WORKER_MS = 60_000  # a worker that should write more often may take as long
SURE_OF_SHORT = 8  # offsets in a window


def observed_cadence_ms(windows: MirrorWindows, configured_ms: int, floor_ms: int = 0) -> int:
    """Return the cadence: the shortest of the partitions' usual gaps between offsets, at least the floor.

    A partition with little traffic has long gaps of its own; the busiest shows the worker's. A restarted
    worker writes more often for a while. So gaps shorter than the configured one count only if all but one
    gap of the window are that short. Gaps shorter than the floor never count. With a floor the configured gap
    is that of the worker, so gaps over a minute that are longer show little traffic.
    """
    count = len(windows)
    filled = windows.rings.filled[:count]
    busy = filled >= 4
    if not busy.any():
        return configured_ms
    gaps = np.maximum(np.diff(windows.rings.committed_ms[:count][busy], axis=1), 0)
    known = filled[busy].astype(np.intp) - 1  # gaps; those before them sort last
    gaps[np.arange(gaps.shape[1]) < gaps.shape[1] - known[:, None]] = np.iinfo(gaps.dtype).max
    gaps.sort(axis=1)
    row = np.arange(len(gaps))
    usual = (gaps[row, (known - 1) // 2] + gaps[row, known // 2]) / 2
    longest_but_one = gaps[row, known - 2]
    longest_but_one[filled[busy] < SURE_OF_SHORT] = configured_ms
    usual = np.where(usual < configured_ms, np.clip(longest_but_one, usual, configured_ms), usual)
    shortest = float(usual.min())
    cadence_ms = int(shortest) if shortest <= LONGEST_MS else configured_ms
    if floor_ms > 0:
        cadence_ms = min(cadence_ms, max(configured_ms, SLOW_WORKER_MS))
    return max(floor_ms, cadence_ms)
