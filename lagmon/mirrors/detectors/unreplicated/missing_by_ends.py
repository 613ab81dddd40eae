"""Records that may be missing: the mirror passed them, and the target has grown by less. Pure.

The distance between a partition's end on the target and the mirror's offset stays the same while each record
is replicated once. It falls if a transform drops records, and also if transactions leave markers, aborted
records are skipped, or compaction leaves gaps. So a fall is a suspicion that only the checksum can settle. It
does not change the verdict, and is not reported for compacted topics or topics that have had an open
transaction.

None of these lowers a target's end. If that has fallen, the target lost its log end. That is a suspicion as
well, for any topic, until its id shows that it was re-created.

Both ends are read at different instants. So a distance is taken only while nothing moves: the mirror has read
everything, and two polls of the target's end and one of the source's agree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding
from lagmon.mirrors.detectors.lost_ends.target import TargetEnd, end_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

Of = TypeVar("Of")  # the subject: a partition or a topic

EVERY_MS = 4_000  # ends are read each ten seconds
MOST_SHOWN = 100


class _Rows:
    """The data of each slot: its newest state (offset, both ends), since when, and its last idle state."""

    def __init__(self, count: int) -> None:
        self.state = np.full(
            (3, count), -1, np.int64
        )  # the mirror's next offset, the source's end, the target's
        self.shown_ms = np.full(count, -1, np.int64)
        self.rest = np.full((3, count), -1, np.int64)  # next offset, the target's end, and when

    def forget(self, slots: Sequence[int]) -> None:
        """Forget the data of these slots."""
        self.state[:, slots] = self.rest[:, slots] = self.shown_ms[slots] = -1


class MissingByEnds(ABC, Generic[Of]):
    """Missing records of partitions or of topics: a few polls a minute, the newest findings."""

    def __init__(self) -> None:
        self._version = (-1, -1)  # of the windows' slots
        self._found: dict[Of, MirrorFinding] = {}
        self._noted_ms = -EVERY_MS

    def poll(
        self, flow: FlowView, partitions: PartitionsSnapshot, transactional: Collection[str]
    ) -> list[MirrorFinding]:
        """Note the present state, and return what may be missing."""
        if not 0 <= partitions.now_ms - self._noted_ms < EVERY_MS:
            self._noted_ms = partitions.now_ms
            self._note(flow, partitions, transactional)
        self._found = {
            name: one for name, one in self._found.items() if partitions.now_ms - one.at_ms <= HELD_MS
        }
        return list(self._found.values())[-MOST_SHOWN:]

    @abstractmethod
    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed, or were re-created on either side."""

    @abstractmethod
    def _note(
        self, flow: FlowView, partitions: PartitionsSnapshot, transactional: Collection[str]
    ) -> None: ...


class MissingByPartition(MissingByEnds["Name"]):
    """Keeps the last time at which each partition was idle, and what is missing since the one before."""

    def __init__(self) -> None:
        super().__init__()
        self._rows = _Rows(0)

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed, or were re-created on either side."""
        if flow.windows.version == self._version:
            slots = [slot for topic, _, slot in flow.windows.slots() if is_gone(topic)]
            self._rows.forget([slot for slot in slots if slot < len(self._rows.shown_ms)])
        self._found = {name: one for name, one in self._found.items() if not is_gone(name[0])}

    def _note(self, flow: FlowView, partitions: PartitionsSnapshot, transactional: Collection[str]) -> None:
        if flow.windows.version != self._version or len(partitions.used) != len(self._rows.shown_ms):
            # A slot may belong to another partition by now: all start again.
            self._version, self._rows = flow.windows.version, _Rows(len(partitions.used))
        source, target, rows = flow.source.heads, flow.target.heads, self._rows
        slots = np.flatnonzero(partitions.used & (partitions.target_places >= 0) & (partitions.tail == 0))
        places, there = partitions.places[slots], partitions.target_places[slots]
        ends, target_ends = source.end[places], target.end[there]
        state = np.stack((flow.windows.next_offset[slots], ends, target_ends))
        same = (state == rows.state[:, slots]).all(axis=0)
        polled_ms = target.sampled_ms[there]
        shown_ms = np.where(same, rows.shown_ms[slots], polled_ms)
        rows.state[:, slots], rows.shown_ms[slots] = state, shown_ms
        idle = same & (shown_ms < polled_ms) & (state[0] == state[1]) & (target_ends >= 0)
        now, before = state[:, idle][[0, 2]], rows.rest[:, slots[idle]]
        shorter = (before[0] >= 0) & (now[0] >= before[0]) & (now[1] < before[1])
        fell = (before[0] >= 0) & (now[0] > before[0]) & (now[1] - now[0] < before[1] - before[0])
        for row in np.flatnonzero(fell | shorter).tolist():
            name = flow.windows.name(int(slots[idle][row]))
            was, state_now = before[:, row].tolist(), [*now[:, row].tolist(), partitions.now_ms]
            if shorter[row]:
                self._found[name] = end_lost(
                    flow,
                    name,
                    TargetEnd(*was[:2]),
                    TargetEnd(*state_now[:2]),
                    seen=f"ended at {was[1]}, seen at {instant_text(was[2])}, and ends at {state_now[1]} now",
                    at_ms=partitions.now_ms,
                )
            elif name[0] not in transactional and name[0] not in flow.settings.compacted:
                self._found[name] = missing_records(flow, *name, was, state_now)
        rows.rest[:2, slots[idle]] = now
        rows.rest[2, slots[idle]] = partitions.now_ms


def missing_records(
    flow: FlowView, topic: str, partition: int | None, before: Sequence[int], now: Sequence[int]
) -> MirrorFinding:
    """Return what is missing between two idle states, each given as next offset, target end and instant.

    For a whole topic (`partition` is None), these are sums over its partitions.
    """
    passed, grown = now[0] - before[0], now[1] - before[1]
    remote, target = flow.topics.remote.get(topic, topic), flow.order.flow.target
    name, offsets = f"{topic}-{partition}", f" ({before[0]} to {now[0] - 1})"
    others = "Transaction markers, aborted records and compaction"
    if partition is None:
        name, offsets = topic, ""
        others = "Group offsets that were moved forward, transaction markers, aborted records and compaction"
    return MirrorFinding(
        code=Cause.FILTERED,
        topic=topic,
        partition=partition,
        at_ms=now[2],
        records=passed - grown,
        first_offset=None if partition is None else before[0],
        last_offset=None if partition is None else now[0] - 1,
        proved=False,
        sentence=(
            f"At least {count_text(passed - grown, 'record')} of {name} may be missing on {target}: since "
            f"{instant_text(before[2])} the mirror passed {count_text(passed, 'offset')}{offsets}, and "
            f"{remote} grew by {grown:,}. {others} leave such gaps too; run mirrorwatch checksum to find out."
        ),
    )
