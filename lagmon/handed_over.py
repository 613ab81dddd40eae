"""How far the partitions of a topic were handed over, and that one goes back: its log has lost its end. Pure.

After an unclean election, or where a topic was made anew, a client begins at the log's start by itself
(`auto.offset.reset: earliest`). What it hands over then was read before, or is of another log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping


def went_back_text(cluster: str, topic: str, partition: int, read_to: int, now_at: int) -> str:
    """Return what is told of a partition that was read to an offset and is before that now."""
    return (
        f"cluster {cluster}: topic {topic} goes back from {read_to} to {now_at} in partition {partition}: it"
        " has lost its end or was made anew, and is read again from its start"
    )


class HandedOver:
    """Follows one reading of a topic; `begin` before each."""

    def __init__(self, cluster: str, topic: str) -> None:
        self._cluster, self._topic = cluster, topic
        self._to: dict[int, int] = {}

    def begin(self) -> None:
        """Know nothing: it is read from its start."""
        self._to.clear()

    def note(self, positions: Mapping[int, int]) -> None:
        """Take in by partition what comes next, before what was handed over is used.

        Raises UnavailableError where one has gone back.
        """
        for partition, offset in positions.items():
            if offset < self._to.get(partition, 0):
                read_to = self._to[partition]
                raise UnavailableError(went_back_text(self._cluster, self._topic, partition, read_to, offset))
        self._to |= positions
