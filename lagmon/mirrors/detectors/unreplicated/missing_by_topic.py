"""Records that may be missing of topics whose mirror reads as a group, compared by topic. Pure.

As in missing_by_ends.py, but over all partitions of a topic together. With MirrorMaker 1 and, by default,
Brooklin, a record's key decides its partition on the target. So the end of a target partition shows nothing
of the source partition with its number. A group commits the next offset after its record was replicated. If
that is the source's end in each partition, and stays so over two polls of the target with one of the source
between, no more records will be replicated.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lagmon.mirrors.detectors.unreplicated.missing_by_ends import MissingByEnds, missing_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Longs = NDArray[np.int64]

_FAR = np.iinfo(np.int64).max


class _Places(NamedTuple):
    """Where a flow's topics are: the topic's number, place, and slot (or -1) of each partition."""

    topics: list[str]
    topic: Longs
    place: Longs
    slot: Longs
    target_topic: Longs
    target_place: Longs


class _Rest(NamedTuple):
    """A topic with nothing to replicate: sums of next offsets and of target ends, and when."""

    next_offset: int
    end: int
    at_ms: int


class MissingByTopic(MissingByEnds[str]):
    """Keeps the last time at which each topic was idle, and what is missing since the one before."""

    def __init__(self) -> None:
        super().__init__()
        self._listed: tuple[object, ...] = ()
        self._places: _Places | None = None
        self._state = np.zeros((3, 0), np.int64)  # by topic, of next offsets and of ends on both sides
        self._shown_ms = np.zeros(0, np.int64)  # when all polls of target ends had shown it
        self._rests: dict[str, _Rest] = {}

    def forget(self, flow: FlowView, is_gone: Callable[[str], bool]) -> None:  # noqa: ARG002 - by topic
        """Forget topics that are removed, or were re-created on either side."""
        self._listed = ()  # and all must be seen twice again
        self._rests = {topic: one for topic, one in self._rests.items() if not is_gone(topic)}
        self._found = {topic: one for topic, one in self._found.items() if not is_gone(topic)}

    def _note(self, flow: FlowView, partitions: PartitionsSnapshot, transactional: Collection[str]) -> None:
        at, source, target = self._find_places(flow), flow.source.heads, flow.target.heads
        ends, target_ends = source.end[at.place], target.end[at.target_place]
        has_slot = (at.slot >= 0) & (at.slot < len(partitions.used))
        slots = np.where(has_slot, at.slot, 0)
        next_offset = np.where(has_slot, flow.windows.next_offset[slots], 0)
        is_read = (ends >= 0) & (next_offset == ends)  # partitions without any record have no offset
        is_read[has_slot] &= partitions.used[slots[has_slot]]
        state = np.zeros_like(self._state)
        np.add.at(state[0], at.topic, next_offset)
        np.add.at(state[1], at.topic, ends)
        np.add.at(state[2], at.target_topic, target_ends)
        rests = np.zeros(len(at.topics), np.bool_)
        rests[at.target_topic] = True
        rests[at.topic[~is_read]] = rests[at.target_topic[target_ends < 0]] = False
        oldest_ms, newest_ms = np.full(len(rests), _FAR), np.full(len(rests), -1, np.int64)
        np.minimum.at(oldest_ms, at.topic, source.sampled_ms[at.place])
        np.minimum.at(oldest_ms, at.target_topic, target.sampled_ms[at.target_place])
        np.maximum.at(newest_ms, at.target_topic, target.sampled_ms[at.target_place])
        same = (state == self._state).all(axis=0)
        self._shown_ms = np.where(same, self._shown_ms, newest_ms)
        self._state = state
        for number in np.flatnonzero(rests & same & (oldest_ms > self._shown_ms)).tolist():
            topic, now = (
                at.topics[number],
                _Rest(int(state[0, number]), int(state[2, number]), partitions.now_ms),
            )
            before = self._rests.get(topic, now)
            self._rests[topic] = now
            fell = now.next_offset >= before.next_offset
            fell &= now.end - now.next_offset < before.end - before.next_offset
            if fell and topic not in transactional and topic not in flow.settings.compacted:
                self._found[topic] = missing_records(flow, topic, None, before, now)

    def _find_places(self, flow: FlowView) -> _Places:
        version, listed = (
            flow.windows.version,
            (flow.source.topics, flow.target.topics, flow.topics.remote),
        )
        same = len(self._listed) == len(listed) and all(map(operator.is_, listed, self._listed))
        if self._places is not None and same and version == self._version:
            return self._places
        topics = [topic for topic, remote in flow.topics.remote.items() if remote in flow.target.topics]
        if version[1] != self._version[1]:
            self._rests = {}  # another group's offsets may count by now
        self._rests = {topic: self._rests[topic] for topic in topics if topic in self._rests}
        self._version, self._listed = version, listed
        rows, target_ends = [], []
        for number, topic in enumerate(topics):
            for partition, place in enumerate(flow.source.places.listed_of(topic)):
                slot = flow.windows.slot(topic, partition)
                rows.append((number, place, -1 if slot is None else slot))
            target_ends += [
                (number, place) for place in flow.target.places.listed_of(flow.topics.remote[topic])
            ]
        columns = np.array(rows, np.int64).reshape(-1, 3).T
        self._places = _Places(topics, *columns, *np.array(target_ends, np.int64).reshape(-1, 2).T)
        self._state = np.full((3, len(topics)), -1, np.int64)
        self._shown_ms = np.full(len(topics), -1, np.int64)
        return self._places
