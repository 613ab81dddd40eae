"""How far the partitions of a topic were handed over, and that one goes back: its log has lost its end. Pure.

After an unclean election, or where a topic was re-created, a client begins at the log's start by itself
(`auto.offset.reset: earliest`). What it hands over then was read before, or is of another log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping


class HandedOver:
    """Follows one reading of a topic, whose partitions only go forward; `begin` before another."""

    def __init__(self, cluster: str, topic: str) -> None:
        self._where = f"cluster {cluster}: topic {topic}"
        self._to: dict[int, int] = {}

    def begin(self) -> None:
        """Know nothing: it is read from its start."""
        self._to.clear()

    def note(self, positions: Mapping[int, int]) -> None:
        """Take in by partition what comes next."""
        self._to |= positions

    def went_back(self, positions: Mapping[int, int]) -> str:
        """Return which of these is before what was taken in, and that all is read anew; "" if none is."""
        for partition, offset in positions.items():
            read_to = self._to.get(partition, 0)
            if offset < read_to:
                return (
                    f"{self._where} goes back from {read_to} to {offset} in partition {partition}: it has"
                    " lost its end or was made anew, and is read again from its start"
                )
        return ""

    def check(self, positions: Mapping[int, int]) -> None:
        """Take them in, before what was handed over is used; raises UnavailableError if one went back."""
        said = self.went_back(positions)
        if said:
            raise UnavailableError(said)
        self.note(positions)
