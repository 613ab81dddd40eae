"""Up to when the commits of a cluster's groups are known: read from their topic, or polled by group. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.java_hash import partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.cluster.names import Slots


class CommitsKnown:
    """Up to when every commit is known, in epoch milliseconds, -1 if none is yet."""

    def __init__(self) -> None:
        self.asking = False  # whether offsets come from the Admin API
        self.asked_ms: dict[str, int] = {}  # in Admin mode: by group, when the last answered poll started
        self.group_states: dict[str, str] = {}  # in Admin mode: states of groups, in lower case
        self._read_to_ms = np.full(1, -1, np.int64)  # by partition of __consumer_offsets
        self._read = np.zeros(1, np.intp)  # the partitions that are read
        self._home = np.zeros(0, np.int32)  # by number of a group, its partition
        self._homes_known: list[str] = []

    def begin(self, partitions: int, read: Sequence[int]) -> None:
        """Start without known commits in any of `partitions` partitions of `__consumer_offsets`.

        `read` are those that are read: the commits of other partitions need not be known.
        """
        self._read_to_ms = np.full(partitions, -1, np.int64)
        self._read = np.array(read, np.intp)
        self._homes_known = []

    def end_asking(self) -> None:
        """Leave Admin mode."""
        self.asking = False
        self.asked_ms.clear()
        self.group_states.clear()

    def note_read(self, partition: int, at_ms: int) -> None:
        """Record that all commits of this partition up to an instant were read."""
        self._read_to_ms[partition] = max(at_ms, int(self._read_to_ms[partition]))

    @property
    def to_ms(self) -> int:
        """Return up to when the commits of every partition that is read, or of every group, are known."""
        if self.asking:
            return min(self.asked_ms.values(), default=-1)
        return int(self._read_to_ms[self._read].min()) if len(self._read) else -1

    def of_group(self, group: str) -> int:
        """Return up to when the commits of a group are known, even if it has none."""
        if self.asking:
            return self.asked_ms.get(group, -1)
        if self._read_to_ms.max() < 0:  # while everything is read for the first time
            return -1
        return int(self._read_to_ms[partition_of(group, len(self._read_to_ms))])

    def by_group(self, slots: Slots) -> NDArray[np.int64]:
        """Return up to when the commits of each group are known, by number; the last is for no group."""
        names = slots.names
        if self.asking:
            return np.array([self.asked_ms.get(name, -1) for name in (*names, "")], np.int64)
        if self._homes_known != names:
            partitions = len(self._read_to_ms)
            self._home = np.array([partition_of(name, partitions) for name in names], np.int32)
            self._homes_known = list(names)
        return np.append(self._read_to_ms[self._home], -1)
