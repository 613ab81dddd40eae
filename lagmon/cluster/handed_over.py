"""How far the partitions of a topic were read, and steps back: the log was truncated. Pure.

After an unclean election, or if a topic was re-created, a client starts again at the log start
(`auto.offset.reset: earliest`). Its next records were read before, or belong to another log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping


class HandedOver:
    """Checks that the partitions of a topic only go forward during one reading."""

    def __init__(self, cluster: str, topic: str) -> None:
        self._where = f"cluster {cluster}: topic {topic}"
        self._to: dict[int, int] = {}

    def begin(self) -> None:
        """Start again: the topic is read from its start."""
        self._to.clear()

    def note(self, positions: Mapping[int, int]) -> None:
        """Record by partition the next offset."""
        self._to |= positions

    def went_back(self, positions: Mapping[int, int]) -> str:
        """Return an error if a partition is before its last position; "" if none is."""
        for partition, offset in positions.items():
            read_to = self._to.get(partition, 0)
            if offset < read_to:
                return (
                    f"{self._where}: partition {partition} went back from {read_to} to {offset}: it was"
                    " truncated or re-created; reading the topic again from its start"
                )
        return ""

    def check(self, positions: Mapping[int, int]) -> None:
        """Record positions before their records are used; raises UnavailableError if one went back."""
        said = self.went_back(positions)
        if said:
            raise UnavailableError(said)
        self.note(positions)
