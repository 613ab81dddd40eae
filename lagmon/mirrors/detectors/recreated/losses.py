"""What a flow lost with re-created topics, on either side. Pure.

Source: what the mirror skipped of the new log (starts.py). Target: what it held before (target_ends/ends.py).
There are two exceptions for the target. If the mirror's offsets went back since, all of it is sent again. If
the source topic was re-created too, between the last poll of the old target and the new target's id, whoever
deleted both meant to. The ids of both sides are read separately, so a loss is reported once the source's id
was read since.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lagmon.mirrors.answers.findings import HELD_MS
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.detectors.recreated import starts as mirror_starts
from lagmon.mirrors.detectors.recreated.followed import Followed, RecreatedTopic
from lagmon.mirrors.metadata.topics import ids_within_ms
from lagmon.mirrors.target_ends.ends import TargetEnds, TargetTopic, all_of_it, lost_with_topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.detectors.recreated.outcome import Base
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

MOST_GONE = 1000  # removed topics that may return


@dataclass(slots=True)
class RecreatedTopics(Detector):
    """Follows the topics of one flow that were re-created, on either side."""

    ends: TargetEnds = field(default_factory=TargetEnds)
    recreated: dict[str, RecreatedTopic] = field(default_factory=dict)  # by topic, the newest of each
    _gone: dict[str, tuple[int, dict[int, Base]]] = field(default_factory=dict)  # when, and where it was
    _unread: dict[str, tuple[int, int]] = field(default_factory=dict)  # re-created before offsets were read
    _with_targets: dict[str, list[MirrorFinding]] = field(default_factory=dict)  # by topic
    _sent_to: dict[tuple[str, int], int] = field(
        default_factory=dict
    )  # N + 1 before the targets were removed
    _was_at_ms: dict[tuple[str, int], int] = field(
        default_factory=dict
    )  # and when; not for earlier processes
    _held_ms: dict[tuple[str, int], int] = field(default_factory=dict)  # last polls of targets without gaps

    def note_gone(self, flow: FlowView, topic: str, *, gone_ms: int) -> None:
        """Keep where the mirror was in a source topic that a list read at `gone_ms` lacks."""
        remote = flow.order.flow.remote_topic(topic)  # it no longer belongs to the flow
        places = {number: (-1, place) for number, place in enumerate(flow.target.places.listed_of(remote))}
        self._gone.pop(topic, None)
        found = mirror_starts.bases(topic, _followed(flow, topic), places, known_ms=gone_ms, is_gone=True)
        self._gone[topic] = gone_ms, found
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]  # the one that was removed first

    def note_back(self, topic: str) -> None:
        """Note that a source topic that seemed removed exists, the same as before."""
        self._gone.pop(topic, None)

    def note_source(self, flow: FlowView, topic: str, *, known_ms: int, now_ms: int) -> None:
        """Note that a source topic was re-created after `known_ms`."""
        if flow.read_to_ms < 0:  # the mirror's position is known once its offsets are read
            known_ms, _ = self._unread.get(topic, (known_ms, now_ms))
            self._unread[topic] = known_ms, now_ms
            return
        self._keep_with_targets(topic, lambda one: one.at_ms <= known_ms)
        if not flow.order.progress.resumes:
            return  # only a mirror's own N shows where it continued
        followed, places = _followed(flow, topic), _places(flow, topic)
        gone = self._gone.pop(topic, None)
        recreated = mirror_starts.start_following(topic, followed, places, known_ms=known_ms, now_ms=now_ms)
        if gone is not None:
            mirror_starts.start_from(recreated, gone[1], followed, gone_ms=gone[0])
        self.recreated[topic] = recreated

    def note_read(self, flow: FlowView) -> None:
        """Note that the offsets are read: topics that were re-created until then can be followed."""
        unread, self._unread = self._unread, {}
        for topic, (known_ms, now_ms) in unread.items():
            self.note_source(flow, topic, known_ms=known_ms, now_ms=now_ms)

    def note_target(self, flow: FlowView, topic: str, *, known_ms: int, now_ms: int) -> None:
        """Note that a target topic was re-created after `known_ms`."""
        held = self.ends.recreated(topic, known_ms)
        if held is None or flow.topics.recreated_ms.get((topic, "source"), -1) > held.at_ms:
            return
        remote = flow.topics.remote[topic]
        dense = not flow.order.flow.exactly_once and topic not in flow.settings.compacted
        if not flow.order.progress.commits:  # the target has the gaps of its source
            dense &= topic not in flow.transactions.topics
        names = TargetTopic(topic, remote, flow.order.flow.target, dense=dense)
        found = lost_with_topic(names, held, now_ms=now_ms)
        self._with_targets[topic] = [*self._with_targets.get(topic, ()), *found]
        if dense:
            self._held_ms |= {(topic, one.partition or 0): held.at_ms for one in found}
        # Not where it is now: it may have gone back before the new id could be read.
        equal = not flow.order.progress.commits
        for partition, offset in enumerate((held.ends if equal else held.next_offsets).tolist()):
            slot = flow.windows.slot(topic, partition)
            if offset >= 0:
                self._sent_to[topic, partition] = offset
                self._was_at_ms[topic, partition] = int(held.offsets_ms[partition])
            elif slot is not None:
                self._sent_to[topic, partition] = int(flow.windows.next_offset[slot])

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Decide what can be decided by now, and forget what is no longer shown."""
        now_ms = partitions.now_ms
        self.ends.note(flow, partitions)
        for topic, recreated in list(self.recreated.items()):
            places = _places(flow, topic)
            mirror_starts.follow(recreated, _followed(flow, topic), places, cadence_ms=partitions.cadence_ms)
            gone = (topic, "source") not in flow.topics.ids  # for so long that its id was forgotten
            settled = (gone or not recreated.open) and not recreated.found
            if settled and now_ms - recreated.at_ms > HELD_MS:
                del self.recreated[topic]
            recreated.found = [one for one in recreated.found if now_ms - one.at_ms <= HELD_MS]
        for topic in list(self._with_targets):
            self._keep_with_targets(
                topic, lambda one: now_ms - one.at_ms <= HELD_MS and not self._is_sent_again(flow, one)
            )
            self._with_targets[topic] = [
                all_of_it(one) if self._is_all(flow, one) else one
                for one in self._with_targets.get(topic, ())
            ]
        names = {(one.topic, one.partition) for found in self._with_targets.values() for one in found}
        self._held_ms = {name: at_ms for name, at_ms in self._held_ms.items() if name in names}
        self._sent_to = {name: offset for name, offset in self._sent_to.items() if name in names}
        self._was_at_ms = {name: at_ms for name, at_ms in self._was_at_ms.items() if name in names}

    def forget_offsets(self, flow: FlowView) -> None:
        """Remove offsets of old logs if the new ones are known to be empty: they prove nothing.

        This frees slots, so it is done before anything is judged.
        """
        start, end = flow.source.heads.start, flow.source.heads.end
        for topic, recreated in self.recreated.items():
            places = _places(flow, topic) if recreated.open else {}
            for partition, base in recreated.open.items():
                place = places.get(partition, (-1, -1))[0]
                slot = flow.windows.slot(topic, partition)
                old_to_ms = max(recreated.at_ms, base.at_ms)
                old = slot is not None and int(flow.windows.committed_ms[slot]) <= old_to_ms
                if old and place >= 0 and 0 <= int(end[place]) <= max(0, int(start[place])):
                    flow.windows.forget(topic, partition)

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:
        """Return what was lost, for as long as it is shown."""
        with_targets = [
            one
            for found in self._with_targets.values()
            for one in found
            if _source_is_read(flow, one, now_ms)
        ]
        return [*with_targets, *(one for recreated in self.recreated.values() for one in recreated.found)]

    def kept(self) -> tuple[list[MirrorFinding], list[MirrorFinding], dict[tuple[str, int], int]]:
        """Return losses with target topics, losses with source topics, and where the mirror was before."""
        passed_over = [one for recreated in self.recreated.values() for one in recreated.found]
        return (
            [one for found in self._with_targets.values() for one in found],
            passed_over,
            dict(self._sent_to),
        )

    def kept_undecided(self) -> list[RecreatedTopic]:
        """Return the topics that are not decided yet, with where the mirror was."""
        recreated = self.recreated.values()
        return [
            RecreatedTopic(one.topic, one.at_ms, one.gone_ms, one.known_ms, dict(one.open))
            for one in recreated
            if one.open
        ]

    def restore(
        self,
        with_targets: Sequence[MirrorFinding],
        passed_over: Sequence[MirrorFinding],
        sent_to: Mapping[tuple[str, int], int],
        undecided: Iterable[RecreatedTopic] = (),
    ) -> None:
        """Restore an earlier process's findings; once the offsets are read, which may contradict them."""
        for one in with_targets:
            self._with_targets.setdefault(one.topic, []).append(one)
        self._sent_to = {**sent_to, **self._sent_to}
        self.recreated = {one.topic: one for one in undecided} | self.recreated
        for one in passed_over:
            recreated = self.recreated.setdefault(one.topic, RecreatedTopic(one.topic, one.at_ms))
            recreated.found.append(one)

    def undecided(self, partitions: PartitionsSnapshot) -> list[RecreatedTopic]:
        """Return the topics that may still be decided.

        Two offsets of the mirror and a poll decide. A mirror without them by then is stalled, or there is
        nothing to replicate.
        """
        within_ms = partitions.stopped_after_ms
        return [
            one for one in self.recreated.values() if one.open and partitions.now_ms - one.at_ms <= within_ms
        ]

    def _keep_with_targets(self, topic: str, is_kept: Callable[[MirrorFinding], bool]) -> None:
        kept = [one for one in self._with_targets.pop(topic, ()) if is_kept(one)]
        if kept:
            self._with_targets[topic] = kept

    def _is_all(self, flow: FlowView, one: MirrorFinding) -> bool:
        """Return whether a target cannot have received anything between the last poll and its deletion.

        By that poll the mirror had written that it had replicated everything that the source has even now.
        """
        name = one.topic, one.partition or 0
        slot, held_ms = flow.windows.slot(*name), self._held_ms.get(name, -1)
        places = flow.source.places.listed_of(one.topic)
        if one.records_most is not None or slot is None or held_ms < 0 or name[1] >= len(places):
            return False
        is_same = flow.topics.recreated_ms.get((one.topic, "source"), -1) < held_ms
        polled_ms, end = (
            int(flow.source.heads.sampled_ms[places[name[1]]]),
            int(flow.source.heads.end[places[name[1]]]),
        )
        wrote_ms = int(flow.windows.moved_ms[slot]) + mirror_starts.WRITING_MS
        return (
            is_same
            and wrote_ms < held_ms
            and polled_ms > one.at_ms
            and end == int(flow.windows.next_offset[slot])
        )

    def _is_sent_again(self, flow: FlowView, one: MirrorFinding) -> bool:
        assert one.partition is not None
        if flow.read_to_ms < 0:
            return False  # its offsets are known in part, or not at all
        name = one.topic, one.partition
        slot = flow.windows.slot(*name)
        if slot is None:
            return name in self._sent_to and one.topic in flow.source.topics
        if int(flow.windows.next_offset[slot]) < self._sent_to.get(name, 0):
            return True
        was_at_ms = self._was_at_ms.get(name, -1)
        return was_at_ms >= 0 and _restarted(flow, name, slot, was_at_ms)


def _restarted(flow: FlowView, name: tuple[str, int], slot: int, since_ms: int) -> bool:
    """Return whether the mirror's offset went to its log start, or was removed, and it has moved since."""
    if not flow.order.progress.commits:
        return False  # there each re-created target starts so
    topic, partition = name
    places = flow.source.places.listed_of(topic)
    start = max(0, int(flow.source.heads.start[places[partition]])) if partition < len(places) else 0
    return any(offset <= start and at_ms >= since_ms for offset, at_ms in flow.windows.commits(slot))


def _source_is_read(flow: FlowView, one: MirrorFinding, now_ms: int) -> bool:
    """Return whether the id of a source topic was read since, or has not been read for too long."""
    read_ms = flow.topics.ids_at_ms.get((one.topic, "source"), one.at_ms)
    return read_ms >= one.at_ms or now_ms - one.at_ms > ids_within_ms(len(flow.source.topics))


def _followed(flow: FlowView, topic: str) -> Followed:
    return Followed(
        flow.windows,
        flow.source.heads,
        flow.target.heads,
        flow.order.flow.source,
        compacted=topic in flow.settings.compacted,
        transactional=topic in flow.transactions.topics,
        by_record=flow.order.lag_from == CONNECT_OFFSETS,
        target_recreated_ms=flow.topics.recreated_ms.get((topic, "target"), -1),
        target_id_read_ms=flow.topics.ids_at_ms.get((topic, "target")),
        ids_within_ms=ids_within_ms(len(flow.target.topics)),
    )


def _places(flow: FlowView, topic: str) -> dict[int, mirror_starts.Places]:
    there = flow.target.places.listed_of(flow.topics.remote.get(topic, ""))
    return {
        partition: (place, there[partition] if partition < len(there) else -1)
        for partition, place in enumerate(flow.source.places.listed_of(topic))
    }
