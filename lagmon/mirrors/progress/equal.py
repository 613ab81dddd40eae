"""The progress of a mirror that keeps offsets equal: a target's end is the next offset to replicate. Pure.

Cluster Linking does this, and mirrors that write each record at its source offset. A poll of the target's end
counts only after a later poll of the source. So the end that lag is counted to is never the older one, and a
target that ends after its source's log is recognised, not reported as without lag.

An empty target of a log that does not start at 0 shows nothing: its first offset is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts

    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]


class EqualProgress:
    """Feeds the windows of one flow from the polls of both clusters."""

    def __init__(self, flow: FlowFacts) -> None:
        self._flow = flow
        self._known: tuple[object, ...] = ()
        self._keys: list[tuple[str, int]] = []
        self._places = np.zeros((2, 0), np.int32)  # on the source and on the target
        self._end = np.zeros(0, np.int64)  # of the target, at a poll that does not count yet
        self._end_ms = np.zeros(0, np.int64)  # when that was; -1: none
        self._taken_ms = np.zeros(0, np.int64)  # of the newest poll that counts; -1: none
        self._slots = np.zeros(0, np.intp)  # in the windows; -1: none
        self._version = (0, 0)  # of the windows, when the slots were found

    def follow(self, now_ms: int) -> None:
        """Take in the polls since the last time; the caller holds the locks of both clusters."""
        flow = self._flow
        if not flow.source.topics or not flow.target.topics:
            return
        flow.topics.note_source(flow.source.topics)
        self._find()
        source, target = flow.source.heads, flow.target.heads
        on_source, on_target = self._places
        polled_ms = source.sampled_ms[on_source]
        self._take(polled_ms)
        end, end_ms = target.end[on_target], target.sampled_ms[on_target]
        new = (self._end_ms < 0) & (end >= 0) & (end_ms > self._taken_ms)
        self._end[new], self._end_ms[new] = end[new], end_ms[new]
        self._take(polled_ms)
        both = min(int(one.sampled_ms.max(initial=-1)) for one in (source, target))
        flow.read_to_ms = min(now_ms, int(self._taken_ms.max(initial=-1)) if len(self._keys) else both)

    def _take(self, polled_ms: Longs) -> None:
        """Take in the polls of targets whose source was polled since."""
        counts = (self._end_ms >= 0) & (polled_ms >= self._end_ms)
        if not counts.any():
            return
        windows, start = self._flow.windows, self._flow.source.heads.start[self._places[0]]
        if len(self._slots) != len(self._keys) or self._version != windows.version:
            found = [windows.slot(*key) for key in self._keys]
            self._slots = np.array([-1 if slot is None else slot for slot in found], np.intp)
        for one in np.flatnonzero(counts & (self._slots < 0) & ((self._end > 0) | (start == 0))).tolist():
            self._slots[one] = windows.ensure_slot(*self._keys[one])
        self._version = windows.version
        taken = counts & (self._slots >= 0)
        windows.take_polls(self._slots[taken], self._end[taken], self._end_ms[taken])
        self._taken_ms[counts] = self._end_ms[counts]
        self._end_ms[counts] = -1

    def _find(self) -> None:
        """Find the places of every partition that has a target, after topics were added or removed."""
        flow = self._flow
        known = flow.source.topics, flow.target.topics, flow.topics.remote
        if self._known and all(one is other for one, other in zip(known, self._known, strict=True)):
            return
        before = {key: number for number, key in enumerate(self._keys)}
        found = [
            ((topic, partition), on_source, on_target)
            for topic, remote in flow.topics.remote.items()
            if remote in flow.target.topics
            for partition, (on_source, on_target) in enumerate(
                zip(flow.source.places.listed_of(topic), flow.target.places.listed_of(remote), strict=False)
            )
        ]
        self._known, self._keys = known, [key for key, _, _ in found]
        self._slots = np.zeros(0, np.intp)
        self._places = np.array([(on_source, on_target) for _, on_source, on_target in found], np.int32)
        self._places = self._places.reshape(-1, 2).T
        was = np.array([before.get(key, -1) for key in self._keys], np.intp)
        self._end, self._end_ms, self._taken_ms = (
            np.where(was >= 0, array[was] if len(array) else -1, -1)
            for array in (self._end, self._end_ms, self._taken_ms)
        )
        there = set(self._keys)
        for key in before.keys() - there:
            flow.windows.forget(*key)
