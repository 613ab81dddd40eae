"""What a flow lost with topics that were made anew, on either side. Pure.

Source: what the mirror passed over of the new log (`mirror_remade`). Target: what was there before
(`mirror_ends`), unless the mirror's offsets went back since, which sends all of it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lagmon import mirror_remade
from lagmon.mirror_ends import TargetEnds, lost_copies
from lagmon.mirror_findings import HELD_MS
from lagmon.mirror_orders import CONNECT_OFFSETS, EQUAL_OFFSETS, GROUP
from lagmon.mirror_remade import Followed, Remade

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lagmon.mirror_findings import MirrorFinding
    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_passage import Base
    from lagmon.mirror_sight import MirrorSight

MOST_GONE = 1000  # topics that were deleted and may come again


@dataclass(slots=True)
class MirrorLosses:
    """Follows the topics of one flow that were made anew."""

    ends: TargetEnds = field(default_factory=TargetEnds)
    remade: dict[str, Remade] = field(default_factory=dict)  # by topic, the newest of each
    _gone: dict[str, tuple[int, dict[int, Base]]] = field(default_factory=dict)  # when, and where it was
    _unread: dict[str, tuple[int, int]] = field(default_factory=dict)  # made anew before offsets were read
    _copies: list[MirrorFinding] = field(default_factory=list)
    _sent_to: dict[tuple[str, int], int] = field(default_factory=dict)  # N + 1 before the copies went

    def note_gone(self, flow: MirrorFlow, topic: str, *, gone_ms: int) -> None:
        """Keep where the mirror was in a source topic that a list read at `gone_ms` lacks."""
        remote = flow.order.flow.remote_topic(topic)  # it is none of the flow's topics any more
        places = {number: (-1, place) for number, place in enumerate(flow.target.places.of(remote))}
        known_ms = flow.topics.ids_at_ms.get((topic, "source"), -1)
        self._gone.pop(topic, None)
        found = mirror_remade.bases(topic, _followed(flow, topic), places, known_ms=known_ms, to_ms=gone_ms)
        self._gone[topic] = gone_ms, found
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]  # the one that went first

    def note_back(self, topic: str) -> None:
        """Take note that a source topic that seemed gone is there, the same as before."""
        self._gone.pop(topic, None)

    def note_source(self, flow: MirrorFlow, topic: str, *, known_ms: int, now_ms: int) -> None:
        """Take note that a source topic was made anew, after `known_ms`."""
        if flow.order.lag_from not in (CONNECT_OFFSETS, GROUP):
            return  # only N of its own tells where the mirror went on
        if flow.read_to_ms < 0:  # where the mirror was shows once its offsets are read
            known_ms, _ = self._unread.get(topic, (known_ms, now_ms))
            self._unread[topic] = known_ms, now_ms
            return
        followed, places = _followed(flow, topic), _places(flow, topic)
        gone = self._gone.pop(topic, None)
        remade = mirror_remade.begin(topic, followed, places, known_ms=known_ms, now_ms=now_ms)
        if gone is not None:
            mirror_remade.begin_from(remade, gone[1], followed, gone_ms=gone[0])
        self.remade[topic] = remade

    def note_read(self, flow: MirrorFlow) -> None:
        """Take note that the offsets are read: of topics made anew until then too."""
        unread, self._unread = self._unread, {}
        for topic, (known_ms, now_ms) in unread.items():
            self.note_source(flow, topic, known_ms=known_ms, now_ms=now_ms)

    def note_target(self, flow: MirrorFlow, topic: str, *, known_ms: int, now_ms: int) -> None:
        """Take note that a topic's copy was made anew, after `known_ms`."""
        held = self.ends.made_anew(topic, known_ms)
        if held is None:
            return
        remote = flow.topics.remote[topic]
        found = lost_copies(topic, remote, flow.order.flow.target, held, now_ms=now_ms)
        self._copies = [*self._copies, *found]
        # Not where it is now: it may have gone back before the new id could be read.
        equal = flow.order.lag_from == EQUAL_OFFSETS
        for partition, offset in enumerate((held.ends if equal else held.next_offsets).tolist()):
            slot = flow.windows.slot(topic, partition)
            if offset >= 0:
                self._sent_to[topic, partition] = offset
            elif slot is not None:
                self._sent_to[topic, partition] = int(flow.windows.next_offset[slot])

    def look(self, flow: MirrorFlow, sight: MirrorSight) -> None:
        """Decide what can be decided by now, and forget what is told no longer."""
        now_ms = sight.now_ms
        self.ends.note(flow, sight)
        for topic, remade in list(self.remade.items()):
            places = _places(flow, topic)
            mirror_remade.follow(remade, _followed(flow, topic), places, cadence_ms=sight.cadence_ms)
            gone = (topic, "source") not in flow.topics.ids  # for so long that its id is not kept any more
            settled = (gone or not remade.open) and not remade.found
            if settled and now_ms - remade.at_ms > HELD_MS:
                del self.remade[topic]
            remade.found = [one for one in remade.found if now_ms - one.at_ms <= HELD_MS]
        self._copies = [
            one
            for one in self._copies
            if now_ms - one.at_ms <= HELD_MS and not self._is_sent_again(flow, one)
        ]
        told = {(one.topic, one.partition) for one in self._copies} if self._sent_to else set()
        self._sent_to = {name: offset for name, offset in self._sent_to.items() if name in told}

    def forget_offsets(self, flow: MirrorFlow) -> None:
        """Take away offsets of old logs where the new ones are known to be empty: they say nothing.

        Slots are given back by that, so it is done before anything is judged.
        """
        start, end = flow.source.heads.start, flow.source.heads.end
        for topic, remade in self.remade.items():
            places = _places(flow, topic) if remade.open else {}
            for partition, base in remade.open.items():
                place = places.get(partition, (-1, -1))[0]
                slot = flow.windows.slot(topic, partition)
                old_to_ms = max(remade.at_ms, base.at_ms)
                old = slot is not None and int(flow.windows.committed_ms[slot]) <= old_to_ms
                if old and place >= 0 and 0 <= int(end[place]) <= max(0, int(start[place])):
                    flow.windows.forget(topic, partition)

    def findings(self) -> list[MirrorFinding]:
        """Return what was lost, for as long as it is told."""
        return [*self._copies, *(one for remade in self.remade.values() for one in remade.found)]

    def kept(self) -> tuple[list[MirrorFinding], list[MirrorFinding], dict[tuple[str, int], int]]:
        """Return what was lost with copies, with topics of the source, and where the mirror was before."""
        passed_over = [one for remade in self.remade.values() for one in remade.found]
        return list(self._copies), passed_over, dict(self._sent_to)

    def kept_undecided(self) -> list[Remade]:
        """Return the topics of which it may still show what the mirror made of them, with where it was."""
        remade = self.remade.values()
        return [Remade(one.topic, one.at_ms, one.gone_ms, dict(one.open)) for one in remade if one.open]

    def take_up(
        self,
        copies: Sequence[MirrorFinding],
        passed_over: Sequence[MirrorFinding],
        sent_to: Mapping[tuple[str, int], int],
        undecided: Iterable[Remade] = (),
    ) -> None:
        """Know again what an earlier process found; once the offsets are read, which may contradict it."""
        self._copies = [*copies, *self._copies]
        self._sent_to = {**sent_to, **self._sent_to}
        self.remade = {one.topic: one for one in undecided} | self.remade
        for one in passed_over:
            remade = self.remade.setdefault(one.topic, Remade(one.topic, one.at_ms))
            remade.found.append(one)

    def undecided(self, sight: MirrorSight) -> list[Remade]:
        """Return the topics of which it may still show what the mirror made of them.

        A mirror has told after two of its offsets and a look; one that has not by then stands, or there is
        nothing to copy.
        """
        within_ms = sight.stopped_after_ms
        return [one for one in self.remade.values() if one.open and sight.now_ms - one.at_ms <= within_ms]

    def _is_sent_again(self, flow: MirrorFlow, one: MirrorFinding) -> bool:
        assert one.partition is not None
        if flow.read_to_ms < 0:
            return False  # of its offsets some are known, or none
        name = one.topic, one.partition
        slot = flow.windows.slot(*name)
        if slot is None:
            return name in self._sent_to and one.topic in flow.source.topics
        return int(flow.windows.next_offset[slot]) < self._sent_to.get(name, 0)


def _followed(flow: MirrorFlow, topic: str) -> Followed:
    return Followed(
        flow.windows,
        flow.source.heads,
        flow.target.heads,
        flow.order.flow.source,
        compacted=topic in flow.settings.compacted,
        by_record=flow.order.lag_from == CONNECT_OFFSETS,
    )


def _places(flow: MirrorFlow, topic: str) -> dict[int, mirror_remade.Places]:
    there = flow.target.places.of(flow.topics.remote.get(topic, ""))
    return {
        partition: (place, there[partition] if partition < len(there) else -1)
        for partition, place in enumerate(flow.source.places.of(topic))
    }
