"""How far a mirror is that keeps offsets equal: each copy's end is the next offset to be copied. Pure.

Cluster Linking, and mirrors that write each record at the offset that it had. A look at the target's end
counts once the source was looked at after it: then the end that the lag is counted to is never the older one,
and a copy that ends behind its source's log is known as such, instead of passing for one without lag.

A copy without a record, of a log that does not begin at 0, tells nothing: where it will begin is not known.
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
    """Feeds the windows of one flow from the looks at the logs of both its clusters."""

    def __init__(self, flow: FlowFacts) -> None:
        self._flow = flow
        self._known: tuple[object, ...] = ()
        self._keys: list[tuple[str, int]] = []
        self._places = np.zeros((2, 0), np.int32)  # on the source and on the target
        self._end = np.zeros(0, np.int64)  # of the copy at a look that does not count yet
        self._end_ms = np.zeros(0, np.int64)  # when that was, -1 where there is none
        self._taken_ms = np.zeros(0, np.int64)  # of the newest look that counts, -1 where none does
        self._slots = np.zeros(0, np.intp)  # in the windows, -1 where there is none
        self._version = (0, 0)  # of the windows, when these were found

    def follow(self, now_ms: int) -> None:
        """Take in the looks since the last time; the caller holds the locks of both clusters."""
        flow = self._flow
        if not flow.source.topics or not flow.target.topics:
            return
        flow.topics.note_source(flow.source.topics)
        self._find()
        source, target = flow.source.heads, flow.target.heads
        on_source, on_target = self._places
        looked_ms = source.sampled_ms[on_source]
        self._take(looked_ms)
        end, end_ms = target.end[on_target], target.sampled_ms[on_target]
        new = (self._end_ms < 0) & (end >= 0) & (end_ms > self._taken_ms)
        self._end[new], self._end_ms[new] = end[new], end_ms[new]
        self._take(looked_ms)
        both = min(int(one.sampled_ms.max(initial=-1)) for one in (source, target))
        flow.read_to_ms = min(now_ms, int(self._taken_ms.max(initial=-1)) if len(self._keys) else both)

    def _take(self, looked_ms: Longs) -> None:
        """Take in the looks at copies whose source was looked at since."""
        counts = (self._end_ms >= 0) & (looked_ms >= self._end_ms)
        if not counts.any():
            return
        windows, start = self._flow.windows, self._flow.source.heads.start[self._places[0]]
        if len(self._slots) != len(self._keys) or self._version != windows.version:
            found = [windows.slot(*key) for key in self._keys]
            self._slots = np.array([-1 if slot is None else slot for slot in found], np.intp)
        for one in np.flatnonzero(counts & (self._slots < 0) & ((self._end > 0) | (start == 0))).tolist():
            self._slots[one] = windows.begin(*self._keys[one])
        self._version = windows.version
        taken = counts & (self._slots >= 0)
        windows.take_looks(self._slots[taken], self._end[taken], self._end_ms[taken])
        self._taken_ms[counts] = self._end_ms[counts]
        self._end_ms[counts] = -1

    def _find(self) -> None:
        """Find the places of every partition that has a copy, where topics have come or gone."""
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
