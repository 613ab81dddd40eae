"""Records that retention deleted before the mirror had any offset of their partition. Pure.

A mirror that finds a new partition late starts at the log start of that time. What was deleted before is not
replicated, and no offset shows it. So the first log start of such a partition is kept. Until the mirror has
an offset this is a suspicion: it may have replicated the records, or it may leave the topic out.

Once it has one, the target shows how many records are missing: at most its log end offset of them are there.
A transaction marker ends at least one record. So at least half of the offsets up to the mirror's are records,
and what the target lacks of these is lost. Nothing is proved of a log that may have longer gaps, or of a
mirror that may drop records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lagmon.mirrors.detectors.retention.overtaken import NO_OFFSET, Overtaken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition

STARTS_MS = 90_000  # until a log start is read that is not older than the mirror's first offset


@dataclass(slots=True)
class _Deleted:
    """What was deleted of one partition."""

    first: int  # the log start when it was seen first
    start: int  # the newest one
    first_at_ms: int
    at_ms: int  # when it moved last
    passed_ms: int = -1  # when the mirror had an offset; -1: not yet
    passed_to: int = -1  # the mirror's next offset then
    is_final: bool = False  # whether the mirror had an offset when `start` was read
    least: int = 0
    lacks: bool = False  # whether the target may lack anything

    def overtaken(self, name: Name) -> Overtaken:
        """Return it as a loss."""
        start = self.start if self.passed_to < 0 else min(self.start, self.passed_to)
        most = max(0, start - self.first)
        least = min(self.least, most)
        times = self.first_at_ms, self.at_ms
        return Overtaken(*name, start - least, start, *times, written=NO_OFFSET, within=most - least)


@dataclass(slots=True)
class UnstoredLosses:
    """Finds such records of one flow."""

    _open: dict[Name, _Deleted] = field(default_factory=dict)

    def known(self) -> list[Overtaken]:
        """Return what is not settled yet: all that is deleted, until the mirror has an offset."""
        shown = {name: one for name, one in self._open.items() if one.passed_ms < 0 or one.lacks}
        return [one.overtaken(name) for name, one in shown.items() if one.start > one.first]

    def settle(self, flow: FlowView, partitions: PartitionsSnapshot) -> Iterator[Overtaken]:
        """Follow the log starts; yield what is lost of partitions that have an offset by now."""
        firsts, starts, now_ms = flow.first_offsets.starts, flow.source.heads.start, partitions.now_ms
        self._open = {name: one for name, one in self._open.items() if name in firsts}
        for name, first in list(firsts.items()):
            (topic, partition), slot = name, flow.windows.slot(*name)
            places = flow.source.places.listed_of(topic)
            start = int(starts[places[partition]]) if partition < len(places) else -1
            one = self._open.get(name)
            if one is None and (slot is not None or start > first):
                one = self._open[name] = _Deleted(first, first, now_ms, now_ms)
            if one is None:
                continue
            is_again = slot is not None and start > flow.windows.next_offset[slot]  # another loss
            if one.start < start and not (one.is_final or is_again):
                # The first one after the mirror's offset: later ones follow what it has replicated.
                one.start, one.at_ms, one.is_final = start, now_ms, one.passed_ms >= 0
            if slot is None or slot >= len(partitions.used) or not partitions.used[slot]:
                continue
            if self._is_settled(flow, partitions, slot, one):
                del firsts[name], self._open[name]
                if one.lacks and one.start > one.first:
                    yield one.overtaken(name)

    def _is_settled(self, flow: FlowView, partitions: PartitionsSnapshot, slot: int, one: _Deleted) -> bool:
        """Bound what is lost by the newest poll of the target; return whether no later one can show more."""
        if one.passed_ms < 0:
            one.passed_ms, one.passed_to = partitions.now_ms, int(flow.windows.next_offset[slot])
        is_again = partitions.deleted[slot] > 0  # what is deleted from here on is another loss
        if partitions.target_places[slot] >= 0 and not is_again:
            self._bound(flow, slot, int(partitions.target_places[slot]), one)
        return is_again or partitions.now_ms - one.passed_ms > STARTS_MS

    def _bound(self, flow: FlowView, slot: int, place: int, one: _Deleted) -> None:
        end, polled_ms = (int(of[place]) for of in (flow.target.heads.end, flow.target.heads.sampled_ms))
        written = [offset for offset, at_ms in flow.windows.commits(slot) if at_ms < polled_ms]
        if end < 0 or not written:
            return
        passed = written[-1] - one.first
        any_gaps = flow.committed_only or bool(flow.order.flow.handling.drops)
        any_gaps |= flow.windows.name(slot)[0] in flow.settings.compacted
        one.least = max(one.least, 0 if any_gaps else passed // 2 - end)
        one.lacks = passed > end
